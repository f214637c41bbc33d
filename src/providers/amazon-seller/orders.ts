import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { expiredCursor, walkPages } from "../api/pages.ts";
import type { Extraction, ExtractRequest } from "../contract.ts";
import { callSeller, SYSTEM } from "./client.ts";
import { readPeriod } from "./period.ts";
import type { SellerLink } from "./shape.ts";

/** Additional data of an order. The two with personal data are only requested with `includePii`. */
const DATA = ["PROCEEDS", "EXPENSE", "PROMOTION", "CANCELLATION", "FULFILLMENT", "PACKAGES"];
const PERSONS = ["BUYER", "RECIPIENT"];

/** The token of the first page: empty. */
export const FIRST = "";

/** Field names of one version of the Orders API. */
const VERSIONS = {
  "2026-01-01": { id: "orderId", updated: "lastUpdatedTime", created: "createdTime" },
  v0: { id: "AmazonOrderId", updated: "LastUpdateDate", created: "PurchaseDate" },
} as const;

const versionOf = (link: SellerLink) => link.config.apiVersion ?? "2026-01-01";

const orderFields = (link: SellerLink) => VERSIONS[versionOf(link)];

/** Orders updated in the period (or created, if that is the cursor), up to two minutes ago. */
export const extractOrders = (link: SellerLink, request: ExtractRequest): Extraction => ({
  kind: "rows",
  pages: orderPages(link, request),
  ranged: false,
});

/** One row for each item of those orders, with its order's ID and update time. */
export const extractOrderItems = (link: SellerLink, request: ExtractRequest): Extraction => ({
  kind: "rows",
  pages: itemPages(link, request),
  ranged: false,
});

async function* orderPages(link: SellerLink, request: ExtractRequest): AsyncGenerator<JsonObject[]> {
  const version = versionOf(link);
  const { id, updated, created } = VERSIONS[version];
  if (version === "v0") {
    link.warn?.(
      "Amazon removes version v0 of its Orders API on 27 March 2027. Set apiVersion to 2026-01-01.",
    );
  }
  const period = readPeriod(link, request, { [updated]: "lastUpdated", [created]: "created" });
  if (period === null) return;
  const watch = new PersonalData(link);
  const pages = walkPages<string>({
    system: SYSTEM,
    first: FIRST,
    read: (token) => (version === "v0" ? readOldPage : readPage)(link, period, token, watch),
    keyOf: (row) => `${row[id]} ${row[updated]}`,
    maxRows: request.range ? null : request.maxRows,
    signal: link.signal,
  });
  for await (const rows of pages) {
    watch.see(rows);
    yield rows;
  }
  watch.end();
}

type Period = NonNullable<ReturnType<typeof readPeriod>>;

async function readPage(link: SellerLink, period: Period, token: string, watch: PersonalData) {
  const ask = () =>
    callSeller(link, {
      operation: "searchOrders",
      path: "/orders/2026-01-01/orders",
      query: {
        marketplaceIds: link.config.marketplaceIds.join(","),
        [`${period.by}After`]: period.from,
        [`${period.by}Before`]: period.to,
        includedData: [...DATA, ...(watch.isAsked ? PERSONS : [])].join(","),
        maxResultsPerPage: "100",
        ...(token === FIRST ? {} : { paginationToken: token }),
      },
    });
  const reply = await ask().catch((error: unknown) => {
    // A missing role for personal data must not make the orders unavailable.
    if (watch.refuse(error)) return ask();
    throw expired(error, token);
  });
  const pagination = isObject(reply.pagination) ? reply.pagination : {};
  return { rows: rowsOf(reply.orders, "orders"), next: textOrNull(pagination.nextToken) };
}

