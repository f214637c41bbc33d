import { and, asc, desc, eq, sql } from "drizzle-orm";
import { notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { totalOf } from "../../store/counts.ts";
import { contains } from "../../store/search.ts";
import { type ApiRow, type ApiType, apiCatalog, apiCatalogItems, type ItemRow } from "./table.ts";
import type { CatalogQuery, WholeApi } from "./wire.ts";
import type { CatalogItemQuery } from "./wire-items.ts";

/** Every query here uses this condition: entries of other organizations don't exist. */
export const mine = (ctx: Context, id: string) =>
  and(eq(apiCatalog.organizationId, ctx.organizationId), eq(apiCatalog.id, id));

export const entity = (id: string) => ({ type: "catalog_entry" as const, id });

/** Throws `not_found`. */
export async function findApi(ctx: Context, id: string): Promise<ApiRow> {
  const [row] = await ctx.db.select().from(apiCatalog).where(mine(ctx, id));
  if (!row) throw notFound("API");
  return row;
}

/** Returns an entry with its endpoints or tools, in order. Throws `not_found`. */
export async function findWhole(ctx: Context, id: string): Promise<WholeApi> {
  const row = await findApi(ctx, id);
  return { row, items: await itemsOf(ctx, row.id) };
}

export const itemsOf = (ctx: Context, apiId: string): Promise<ItemRow[]> =>
  ctx.db
    .select()
    .from(apiCatalogItems)
    .where(eq(apiCatalogItems.apiId, apiId))
    .orderBy(asc(apiCatalogItems.position));

/** Null if the entry has none with that name. */
export async function findItem(ctx: Context, apiId: string, name: string): Promise<ItemRow | null> {
  const [item] = await ctx.db
    .select()
    .from(apiCatalogItems)
    .where(and(eq(apiCatalogItems.apiId, apiId), eq(apiCatalogItems.name, name)));
  return item ?? null;
}

/** Newest first. */
export async function listApis(
  ctx: Context,
  { q, type, status, limit, offset }: CatalogQuery,
): Promise<{ rows: ApiRow[]; total: number }> {
  const where = and(
    eq(apiCatalog.organizationId, ctx.organizationId),
    type && eq(apiCatalog.type, type),
    status && eq(apiCatalog.status, status),
    q === undefined
      ? undefined
      : contains(q, apiCatalog.name, apiCatalog.description, apiCatalog.url, apiCatalog.baseUrl),
  );
  const rows = await ctx.db
    .select()
    .from(apiCatalog)
    .where(where)
    .orderBy(desc(apiCatalog.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await totalOf({ limit, offset }, rows, () => ctx.db.$count(apiCatalog, where)) };
}

/** Enabled endpoints and tools of active entries, by name. */
export async function listItems(ctx: Context, { q, limit, offset }: CatalogItemQuery) {
  const described = sql`${apiCatalogItems.definition} ->> '$.description'`;
  const path = sql`${apiCatalogItems.definition} ->> '$.path'`;
  const words = (q ?? "").split(/\s+/).filter((word) => word !== "");
  const where = and(
    eq(apiCatalogItems.organizationId, ctx.organizationId),
    eq(apiCatalogItems.enabled, true),
    eq(apiCatalogItems.status, "active"),
    eq(apiCatalog.status, "active"),
    ...words.map((word) => contains(word, apiCatalogItems.name, apiCatalog.name, path, described)),
  );
  const from = ctx.db
    .select({ item: apiCatalogItems, apiName: apiCatalog.name, type: apiCatalog.type })
    .from(apiCatalogItems)
    .innerJoin(apiCatalog, eq(apiCatalog.id, apiCatalogItems.apiId))
    .where(where);
  const rows = await from
    .orderBy(asc(apiCatalogItems.name), asc(apiCatalogItems.apiId))
    .limit(limit)
    .offset(offset);
  const count = async () => {
    const [found] = await ctx.db
      .select({ count: sql<number>`count(*)` })
      .from(apiCatalogItems)
      .innerJoin(apiCatalog, eq(apiCatalog.id, apiCatalogItems.apiId))
      .where(where);
    return Number(found?.count ?? 0);
  };
  const total = await totalOf({ limit, offset }, rows, count);
  const items = rows.map(({ item: { apiId, name, definition }, apiName, type }) => ({
    apiId,
    apiName,
    type,
    name,
    description: definition.description,
    method: "method" in definition ? definition.method : null,
    path: "path" in definition ? definition.path : null,
  }));
  return { items, hasNext: offset + rows.length < total, limit, offset, total };
}

/** Returns the oldest entry with this URL. Null if there is none. */
export async function findByAddress(
  ctx: Context,
  type: ApiType,
  key: string,
): Promise<{ id: string; name: string } | null> {
  const [row] = await ctx.db
    .select({ id: apiCatalog.id, name: apiCatalog.name })
    .from(apiCatalog)
    .where(
      and(
        eq(apiCatalog.organizationId, ctx.organizationId),
        eq(apiCatalog.type, type),
        eq(apiCatalog.addressKey, key),
      ),
    )
    .orderBy(asc(apiCatalog.id))
    .limit(1);
  return row ?? null;
}
