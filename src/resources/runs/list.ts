import { and, desc, eq, gte, inArray, isNull, lt, not, notInArray, or, type SQL, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { countOf, totalOf } from "../../store/counts.ts";
import { contains } from "../../store/search.ts";
import { actions } from "../actions/table.ts";
import { actionRuns, type RunRow } from "./table.ts";
import type { RunQuery } from "./wire.ts";
import { openTo } from "./wire-private.ts";

interface Found {
  rows: RunRow[];
  total: number;
}

/** Newest first. */
export const listRuns = (ctx: Context, query: RunQuery): Promise<Found> =>
  query.q ? searchRuns(ctx, query, query.q) : pageOf(ctx, query);

/** In these words, by which SQLite knows that the index of such runs serves. */
const uncompleted = sql`${actionRuns.status} <> 'completed'`;
const message = sql`json_extract(${actionRuns.error}, '$.message')`;

const mineAll = (ctx: Context) => eq(actionRuns.organizationId, ctx.organizationId);

/** A time in the format of rows, so that it compares as text. */
const normal = (instant: string) => new Date(instant).toISOString();

function filtersOf(ctx: Context, query: RunQuery): SQL[] {
  const { action_id, automation_run_id, kinds, statuses, trigger_method, since, until } = query;
  const filters: (SQL | undefined)[] = [
    action_id === undefined ? undefined : eq(actionRuns.actionId, action_id),
    automation_run_id === undefined ? undefined : eq(actionRuns.automationRunId, automation_run_id),
    kinds === undefined ? undefined : inArray(actionRuns.kind, kinds),
    statuses === undefined ? undefined : inArray(actionRuns.status, statuses),
    statuses === undefined || statuses.includes("completed") ? undefined : uncompleted,
    action_id === undefined && automation_run_id === undefined
      ? undefined
      : openTo(ctx, actionRuns.privateTo),
    trigger_method === undefined ? undefined : eq(actionRuns.triggerMethod, trigger_method),
    since === undefined ? undefined : gte(actionRuns.createdAt, normal(since)),
    until === undefined ? undefined : lt(actionRuns.createdAt, normal(until)),
  ];
  return filters.filter((filter) => filter !== undefined);
}

async function pageOf(ctx: Context, query: RunQuery): Promise<Found> {
  const filters = filtersOf(ctx, query);
  const where = and(mineAll(ctx), ...filters);
  const rows = await ctx.db
    .select()
    .from(actionRuns)
    .where(where)
    .orderBy(desc(actionRuns.id))
    .limit(query.limit)
    .offset(query.offset);
  const count = async () => {
    const all = () => countOf(ctx.db, ctx.organizationId, "action_runs");
    if (filters.length === 0) return all();
    if (filters.length > 1 || !query.statuses?.includes("completed")) return ctx.db.$count(actionRuns, where);
    const others = and(mineAll(ctx), uncompleted, notInArray(actionRuns.status, query.statuses));
    return (await all()) - (await ctx.db.$count(actionRuns, others));
  };
  return { rows, total: await totalOf(query, rows, count) };
}

/** Errors aren't indexed: those of so many failed runs, the latest, are looked through. */
const SEARCHED_ERRORS = 2_000;

/** Each way to be found uses its own index. One condition for all would read every run. */
async function searchRuns(ctx: Context, query: RunQuery, q: string): Promise<Found> {
  const { limit, offset } = query;
  const filters = filtersOf(ctx, query);
  const upTo = offset + limit;
  const ways = (await waysOf(ctx, q)).map((way) => and(mineAll(ctx), ...filters, way));
  const ids: string[] = [];
  for (const where of ways) {
    const rows = await ctx.db
      .select({ id: actionRuns.id })
      .from(actionRuns)
      .where(where)
      .orderBy(desc(actionRuns.id))
      .limit(upTo);
    ids.push(...rows.map(({ id }) => id));
  }
  const page = ids.sort().reverse().slice(offset, upTo);
  const rows = await ctx.db
    .select()
    .from(actionRuns)
    .where(sql`${actionRuns.id} in (select value from json_each(${JSON.stringify(page)}))`)
    .orderBy(desc(actionRuns.id));
  const count = async () => {
    let total = 0;
    for (const where of ways) total += await ctx.db.$count(actionRuns, where);
    return total;
  };
  return { rows, total: await totalOf({ limit, offset }, rows, count) };
}

/** By ID, by the action's name, and by the error. No run is found in two ways. Others' private runs show no action and no error. */
async function waysOf(ctx: Context, q: string): Promise<(SQL | undefined)[]> {
  const open = openTo(ctx, actionRuns.privateTo);
  const byId = /^[0-9a-f-]+$/i.test(q) ? contains(q, actionRuns.id) : undefined;
  const otherId = byId && not(byId);
  const ofActions = sql`(select value from json_each(${JSON.stringify(await actionsNamed(ctx, q))}))`;
  const byName = and(sql`${actionRuns.actionId} in ${ofActions}`, otherId, open);
  const failed = sql`(select id from action_runs where organization_id = ${ctx.organizationId} and status = 'failed' and status <> 'completed' order by id desc limit ${SEARCHED_ERRORS})`;
  const byError = and(
    sql`${actionRuns.id} in ${failed}`,
    contains(q, message),
    otherId,
    or(isNull(actionRuns.actionId), sql`${actionRuns.actionId} not in ${ofActions}`),
    open,
  );
  return byId ? [byId, byName, byError] : [byName, byError];
}

async function actionsNamed(ctx: Context, q: string): Promise<string[]> {
  const found = await ctx.db
    .select({ id: actions.id })
    .from(actions)
    .where(
      and(
        eq(actions.organizationId, ctx.organizationId),
        isNull(actions.deletedAt),
        contains(q, actions.name, actions.slug),
      ),
    );
  return found.map(({ id }) => id);
}