async function readOldPage(link: SellerLink, period: Period, token: string) {
  const by = period.by === "created" ? "Created" : "LastUpdated";
  const reply = await callSeller(link, {
    operation: "getOrders",
    path: "/orders/v0/orders",
    query: {
      MarketplaceIds: link.config.marketplaceIds.join(","),
      MaxResultsPerPage: "100",
      ...(token === FIRST
        ? { [`${by}After`]: period.from, [`${by}Before`]: period.to }
        : { NextToken: token }),
    },
  }).catch((error: unknown) => {
    throw expired(error, token);
  });
  const payload = isObject(reply.payload) ? reply.payload : {};
  return { rows: rowsOf(payload.Orders, "orders"), next: textOrNull(payload.NextToken) };
}

async function* itemPages(link: SellerLink, request: ExtractRequest): AsyncGenerator<JsonObject[]> {
  const { id, updated } = orderFields(link);
  if (request.range && request.range.field !== updated) {
    throw new AppError("definition_invalid", `The cursor of order_items can only be ${updated}.`);
  }
  for await (const orders of orderPages(link, { ...request, maxRows: null })) {
    const rows: JsonObject[] = [];
    for (const order of orders) {
      const own = { [id]: order[id] ?? null, [updated]: order[updated] ?? null };
      const items = versionOf(link) === "v0" ? await readItems(link, String(order[id])) : order.orderItems;
      for (const item of rowsOf(items ?? [], "items of an order")) rows.push({ ...own, ...item });
    }
    if (rows.length > 0) yield rows;
  }
}

async function readItems(link: SellerLink, orderId: string): Promise<JsonObject[]> {
  const items: JsonObject[] = [];
  const pages = walkPages<string>({
    system: SYSTEM,
    first: FIRST,
    async read(token) {
      const reply = await callSeller(link, {
        operation: "getOrderItems",
        path: `/orders/v0/orders/${encodeURIComponent(orderId)}/orderItems`,
        ...(token === FIRST ? {} : { query: { NextToken: token } }),
      });
      const payload = isObject(reply.payload) ? reply.payload : {};
      return { rows: rowsOf(payload.OrderItems, "items of an order"), next: textOrNull(payload.NextToken) };
    },
    keyOf: (row) => textOrNull(row.OrderItemId),
    maxRows: null,
    signal: link.signal,
  });
  for await (const rows of pages) items.push(...rows);
  return items;
}

/** Warns if buyers and addresses are requested and Amazon leaves them out. */
class PersonalData {
  isAsked: boolean;
  #orders = 0;
  #persons = 0;

  constructor(readonly link: SellerLink) {
    this.isAsked = link.config.includePii ?? false;
  }

  /** True if personal data may be why the request was rejected. It is then left out. */
  refuse(error: unknown): boolean {
    const denied = error instanceof AppError && error.details?.status === 403;
    if (!denied || !this.isAsked) return false;
    this.isAsked = false;
    this.#tell();
    return true;
  }

  see(rows: readonly JsonObject[]): void {
    this.#orders += rows.length;
    this.#persons += rows.filter(
      (row) => row.buyer ?? row.recipient ?? row.BuyerInfo ?? row.ShippingAddress,
    ).length;
  }

  end(): void {
    if (this.isAsked && this.#orders > 0 && this.#persons === 0) this.#tell();
  }

  #tell(): void {
    this.link.warn?.(
      "restricted_data_absent: Amazon doesn't return buyers and addresses to these credentials. The app needs a restricted role for them.",
    );
  }
}

/** Page tokens are valid for a day. */
const expired = (error: unknown, token: string): unknown =>
  token !== FIRST && error instanceof AppError && error.details?.status === 400
    ? expiredCursor(SYSTEM)
    : error;

const textOrNull = (value: Json | undefined): string | null =>
  typeof value === "string" && value !== "" ? value : null;

/** Rows of a response. A response without the expected list is an error. */
export function rowsOf(value: Json | undefined, what: string): JsonObject[] {
  if (Array.isArray(value)) return value.filter((row) => isObject(row)) as JsonObject[];
  throw new AppError("upstream", `${SYSTEM} returned a page without its ${what}.`, { retryable: true });
}
