import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { instantMs } from "../api/instants.ts";
import { withLate } from "../api/late.ts";
import { walkPages } from "../api/pages.ts";
import type { Extraction, ExtractRequest } from "../contract.ts";
import { callSeller, SYSTEM } from "./client.ts";
import { FIRST, rowsOf } from "./orders.ts";
import { instantOf } from "./period.ts";
import type { SellerLink } from "./shape.ts";

const INVENTORY_CURSOR = "lastUpdatedTime";

/** Stock in Amazon's warehouses, one row for each SKU and marketplace, with `marketplaceId` added. */
export const extractInventory = (link: SellerLink, request: ExtractRequest): Extraction => ({
  kind: "rows",
  pages: inventoryPages(link, request),
  ranged: false,
});

async function* inventoryPages(link: SellerLink, request: ExtractRequest): AsyncGenerator<JsonObject[]> {
  const { range } = request;
  if (range && range.field !== INVENTORY_CURSOR) {
    throw new AppError("definition_invalid", `The cursor of inventory can only be ${INVENTORY_CURSOR}.`);
  }
  const from = instantOf(range?.from ?? null);
  if (!range) yield* walkMarketplaces(link, null, request.maxRows);
  else {
    yield* withLate({
      clock: link.clock,
      changedMs: (row) => instantMs(row[INVENTORY_CURSOR]),
      stateOf: (row) => `${row.marketplaceId} ${keyOf(row)}`,
      pages: (sinceMs) => walkMarketplaces(link, Math.max(from ?? 0, sinceMs ?? 0) || null, null),
    });
  }
}

const keyOf = (row: JsonObject) => `${row.sellerSku} ${row.fnSku} ${row.condition} ${row[INVENTORY_CURSOR]}`;

/** Pages of one marketplace after the other, each in Amazon's order. */
async function* walkMarketplaces(
  link: SellerLink,
  from: number | null,
  maxRows: number | null,
): AsyncGenerator<JsonObject[]> {
  for (const marketplaceId of link.config.marketplaceIds) {
    yield* walkPages<string>({
      system: SYSTEM,
      first: FIRST,
      read: (token) => readPage(link, marketplaceId, from, token),
      keyOf,
      maxRows,
      signal: link.signal,
    });
  }
}

async function readPage(link: SellerLink, marketplaceId: string, from: number | null, token: string) {
  const reply = await callSeller(link, {
    operation: "getInventorySummaries",
    path: "/fba/inventory/v1/summaries",
    query: {
      details: "true",
      granularityType: "Marketplace",
      granularityId: marketplaceId,
      marketplaceIds: marketplaceId,
      ...(from === null ? {} : { startDateTime: new Date(from).toISOString() }),
      ...(token === FIRST ? {} : { nextToken: token }),
    },
  });
  const payload = isObject(reply.payload) ? reply.payload : {};
  const pagination = isObject(reply.pagination) ? reply.pagination : {};
  const next = pagination.nextToken;
  return {
    rows: rowsOf(payload.inventorySummaries, "inventory").map((row) => ({ marketplaceId, ...row })),
    next: typeof next === "string" && next !== "" ? next : null,
  };
}
