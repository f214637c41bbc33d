import type { OpenRun, WriteContext } from "../context.ts";
import { stepsOf } from "../resources/automations/config.ts";
import type { StepState } from "../resources/automations/table.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { advance } from "./advance.ts";
import { warningsFrom } from "./call-warnings.ts";
import { itemsEnded, itemTurned } from "./each.ts";
import { findConfig, runById, type SlimRun, saveProgress, slimRunById } from "./save.ts";
import { hasFailed, isEnded, statusOf } from "./states.ts";

/** Records that action runs of one automation run ended, in the same transaction, and starts whatever can start now. */
export async function stepsEnded(
  tx: WriteContext,
  ended: readonly RunRow[],
  open: OpenRun | null = null,
): Promise<void> {
  if (open && !isOfItems(open.run.steps, ended)) return runEnded(tx, ended, open);
  const [slim] = await slimRunById(tx.db).all({ id: ended[0]?.automationRunId });
  if (!slim || isEnded(slim.status)) return;
  const definitions = isOfItems(slim.steps, ended) ? stepsOf(await findConfig(tx.db, slim)) : [];
  const isStopped = hasFailed(definitions, slim.steps);
  const steps: StepState[] = [];
  let goesOn = false;
  for (const state of slim.steps) {
    const own = ended.filter(({ stepKey }) => stepKey === state.key);
    const definition = definitions.find(({ key }) => key === state.key);
    const next =
      state.items && !state.items.bulk && definition && own.length > 0
        ? await itemsEnded(tx, slim, definition, { state, ended: own, isStopped })
        : afterRun(state, own);
    if (own.length > 0 && isEnded(next.status)) goesOn = true;
    steps.push(next);
  }
  if (!goesOn) return saveProgress(tx, { ...slim, steps, status: statusOf(steps) });
  const [row] = await runById(tx.db).all({ id: slim.id });
  if (row) await advance(tx, { ...row, steps });
}

/** True if one of the runs belongs to an item of a step. */
const isOfItems = (steps: readonly StepState[], ended: readonly RunRow[]): boolean =>
  steps.some(({ key, items }) => items && !items.bulk && ended.some(({ stepKey }) => stepKey === key));

/** Does the same for an automation run that was read before, if none of the runs belongs to an item. */
async function runEnded(tx: WriteContext, ended: readonly RunRow[], open: OpenRun): Promise<void> {
  const { run } = open;
  if (isEnded(run.status) || tx.endedEarly.has(run.id)) return;
  const steps = run.steps.map((state) => afterRun(state, ended));
  if (steps.some((step, index) => isEnded(step.status) && step !== run.steps[index])) {
    const results = new Map(ended.map(({ id, result }) => [id, result]));
    await advance(tx, { ...run, steps }, null, { ...open, results });
  } else await saveProgress(tx, { ...run, steps, status: statusOf(steps) });
}

/** Returns the new state of a step without items if its run is one of `ended`. */
function afterRun(state: StepState, ended: readonly RunRow[]): StepState {
  const run = ended.find(({ id }) => id === state.actionRunId);
  if (!run) return state;
  const { status, startedAt, completedAt, error } = run;
  return {
    ...state,
    status,
    startedAt,
    completedAt,
    error,
    waitKind: undefined,
    ...warningsFrom(run, state),
  };
}

/** Records that a step waits for something other than a worker: a decision, a run, or its next attempt. */
export async function stepWaits(tx: WriteContext, run: RunRow): Promise<void> {
  const [slim] = await slimRunById(tx.db).all({ id: run.automationRunId });
  if (!slim || isEnded(slim.status)) return;
  const { startedAt, error } = run;
  const waitKind = run.waitKind ?? undefined;
  await updateStep(tx, slim, run, { status: "waiting", startedAt, error, waitKind });
}

/** Records that a waiting step is queued again, or begins its next attempt. */
export async function stepGoesOn(tx: WriteContext, run: RunRow): Promise<void> {
  const [slim] = await slimRunById(tx.db).all({ id: run.automationRunId });
  if (!slim || isEnded(slim.status)) return;
  await updateStep(tx, slim, { ...run, status: "pending" }, { status: "running", waitKind: undefined });
}

async function updateStep(
  tx: WriteContext,
  slim: SlimRun,
  run: RunRow,
  now: Partial<StepState>,
): Promise<void> {
  const steps: StepState[] = [];
  for (const state of slim.steps) {
    const isIts = state.key === run.stepKey;
    if (isIts && state.items && !state.items.bulk)
      steps.push(await itemTurned(tx, slim, { state, turned: run }));
    else steps.push(isIts && state.actionRunId === run.id ? { ...state, ...now } : state);
  }
  await saveProgress(tx, { ...slim, steps, status: statusOf(steps) });
}
