import { type SQL, sql } from "drizzle-orm";
import { firstIdAt } from "../../base/ids.ts";
import type { Context } from "../../context.ts";
import type { Overview } from "./wire.ts";

const HOUR_MS = 3_600_000;

/** Returns the hours up to the current one, with the first and last possible IDs of each. */
export function hoursUntil(now: Date, hours: number) {
  const end = (Math.floor(now.getTime() / HOUR_MS) + 1) * HOUR_MS;
  return Array.from({ length: hours }, (_, at) => {
    const since = new Date(end - (hours - at) * HOUR_MS);
    const until = new Date(since.getTime() + HOUR_MS);
    return { since: since.toISOString(), until: until.toISOString(), ids: [since, until].map(firstIdAt) };
  });
}

type Hours = ReturnType<typeof hoursUntil>;

/** Counts runs and failed runs per hour. IDs are in order of time, so that indexes count without reading rows. */
export async function runsByHour(
  { db, organizationId }: Context,
  table: "action_runs" | "automation_runs",
  hours: Hours,
): Promise<{ total: number; failed: number }[]> {
  const among = (more: SQL) =>
    sql`(select count(*) from ${sql.identifier(table)} r where r.organization_id = ${organizationId} ${more}
      and r.id >= json_extract(hour.value, '$[0]') and r.id < json_extract(hour.value, '$[1]'))`;
  const failed = sql`and r.status = 'failed' and r.status <> 'completed'`;
  const found = (await db.all(sql`
    select json_extract(hour.value, '$[2]') as at, ${among(sql``)} as total, ${among(failed)} as failed
    from json_each(${JSON.stringify(hours.map(({ ids }, at) => [...ids, at]))}) hour`)) as {
    at: number;
    total: number;
    failed: number;
  }[];
  return found
    .toSorted((a, b) => Number(a.at) - Number(b.at))
    .map(({ total, failed }) => ({ total: Number(total), failed: Number(failed) }));
}

/** Returns the number of runs in progress, by status. */
export async function runsUnderWay(
  { db, organizationId }: Context,
  table: "action_runs" | "automation_runs",
): Promise<Pick<Overview["actionRuns"], "pending" | "running" | "waiting">> {
  const of = (status: string) =>
    sql`(select count(*) from ${sql.identifier(table)} r where r.organization_id = ${organizationId}
      and r.status = ${status} and r.status <> 'completed')`;
  const found = (await db.get(
    sql`select ${of("pending")} as pending, ${of("running")} as running, ${of("waiting")} as waiting`,
  )) as Record<"pending" | "running" | "waiting", number>;
  const { pending, running, waiting } = found;
  return { pending: Number(pending), running: Number(running), waiting: Number(waiting) };
}
