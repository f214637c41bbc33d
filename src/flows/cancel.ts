import { and, asc, eq, inArray } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { type Context, inChainOf, requestChainOf, type WriteContext, write } from "../context.ts";
import { findRun, isFinal, requestCancel } from "../queue/cancel.ts";
import {
  type AutomationRunRow,
  automationRuns,
  type ItemsState,
  type StepState,
} from "../resources/automations/table.ts";
import { record } from "../resources/events/service.ts";
import { actionRuns, type RunError } from "../resources/runs/table.ts";
import { deliveryEnded } from "./delivery.ts";
import { findAutomationRun, isOver, mineRun } from "./find.ts";
import { recordEnd } from "./finish.ts";
import { type Starting, save } from "./save.ts";
import { isEnded } from "./states.ts";

/** Cancels the run and all of its unfinished steps. Throws `invalid_state` if the run has finished. */
export async function cancelAutomationRun(ctx: Context, id: string): Promise<AutomationRunRow> {
  await write(ctx, async (tx) => {
    const run = await findAutomationRun(tx, id);
    if (isOver(run))
      throw new AppError("invalid_state", `This run has already finished: it is ${run.status}.`);
    await endEarly(tx, run, { status: "cancelled", error: run.error, starting: null });
  });
  return findAutomationRun(ctx, id);
}

interface Early {
  status: "cancelled" | "failed";
  error: RunError | null;
  /** For a run that is being started, whose row isn't stored yet. */
  starting: Starting | null;
}

/**
 * Ends a run before all of its steps have ended: cancels running steps, and resumes what waits for the run. Its events
 * belong to the run's correlation chain, not to the request's.
 */
export async function endEarly(
  request: WriteContext,
  run: AutomationRunRow,
  { status, error, starting }: Early,
): Promise<AutomationRunRow> {
  const tx = inChainOf(request, run);
  const completedAt = timestamp(tx.clock);
  const steps = run.steps.map((step): StepState => {
    if (isEnded(step.status)) return step;
    const hasBegun = step.actionRunId !== null || step.items !== undefined;
    const items = step.items && closed(step.items);
    return { ...step, ...(items ? { items } : {}), status: hasBegun ? "cancelled" : "skipped", completedAt };
  });
  const ended = { ...run, status, error, steps, dueAt: null, completedAt };
  tx.endedEarly.add(run.id);
  await save(tx, ended, starting);
  for (const id of await openRunsOf(tx, run)) {
    // Cancelling a run can make room in a queue, and another run can then end immediately.
    if (!isFinal(await findRun(tx, id))) await requestCancel(tx, id);
  }
  const entity = { type: "automation", id: run.automationId } as const;
  const data = { runId: run.id, requestCorrelationId: requestChainOf(tx) };
  if (status === "cancelled") await record(tx, "automation.cancelled", entity, data);
  else await recordEnd(tx, ended);
  if (run.deliveryId !== null) await deliveryEnded(tx, ended, starting?.delivery ?? null);
  tx.runFollowers.automationEnded(tx, ended);
  return ended;
}

const closed = (items: ItemsState): ItemsState => ({
  ...items,
  running: 0,
  waiting: 0,
  failed: items.failed + items.running,
});

/** Cancels a run that is no longer needed. A finished or deleted run is left unchanged. */
export async function cancelUnlessEnded(tx: WriteContext, id: string): Promise<void> {
  const [run] = await tx.db
    .select({ completedAt: automationRuns.completedAt })
    .from(automationRuns)
    .where(mineRun(tx, id));
  if (run && run.completedAt === null) await cancelAutomationRun(tx, id);
}

/** Returns the unfinished action runs of its steps and items. */
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
