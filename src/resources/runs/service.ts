import { and, desc, eq, gte, inArray, lt, notInArray, type SQL, sql } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { findRun, isFinal, requestCancel } from "../../queue/cancel.ts";
import { hasTemplates } from "../../queue/definition.ts";
import { enqueueRun, runTopic, type Trigger } from "../../queue/enqueue.ts";
import { countOf, totalOf } from "../../store/counts.ts";
import { actions } from "../actions/table.ts";
import { actionRuns, type RunRow } from "./table.ts";
import type { RunQuery } from "./wire.ts";
import { isCall } from "./wire-calls.ts";
import { openTo, refuseOthers } from "./wire-private.ts";

/** Newest first. */
export async function listRuns(ctx: Context, query: RunQuery): Promise<{ rows: RunRow[]; total: number }> {
  const filters: (SQL | undefined)[] = [
    query.action_id === undefined ? undefined : eq(actionRuns.actionId, query.action_id),
    query.automation_run_id === undefined
      ? undefined
      : eq(actionRuns.automationRunId, query.automation_run_id),
    query.kinds === undefined ? undefined : inArray(actionRuns.kind, query.kinds),
    query.statuses === undefined ? undefined : inArray(actionRuns.status, query.statuses),
    query.statuses === undefined || query.statuses.includes("completed") ? undefined : uncompleted,
    query.action_id === undefined && query.automation_run_id === undefined
      ? undefined
      : openTo(ctx, actionRuns.privateTo),
    query.trigger_method === undefined ? undefined : eq(actionRuns.triggerMethod, query.trigger_method),
    query.since === undefined ? undefined : gte(actionRuns.createdAt, normal(query.since)),
    query.until === undefined ? undefined : lt(actionRuns.createdAt, normal(query.until)),
  ].filter((filter) => filter !== undefined);
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

/** In these words, by which SQLite knows that the index of such runs serves. */
const uncompleted = sql`${actionRuns.status} <> 'completed'`;

const mineAll = (ctx: Context) => eq(actionRuns.organizationId, ctx.organizationId);

/** A time in the format of rows, so that it compares as text. */
const normal = (instant: string) => new Date(instant).toISOString();

/** Time a worker has to stop before the caller gets the run as it is. */
const CANCEL_WAIT_MS = 6_000;

/**
 * Cancels a run: immediately if it is waiting, otherwise by notifying its worker. Throws `invalid_state` if it has
 * finished.
 */
export async function cancelRun(ctx: Context, id: string): Promise<RunRow> {
  const row = await write(ctx, (tx) => requestCancel(tx, id));
  return isFinal(row) ? row : untilFinal(ctx, row, CANCEL_WAIT_MS);
}

/** Returns the run once it has finished, or after `ms`. */
async function untilFinal(ctx: Context, run: RunRow, ms: number, signal?: AbortSignal): Promise<RunRow> {
  const until = ctx.clock.monotonic() + ms;
  let row = run;
  while (!isFinal(row)) {
    const left = until - ctx.clock.monotonic();
    if (left <= 0 || signal?.aborted) return row;
    const changed = ctx.signals.wait(runTopic(run.id), Math.min(left, 1000), signal);
    row = await findRun(ctx, run.id);
    if (!isFinal(row)) await changed;
  }
  return findRun(ctx, run.id);
}

/** Sets the same definition off again, as a new run whose parent is the old one. Throws `invalid_state` for one under way. */
export async function retryRun(tx: WriteContext, id: string, trigger: Trigger): Promise<RunRow> {
  const run = await findRun(tx, id);
  refuseOthers(tx, run);
  if (!isFinal(run))
    throw new AppError("invalid_state", `This run is ${run.status}. You can retry it when it has finished.`);
  if (run.triggerMethod === "agent" && isCall(run.definition.context ?? null))
    throw new AppError(
      "invalid_state",
      "This run belongs to a call of an agent in a chat. Ask the agent again there.",
    );
  if (run.automationRunId !== null && !run.isResolved && hasTemplates(tx.executors[run.kind], run.definition))
    throw new AppError(
      "invalid_state",
      "This run is a step of an automation. Retry the automation run instead.",
    );
  if (run.actionId !== null) {
    const [action] = await tx.db
      .select({ status: actions.status, deletedAt: actions.deletedAt })
      .from(actions)
      .where(eq(actions.id, run.actionId));
    if (!action || action.deletedAt !== null)
      throw new AppError("invalid_state", "The action of this run has been deleted.");
    if (action.status === "disabled")
      throw new AppError("invalid_state", "The action of this run is disabled.");
  }
  return enqueueRun(tx, {
    kind: run.kind,
    definition: run.definition,
    isResolved: run.isResolved,
    actionId: run.actionId,
    actionVersion: run.actionVersion,
    connectionId: run.connectionId,
    parentActionRunId: run.id,
    concurrencyKey: run.concurrencyKey,
    input: run.input,
    trigger: { ...trigger, privateTo: run.privateTo },
  });
}
