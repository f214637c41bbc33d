/** One field of the GraphQL Admin API, with its subfields. */
export interface Field {
  name: string;
  /** Its GraphQL type, without list and non-null markers. */
  type: string;
  of?: readonly Field[];
  args?: string;
  /** A connection has pages, a list is cut; both are requested with this many items. */
  kind?: "connection" | "list";
  first?: number;
}

export interface Resource {
  name: string;
  /** The connection at the query's root. */
  root: string;
  /** The type of its nodes. */
  type: string;
  args?: string;
  scope: string;
  /** Objects of one page, unless the definition says otherwise. */
  pageSize: number;
  /** Date fields that Shopify's search supports, each with its sort key; null if it can't be a sort key. */
  filters: Readonly<Record<string, string | null>>;
  /** Sort key of the ID, if one has to be given. */
  idSort: string | null;
  /** Whether the search supports `id:>=…`. */
  hasIdSearch: boolean;
  fields: readonly Field[];
  /** The nested list with the rows, if the nodes aren't the rows. */
  rows?: string;
  /** Orders older than 60 days require a special scope. */
  isOrderHistory?: boolean;
}

const plain = (type: string, names: string): Field[] => names.split(" ").map((name) => ({ name, type }));
const text = (names: string) => plain("String", names);
const times = (names: string) => plain("DateTime", names);
const flags = (names: string) => plain("Boolean", names);
const counts = (names: string) => plain("Int", names);
const part = (name: string, type: string, of: readonly Field[]): Field => ({ name, type, of });
const connection = (
  name: string,
  type: string,
  first: number,
  of: readonly Field[],
  args?: string,
): Field => ({
  name,
  type,
  of,
  kind: "connection",
  first,
  ...(args ? { args } : {}),
});

const ID: Field = { name: "id", type: "ID" };
const ref = (name: string, type: string) => part(name, type, [ID]);
const MONEY = [...plain("Decimal", "amount"), ...plain("CurrencyCode", "currencyCode")];
const money = (names: string) =>
  names
    .split(" ")
    .map((name) =>
      part(name, "MoneyBag", [
        part("shopMoney", "MoneyV2", MONEY),
        part("presentmentMoney", "MoneyV2", MONEY),
      ]),
    );
const ADDRESS = text(
  "firstName lastName company address1 address2 city province provinceCode country countryCodeV2 zip phone",
);

const LINE_ITEM = [
  ID,
  ...text("name title variantTitle sku vendor"),
  ...counts("quantity currentQuantity"),
  ...flags("requiresShipping taxable"),
  ref("product", "Product"),
  ref("variant", "ProductVariant"),
  ...money("originalUnitPriceSet discountedTotalSet totalDiscountSet"),
];

const orders: Resource = {
  name: "orders",
  root: "orders",
  type: "Order",
  scope: "read_orders",
  pageSize: 25,
  filters: { updated_at: "UPDATED_AT", created_at: "CREATED_AT", processed_at: "PROCESSED_AT" },
  idSort: "ID",
  hasIdSearch: true,
  isOrderHistory: true,
  fields: [
    ID,
    ...text("name email phone note sourceName customerLocale"),
    ...times("createdAt updatedAt processedAt closedAt cancelledAt"),
    ...plain("OrderCancelReason", "cancelReason"),
    ...plain("OrderDisplayFinancialStatus", "displayFinancialStatus"),
    ...plain("OrderDisplayFulfillmentStatus", "displayFulfillmentStatus"),
    ...plain("CurrencyCode", "currencyCode presentmentCurrencyCode"),
    ...flags("confirmed test taxesIncluded"),
    ...plain("[String]", "tags discountCodes"),
    ...money(
      "subtotalPriceSet totalPriceSet totalTaxSet totalDiscountsSet totalShippingPriceSet totalRefundedSet currentTotalPriceSet",
    ),
    ref("customer", "Customer"),
    part("billingAddress", "MailingAddress", ADDRESS),
    part("shippingAddress", "MailingAddress", ADDRESS),
    connection("lineItems", "LineItem", 10, LINE_ITEM),
  ],
};

