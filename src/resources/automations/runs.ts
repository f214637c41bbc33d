import { and, desc, eq, inArray } from "drizzle-orm";
import { notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { totalOf } from "../../store/counts.ts";
import { actionRuns } from "../runs/table.ts";
import { findAutomation } from "./service.ts";
import { type AutomationRunRow, automationRuns } from "./table.ts";
import type { AutomationRunQuery } from "./wire.ts";

/** The run with this id, of the organization. */
export const mine = (ctx: Context, id: string) =>
  and(eq(automationRuns.organizationId, ctx.organizationId), eq(automationRuns.id, id));

/** The run, with the statuses of the steps that are under way read from their action runs. */
export async function findAutomationRun(ctx: Context, id: string): Promise<AutomationRunRow> {
  const [row] = await ctx.db.select().from(automationRuns).where(mine(ctx, id));
  if (!row) throw notFound("automation run");
  const [live] = await withLiveSteps(ctx, [row]);
  return live ?? row;
}

/** A step under way has its status in its action run; an ended one in the automation run. */
async function withLiveSteps(ctx: Context, rows: AutomationRunRow[]): Promise<AutomationRunRow[]> {
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

/** Newest first. */
export async function listAutomationRuns(
  ctx: Context,
  automationId: string,
  query: AutomationRunQuery,
): Promise<{ rows: AutomationRunRow[]; total: number }> {
  await findAutomation(ctx, automationId);
  const where = and(
    eq(automationRuns.organizationId, ctx.organizationId),
    eq(automationRuns.automationId, automationId),
    query.status === undefined ? undefined : eq(automationRuns.status, query.status),
  );
  const rows = await ctx.db
    .select()
    .from(automationRuns)
    .where(where)
    .orderBy(desc(automationRuns.id))
    .limit(query.limit)
    .offset(query.offset);
  const total = await totalOf(query, rows, () => ctx.db.$count(automationRuns, where));
  return { rows: await withLiveSteps(ctx, rows), total };
}

/** True once a run goes on no more; one that waits for its next try has not ended. */
export const isOver = (run: AutomationRunRow) => run.completedAt !== null;
