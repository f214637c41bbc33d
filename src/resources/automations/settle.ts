import type { WriteContext } from "../../context.ts";
import type { RunRow } from "../runs/table.ts";
import { advance } from "./advance.ts";
import { stepsOf } from "./config.ts";
import { itemSettled, itemTurned } from "./each.ts";
import { findConfig, runById, type SlimRun, saveProgress, slimRunById } from "./save.ts";
import { hasFailed, isEnded, statusOf } from "./states.ts";
import type { StepState } from "./table.ts";

/** Takes note of a step's ended action run, in its transaction, and starts whatever that sets free. */
export async function stepSettled(tx: WriteContext, run: RunRow): Promise<void> {
  const [slim] = await slimRunById(tx.db).all({ id: run.automationRunId });
  if (!slim || isEnded(slim.status)) return;
  if (slim.steps.some((step) => step.key === run.stepKey && step.items))
    return itemOfStepSettled(tx, slim, run);
  await settled(
    tx,
    slim,
    slim.steps.map(
      (step): StepState =>
        step.key === run.stepKey && step.actionRunId === run.id
          ? {
              ...step,
              status: run.status,
              startedAt: run.startedAt,
              completedAt: run.completedAt,
              error: run.error,
              waitKind: undefined,
            }
          : step,
    ),
  );
}

async function settled(tx: WriteContext, { id }: SlimRun, steps: StepState[]): Promise<void> {
  const [row] = await runById(tx.db).all({ id });
  if (row) await advance(tx, { ...row, steps });
}

/** The same for the run of one item of a `forEach`. */
async function itemOfStepSettled(tx: WriteContext, run: SlimRun, ended: RunRow): Promise<void> {
  const definitions = stepsOf(await findConfig(tx.db, run));
  const definition = definitions.find(({ key }) => key === ended.stepKey);
  if (!definition) return;
  const state = run.steps.find(({ key }) => key === definition.key);
  if (!state) return;
  const isStopped = hasFailed(definitions, run.steps);
  const next = await itemSettled(tx, run, definition, { state, ended, isStopped });
  const steps = run.steps.map((each) => (each === state ? next : each));
  if (isEnded(next.status)) await settled(tx, run, steps);
  else await saveProgress(tx, { ...run, steps, status: statusOf(steps) });
}

/** Takes note of a step that waits for something else than a worker or time. */
export async function stepWaits(tx: WriteContext, run: RunRow): Promise<void> {
  const [slim] = await slimRunById(tx.db).all({ id: run.automationRunId });
  if (!slim || isEnded(slim.status)) return;
  const waitKind = run.waitKind ?? undefined;
  await turn(tx, slim, run, { status: "waiting", startedAt: run.startedAt, waitKind });
}

/** Takes note of a step that waited and is in line again. */
export async function stepGoesOn(tx: WriteContext, run: RunRow): Promise<void> {
  const [slim] = await slimRunById(tx.db).all({ id: run.automationRunId });
  if (!slim || isEnded(slim.status)) return;
  await turn(tx, slim, run, { status: "running", waitKind: undefined });
}

async function turn(tx: WriteContext, slim: SlimRun, run: RunRow, now: Partial<StepState>): Promise<void> {
  const steps: StepState[] = [];
  for (const state of slim.steps) {
    const isIts = state.key === run.stepKey;
    if (isIts && state.items) steps.push(await itemTurned(tx, slim, { state, turned: run }));
    else steps.push(isIts && state.actionRunId === run.id ? { ...state, ...now } : state);
  }
  await saveProgress(tx, { ...slim, steps, status: statusOf(steps) });
}
