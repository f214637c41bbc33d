import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { slot } from "../../base/memory.ts";
import { instantMs } from "../api/instants.ts";
import { rest } from "../api/throttle.ts";
import { readGroups } from "./bulk-file.ts";
import { query } from "./client.ts";
import { bulkQuery, canBeBulk } from "./query.ts";
import type { Reading } from "./reading.ts";
import { wholeSecond } from "./request.ts";
import { type ShopifyLink, shopOf, versionOf } from "./shape.ts";

/** Objects that are read in pages before a bulk operation reads the rest. */
export const PAGED_FIRST = 1_000;

/** First poll of a bulk operation. The interval then grows. */
const FIRST_POLL_MS = 1_000;
const MAX_POLL_MS = 30_000;

/** How long the result of an interrupted run's operation is used. */
const FRESH_MS = 3_600_000;

/** Shopify's search index lags; changes as recent as this are read in pages afterwards. */
const SEARCH_LAG_MS = 120_000;

/** Shops that don't put child objects right after their parents, although requested. */
const UNGROUPED = slot(() => new Set<string>());

/** How to read the rest of a list in one operation. */
export interface Leap {
  /** The search conditions, without the start value. */
  conditions: (from: string, to: string | null) => string | null;
  /** The value that rows are sorted by, comparable by `isBefore`. */
  orderOf(node: JsonObject): string | null;
  /** Whether rows are sorted by the number in their ID; otherwise by time. */
  isById: boolean;
}

/** A started operation, stored until it has been read. */
interface Begun {
  id: string;
  from: string;
  to: string | null;
}

interface Operation extends Begun {
  status: string;
  errorCode: string;
  url: string | null;
  objects: number;
  completedAt: number;
}

export const canLeap = (reading: Reading): boolean =>
  reading.resource.hasIdSearch &&
  reading.resource.rows === undefined &&
  canBeBulk(reading.fields) &&
  !reading.session.link.memory.of(UNGROUPED).has(reading.session.link.connectionId);

/**
 * All objects from `from` on, by one bulk operation. Returns the value from which pages continue, or null if it yielded
 * nothing and they continue where they were. Resumes the operation of an interrupted run. A failed operation yields
 * nothing: its partial data is never read. Throws `row_count_mismatch`, `upstream`.
 */
