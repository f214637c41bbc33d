import { and, asc, desc, eq, isNotNull, isNull, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { automationRuns, automations, automationWatches, type WatchRow } from "../automations/table.ts";
import { isHidden } from "../runs/wire-private.ts";
import type { Overview } from "./wire.ts";

const LISTED = 20;
const NEXT = 10;

const live = (ctx: Context) =>
  and(eq(automations.organizationId, ctx.organizationId), isNull(automations.deletedAt));
const active = (ctx: Context) => and(live(ctx), eq(automations.status, "active"));

export async function countByStatus(ctx: Context) {
  const of = (status: "active" | "disabled" | "draft") =>
    ctx.db.$count(automations, and(live(ctx), eq(automations.status, status)));
  return { active: await of("active"), disabled: await of("disabled"), draft: await of("draft") };
}

/** The latest run that isn't a test. */
const latestRunId = sql`(select r.id from automation_runs r where r.automation_id = ${automations.id} and r.trigger_method <> 'test' order by r.id desc limit 1)`;

/** Returns how many active automations' latest run failed, and those that failed last. */
export async function failingAutomations(
  ctx: Context,
): Promise<{ count: number; failing: Overview["failing"] }> {
  const rows = await ctx.db
    .select({
      automationId: automations.id,
      name: automations.name,
      runId: automationRuns.id,
      completedAt: automationRuns.completedAt,
      privateTo: automationRuns.privateTo,
      message: sql<string | null>`json_extract(${automationRuns.error}, '$.message')`,
    })
    .from(automations)
    .innerJoin(automationRuns, eq(automationRuns.id, latestRunId))
    .where(and(active(ctx), eq(automationRuns.status, "failed")))
    .orderBy(desc(automations.id));
  const newest = rows.toSorted((a, b) => ((a.completedAt ?? "") < (b.completedAt ?? "") ? 1 : -1));
  const failing = newest.slice(0, LISTED).map(({ privateTo, message, ...row }) => ({
    ...row,
    message: isHidden(ctx, { privateTo }) ? null : message,
  }));
  return { count: rows.length, failing };
}

/** Returns the next scheduled runs. */
export async function nextRuns(ctx: Context): Promise<{ count: number; next: Overview["next"] }> {
  const where = and(active(ctx), isNotNull(automations.nextRunAt));
  const rows = await ctx.db
    .select({ automationId: automations.id, name: automations.name, nextRunAt: automations.nextRunAt })
    .from(automations)
    .where(where)
    .orderBy(asc(automations.nextRunAt))
    .limit(NEXT);
  const next = rows.map(({ nextRunAt, ...row }) => ({ ...row, nextRunAt: nextRunAt ?? "" }));
  return { count: await ctx.db.$count(automations, where), next };
}

const lastCompletedAt = sql<
  string | null
>`(select r.completed_at from automation_runs r where r.automation_id = ${automations.id} and r.is_watched = 1 and r.status = 'completed' order by r.completed_at desc limit 1)`;

/** Returns active automations that were reported as silent, empty or late, and haven't completed since. */
export async function lateAutomations(ctx: Context): Promise<{ count: number; late: Overview["late"] }> {
  const rows = await ctx.db
    .select({ id: automations.id, name: automations.name, watch: automationWatches, lastCompletedAt })
    .from(automationWatches)
    .innerJoin(automations, eq(automations.id, automationWatches.automationId))
    .where(and(eq(automationWatches.organizationId, ctx.organizationId), active(ctx)));
  const late = rows.flatMap(({ id, name, watch, lastCompletedAt }) => {
    const found = matterOf(watch, lastCompletedAt);
    return found ? [{ automationId: id, name, ...found }] : [];
  });
  return { count: late.length, late: late.slice(0, LISTED) };
}

function matterOf(
  { silentSince, lateAt, emptyRunId }: WatchRow,
  completedAt: string | null,
): { reason: "silent" | "empty" | "late"; since: string | null } | null {
  const isOpen = (at: string | null) => at !== null && (completedAt === null || completedAt <= at);
  if (isOpen(silentSince)) return { reason: "silent", since: silentSince };
  if (isOpen(lateAt)) return { reason: "late", since: lateAt };
  return emptyRunId === null ? null : { reason: "empty", since: completedAt };
}
