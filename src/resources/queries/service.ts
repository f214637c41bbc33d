import { and, desc, eq } from "drizzle-orm";
import { AppError, type Fault, notFound } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { type Context, created, touched, type WriteContext, write } from "../../context.ts";
import { totalOf } from "../../store/counts.ts";
import { contains } from "../../store/search.ts";
import { slugFor } from "../../store/slugs.ts";
import { dashboards } from "../dashboards/table.ts";
import { changesBetween, record } from "../events/service.ts";
import { runQuery } from "../query/service.ts";
import type { QueryResult } from "../query/wire.ts";
import { defaultFaults, valuesFor } from "./parameters.ts";
import { PARAMETER_TYPES, type Parameter, type SavedQueryRow, savedQueries } from "./table.ts";
import type { SavedQueryCreate, SavedQueryPatch, SavedQueryQuery, SavedQueryRun } from "./wire.ts";
import { chartFaults } from "./wire-chart.ts";

/** Every query here uses this condition: saved queries of other organizations don't exist. */
const mine = (ctx: Context, id: string) =>
  and(eq(savedQueries.organizationId, ctx.organizationId), eq(savedQueries.id, id));

const entity = (id: string) => ({ type: "query" as const, id });

/** Newest first. */
export async function listQueries(
  ctx: Context,
  { q, limit, offset }: SavedQueryQuery,
): Promise<{ rows: SavedQueryRow[]; total: number }> {
  const where = and(
    eq(savedQueries.organizationId, ctx.organizationId),
    q ? contains(q, savedQueries.name, savedQueries.slug) : undefined,
  );
  const rows = await ctx.db
    .select()
    .from(savedQueries)
    .where(where)
    .orderBy(desc(savedQueries.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await totalOf({ limit, offset }, rows, () => ctx.db.$count(savedQueries, where)) };
}

export async function findQuery(ctx: Context, id: string): Promise<SavedQueryRow> {
  const [row] = await ctx.db.select().from(savedQueries).where(mine(ctx, id));
  if (!row) throw notFound("saved query");
  return row;
}

/** What `$name` can be. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** Returns what is wrong with a body's chart and defaults, beyond its shape. */
export function queryFaults(raw: Json): Fault[] {
  const { chart, parameters } = raw as JsonObject;
  const known = Object.entries(isObject(parameters ?? null) ? (parameters as JsonObject) : {}).filter(
    ([, one]) => isObject(one) && PARAMETER_TYPES.some((type) => type === one.type),
  );
  return [
    ...Object.keys(isObject(parameters ?? null) ? (parameters as JsonObject) : {})
      .filter((name) => !NAME.test(name))
      .map((name) => ({
        loc: ["body", "parameters", name],
        msg: "A parameter name has letters, digits and _, and can't start with a digit",
        type: "string_pattern_mismatch",
      })),
    ...chartFaults(chart, ["body", "chart"]),
    ...defaultFaults(Object.fromEntries(known) as unknown as Record<string, Parameter>, [
      "body",
      "parameters",
    ]),
  ];
}

const withDefaults = (parameters: SavedQueryCreate["parameters"] = {}): Record<string, Parameter> =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, { type, default: value = null }]) => [
      name,
      { type, default: value },
    ]),
  );

const slugOf = (tx: WriteContext, slug: string | undefined, name: string, own?: string) =>
  slugFor(tx.db, savedQueries, {
    organizationId: tx.organizationId,
    slug,
    name,
    noun: "saved query",
    ...(own === undefined ? {} : { own }),
  });

/** Throws `slug_taken`. */
export function createQuery(ctx: Context, input: SavedQueryCreate): Promise<SavedQueryRow> {
  return write(ctx, async (tx) => {
    const row: SavedQueryRow = {
      id: tx.ids.uuid(),
      ...created(tx),
      name: input.name,
      slug: await slugOf(tx, input.slug ?? undefined, input.name),
      description: input.description ?? null,
      sql: input.sql,
      parameters: withDefaults(input.parameters),
      chart: input.chart ?? null,
    };
    await tx.db.insert(savedQueries).values(row);
    await record(tx, "query.created", entity(row.id), { name: row.name, slug: row.slug });
    return row;
  });
}

/** Changes only the given fields; `parameters` and `chart` entirely. Throws `slug_taken`. */
export function updateQuery(
  ctx: Context,
  id: string,
  { parameters, ...fields }: SavedQueryPatch,
): Promise<SavedQueryRow> {
  return write(ctx, async (tx) => {
    const before = await findQuery(tx, id);
    if (fields.slug !== undefined) await slugOf(tx, fields.slug, before.name, id);
    const patch = {
      ...fields,
      ...(parameters === undefined ? {} : { parameters: withDefaults(parameters) }),
    };
    const changes = changesBetween(before, patch);
    if (changes.length === 0) return before;
    const change = { ...patch, ...touched(tx, before) };
    await tx.db.update(savedQueries).set(change).where(mine(tx, id));
    await record(tx, "query.updated", entity(id), { changes: changes as unknown as Json });
    return { ...before, ...change };
  });
}

/** Throws `in_use` if dashboards use it. */
async function refuseUsed(tx: WriteContext, id: string): Promise<void> {
  const boards = await tx.db
    .select({ name: dashboards.name, panels: dashboards.panels })
    .from(dashboards)
    .where(eq(dashboards.organizationId, tx.organizationId));
  const users = boards.filter(({ panels }) => panels.some(({ queryId }) => queryId === id));
  if (users.length === 0) return;
  const named = users.map(({ name }) => name).join(", ");
  throw new AppError("in_use", `These dashboards use this saved query: ${named}. Change their panels first.`);
}

/** Throws `in_use` if dashboards use it. */
export async function deleteQuery(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    const { name, slug } = await findQuery(tx, id);
    await refuseUsed(tx, id);
    await tx.db.delete(savedQueries).where(mine(tx, id));
    await record(tx, "query.deleted", entity(id), { name, slug });
  });
}

/** Throws as `runQuery` does, and `InvalidInput` for invalid parameters. */
export async function runSavedQuery(
  ctx: Context,
  id: string,
  { parameters, limit }: SavedQueryRun,
  signal: AbortSignal,
): Promise<QueryResult> {
  const row = await findQuery(ctx, id);
  const values = valuesFor(row.parameters, parameters, ["body", "parameters"]);
  return runQuery(
    ctx,
    { sql: row.sql, parameters: values, ...(limit === undefined ? {} : { limit }) },
    signal,
  );
}
