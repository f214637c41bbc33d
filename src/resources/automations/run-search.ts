import { and, eq, isNotNull, isNull, not, or, type SQL, sql } from "drizzle-orm";
import { openTurns } from "../../base/slices.ts";
import type { Context } from "../../context.ts";
import { contains, idContains } from "../../store/search.ts";
import { findByWays, type Way } from "../../store/windows.ts";
import { openTo } from "../runs/wire-private.ts";
import { errorMessage, type Found, isNarrow, mineAll, runsOf } from "./run-filters.ts";
import { automationRuns, automations } from "./table.ts";
import type { AllRunsQuery } from "./wire-all-runs.ts";

/** Finds runs whose error, automation or ID contains `q`. */
export async function searchRuns(
  ctx: Context,
  query: AllRunsQuery,
  q: string,
  filters: readonly SQL[],
): Promise<Found> {
  const named = await byNameOrId(ctx, q);
  const byError = and(
    isNotNull(automationRuns.error),
    contains(q, errorMessage),
    named ? not(named.where) : undefined,
    openTo(ctx, automationRuns.privateTo),
  ) as SQL;
  const ways = [{ where: byError, isScan: false }];
  if (named) ways.push({ ...named, isScan: named.isScan && !isNarrow(query) });
  const search = { of: automationRuns, within: mineAll(ctx), where: and(...filters), period: query };
  const { ids, total } = await findByWays(ctx.db, search, ways, query);
  return { rows: await runsOf(ctx, ids), total };
}

/** Maximum number of runs that are searched by a list of IDs. */
const MAX_LISTED = 5_000;

/** Finds runs of automations with `q` in their name, and runs with it in their ID. Null if there can be none. */
async function byNameOrId(ctx: Context, q: string): Promise<Way | null> {
  const named = await namedBy(ctx, q);
  const runs = sql`from automation_runs r where r.automation_id in ${among(named)}`;
  const few = sql`select count(*) as n from (select 1 ${runs} limit ${MAX_LISTED + 1}) few`;
  const [row] = (await ctx.db.all(few)) as { n: number }[];
  const count = Number(row?.n);
  const byId = idContains(q, automationRuns.id);
  const ofNamed = sql`${automationRuns.automationId} in ${among(named)}`;
  if (count > MAX_LISTED && byId === null)
    return { where: ofNamed, isScan: true, count: () => countRunsOf(ctx, named) };
  if (count > MAX_LISTED || byId?.isWhole === false)
    return { where: or(count > 0 ? ofNamed : undefined, byId?.where) as SQL, isScan: true };
  const lists = [
    ...(count > 0 ? [sql`select r.id ${runs}`] : []),
    ...(byId ? [sql`select ${q.toLowerCase()}`] : []),
  ];
  if (lists.length === 0) return null;
  return { where: sql`${automationRuns.id} in (${sql.join(lists, sql` union all `)})`, isScan: false };
}

const among = (ids: readonly string[]) => sql`(select value from json_each(${JSON.stringify(ids)}))`;

/** Number of automations whose runs are counted at once. */
const COUNTED = 100;

/** Counts the runs of automations of the organization. */
async function countRunsOf(ctx: Context, automationIds: readonly string[]): Promise<number> {
  const takeTurns = openTurns();
  let total = 0;
  for (let at = 0; at < automationIds.length; at += COUNTED) {
    const some = among(automationIds.slice(at, at + COUNTED));
    total += await ctx.db.$count(automationRuns, sql`${automationRuns.automationId} in ${some}`);
    await takeTurns();
  }
  return total;
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
