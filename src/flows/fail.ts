import { DoFirst, type WriteContext } from "../context.ts";
import type { AutomationRunRow } from "../resources/automations/table.ts";
import type { RunError } from "../resources/runs/table.ts";
import { mayPass } from "../store/faults.ts";
import { endEarly } from "./cancel.ts";
import type { Starting } from "./save.ts";

/** Error message of an internal error. */
export const internalError = (message: string): RunError => ({
  code: "internal",
  message,
  retryable: false,
  attempt: 1,
  details: null,
});

/** Does this work. The run fails if it throws a lasting error. Throws only if a later attempt may succeed. */
export async function orFail(
  tx: WriteContext,
  run: AutomationRunRow,
  work: () => Promise<AutomationRunRow>,
  starting: Starting | null = null,
): Promise<AutomationRunRow> {
  try {
    return await work();
  } catch (error) {
    if (mayPass(error) || error instanceof DoFirst) throw error;
    return failBroken(tx, run, error, starting);
  }
}

/**
 * Fails a run that can't continue because of an internal error, and cancels its running action runs. It would fail
 * again in the same way, and a run that never ends would block what waits for it.
 */
export async function failBroken(
  tx: WriteContext,
  run: AutomationRunRow,
  cause: unknown,
  starting: Starting | null = null,
): Promise<AutomationRunRow> {
  const { id: automationRunId, correlationId } = run;
  tx.afterCommit(() => tx.log.report(cause, { automationRunId, correlationId, at: "advance a run" }));
  const message =
    "The run stopped because of a server error. See the server log for this run ID, then retry it.";
  return endEarly(tx, run, { status: "failed", error: internalError(message), starting });
}
