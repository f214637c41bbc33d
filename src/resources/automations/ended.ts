import type { WriteContext } from "../../context.ts";
import { traceAutomationRun } from "../runs/trace.ts";
import { callReturned } from "./call.ts";
import { moveUp } from "./line.ts";
import type { AutomationRunRow } from "./table.ts";

/** What follows when an automation run has ended for good, in that transaction. */
export async function automationRunEnded(tx: WriteContext, run: AutomationRunRow): Promise<void> {
  tx.afterCommit(() => traceAutomationRun(tx, run));
  if (run.callerRunId !== null) await callReturned(tx, run);
  if (run.isLimited) await moveUp(tx, run.automationId);
}
