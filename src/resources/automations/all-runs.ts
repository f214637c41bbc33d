import {
  and,
  desc,
  eq,
  gte,
  inArray,
  isNotNull,
  isNull,
  lt,
  not,
  notInArray,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import type { Context } from "../../context.ts";
import { withLiveSteps } from "../../flows/find.ts";
import { countOf, totalOf } from "../../store/counts.ts";
import { contains } from "../../store/search.ts";
import { openTo } from "../runs/wire-private.ts";
import { type AutomationRunRow, automationRuns, automations } from "./table.ts";
import type { AllRunsQuery } from "./wire-all-runs.ts";

interface Found {
  rows: AutomationRunRow[];
  total: number;
}

/** Runs of all automations, newest first. */
export async function listAllRuns(ctx: Context, query: AllRunsQuery): Promise<Found> {
  const filters = filtersOf(ctx, query);
  const found = query.q ? await searchRuns(ctx, query, query.q, filters) : await pageOf(ctx, query, filters);
  return { ...found, rows: await withLiveSteps(ctx, found.rows) };
}

const mineAll = (ctx: Context) => eq(automationRuns.organizationId, ctx.organizationId);

/** In these words, by which SQLite knows that an index of such runs serves. */
const uncompleted = sql`${automationRuns.status} <> 'completed'`;
const message = sql`json_extract(${automationRuns.error}, '$.message')`;
const failedStep = sql`json_extract(${automationRuns.error}, '$.details.step')`;
/** A run of one step alone does not name it in its error. */
const onlyStep = sql`case when json_array_length(${automationRuns.steps}) = 1 then json_extract(${automationRuns.steps}, '$[0].key') end`;

/** A time in the format of rows, so that it compares as text. */
const normal = (instant: string) => new Date(instant).toISOString();

function filtersOf(ctx: Context, query: AllRunsQuery): SQL[] {
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

/** Others' private runs show no steps, and so are not found by them. */
const failedAt = (ctx: Context, step: string) =>
  and(
    isNotNull(automationRuns.error),
    sql`coalesce(${failedStep}, ${onlyStep}) = ${step}`,
    openTo(ctx, automationRuns.privateTo),
  );

async function pageOf(ctx: Context, query: AllRunsQuery, filters: readonly SQL[]): Promise<Found> {
  const where = and(mineAll(ctx), ...filters);
  const rows = await ctx.db
    .select()
    .from(automationRuns)
    .where(where)
    .orderBy(desc(automationRuns.id))
    .limit(query.limit)
    .offset(query.offset);
  const count = async () => {
    const all = () => countOf(ctx.db, ctx.organizationId, "automation_runs");
    if (filters.length === 0) return all();
    if (filters.length > 1 || !query.statuses?.includes("completed"))
      return ctx.db.$count(automationRuns, where);
    const others = and(mineAll(ctx), uncompleted, notInArray(automationRuns.status, query.statuses));
    return (await all()) - (await ctx.db.$count(automationRuns, others));
  };
  return { rows, total: await totalOf(query, rows, count) };
}

/**
 * Finds runs whose error, automation or ID contains `q`. Each of the two queries uses its own index. One condition for
 * both would read every run.
 */
async function searchRuns(
  ctx: Context,
  { limit, offset }: AllRunsQuery,
  q: string,
  filters: readonly SQL[],
): Promise<Found> {
  const named = await namedBy(ctx, q);
  const byName = or(
    sql`${automationRuns.automationId} in (select value from json_each(${JSON.stringify(named)}))`,
    contains(q, automationRuns.id),
  ) as SQL;
  const byError = and(
    isNotNull(automationRuns.error),
    contains(q, message),
    not(byName),
    openTo(ctx, automationRuns.privateTo),
  );
  const ways = [byName, byError].map((way) => and(mineAll(ctx), ...filters, way));
  const upTo = offset + limit;
  const ids: string[] = [];
  for (const where of ways) {
    const rows = await ctx.db
      .select({ id: automationRuns.id })
      .from(automationRuns)
      .where(where)
      .orderBy(desc(automationRuns.id))
      .limit(upTo);
    ids.push(...rows.map(({ id }) => id));
  }
  const page = ids.sort().reverse().slice(offset, upTo);
  const rows = await ctx.db
    .select()
    .from(automationRuns)
    .where(sql`${automationRuns.id} in (select value from json_each(${JSON.stringify(page)}))`)
    .orderBy(desc(automationRuns.id));
  const count = async () => {
    let total = 0;
    for (const where of ways) total += await ctx.db.$count(automationRuns, where);
    return total;
  };
  return { rows, total: await totalOf({ limit, offset }, rows, count) };
}

async function namedBy(ctx: Context, q: string): Promise<string[]> {
  const found = await ctx.db
    .select({ id: automations.id })
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, ctx.organizationId),
        isNull(automations.deletedAt),
        contains(q, automations.name, automations.slug),
      ),
    );
  return found.map(({ id }) => id);
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
