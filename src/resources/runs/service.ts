import { eq } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { findRun, isFinal, requestCancel } from "../../queue/cancel.ts";
import { hasTemplates } from "../../queue/definition.ts";
import { enqueueRun, runTopic, type Trigger } from "../../queue/enqueue.ts";
import { actions } from "../actions/table.ts";
import type { RunRow } from "./table.ts";
import { isCall } from "./wire-calls.ts";
import { refuseOthers } from "./wire-private.ts";

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

/**
 * Starts the same definition again, as a new run whose parent is the old one.
 * Throws `invalid_state` for an unfinished or completed run.
 */
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
  if (run.status === "completed")
    throw new AppError(
      "invalid_state",
      "This run is completed, so there is nothing to retry. To do it again, run its action or its automation.",
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
