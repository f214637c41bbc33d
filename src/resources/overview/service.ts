import { and, eq, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { connections } from "../connections/table.ts";
import { deadLetters } from "../dead-letters/table.ts";
import { decisions } from "../decisions/table.ts";
import { countByStatus, failingAutomations, lateAutomations, nextRuns } from "./automations.ts";
import { hoursUntil, runsByHour, runsUnderWay } from "./runs.ts";
import type { Overview, OverviewQuery } from "./wire.ts";

const LISTED = 20;

/** Returns the state of the whole organization. */
export async function overviewOf(ctx: Context, { hours }: OverviewQuery): Promise<Overview> {
  const spans = hoursUntil(ctx.clock.now(), hours);
  const actionRuns = await runsByHour(ctx, "action_runs", spans);
  const automationRuns = await runsByHour(ctx, "automation_runs", spans);
  const failing = await failingAutomations(ctx);
  const late = await lateAutomations(ctx);
  const next = await nextRuns(ctx);
  const broken = and(eq(connections.organizationId, ctx.organizationId), eq(connections.status, "error"));
  return {
    since: spans[0]?.since ?? "",
    until: spans.at(-1)?.until ?? "",
    actionRuns: { ...summed(actionRuns), ...(await runsUnderWay(ctx, "action_runs")) },
    automationRuns: { ...summed(automationRuns), ...(await runsUnderWay(ctx, "automation_runs")) },
    timeline: spans.map(({ since, until }, at) => ({
      since,
      until,
      actionRuns: actionRuns[at]?.total ?? 0,
      failedActionRuns: actionRuns[at]?.failed ?? 0,
    })),
    automations: {
      ...(await countByStatus(ctx)),
      scheduled: next.count,
      failing: failing.count,
      late: late.count,
    },
    failing: failing.failing,
    late: late.late,
    next: next.next,
    pendingApprovals: await ctx.db.$count(
      decisions,
      and(eq(decisions.organizationId, ctx.organizationId), eq(decisions.status, "pending")),
    ),
    // Worded so that SQLite uses the partial index of dead ones.
    deadLetters: await ctx.db.$count(
      deadLetters,
      and(eq(deadLetters.organizationId, ctx.organizationId), sql`${deadLetters.status} = 'dead'`),
    ),
    connectionErrors: await ctx.db.$count(connections, broken),
    failingConnections: await ctx.db
      .select({
        id: connections.id,
        name: connections.name,
        verificationError: connections.verificationError,
      })
      .from(connections)
      .where(broken)
      .orderBy(connections.id)
      .limit(LISTED),
  };
}

const summed = (hours: readonly { total: number; failed: number }[]) => ({
  total: hours.reduce((sum, { total }) => sum + total, 0),
  failed: hours.reduce((sum, { failed }) => sum + failed, 0),
});
