import { and, desc, eq, gte, inArray, isNull, lt, not, notInArray, or, type SQL, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { countOf, totalOf } from "../../store/counts.ts";
import { contains, idContains } from "../../store/search.ts";
import { findByWays, findInWindows, type Way } from "../../store/windows.ts";
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

/** Worded so that SQLite uses the partial index of such runs. */
const uncompleted = sql`${actionRuns.status} <> 'completed'`;
const message = sql`json_extract(${actionRuns.error}, '$.message')`;

const mineAll = (ctx: Context) => eq(actionRuns.organizationId, ctx.organizationId);

/** A time in the format of the database, so that it compares as text. */
const normal = (instant: string) => new Date(instant).toISOString();

function filtersOf(ctx: Context, query: RunQuery): SQL[] {
  const { ids, action_id, automation_run_id, kinds, statuses, trigger_method, since, until } = query;
  const filters: (SQL | undefined)[] = [
    ids === undefined ? undefined : among(ids),
    action_id === undefined ? undefined : eq(actionRuns.actionId, action_id),
    automation_run_id === undefined ? undefined : ofAutomationRun(automation_run_id),
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

/** Returns whether the filters leave only runs that an index finds: few, or those of one automation run. */
async function isNarrow(ctx: Context, query: RunQuery): Promise<boolean> {
  const { ids, action_id, automation_run_id, statuses } = query;
  if (ids !== undefined || automation_run_id !== undefined) return true;
  if (statuses !== undefined && !statuses.includes("completed")) return true;
  return action_id !== undefined && isFew(ctx, sql`from action_runs r where r.action_id = ${action_id}`);
}

/** Returns whether the number of runs is small enough for a list of IDs. */
async function isFew(ctx: Context, runs: SQL): Promise<boolean> {
  const some = sql`select count(*) as n from (select 1 ${runs} limit ${MAX_LISTED + 1}) few`;
  const [row] = (await ctx.db.all(some)) as { n: number }[];
  return Number(row?.n) <= MAX_LISTED;
}

const isUnbounded = ({ action_id, kinds, trigger_method, since, until }: RunQuery): boolean =>
  [action_id, kinds, trigger_method, since, until].every((filter) => filter === undefined);

/** The runs of one action, which can be few among very many, are searched separately. */
function searchOf(ctx: Context, query: RunQuery) {
  const { action_id: actionId } = query;
  const where = and(...filtersOf(ctx, query));
  const of = actionRuns;
  if (actionId === undefined) return { of, within: mineAll(ctx), where, period: query };
  // An expression, since SQLite would otherwise use the index of the organization.
  const alsoMine = sql`${of.organizationId} || '' = ${ctx.organizationId}`;
  return { of, within: eq(of.actionId, actionId), where: and(alsoMine, where), period: query };
}

const among = (ids: readonly string[]) =>
  sql`${actionRuns.id} in (select value from json_each(${JSON.stringify(ids)}))`;

/** A list of IDs: otherwise SQLite would follow an index's order and read every run of the organization. */
const ofAutomationRun = (id: string) =>
  sql`${actionRuns.id} in (select r.id from action_runs r where r.automation_run_id = ${id})`;

/** Newest first. */
const runsOf = async (ctx: Context, ids: readonly string[]): Promise<RunRow[]> =>
  ctx.db.select().from(actionRuns).where(among(ids)).orderBy(desc(actionRuns.id));

async function pageOf(ctx: Context, query: RunQuery): Promise<Found> {
  const filters = filtersOf(ctx, query);
  if (!(await isNarrow(ctx, query)) && !isUnbounded(query)) {
    const { ids, total } = await findInWindows(ctx.db, searchOf(ctx, query), query);
    return { rows: await runsOf(ctx, ids), total };
  }
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

/** Errors aren't indexed. Only those of the latest failed runs are searched, up to this number. */
const SEARCHED_ERRORS = 2_000;

/** Maximum number of runs that are searched by a list of IDs. */
const MAX_LISTED = 5_000;

async function searchRuns(ctx: Context, query: RunQuery, q: string): Promise<Found> {
  const ways = await waysOf(ctx, q);
  const found = (await isNarrow(ctx, query)) ? ways.map((way) => ({ ...way, isScan: false })) : ways;
  const { ids, total } = await findByWays(ctx.db, searchOf(ctx, query), found, query);
  return { rows: await runsOf(ctx, ids), total };
}

/**
 * By ID, by the action's name, and by the error. No run is found twice. Private runs of others show no action or error.
 */
async function waysOf(ctx: Context, q: string): Promise<Way[]> {
  const open = openTo(ctx, actionRuns.privateTo);
  const byId = idContains(q, actionRuns.id);
  const otherId = byId ? not(byId.where) : undefined;
  const ofActions = sql`(select value from json_each(${JSON.stringify(await actionsNamed(ctx, q))}))`;
  const named = sql`from action_runs r where r.action_id in ${ofActions}`;
  const areFew = await isFew(ctx, named);
  const byName = areFew
    ? sql`${actionRuns.id} in (select r.id ${named})`
    : sql`${actionRuns.actionId} in ${ofActions}`;
  const failed = sql`(select id from action_runs where organization_id = ${ctx.organizationId} and status = 'failed' and status <> 'completed' order by id desc limit ${SEARCHED_ERRORS})`;
  const byError = and(
    sql`${actionRuns.id} in ${failed}`,
    contains(q, message),
    otherId,
    or(isNull(actionRuns.actionId), sql`${actionRuns.actionId} not in ${ofActions}`),
    open,
  ) as SQL;
  return [
    ...(byId ? [{ where: byId.where, isScan: !byId.isWhole }] : []),
    { where: and(byName, otherId, open) as SQL, isScan: !areFew },
    { where: byError, isScan: false },
  ];
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
