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
    const search = { of: automationRuns, within: mineAll(ctx), where: and(...filters), period: query };
    const { ids, total } = await findInWindows(ctx.db, search, query);
    return { rows: await runsOf(ctx, ids), total };
  }
  const where = and(mineAll(ctx), ...filters);
  const rows = await ctx.db
    .select()
    .from(automationRuns)
    .where(where)
    .orderBy(desc(automationRuns.id))
    .limit(query.limit)
    .offset(query.offset);
  const isProven = query.automation_id === undefined || rows.length > 0;
  const count = () =>
    isPlain(query) && isProven ? countPlain(ctx, query) : ctx.db.$count(automationRuns, where);
  return { rows, total: await totalOf(query, rows, count) };
}

/** Returns whether the query filters only by automation and status, and includes completed runs. */
const isPlain = ({ statuses, step, trigger_method, since, until }: AllRunsQuery): boolean =>
  [step, trigger_method, since, until].every((filter) => filter === undefined) &&
  (statuses === undefined || statuses.includes("completed"));

/**
 * Counts without reading completed runs: all runs minus those of other statuses.
 * The automation must belong to the organization.
 */
async function countPlain(ctx: Context, { automation_id: automationId, statuses }: AllRunsQuery) {
  const all =
    automationId === undefined
      ? await countOf(ctx.db, ctx.organizationId, "automation_runs")
      : await ctx.db.$count(automationRuns, eq(automationRuns.automationId, automationId));
  if (statuses === undefined) return all;
  // An expression, since SQLite might otherwise read all runs of the automation.
  const ofAutomation =
    automationId === undefined ? undefined : sql`${automationRuns.automationId} || '' = ${automationId}`;
  const others = and(mineAll(ctx), uncompleted, ofAutomation, notInArray(automationRuns.status, statuses));
  return all - (await ctx.db.$count(automationRuns, others));
}

/** Returns names of automations by ID, including deleted ones, whose runs stay readable. */
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
