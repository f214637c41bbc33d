import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { notFound } from "../base/errors.ts";
import type { Context } from "../context.ts";
import { type AutomationRunRow, automationRuns, automations } from "../resources/automations/table.ts";
import type { AutomationWithRun } from "../resources/automations/wire.ts";
import { actionRuns } from "../resources/runs/table.ts";

/** Limits every query to the organization's automations that aren't deleted. */
export const mine = (ctx: Context, id: string) =>
  and(
    eq(automations.organizationId, ctx.organizationId),
    eq(automations.id, id),
    isNull(automations.deletedAt),
  );

/** Uses the index on automation and ID. A column for it would cost every run a write. */
const latestRunId = sql`(select r.id from automation_runs r where r.automation_id = ${automations.id} order by r.id desc limit 1)`;

export const withRun = (ctx: Context) =>
  ctx.db
    .select({
      automation: automations,
      run: {
        id: automationRuns.id,
        status: automationRuns.status,
        startedAt: automationRuns.startedAt,
        completedAt: automationRuns.completedAt,
      },
    })
    .from(automations)
    .leftJoin(automationRuns, eq(automationRuns.id, latestRunId));

export async function findAutomation(ctx: Context, id: string): Promise<AutomationWithRun> {
  const [found] = await withRun(ctx).where(mine(ctx, id));
  if (!found) throw notFound("automation");
  return found;
}

/** Returns the organization's run with this ID. */
export const mineRun = (ctx: Context, id: string) =>
  and(eq(automationRuns.organizationId, ctx.organizationId), eq(automationRuns.id, id));

/** Returns the run, with the statuses of running steps read from their action runs. */
export async function findAutomationRun(ctx: Context, id: string): Promise<AutomationRunRow> {
  const [row] = await ctx.db.select().from(automationRuns).where(mineRun(ctx, id));
  if (!row) throw notFound("automation run");
  const [live] = await withLiveSteps(ctx, [row]);
  return live ?? row;
}

/** A running step has its status in its action run, a finished one in the automation run. */
export async function withLiveSteps(ctx: Context, rows: AutomationRunRow[]): Promise<AutomationRunRow[]> {
  const open = rows.flatMap((row) =>
    row.steps.flatMap((step) => (step.status === "pending" && step.actionRunId ? [step.actionRunId] : [])),
  );
  if (open.length === 0) return rows;
  const states = await ctx.db
    .select({
      id: actionRuns.id,
      status: actionRuns.status,
      startedAt: actionRuns.startedAt,
      error: actionRuns.error,
    })
    .from(actionRuns)
    .where(inArray(actionRuns.id, open));
  const byId = new Map(states.map((state) => [state.id, state]));
  return rows.map((row) => ({
    ...row,
    steps: row.steps.map((step) => {
      const state = step.status === "pending" && step.actionRunId ? byId.get(step.actionRunId) : undefined;
      return state ? { ...step, status: state.status, startedAt: state.startedAt, error: state.error } : step;
    }),
  }));
}

/** Returns whether a run has finished. A run that waits for its next attempt hasn't. */
export const isOver = (run: AutomationRunRow) => run.completedAt !== null;
