import { and, desc, eq, gte, inArray, isNotNull, lt, type SQL, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { openTo } from "../runs/wire-private.ts";
import { type AutomationRunRow, automationRuns } from "./table.ts";
import type { AllRunsQuery } from "./wire-all-runs.ts";

export interface Found {
  rows: AutomationRunRow[];
  total: number;
}

export const mineAll = (ctx: Context) => eq(automationRuns.organizationId, ctx.organizationId);

/** Worded so that SQLite uses the partial index of such runs. */
export const uncompleted = sql`${automationRuns.status} <> 'completed'`;
export const errorMessage = sql`json_extract(${automationRuns.error}, '$.message')`;
const failedStep = sql`json_extract(${automationRuns.error}, '$.details.step')`;
/** A run with only one step doesn't name it in its error. */
const onlyStep = sql`case when json_array_length(${automationRuns.steps}) = 1 then json_extract(${automationRuns.steps}, '$[0].key') end`;

/** A time in the format of the database, so that it compares as text. */
const normal = (instant: string) => new Date(instant).toISOString();

export function filtersOf(ctx: Context, query: AllRunsQuery): SQL[] {
  const { automation_id, statuses, trigger_method, step, since, until } = query;
  const filters: (SQL | undefined)[] = [
    automation_id === undefined ? undefined : eq(automationRuns.automationId, automation_id),
    statuses === undefined ? undefined : inArray(automationRuns.status, statuses),
    statuses === undefined || statuses.includes("completed") ? undefined : uncompleted,
    trigger_method === undefined ? undefined : eq(automationRuns.triggerMethod, trigger_method),
    step === undefined ? undefined : failedAt(ctx, step),
    since === undefined ? undefined : gte(automationRuns.createdAt, normal(since)),
    until === undefined ? undefined : lt(automationRuns.createdAt, normal(until)),
  ];
  return filters.filter((filter) => filter !== undefined);
}

/** Private runs of other users show no steps, so filtering by step doesn't find them. */
const failedAt = (ctx: Context, step: string) =>
  and(
    isNotNull(automationRuns.error),
    sql`coalesce(${failedStep}, ${onlyStep}) = ${step}`,
    openTo(ctx, automationRuns.privateTo),
  );

/** Whether the filters leave only runs that didn't complete, which have their own indexes. */
export const isNarrow = ({ statuses, step }: AllRunsQuery): boolean =>
  step !== undefined || (statuses !== undefined && !statuses.includes("completed"));

/** Whether these filters can use an index. */
export const isIndexed = (query: AllRunsQuery): boolean =>
  isNarrow(query) ||
  (query.trigger_method === undefined && query.since === undefined && query.until === undefined);

/** Newest first. */
export const runsOf = async (ctx: Context, ids: readonly string[]): Promise<AutomationRunRow[]> =>
  ctx.db
    .select()
    .from(automationRuns)
    .where(sql`${automationRuns.id} in (select value from json_each(${JSON.stringify(ids)}))`)
    .orderBy(desc(automationRuns.id));
