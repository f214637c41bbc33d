import type { TestShopify } from "../peers/shopify.ts";

/** An API version that expires in the far future. */
export const LASTING = "2099-01";

export const money = (amount: string, currencyCode = "EUR") => ({
  shopMoney: { amount, currencyCode },
  presentmentMoney: { amount, currencyCode },
});

/** `2026-05-01T00:00:00Z` and this many minutes. */
export const minute = (n: number) =>
  `${new Date(Date.UTC(2026, 4, 1) + n * 60_000).toISOString().slice(0, 19)}Z`;

const gid = (type: string, id: number) => `gid://shopify/${type}/${id}`;

export function lineItem(id: number, more: object = {}) {
  return {
    id: gid("LineItem", id),
    name: `Thing ${id}`,
    title: `Thing ${id}`,
    sku: `T-${id}`,
    vendor: "Acme",
    quantity: 1,
    currentQuantity: 1,
    requiresShipping: true,
    taxable: true,
    product: { id: gid("Product", 1) },
    variant: { id: gid("ProductVariant", 1) },
    originalUnitPriceSet: money("10.10"),
    discountedTotalSet: money("10.10"),
    totalDiscountSet: money("0.00"),
    ...more,
  };
}

/** Order number `n`, changed `n` minutes into May 2026. */
export function order(n: number, more: object = {}) {
  return {
    id: gid("Order", n),
    name: `#${n}`,
    email: `c${n % 7}@example.com`,
    createdAt: minute(n),
    updatedAt: minute(n),
    processedAt: minute(n),
    currencyCode: "EUR",
    presentmentCurrencyCode: "EUR",
    confirmed: true,
    test: false,
    taxesIncluded: true,
    tags: n % 2 === 0 ? ["even"] : [],
    discountCodes: [],
    subtotalPriceSet: money("10.10"),
    totalPriceSet: money(`${n}.10`),
    totalTaxSet: money("0.00"),
    totalDiscountsSet: money("0.00"),
    totalShippingPriceSet: money("0.00"),
    totalRefundedSet: money("0.00"),
    currentTotalPriceSet: money(`${n}.10`),
    customer: { id: gid("Customer", n % 7) },
    billingAddress: null,
    shippingAddress: { city: "Graz", countryCodeV2: "AT", zip: "8010" },
    lineItems: [lineItem(n * 10)],
    refunds: [],
    ...more,
  };
}

export function customer(n: number, more: object = {}) {
  return {
    id: gid("Customer", n),
    firstName: `First ${n}`,
    lastName: `Last ${n}`,
    displayName: `First ${n} Last ${n}`,
    email: `c${n}@example.com`,
    createdAt: minute(n),
    updatedAt: minute(n),
    state: "ENABLED",
    numberOfOrders: "3",
    amountSpent: { amount: "12.30", currencyCode: "EUR" },
    verifiedEmail: true,
    taxExempt: false,
    tags: [],
    defaultAddress: null,
    ...more,
  };
}

export function refund(id: number, n: number, items = 1) {
  return {
    id: gid("Refund", id),
    createdAt: minute(n),
    updatedAt: minute(n),
    note: null,
    totalRefundedSet: money("1.00"),
    refundLineItems: Array.from({ length: items }, (_, index) => ({
      id: gid("RefundLineItem", id * 100 + index),
      quantity: 1,
      restockType: "NO_RESTOCK",
      lineItem: { id: gid("LineItem", 1) },
      subtotalSet: money("1.00"),
      totalTaxSet: money("0.10"),
    })),
  };
}

export function product(n: number, variants = 1) {
  return {
    id: gid("Product", n),
    title: `Thing ${n}`,
    handle: `thing-${n}`,
    vendor: "Acme",
    productType: "Things",
    descriptionHtml: "<p>A thing</p>",
    status: "ACTIVE",
    createdAt: minute(n),
    updatedAt: minute(n),
    publishedAt: null,
    totalInventory: 5,
    tags: ["a", "b"],
    options: [{ id: gid("ProductOption", n), name: "Size", position: 1, values: ["S", "M"] }],
    variants: Array.from({ length: variants }, (_, index) => ({
      id: gid("ProductVariant", n * 1000 + index),
      title: `V${index}`,
      price: "9.99",
      position: index + 1,
      createdAt: minute(n),
      updatedAt: minute(n),
      inventoryItem: { id: gid("InventoryItem", n * 1000 + index) },
      selectedOptions: [{ name: "Size", value: "S" }],
    })),
  };
}

export function inventoryItem(n: number, levels = 1) {
  return {
    id: gid("InventoryItem", n),
    sku: `S-${n}`,
    createdAt: minute(n),
    updatedAt: minute(n),
    tracked: true,
    requiresShipping: true,
    countryCodeOfOrigin: "AT",
    unitCost: { amount: "4.50", currencyCode: "EUR" },
    variant: { id: gid("ProductVariant", n) },
    inventoryLevels: Array.from({ length: levels }, (_, index) => ({
      id: `gid://shopify/InventoryLevel/${n}${index}?inventory_item_id=${n}`,
      updatedAt: minute(n),
      location: { id: gid("Location", index + 1) },
      quantities: [
        { name: "available", quantity: index },
        { name: "on_hand", quantity: index + 1 },
      ],
    })),
  };
}

export const location = (n: number) => ({
  id: gid("Location", n),
  name: `Shop ${n}`,
  createdAt: minute(n),
  updatedAt: minute(n),
  isActive: n !== 2,
  fulfillsOnlineOrders: true,
  hasActiveInventory: true,
  shipsInventory: true,
  address: { city: "Graz", countryCode: "AT" },
});

/** Calls `make` with the numbers from 1 to `n`. */
export const many = <T>(n: number, make: (n: number) => T): T[] =>
  Array.from({ length: n }, (_, index) => make(index + 1));

/** Body of a connection to the peer. */
export const shopConnection = (peer: TestShopify, config: object = {}, name = "Shop") => ({
  name,
  provider: "shopify",
  config: { shopDomain: peer.shop, apiVersion: LASTING, baseUrl: peer.baseUrl, ...config },
  credentials: { accessToken: peer.token },
});
