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

/** Cancels the run and every step of it that has not ended. Throws `invalid_state` for one that has ended. */
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
  /** For a run that is being started: its row is not stored yet. */
  starting: Starting | null;
}

/**
 * Ends a run before all of its steps have ended: what they have under way is cancelled, and what waits for it goes on.
 * Its events belong to the run's chain, whoever asked for it.
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
  await save(tx, ended, starting);
  for (const id of await openRunsOf(tx, run)) {
    // One that is cancelled may make room in a queue, and so let another end on the spot.
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