const customers: Resource = {
  name: "customers",
  root: "customers",
  type: "Customer",
  scope: "read_customers",
  pageSize: 100,
  filters: { updated_at: "UPDATED_AT" },
  idSort: "ID",
  hasIdSearch: true,
  fields: [
    ID,
    ...text("firstName lastName displayName email phone note locale"),
    ...times("createdAt updatedAt"),
    ...plain("CustomerState", "state"),
    ...plain("UnsignedInt64", "numberOfOrders"),
    part("amountSpent", "MoneyV2", MONEY),
    ...flags("verifiedEmail taxExempt"),
    ...plain("[String]", "tags"),
    part("defaultAddress", "MailingAddress", ADDRESS),
  ],
};

const VARIANT = [
  ID,
  ...text("title sku barcode"),
  ...plain("Money", "price compareAtPrice"),
  ...counts("position inventoryQuantity"),
  ...times("createdAt updatedAt"),
  ref("inventoryItem", "InventoryItem"),
  part("selectedOptions", "SelectedOption", text("name value")),
];

const products: Resource = {
  name: "products",
  root: "products",
  type: "Product",
  scope: "read_products",
  pageSize: 25,
  filters: { updated_at: "UPDATED_AT", created_at: "CREATED_AT", published_at: "PUBLISHED_AT" },
  idSort: "ID",
  hasIdSearch: true,
  fields: [
    ID,
    ...text("title handle vendor productType descriptionHtml"),
    ...plain("ProductStatus", "status"),
    ...times("createdAt updatedAt publishedAt"),
    ...counts("totalInventory"),
    ...plain("[String]", "tags"),
    part("options", "ProductOption", [
      ID,
      ...text("name"),
      ...counts("position"),
      ...plain("[String]", "values"),
    ]),
    connection("variants", "ProductVariant", 25, VARIANT),
  ],
};

const inventoryItems: Resource = {
  name: "inventory_items",
  root: "inventoryItems",
  type: "InventoryItem",
  scope: "read_inventory",
  pageSize: 50,
  filters: { updated_at: null, created_at: null },
  idSort: null,
  hasIdSearch: true,
  fields: [
    ID,
    ...text("sku harmonizedSystemCode provinceCodeOfOrigin"),
    ...plain("CountryCode", "countryCodeOfOrigin"),
    ...times("createdAt updatedAt"),
    ...flags("tracked requiresShipping"),
    part("unitCost", "MoneyV2", MONEY),
    ref("variant", "ProductVariant"),
    connection("inventoryLevels", "InventoryLevel", 10, [
      ID,
      ...times("updatedAt"),
      ref("location", "Location"),
      {
        ...part("quantities", "InventoryQuantity", [...text("name"), ...counts("quantity")]),
        args: 'names: ["available", "on_hand", "committed", "incoming"]',
      },
    ]),
  ],
};

const locations: Resource = {
  name: "locations",
  root: "locations",
  type: "Location",
  args: "includeInactive: true, includeLegacy: true",
  scope: "read_locations",
  pageSize: 250,
  filters: {},
  idSort: "ID",
  hasIdSearch: false,
  fields: [
    ID,
    ...text("name"),
    ...times("createdAt updatedAt"),
    ...flags("isActive fulfillsOnlineOrders hasActiveInventory shipsInventory"),
    part(
      "address",
      "LocationAddress",
      text("address1 address2 city province provinceCode country countryCode zip phone"),
    ),
  ],
};

/** Refunds are nested in their orders, and a refund changes its order. */
const refunds: Resource = {
  name: "refunds",
  root: "orders",
  type: "Order",
  scope: "read_orders",
  pageSize: 10,
  filters: { updated_at: "UPDATED_AT" },
  idSort: "ID",
  hasIdSearch: true,
  isOrderHistory: true,
  rows: "refunds",
  fields: [
    {
      ...part("refunds", "Refund", [
        ID,
        ...times("createdAt updatedAt"),
        ...text("note"),
        ...money("totalRefundedSet"),
        connection("refundLineItems", "RefundLineItem", 10, [
          ID,
          ...counts("quantity"),
          ...plain("RefundLineItemRestockType", "restockType"),
          ref("lineItem", "LineItem"),
          ...money("subtotalSet totalTaxSet"),
        ]),
      ]),
      kind: "list",
      first: 5,
    },
  ],
};

export const RESOURCES: readonly Resource[] = [
  orders,
  customers,
  products,
  inventoryItems,
  locations,
  refunds,
];

/** The fields of a row. */
export const rowFields = ({ fields, rows }: Resource): readonly Field[] =>
  rows === undefined ? fields : (fields.find(({ name }) => name === rows)?.of ?? []);

/** `totalPriceSet` as `total_price_set`. */
export const snakeCase = (name: string): string =>
  name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
