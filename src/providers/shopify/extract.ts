import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { instantMs } from "../api/instants.ts";
import { withLate } from "../api/late.ts";
import { type ApiPage, type PageWalk, walkPages } from "../api/pages.ts";
import type { Extraction, ExtractRequest } from "../contract.ts";
import { canLeap, PAGED_FIRST, readBulk } from "./bulk.ts";
import { openSession, query, SYSTEM } from "./client.ts";
import { isDenied } from "./failure.ts";
import { completeNode } from "./nested.ts";
import { pageQuery, searchText } from "./query.ts";
import { askAdapting, type Reading } from "./reading.ts";
import { checkRange, chosenFields, findResource, type Range, wholeSecond } from "./request.ts";
import { itemsOf, numericId, toRow } from "./rows.ts";
import type { ShopifyLink } from "./shape.ts";

/** Shopify's limit for one page. */
const MAX_PAGE = 250;
/** Shopify paginates up to 25,000 objects of one list; before that, a new list starts at the current position. */
const OBJECTS_OF_A_LIST = 20_000;
const SIXTY_DAYS_MS = 60 * 86_400_000;

/** Request for one page: from `order` on, and within it after `after`. */
interface PageRequest {
  order: string | null;
  after: string | null;
}

/**
 * The rows of one resource, page by page. Shopify's search is accurate to the second, so the caller applies the range
 * too. Throws `not_found`, `cursor_field_missing`, `definition_invalid`, `upstream`.
 */
export async function extractResource(link: ShopifyLink, request: ExtractRequest): Promise<Extraction> {
  const resource = findResource(request.spec);
  if (request.where) {
    throw new AppError("definition_invalid", "Shopify doesn't support conditions. Remove `where`.");
  }
  const range = checkRange(resource, request.range);
  const reading: Reading = {
    session: openSession(link),
    resource,
    fields: chosenFields(resource, request.columns, range?.field ?? null),
    leftOut: new Set(),
    pageSize: Math.min(request.batchSize ?? resource.pageSize, request.maxRows ?? MAX_PAGE, MAX_PAGE),
  };
  if (resource.isOrderHistory) await tellHistory(link, range?.from ?? null, request.keys !== undefined);
  return { kind: "rows", pages: rowsOf(reading, request, range), ranged: false };
}

async function* rowsOf(
  reading: Reading,
  request: ExtractRequest,
  range: Range | null,
): AsyncGenerator<JsonObject[]> {
  const { resource } = reading;
  const { link } = reading.session;
  // Refunds are found by their order's last change, which is never before their own. The range's end can't be used.
  const searched = resource.rows === undefined ? range?.field : range === null ? undefined : "updated_at";
  const filter = searched !== undefined && Object.hasOwn(resource.filters, searched) ? searched : null;
  const sort = filter === null ? null : (resource.filters[filter] ?? null);
  const order = sort === null ? "id" : (filter ?? "id");
  const sortKey = sort ?? resource.idSort;
  const from = range?.from ?? null;
  const to = resource.rows === undefined ? (range?.to ?? null) : null;
  const conditions = (start: string | null, end: string | null = to, since: string | null = null) =>
    searchText([
      since === null ? null : `updated_at:>='${since}'`,
      filter !== null && from !== null && (sort === null || start === null) ? `${filter}:>='${from}'` : null,
      filter !== null && end !== null ? `${filter}:<'${end}'` : null,
      start === null ? null : sort === null ? `id:>=${start}` : `${filter}:>='${start}'`,
    ]);
  const isCut = resource.rows === undefined && (range === null || (sort !== null && range.field === filter));

  const walk: (since: string | null) => PageWalk<PageRequest> = (since) => ({
    system: SYSTEM,
    first: { order: null, after: null },
    read: (page) => readPage(reading, page, conditions(page.order, to, since), sortKey),
    keyOf: ({ id, updatedAt }) => (typeof id === "string" ? `${id} ${updatedAt ?? ""}` : null),
    orderOf: (node) => orderOf(node, order),
    ...(resource.hasIdSearch ? { resume: (last: string) => ({ order: last, after: null }) } : {}),
    resumeAfter: OBJECTS_OF_A_LIST,
    ...(request.maxRows === null && isCut && canLeap(reading)
      ? {
          leap: {
            after: PAGED_FIRST,
            rows: (start: string) =>
              readBulk(
                reading,
                {
                  conditions: (begin, end) => conditions(begin, earlier(to, end)),
                  orderOf: (node) => orderOf(node, order),
                  isById: order === "id",
                },
                start,
              ),
          },
        }
      : {}),
    maxRows: isCut ? request.maxRows : null,
    signal: link.signal,
  });
  // A list sorted by ID isn't sorted by its cursor.
  const mayMiss = range !== null && sort === null && Object.hasOwn(resource.filters, "updated_at");
  const pages = mayMiss
    ? withLate({
        clock: link.clock,
        changedMs: ({ updatedAt }) => instantMs(updatedAt),
        stateOf: ({ id, updatedAt }) => `${id} ${updatedAt}`,
        pages: (sinceMs) => walkPages(walk(sinceMs === null ? null : wholeSecond(sinceMs))),
      })
    : walkPages(walk(null));
  for await (const nodes of pages) {
    for (const node of nodes) await completeNode(reading, node);
    yield resource.rows === undefined
      ? nodes.map(toRow)
      : nodes.flatMap((node) => rowsBelow(node, resource.rows));
  }
}

