import { and, asc, eq, inArray } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { record } from "../events/service.ts";
import { deliverySettled } from "../inbound/settle.ts";
import { findRun, isFinal, requestCancel } from "../runs/service.ts";
import { actionRuns } from "../runs/table.ts";
import { automationRunEnded } from "./ended.ts";
import { findAutomationRun, isOver, mine } from "./runs.ts";
import { automationRunTopic } from "./save.ts";
import { isEnded } from "./states.ts";
import { type AutomationRunRow, automationRuns, type StepState } from "./table.ts";

/** Cancels the run and every step of it that has not ended. Throws `invalid_state` for one that has ended. */
export async function cancelAutomationRun(ctx: Context, id: string): Promise<AutomationRunRow> {
  await write(ctx, async (tx) => {
    const run = await findAutomationRun(tx, id);
    if (isOver(run)) throw new AppError("invalid_state", `This run has ended already: it is ${run.status}.`);
    const at = timestamp(tx.clock);
    const steps = run.steps.map((step): StepState => {
      if (isEnded(step.status)) return step;
      const hasBegun = step.actionRunId !== null || step.items !== undefined;
      return { ...step, status: hasBegun ? "cancelled" : "skipped", completedAt: at };
    });
    await tx.db
      .update(automationRuns)
      .set({ status: "cancelled", steps, dueAt: null, completedAt: at, updatedAt: at })
      .where(mine(tx, id));
    for (const id of await openRunsOf(tx, run)) {
      // One that is cancelled may make room in a line, and so let another end on the spot.
      if (!isFinal(await findRun(tx, id))) await requestCancel(tx, id);
    }
    await record(tx, "automation.cancelled", { type: "automation", id: run.automationId }, { runId: run.id });
    if (run.deliveryId !== null)
      await deliverySettled(tx, { ...run, status: "cancelled", steps, completedAt: at }, null);
    await automationRunEnded(tx, { ...run, status: "cancelled", steps, completedAt: at });
    tx.afterCommit(() => tx.signals.notify(automationRunTopic(id)));
  });
  return findAutomationRun(ctx, id);
}

/** The same for a run that nobody needs any more: one that has ended, or is not kept, stays as it is. */
export async function cancelUnlessEnded(tx: WriteContext, id: string): Promise<void> {
  const [run] = await tx.db
    .select({ completedAt: automationRuns.completedAt })
    .from(automationRuns)
    .where(mine(tx, id));
  if (run && run.completedAt === null) await cancelAutomationRun(tx, id);
}

/** The action runs of its steps, and of their items, that have not ended. */
async function openRunsOf(tx: WriteContext, run: AutomationRunRow): Promise<string[]> {
  const rows = await tx.db
    .select({ id: actionRuns.id })
    .from(actionRuns)
    .where(
      and(
        eq(actionRuns.automationRunId, run.id),
        inArray(actionRuns.status, ["pending", "running", "waiting"]),
      ),
    )
    .orderBy(asc(actionRuns.id));
  return rows.map(({ id }) => id);
}
