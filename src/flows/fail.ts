import type { WriteContext } from "../context.ts";
import type { AutomationRunRow } from "../resources/automations/table.ts";
import type { RunError } from "../resources/runs/table.ts";
import { endEarly } from "./cancel.ts";
import type { Starting } from "./save.ts";

/** What people hear of a fault of ours. */
export const internalError = (message: string): RunError => ({
  code: "internal",
  message,
  retryable: false,
  attempt: 1,
  details: null,
});

/**
 * Ends a run that can't go on for a fault of ours, as failed: whatever led to it would do so again, and a run that
 * nobody can end would hold up what waits for it. Its action runs under way are cancelled.
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