/** The earlier of two timestamps; null means none. */
const earlier = (a: string | null, b: string | null): string | null =>
  a === null || b === null ? (a ?? b) : a < b ? a : b;

/** Where a list continues: the value of its sort field, to the second, or the number in the ID. */
function orderOf(node: JsonObject, order: string): string | null {
  if (order === "id") {
    const id = typeof node.id === "string" ? numericId(node.id) : null;
    return typeof id === "number" ? String(id) : null;
  }
  const name = order.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const value = node[name];
  const ms = instantMs(value);
  return Number.isNaN(ms) ? null : wholeSecond(ms);
}

function rowsBelow(node: JsonObject, list = ""): JsonObject[] {
  const value = node[list];
  const items = Array.isArray(value) ? value : (itemsOf(value) ?? []);
  const { id, name } = toRow({ id: node.id ?? null, name: node.name ?? null });
  return items
    .filter(isObject)
    .map((item) => ({ ...toRow(item), order_id: id ?? null, order_name: name ?? null }));
}

async function readPage(
  reading: Reading,
  page: PageRequest,
  search: string | null,
  sort: string | null,
): Promise<ApiPage<PageRequest>> {
  const { resource, session } = reading;
  const { data } = await askAdapting(reading, () => ({
    text: pageQuery(resource, reading.fields, reading.leftOut, sort),
    variables: { first: reading.pageSize, after: page.after, query: search },
  }));
  const list = data[resource.root];
  const items = itemsOf(list);
  if (!isObject(list) || items === null) {
    throw new AppError("upstream", `Shopify's response has no ${resource.root}.`, {
      retryable: true,
      cause: data,
    });
  }
  const nodes = items.filter(isObject);
  if (nodes.length < items.length) {
    session.link.warn?.(
      `Shopify returned ${items.length - nodes.length} objects as null. They were omitted.`,
      { isPartial: true },
    );
  }
  const info = isObject(list.pageInfo) ? list.pageInfo : {};
  const lastEdge = Array.isArray(list.edges) ? list.edges.at(-1) : null;
  const cursor = info.endCursor ?? (isObject(lastEdge) ? lastEdge.cursor : null);
  if (info.hasNextPage !== true) return { rows: nodes, next: null };
  if (typeof cursor !== "string") {
    throw new AppError("upstream", "Shopify reports more pages, but not where they start.");
  }
  return { rows: nodes, next: { ...page, after: cursor } };
}

/** Without a special scope an app doesn't see orders older than 60 days, and responses don't say so. */
async function tellHistory(link: ShopifyLink, from: string | null, comparesKeys: boolean): Promise<void> {
  const now = link.clock.now().getTime();
  if (from !== null && Date.parse(from) > now - SIXTY_DAYS_MS) return;
  const scopes = await readScopes(link);
  if (scopes === null && comparesKeys)
    link.warn?.(
      "Shopify doesn't say whether this access token has the scope read_all_orders, without which orders older than 60 days are missing.",
      { isPartial: true },
    );
  if (scopes === null || scopes.includes("read_all_orders")) return;
  link.warn?.(
    "This access token lacks the scope read_all_orders: Shopify returns only the orders of the last 60 days.",
    { isPartial: true },
  );
}

/** The token's scopes; null if Shopify doesn't return them. */
export async function readScopes(
  link: ShopifyLink,
  options: { isHurried?: boolean } = {},
): Promise<string[] | null> {
  try {
    const session = openSession(link, options);
    const { data, denied } = await query(session, "{ currentAppInstallation { accessScopes { handle } } }");
    const app = data.currentAppInstallation;
    if (denied.some(isDenied) || !isObject(app) || !Array.isArray(app.accessScopes)) return null;
    return app.accessScopes
      .filter(isObject)
      .flatMap(({ handle }) => (typeof handle === "string" ? [handle] : []));
  } catch (error) {
    if (error instanceof AppError && !error.retryable) return null; // the actual request reports the error
    throw error;
  }
}
