import { and, asc, eq, gt } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import { sqlName } from "../../lake/views.ts";
import type { Here } from "../datasets/commit.ts";
import { lakeTables } from "../datasets/table.ts";
import { publishTable } from "./publish.ts";
import { type PageQuery, SEPARATOR } from "./wire.ts";

const DEFAULT_PAGE = 100;

/** A layer, or a dataset in one. */
interface Namespace {
  layer: string;
  dataset: string | null;
}

/** Throws `not_found` for a catalog that isn't the organization's. */
export async function findNamespace(ctx: Context, text: string): Promise<Namespace> {
  const [layer = "", dataset = null, ...more] = text.split(SEPARATOR);
  const [row] =
    more.length > 0
      ? []
      : await ctx.db
          .select({ layer: lakeTables.layer })
          .from(lakeTables)
          .where(
            and(
              eq(lakeTables.organizationId, ctx.organizationId),
              eq(lakeTables.layer, layer),
              dataset === null ? undefined : eq(lakeTables.dataset, dataset),
            ),
          )
          .limit(1);
  if (!row) throw missing("Namespace", text, "NoSuchNamespaceException");
  return { layer, dataset };
}

const missing = (noun: string, text: string, type: string) => {
  const shown = text.replaceAll(SEPARATOR, ".").slice(0, 200);
  return new AppError("not_found", `${noun} ${shown} not found.`, { type });
};

/** A page of a list, with the token for the next one. */
interface Page<T> {
  items: T[];
  next: string | null;
}

/** Lists the layers, or the datasets of one. Throws `not_found`, `invalid`. */
export async function listNamespaces(
  ctx: Context,
  parent: string | undefined,
  query: PageQuery,
): Promise<Page<string[]>> {
  const above = parent ? await findNamespace(ctx, parent) : null;
  if (above && above.dataset !== null) return { items: [], next: null };
  const column = above ? lakeTables.dataset : lakeTables.layer;
  return pageOf(ctx, ["namespaces", parent ?? ""], query, async (after, limit) => {
    const rows = await ctx.db
      .selectDistinct({ name: column })
      .from(lakeTables)
      .where(
        and(
          eq(lakeTables.organizationId, ctx.organizationId),
          above ? eq(lakeTables.layer, above.layer) : undefined,
          after === null ? undefined : gt(column, after),
        ),
      )
      .orderBy(asc(column))
      .limit(limit);
    return rows.map(({ name }) => ({ key: name, item: above ? [above.layer, name] : [name] }));
  });
}

/** Lists the tables of a dataset. A layer has none itself. Throws `not_found`, `invalid`. */
export async function listTables(
  ctx: Context,
  namespace: string,
  query: PageQuery,
): Promise<Page<{ namespace: string[]; name: string }>> {
  const { layer, dataset } = await findNamespace(ctx, namespace);
  if (dataset === null) return { items: [], next: null };
  return pageOf(ctx, ["tables", namespace], query, async (after, limit) => {
    const rows = await ctx.db
      .select({ name: lakeTables.tableName })
      .from(lakeTables)
      .where(
        and(
          eq(lakeTables.organizationId, ctx.organizationId),
          eq(lakeTables.layer, layer),
          eq(lakeTables.dataset, dataset),
          after === null ? undefined : gt(lakeTables.tableName, after),
        ),
      )
      .orderBy(asc(lakeTables.tableName))
      .limit(limit);
    return rows.map(({ name }) => ({
      key: name,
      item: { namespace: [layer, dataset], name },
    }));
  });
}

/** Without a page in the request, everything is returned, as the specification says. */
async function pageOf<T>(
  ctx: Context,
  scope: readonly string[],
  { pageToken, pageSize }: PageQuery,
  read: (after: string | null, limit: number) => Promise<{ key: string; item: T }[]>,
): Promise<Page<T>> {
  const size = pageToken === undefined ? Number.MAX_SAFE_INTEGER - 1 : (pageSize ?? DEFAULT_PAGE);
  const bound = ["iceberg", ctx.organizationId, ...scope];
  const after = pageToken ? String(readCursor(ctx, bound, pageToken, "pageToken")) : null;
  const rows = await read(after, size + 1);
  const page = rows.slice(0, size);
  const last = rows.length > size ? page.at(-1) : undefined;
  return {
    items: page.map(({ item }) => item),
    next: last ? makeCursor(ctx, bound, last.key) : null,
  };
}

/**
 * Returns a table of a dataset.
 * It is also found below its layer by its name in SQL, for engines without nested namespaces. Throws `not_found`.
 */
export async function findTable(ctx: Context, namespace: string, name: string): Promise<Here> {
  const { layer, dataset } = await findNamespace(ctx, namespace);
  const rows = await ctx.db
    .select({ dataset: lakeTables.dataset, tableName: lakeTables.tableName })
    .from(lakeTables)
    .where(
      and(
        eq(lakeTables.organizationId, ctx.organizationId),
        eq(lakeTables.layer, layer),
        dataset === null ? undefined : and(eq(lakeTables.dataset, dataset), eq(lakeTables.tableName, name)),
      ),
    );
  const found =
    dataset !== null
      ? rows[0]
      : (rows.find((row) => sqlName({ ...row, table: row.tableName }) === name) ??
        rows.find((row) => `${row.dataset}__${row.tableName}` === name));
  if (!found) throw missing("Table", `${namespace}.${name}`, "NoSuchTableException");
  return { organizationId: ctx.organizationId, layer, ...found };
}

/** Returns a table's metadata, of the previous commit or later. Throws `not_found`, `invalid_state`, `unavailable`. */
export async function loadTable(ctx: Context, namespace: string, name: string, isWhole: boolean) {
  const { location, metadata } = await publishTable(ctx, await findTable(ctx, namespace, name));
  const current = metadata["current-snapshot-id"];
  const shown = isWhole
    ? metadata
    : { ...metadata, snapshots: metadata.snapshots.filter((each) => each["snapshot-id"] === current) };
  return { "metadata-location": location, metadata: shown, config: storageOf(ctx) };
}

/** Returns the URL of the bucket, for engines. They need their own credentials for it. */
function storageOf({ config: { lakeUrl, lakeEndpoint, lakeRegion } }: Context): Record<string, string> {
  if (lakeUrl === null) return {};
  return {
    ...(lakeEndpoint ? { "s3.endpoint": lakeEndpoint, "s3.path-style-access": "true" } : {}),
    ...(lakeRegion ? { "s3.region": lakeRegion, "client.region": lakeRegion } : {}),
  };
}