export async function* readBulk(
  reading: Reading,
  leap: Leap,
  from: string,
): AsyncGenerator<JsonObject[], string | null> {
  const { link } = reading.session;
  const key = keyOf(reading, leap);
  const operation = await gather(reading, leap, from, key);
  if (operation === null) return null;
  const isBefore = (a: string, b: string) => (leap.isById ? Number(a) < Number(b) : a < b);
  const connection = reading.fields.find(({ kind }) => kind === "connection")?.name ?? null;
  let last = from;
  let roots = 0;
  const freshUrl = async () => (await readStatus(reading, operation))?.url ?? null;
  try {
    for await (const nodes of readGroups(link, { ...operation, freshUrl, connection })) {
      const fresh = nodes.filter((node) => {
        const order = leap.orderOf(node);
        if (order !== null && isBefore(last, order)) last = order;
        return order === null || !isBefore(order, from);
      });
      roots += nodes.length;
      if (fresh.length > 0) yield fresh;
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { reason } = error.details ?? {};
    if (reason === "ungrouped") link.memory.of(UNGROUPED).add(link.connectionId);
    if (reason === "ungrouped" || error.code === "row_count_mismatch") await link.state?.keep(key, null);
    if (reason !== "bulk_gone") throw error;
    await link.state?.keep(key, null);
    link.warn?.(`${error.message} ${reading.resource.name} is read page by page.`);
    return null;
  }
  await link.state?.keep(key, null);
  if (roots === 0) return null; // at least the last row of the pages should have been included
  link.note?.(`${roots} objects came by a bulk operation of Shopify.`);
  return leap.isById ? String(Number(last) + 1) : operation.to;
}

/** Waits for a completed operation; null, with a warning, if there is none. */
async function gather(reading: Reading, leap: Leap, from: string, key: string): Promise<Operation | null> {
  const { session, resource } = reading;
  const { link } = session;
  try {
    const left = await findLeft(reading, leap, from, key);
    const begun = left ?? (await begin(reading, leap, from));
    if (begun === null) {
      link.note?.(
        `Shopify is busy with another bulk operation. ${resource.name} is read page by page instead.`,
      );
      return null;
    }
    if (left === null) await link.state?.keep(key, JSON.stringify(begun));
    link.note?.(`The rest of ${resource.name} is read by a bulk operation of Shopify.`);
    const ended = await awaitEnd(reading, begun);
    if (ended?.status === "COMPLETED") return ended;
    await link.state?.keep(key, null);
    const how = ended ? [ended.status, ended.errorCode].filter((word) => word !== "").join(", ") : "gone";
    link.warn?.(
      `Shopify's bulk operation for ${resource.name} failed (${how}). It is read page by page instead.`,
    );
    return null;
  } catch (error) {
    if (!(error instanceof AppError) || link.signal.aborted) throw error;
    link.note?.(
      `Shopify takes no bulk operation for ${resource.name}; it is read page by page. ${error.message}`,
    );
    return null; // pages return the same rows, only slower, and report errors of the shop
  }
}

/** The operation of an interrupted run, if it is still usable and leaves no gap after `from`. */
async function findLeft(reading: Reading, leap: Leap, from: string, key: string): Promise<Operation | null> {
  const { link } = reading.session;
  const kept: unknown = JSON.parse((await link.state?.read(key)) ?? "null");
  if (!isObject(kept) || typeof kept.id !== "string" || typeof kept.from !== "string") return null;
  const begun: Begun = { id: kept.id, from: kept.from, to: typeof kept.to === "string" ? kept.to : null };
  const reaches = leap.isById ? Number(begun.from) <= Number(from) : begun.from <= from;
  if (!reaches || (begun.to !== null && begun.to <= from)) return null;
  const operation = await readStatus(reading, begun);
  if (operation === null) return null;
  const isRunning = /^(CREATED|RUNNING)$/.test(operation.status);
  const isFresh =
    operation.status === "COMPLETED" && operation.completedAt > link.clock.now().getTime() - FRESH_MS;
  return isRunning || isFresh ? operation : null;
}

const BEGIN =
  "mutation bulk($query: String!) { bulkOperationRunQuery(query: $query, groupObjects: true) { bulkOperation { id } userErrors { field message } } }";
const CURRENT = "query currentBulk { currentBulkOperation(type: QUERY) { id status query } }";

/** Starts an operation. Null if Shopify is running another one for this app. */
async function begin(reading: Reading, leap: Leap, from: string): Promise<Begun | null> {
  const { session } = reading;
  const to = leap.isById ? null : wholeSecond(session.link.clock.now().getTime() - SEARCH_LAG_MS);
  if (to !== null && to <= from) throw new AppError("upstream", "All remaining objects have just changed.");
  const text = bulkQuery(reading.resource, reading.fields, reading.leftOut, leap.conditions(from, to));
  const { data } = await query(session, BEGIN, { query: text });
  const reply = isObject(data.bulkOperationRunQuery) ? data.bulkOperationRunQuery : {};
  if (isObject(reply.bulkOperation) && typeof reply.bulkOperation.id === "string") {
    return { id: reply.bulkOperation.id, from, to };
  }
  const [error] = Array.isArray(reply.userErrors) ? reply.userErrors.filter(isObject) : [];
  const reason = String(error?.message ?? "No reason given.").slice(0, 300);
  if (!/already in progress/i.test(reason)) throw new AppError("upstream", `Shopify refused it: ${reason}`);
  // A request whose response was lost may have started this operation.
  const { data: now } = await query(session, CURRENT);
  const current = isObject(now.currentBulkOperation) ? now.currentBulkOperation : {};
  return current.query === text && typeof current.id === "string" ? { id: current.id, from, to } : null;
}

async function awaitEnd(reading: Reading, begun: Begun): Promise<Operation | null> {
  const { link } = reading.session;
  for (let waitMs = FIRST_POLL_MS; ; waitMs = Math.min(waitMs * 1.5, MAX_POLL_MS)) {
    const operation = await readStatus(reading, begun);
    if (!operation || !/^(CREATED|RUNNING|CANCELING)$/.test(operation.status)) return operation;
    await rest(link, waitMs);
  }
}

const STATUS_QUERY =
  "query bulkOperation($id: ID!) { node(id: $id) { ... on BulkOperation { id status errorCode objectCount url completedAt } } }";

/** Current state of the operation. Null if Shopify no longer has it. */
async function readStatus({ session }: Reading, begun: Begun): Promise<Operation | null> {
  const { data } = await query(session, STATUS_QUERY, { id: begun.id });
  const { node } = data;
  if (!isObject(node) || typeof node.status !== "string") return null;
  return {
    ...{ id: begun.id, from: begun.from, to: begun.to, status: node.status },
    errorCode: typeof node.errorCode === "string" ? node.errorCode : "",
    url: typeof node.url === "string" ? node.url : null,
    objects: Number(node.objectCount ?? 0),
    completedAt: instantMs(node.completedAt),
  };
}

/** The key under which an operation is stored, so that the same work finds it again. */
function keyOf({ session, resource, fields, leftOut }: Reading, leap: Leap): string {
  const { config }: ShopifyLink = session.link;
  const text = bulkQuery(resource, fields, leftOut, leap.conditions("0", null));
  const hash = new Bun.CryptoHasher("sha256").update(`${shopOf(config)} ${versionOf(config)} ${text}`);
  return `shopify bulk ${resource.name} ${hash.digest("hex").slice(0, 32)}`;
}
