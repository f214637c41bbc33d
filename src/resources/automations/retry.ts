import { AppError } from "../../base/errors.ts";
import type { WriteContext } from "../../context.ts";
import { findAutomation, findAutomationRun, isOver } from "../../flows/find.ts";
import { statesOfRetry } from "../../flows/retry-steps.ts";
import { findConfig } from "../../flows/save.ts";
import { triggerAgain } from "../../flows/scope.ts";
import { refuseDisabled, startAutomationRun } from "../../flows/start.ts";
import { fresh } from "../../flows/states.ts";
import type { Trigger } from "../../queue/enqueue.ts";
import { refuseOthers } from "../runs/wire-private.ts";
import { type AutomationConfig, stepsOf } from "./config.ts";
import { type AutomationRunRow, TEST_VERSION } from "./table.ts";

const deleted = () =>
  new AppError("invalid_state", "This run can't be retried because its automation was deleted.");

/**
 * Starts a finished run again, as a new run.
 * With `fromFailed`, completed steps keep their results unless they depend on steps that run again.
 */
export async function retryAutomationRun(
  tx: WriteContext,
  id: string,
  fromFailed: boolean,
  trigger: Trigger,
): Promise<AutomationRunRow> {
  const run = await findAutomationRun(tx, id);
  refuseOthers(tx, run);
  if (!isOver(run))
    throw new AppError("invalid_state", `This run is ${run.status}. You can retry it when it has finished.`);
  const isDone = run.status === "completed" && run.steps.every(({ status }) => status !== "failed");
  if (isDone && fromFailed)
    throw new AppError(
      "invalid_state",
      "This run has completed without failures. To run all of it again, set fromFailed to false.",
    );
  if (run.automationVersion === TEST_VERSION)
    throw new AppError("invalid_state", "This was a test run. Test the automation again.");
  const { automation } = await findAutomation(tx, run.automationId).catch((error: unknown) => {
    throw error instanceof AppError && error.code === "not_found" ? deleted() : error;
  });
  refuseDisabled(automation);
  const definitions = stepsOf(automation.config as AutomationConfig);
  const before = fromFailed ? stepsOf(await findConfig(tx.db, run)) : [];
  const steps = fromFailed
    ? statesOfRetry(definitions, { steps: run.steps, definitions: before })
    : definitions.map(({ key }) => fresh(key));
  const gone = "The webhook payload is no longer stored. Ask the sender to send it again.";
  const isOpen = steps.some(({ status }) => status === "pending");
  const scope = isOpen ? await triggerAgain(tx.db, run, gone) : {};
  return startAutomationRun(tx, automation, {
    trigger: { ...trigger, privateTo: run.privateTo },
    input: run.input,
    ...(Object.keys(scope).length === 0 ? {} : { scope }),
    parent: run,
    steps,
  });
}
