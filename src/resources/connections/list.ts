import {
  and,
  asc,
  type Column,
  count,
  desc,
  eq,
  inArray,
  type Placeholder,
  type SQL,
  sql,
} from "drizzle-orm";
import type { Context } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import { countOf, totalOf } from "../../store/counts.ts";
import { prepared } from "../../store/prepared.ts";
import { contains } from "../../store/search.ts";
import type { ReadDb } from "../../store/store.ts";
import { type ConnectionRow, connections } from "./table.ts";
import type { ConnectionQuery } from "./wire.ts";

interface Sort {
  by: Column | SQL;
  /** The sort key of a row, for the cursor. */
  of(row: ConnectionRow): string;
}

const SORTS: Readonly<Record<ConnectionQuery["sort_by"], Sort>> = {
  name: { by: connections.name, of: (row) => row.name },
  created_at: { by: connections.createdAt, of: (row) => row.createdAt },
  updated_at: { by: connections.updatedAt, of: (row) => row.updatedAt },
  last_verified_at: {
    by: sql`coalesce(${connections.lastVerifiedAt}, '')`,
    of: (row) => row.lastVerifiedAt ?? "",
  },
  status: { by: connections.status, of: (row) => row.status },
  provider: { by: connections.provider, of: (row) => row.provider },
};

interface Listed {
  rows: ConnectionRow[];
  hasNext: boolean;
  offset: number;
  total: number;
  /** Only in cursor mode. Omitted on the last page. */
  nextCursor?: string;
}

/**
 * Returns a page by offset, or by cursor if there is one (empty: the first page). Pages by cursor neither repeat nor
 * skip rows when others are added or removed. Throws `invalid` and `cursor_expired` for a cursor.
 */
export async function listConnections(ctx: Context, query: ConnectionQuery): Promise<Listed> {
  const filters = filtersOf(query);
  const page =
    query.cursor === undefined
      ? await byOffset(ctx, query, filters)
      : await byCursor(ctx, query, query.cursor, filters);
  const count = () =>
    filters.length === 0
      ? countOf(ctx.db, ctx.organizationId, "connections")
      : countWhere(ctx, whereOf(ctx.organizationId, filters));
  const total = query.cursor === undefined ? await totalOf(query, page.rows, count) : await count();
  return { ...page, total };
}

function filtersOf({ ids, q, provider, status }: ConnectionQuery): SQL[] {
  return [
    ids && sql`${connections.id} in (select value from json_each(${JSON.stringify(ids)}))`,
    q ? contains(q, connections.name, connections.slug) : undefined,
    provider && inArray(connections.provider, provider),
    status && inArray(connections.status, status),
  ].filter((filter) => filter !== undefined);
}

async function countWhere(ctx: Context, where: SQL | undefined): Promise<number> {
  const [row] = await ctx.db.select({ n: count() }).from(connections).where(where);
  return row?.n ?? 0;
}

async function byOffset(ctx: Context, query: ConnectionQuery, filters: readonly SQL[]) {
  const page = { organizationId: ctx.organizationId, limit: query.limit + 1, offset: query.offset };
  const found =
    filters.length === 0
      ? await wholeList(query)(ctx.db).all(page)
      : await select(ctx.db, query, whereOf(ctx.organizationId, filters))
          .limit(page.limit)
          .offset(page.offset);
  return { rows: found.slice(0, query.limit), hasNext: found.length > query.limit, offset: query.offset };
}

async function byCursor(ctx: Context, query: ConnectionQuery, cursor: string, filters: readonly SQL[]) {
  const sort = SORTS[query.sort_by];
  const sorted = (values: readonly string[] | undefined) => [...(values ?? [])].sort();
  const scope = [
    "connections",
    ctx.organizationId,
    sorted(query.ids),
    query.q ?? "",
    sorted(query.provider),
    sorted(query.status),
    query.sort_by,
    query.order,
  ];
  const position = cursor === "" ? null : (readCursor(ctx, scope, cursor) as [string, string]);
  const from = position ? [past(sort, query.order, position)] : [];
  const where = whereOf(ctx.organizationId, [...filters, ...from]);
  const found = await select(ctx.db, query, where).limit(query.limit + 1);
  const rows = found.slice(0, query.limit);
  const last = found.length > query.limit ? rows.at(-1) : undefined;
  return {
    rows,
    hasNext: last !== undefined,
    offset: 0,
    ...(last ? { nextCursor: makeCursor(ctx, scope, [sort.of(last), last.id]) } : {}),
  };
}

const whereOf = (organizationId: string | Placeholder, filters: readonly SQL[]) =>
  and(eq(connections.organizationId, organizationId), ...filters);

/** Callers request one row more than the page has, to know whether there is another page. */
function select(db: ReadDb, { sort_by, order }: Order, where: SQL | undefined) {
  const direction = order === "asc" ? asc : desc;
  return db
    .select()
    .from(connections)
    .where(where)
    .orderBy(direction(SORTS[sort_by].by), direction(connections.id))
    .$dynamic();
}

type Order = Pick<ConnectionQuery, "sort_by" | "order">;

const makeWholeList = (order: Order) =>
  prepared((db: ReadDb) =>
    select(db, order, whereOf(sql.placeholder("organizationId"), []))
      .limit(sql.placeholder("limit"))
      .offset(sql.placeholder("offset"))
      .prepare(),
  );

const wholeLists = new Map<string, ReturnType<typeof makeWholeList>>();

/** The list without filters is the most frequent request. Its query is built once per order. */
function wholeList({ sort_by, order }: Order): ReturnType<typeof makeWholeList> {
  const key = `${sort_by} ${order}`;
  const list = wholeLists.get(key) ?? makeWholeList({ sort_by, order });
  wholeLists.set(key, list);
  return list;
}

const past = (sort: Sort, order: "asc" | "desc", [value, id]: [string, string]): SQL =>
  order === "asc"
    ? sql`(${sort.by}, ${connections.id}) > (${value}, ${id})`
    : sql`(${sort.by}, ${connections.id}) < (${value}, ${id})`;
