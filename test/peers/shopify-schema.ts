import { buildSchema, type GraphQLSchema } from "graphql";

const connections = ["Order", "Customer", "Product", "InventoryItem", "Location"]
  .concat(["LineItem", "ProductVariant", "InventoryLevel", "RefundLineItem"])
  .map(
    (type) =>
      `type ${type}Connection { nodes: [${type}]! edges: [${type}Edge]! pageInfo: PageInfo! }
       type ${type}Edge { node: ${type} cursor: String! }`,
  )
  .join("\n");

const paging = "first: Int, after: String, last: Int, before: String, reverse: Boolean";

/** The part of the GraphQL Admin API that an extract reads, from the types on shopify.dev. */
export const shopifySchema: GraphQLSchema = buildSchema(`
  scalar DateTime scalar Decimal scalar Money scalar UnsignedInt64
  enum OrderSortKeys { CREATED_AT ID ORDER_NUMBER PROCESSED_AT UPDATED_AT }
  enum CustomerSortKeys { CREATED_AT ID NAME UPDATED_AT }
  enum ProductSortKeys { CREATED_AT ID PUBLISHED_AT TITLE UPDATED_AT }
  enum LocationSortKeys { ID NAME }
  interface Node { id: ID! }
  type PageInfo { hasNextPage: Boolean! endCursor: String }
  ${connections}

  enum BulkOperationType { MUTATION QUERY }
  enum BulkOperationStatus { CANCELED CANCELING COMPLETED CREATED EXPIRED FAILED RUNNING }
  enum BulkOperationErrorCode { ACCESS_DENIED INTERNAL_SERVER_ERROR TIMEOUT }
  type BulkOperation implements Node {
    id: ID! type: BulkOperationType! query: String! status: BulkOperationStatus! errorCode: BulkOperationErrorCode
    objectCount: UnsignedInt64! rootObjectCount: UnsignedInt64! fileSize: UnsignedInt64
    url: String partialDataUrl: String createdAt: DateTime! completedAt: DateTime
  }
  type BulkOperationUserError { field: [String!] message: String! }
  type BulkOperationRunQueryPayload { bulkOperation: BulkOperation userErrors: [BulkOperationUserError!]! }
  type Mutation { bulkOperationRunQuery(query: String!, groupObjects: Boolean!): BulkOperationRunQueryPayload }
  type Query {
    currentBulkOperation(type: BulkOperationType): BulkOperation
    shop: Shop!
    currentAppInstallation: AppInstallation!
    node(id: ID!): Node
    orders(${paging}, query: String, sortKey: OrderSortKeys): OrderConnection
    customers(${paging}, query: String, sortKey: CustomerSortKeys): CustomerConnection
    products(${paging}, query: String, sortKey: ProductSortKeys): ProductConnection
    inventoryItems(${paging}, query: String): InventoryItemConnection
    locations(${paging}, query: String, sortKey: LocationSortKeys, includeInactive: Boolean, includeLegacy: Boolean): LocationConnection
  }
  type Shop { name: String! myshopifyDomain: String! plan: ShopPlan! }
  type ShopPlan { displayName: String! }
  type AppInstallation { accessScopes: [AccessScope!]! }
  type AccessScope { handle: String! }
  type MoneyV2 { amount: Decimal! currencyCode: String! }
  type MoneyBag { shopMoney: MoneyV2! presentmentMoney: MoneyV2! }
  type MailingAddress {
    firstName: String lastName: String company: String address1: String address2: String city: String
    province: String provinceCode: String country: String countryCodeV2: String zip: String phone: String
  }
  type LocationAddress {
    address1: String address2: String city: String province: String provinceCode: String
    country: String countryCode: String zip: String phone: String
  }

  type Order implements Node {
    id: ID! name: String! email: String phone: String note: String sourceName: String customerLocale: String
    createdAt: DateTime! updatedAt: DateTime! processedAt: DateTime closedAt: DateTime cancelledAt: DateTime
    cancelReason: String displayFinancialStatus: String displayFulfillmentStatus: String
    currencyCode: String! presentmentCurrencyCode: String! confirmed: Boolean! test: Boolean! taxesIncluded: Boolean!
    tags: [String!]! discountCodes: [String!]!
    subtotalPriceSet: MoneyBag totalPriceSet: MoneyBag! totalTaxSet: MoneyBag totalDiscountsSet: MoneyBag
    totalShippingPriceSet: MoneyBag! totalRefundedSet: MoneyBag! currentTotalPriceSet: MoneyBag!
    customer: Customer billingAddress: MailingAddress shippingAddress: MailingAddress
    lineItems(${paging}): LineItemConnection!
    refunds(first: Int): [Refund!]!
  }
  type LineItem implements Node {
    id: ID! name: String! title: String! variantTitle: String sku: String vendor: String
    quantity: Int! currentQuantity: Int! requiresShipping: Boolean! taxable: Boolean!
    product: Product variant: ProductVariant
    originalUnitPriceSet: MoneyBag! discountedTotalSet: MoneyBag! totalDiscountSet: MoneyBag!
  }
  type Refund implements Node {
    id: ID! createdAt: DateTime updatedAt: DateTime! note: String totalRefundedSet: MoneyBag!
    refundLineItems(${paging}): RefundLineItemConnection!
  }
  type RefundLineItem {
    id: ID quantity: Int! restockType: String! lineItem: LineItem! subtotalSet: MoneyBag! totalTaxSet: MoneyBag!
  }
  type Customer implements Node {
    id: ID! firstName: String lastName: String displayName: String! email: String phone: String note: String
    locale: String createdAt: DateTime! updatedAt: DateTime! state: String! numberOfOrders: UnsignedInt64!
    amountSpent: MoneyV2! verifiedEmail: Boolean! taxExempt: Boolean! tags: [String!]! defaultAddress: MailingAddress
  }
  type Product implements Node {
    id: ID! title: String! handle: String! vendor: String! productType: String! descriptionHtml: String!
    status: String! createdAt: DateTime! updatedAt: DateTime! publishedAt: DateTime totalInventory: Int!
    tags: [String!]! options(first: Int): [ProductOption!]! variants(${paging}): ProductVariantConnection!
  }
  type ProductOption implements Node { id: ID! name: String! position: Int! values: [String!]! }
  type SelectedOption { name: String! value: String! }
  type ProductVariant implements Node {
    id: ID! title: String! sku: String barcode: String price: Money! compareAtPrice: Money position: Int!
    inventoryQuantity: Int createdAt: DateTime! updatedAt: DateTime! inventoryItem: InventoryItem!
    selectedOptions: [SelectedOption!]!
  }
  type InventoryItem implements Node {
    id: ID! sku: String harmonizedSystemCode: String provinceCodeOfOrigin: String countryCodeOfOrigin: String
    createdAt: DateTime! updatedAt: DateTime! tracked: Boolean! requiresShipping: Boolean! unitCost: MoneyV2
    variant: ProductVariant inventoryLevels(${paging}): InventoryLevelConnection!
  }
  type InventoryLevel implements Node {
    id: ID! updatedAt: DateTime! location: Location! quantities(names: [String!]!): [InventoryQuantity!]!
  }
  type InventoryQuantity { name: String! quantity: Int! }
  type Location implements Node {
    id: ID! name: String! createdAt: DateTime! updatedAt: DateTime! isActive: Boolean! fulfillsOnlineOrders: Boolean!
    hasActiveInventory: Boolean! shipsInventory: Boolean! address: LocationAddress!
  }
`);
