import { and, desc, eq, notInArray, type SQL, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { withLiveSteps } from "../../flows/find.ts";
import { countOf, totalOf } from "../../store/counts.ts";
import { findInWindows } from "../../store/windows.ts";
import { type Found, filtersOf, isIndexed, mineAll, runsOf, uncompleted } from "./run-filters.ts";
import { searchRuns } from "./run-search.ts";
import { automationRuns, automations } from "./table.ts";
import type { AllRunsQuery } from "./wire-all-runs.ts";

/** Runs of all automations, newest first. */
export async function listAllRuns(ctx: Context, query: AllRunsQuery): Promise<Found> {
  const filters = filtersOf(ctx, query);
  const found = query.q ? await searchRuns(ctx, query, query.q, filters) : await pageOf(ctx, query, filters);
  return { ...found, rows: await withLiveSteps(ctx, found.rows) };
}

async function pageOf(ctx: Context, query: AllRunsQuery, filters: readonly SQL[]): Promise<Found> {
  if (!isIndexed(query)) {
    const { limit, offset } = query;
    const { ids, total } = await findInWindows(
      ctx.db,
      { of: automationRuns, organizationId: ctx.organizationId, where: and(...filters), period: query },
      offset + limit,
    );
    return { rows: await runsOf(ctx, ids.slice(offset)), total };
  }
  const where = and(mineAll(ctx), ...filters);
  const rows = await ctx.db
    .select()
    .from(automationRuns)
    .where(where)
    .orderBy(desc(automationRuns.id))
    .limit(query.limit)
    .offset(query.offset);
  const count = async () => {
    const { automation_id: automationId, statuses } = query;
    const all = () => countOf(ctx.db, ctx.organizationId, "automation_runs");
    if (filters.length === 0) return all();
    if (filters.length === 1 && automationId !== undefined && rows.length > 0)
      return ctx.db.$count(automationRuns, eq(automationRuns.automationId, automationId));
    if (filters.length > 1 || !statuses?.includes("completed")) return ctx.db.$count(automationRuns, where);
    const others = and(mineAll(ctx), uncompleted, notInArray(automationRuns.status, statuses));
    return (await all()) - (await ctx.db.$count(automationRuns, others));
  };
  return { rows, total: await totalOf(query, rows, count) };
}

/** The names of automations by id, those of deleted ones too: their runs stay readable. */
export async function automationNames(ctx: Context, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await ctx.db
    .select({ id: automations.id, name: automations.name })
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, ctx.organizationId),
        sql`${automations.id} in (select value from json_each(${JSON.stringify([...new Set(ids)])}))`,
      ),
    );
  return new Map(rows.map(({ id, name }) => [id, name]));
}
