import { and, eq, inArray, like, ne, or, sql } from "drizzle-orm";
import { joinPath } from "../../catalog/addresses.ts";
import type { EndpointDefinition } from "../../catalog/contract.ts";
import type { Context, WriteContext } from "../../context.ts";
import { adminOnly } from "./items.ts";
import { isAdmin, isProtected } from "./protect.ts";
import { type ApiRow, type ApiType, apiCatalog, apiCatalogItems, type ItemRow } from "./table.ts";
import type { WholeApi } from "./wire.ts";

type Entry = Pick<ApiRow, "id" | "type" | "url" | "baseUrl" | "approvalRequired">;

/** Returns the host that answers, regardless of how the URL is written and whether it uses http or https. */
function hostOf({ url, baseUrl }: Pick<Entry, "url" | "baseUrl">): string {
  const { hostname, port } = new URL(baseUrl ?? url ?? "");
  return hostname.replace(/\.$/, "") + (port === "" ? "" : `:${port}`);
}

const READS = ["GET", "HEAD", "OPTIONS"];

/**
 * Requires approval for items that a non-admin adds to `entry`, if another entry for the same server has the same item
 * under approval, or has anything under approval and the item writes: a server may accept one call at several URLs.
 */
export async function protectedBeside(
  tx: WriteContext,
  entry: Entry,
  items: readonly ItemRow[],
): Promise<ItemRow[]> {
  const protectedItems = await heldAt(tx, entry);
  if (protectedItems.length === 0) return [...items];
  return items.map((item) => {
    const called = calledIn(entry, item);
    return protectedItems.some((one) => isLike(one, called)) ? { ...item, approvalRequired: true } : item;
  });
}

/**
 * If a protected item could be removed, anyone could add it again without protection, unless another entry still
 * protects it. Throws `forbidden`.
 */
export async function refuseUnprotecting(tx: WriteContext, { row, items }: WholeApi): Promise<void> {
  const protectedItems = items.filter(isProtected);
  if (isAdmin(tx) || (protectedItems.length === 0 && !row.approvalRequired)) return;
  const again = await protectedBeside(
    tx,
    row,
    protectedItems.map((item) => ({ ...item, approvalRequired: false })),
  );
  if (row.approvalRequired || !again.every(({ approvalRequired }) => approvalRequired))
    throw adminOnly(`${row.name}, which needs approval or holds a tool back,`);
}

/**
 * Returns which items of `rows` need approval through another entry for the same server, as a whole or one by one,
 * if that was set after they were added. An admin who protects a call in one entry means the call itself,
 * also in other entries. An item that an admin adds later keeps its own setting.
 */
export async function approvedBeside(
  ctx: Context,
  rows: readonly ApiRow[],
): Promise<(row: ApiRow, item: ItemRow) => boolean> {
  const hosts = new Map(rows.map((row) => [row.id, hostOf(row)]));
  const [only] = new Set(hosts.values()).size === 1 ? hosts.values() : [];
  const { id, type, url, baseUrl, approvalRequired, updatedAt } = apiCatalog;
  const fieldOf = (field: "method" | "path") =>
    sql<string | null>`json_extract(${apiCatalogItems.definition}, ${`$.${field}`})`;
  const protectedRows = (
    await ctx.db
      .select({
        entry: { id, type, url, baseUrl, approvalRequired },
        updatedAt,
        name: apiCatalogItems.name,
        method: fieldOf("method"),
        path: fieldOf("path"),
      })
      .from(apiCatalog)
      .innerJoin(apiCatalogItems, eq(apiCatalogItems.apiId, id))
      .where(
        and(
          eq(apiCatalog.organizationId, ctx.organizationId),
          or(eq(approvalRequired, true), eq(apiCatalogItems.approvalRequired, true)),
          only === undefined ? undefined : like(apiCatalog.addressKey, `${only.split(":")[0]}%`),
        ),
      )
  ).map(({ entry, updatedAt, ...item }) => ({
    apiId: entry.id,
    host: hostOf(entry),
    updatedAt,
    call: callOf(entry, item),
  }));
  return (row, item) => {
    const host = hosts.get(row.id);
    const others = protectedRows.filter(
      (one) => one.apiId !== row.id && one.host === host && row.createdAt < one.updatedAt,
    );
    if (others.length === 0) return false;
    const called = calledIn(row, item);
    return others.some(({ call }) => isSame(call, called));
  };
}

/** A call of an entry. Without a name, any call below its URL. */
interface Call {
  type: ApiType;
  name: string | null;
  method: string;
  path: readonly (string | null)[];
}

/** Returns what needs approval for the same server: whole entries, and items of other entries. */
async function heldAt(tx: WriteContext, entry: Entry): Promise<Call[]> {
  const host = hostOf(entry);
  const [name = ""] = host.split(":");
  const rows = (
    await tx.db
      .select()
      .from(apiCatalog)
      .where(
        and(
          eq(apiCatalog.organizationId, tx.organizationId),
          ne(apiCatalog.id, entry.id),
          like(apiCatalog.addressKey, `${name}%`),
        ),
      )
  ).filter((row) => hostOf(row) === host);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const items = await tx.db
    .select()
    .from(apiCatalogItems)
    .where(inArray(apiCatalogItems.apiId, [...byId.keys()]));
  return [
    ...rows.flatMap((row) => (row.approvalRequired ? [calledIn(row, null)] : [])),
    ...items.flatMap((item) => {
      const row = byId.get(item.apiId);
      return row && isProtected(item) ? [calledIn(row, item)] : [];
    }),
  ];
}

function isLike(protectedCall: Call, { type, name, method, path }: Call): boolean {
  if (type === "mcp")
    return protectedCall.type === "mcp" && (protectedCall.name === null || protectedCall.name === name);
  if (!READS.includes(method)) return true;
  if (protectedCall.type === "mcp" || !isWithin(path, protectedCall.path)) return false;
  return (
    protectedCall.name === null ||
    (protectedCall.method === method && protectedCall.path.length === path.length)
  );
}

/** Returns whether both are the same tool of the same server, or the same method and path. */
const isSame = (protectedCall: Call, call: Call): boolean =>
  protectedCall.type === call.type &&
  protectedCall.path.length === call.path.length &&
  isWithin(call.path, protectedCall.path) &&
  (call.type === "mcp" ? protectedCall.name === call.name : protectedCall.method === call.method);

function calledIn(entry: Entry, item: ItemRow | null): Call {
  const { method = "", path = "" } = (item?.definition ?? {}) as Partial<EndpointDefinition>;
  return callOf(entry, { name: item?.name ?? null, method, path });
}

function callOf(
  { type, url, baseUrl }: Entry,
  { name, method, path }: { name: string | null; method: string | null; path: string | null },
): Call {
  const parts = type === "mcp" ? partsOf(url ?? "", "") : partsOf(baseUrl ?? "", path ?? "");
  return { type, name, method: method ?? "", path: parts };
}

/** Returns the parts of a path, null for each that an argument fills in. */
const partsOf = (baseUrl: string, path: string): (string | null)[] =>
  joinPath(new URL(baseUrl).pathname, path)
    .split("/")
    .filter((part) => part !== "")
    .map((part) => (part.includes("{") ? null : plain(part)));

function plain(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // An invalid percent sign is treated as a literal character.
  }
}

const isWithin = (path: readonly (string | null)[], start: readonly (string | null)[]): boolean =>
  path.length >= start.length &&
  start.every((part, at) => part === null || path[at] === null || part === path[at]);
