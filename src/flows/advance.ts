import { timestamp } from "../base/clock.ts";
import { openBudgetHere } from "../base/condition.ts";
import { AppError } from "../base/errors.ts";
import type { Budget } from "../base/expression/budget.ts";
import { ExpressionTooLong } from "../base/expression/too-long.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { Scope } from "../base/template.ts";
import type { WriteContext } from "../context.ts";
import { decideRun, isDecider } from "../queue/decide.ts";
import { enqueueRun } from "../queue/enqueue.ts";
import { enqueueStep } from "../queue/enqueue-step.ts";
import {
  type AutomationConfig,
  readDependency,
  type Step,
  stepsOf,
} from "../resources/automations/config.ts";
import { type AutomationRunRow, isDelayed, type StepState } from "../resources/automations/table.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { delayOf } from "./delay.ts";
import { beginItems } from "./each.ts";
import { orFail } from "./fail.ts";
import { finish, type Known } from "./finish.ts";
import { openTriggerWithin } from "./long-payload.ts";
import { stepsIn } from "./names.ts";
import { findConfig, type Starting, save } from "./save.ts";
import { automationScope, failedUnbegun, seenFailure, seenItems, seenStep } from "./scope.ts";
import { hasFailed, isEnded, nextDelay, statusOf } from "./states.ts";
import { storedSteps } from "./stored-results.ts";
import { decisionOf, stepHolds } from "./whens.ts";
import { refuseBusyKey, runOfStep, workOf } from "./work.ts";

/** Time limit for deciding steps within one transaction, since every other write waits for it. */
const DECIDE_MS = 40;

/** What one transaction may still spend on deciding. */
interface Patience {
  whens: Budget;
  decideMs: number;
}

/**
 * Starts every step that can start, and ends the run if nothing is left to do. A run that can't continue because of an
 * internal error ends as failed. Throws only if a later attempt may succeed.
 */
export async function advance(
  tx: WriteContext,
  run: AutomationRunRow,
  starting: Starting | null = null,
  known: Known = {},
): Promise<AutomationRunRow> {
  return orFail(tx, run, () => goOn(tx, run, starting, known), starting);
}

async function goOn(
  tx: WriteContext,
  run: AutomationRunRow,
  starting: Starting | null,
  known: Known,
): Promise<AutomationRunRow> {
  const config = starting?.config ?? (known.config as AutomationConfig | null | undefined);
  const definitions = stepsOf(config ?? (await findConfig(tx.db, run)));
  const states = new Map(run.steps.map((step) => [step.key, { ...step }]));
  let results: Record<string, Json> | null = null;
  const patience: Patience = { whens: openBudgetHere(), decideMs: DECIDE_MS };
  const decision = decisionOf(tx, run);

  for (let moved = true; moved; ) {
    moved = false;
    for (const step of definitions) {
      const state = states.get(step.key);
      if (!state || !(isDue(tx, state) || (isDelayed(state) && hasFailed(definitions, [...states.values()]))))
        continue;
      const dependencies = (step.dependsOn ?? []).map(readDependency);
      if (!dependencies.every(({ key }) => isEnded(states.get(key)?.status ?? "skipped"))) continue;
      results ??= await automationScope(tx.db, run, (trigger) => openTriggerWithin(tx, trigger));
      Object.assign(
        state,
        hasFailed(definitions, [...states.values()])
          ? skipped(tx)
          : await begin(tx, run, step, { dependencies, states, scope: results, patience, decision }),
      );
      if (failedUnbegun(state) && isObject(results.steps)) results.steps[step.key] = seenFailure(state);
      moved = true;
    }
  }
  tx.afterCommit(() => tx.decidedWhens.delete(decision));
  const steps = [...states.values()];
  if (!steps.every((step) => isEnded(step.status)))
    return save(tx, { ...run, steps, status: statusOf(steps), dueAt: nextDelay(steps) }, starting);
  return finish(tx, { ...run, steps }, definitions, { starting, seen: results, known });
}

/** Returns whether a step hasn't started and isn't delayed. */
const isDue = (tx: WriteContext, state: StepState): boolean =>
  (state.status === "pending" && state.actionRunId === null) ||
  (isDelayed(state) && Date.parse(state.delayUntil ?? "") <= tx.clock.now().getTime());

const skipped = (tx: WriteContext): Partial<StepState> => ({
  status: "skipped",
  completedAt: timestamp(tx.clock),
});

/** What a step starts with. */
interface Beginning {
  dependencies: readonly { key: string; branch: string | null }[];
  states: ReadonlyMap<string, StepState>;
  scope: Record<string, Json>;
  patience: Patience;
  decision: string;
}

/** Decides about a step whose dependencies have ended: it is skipped, fails, or is queued. */
async function begin(
  tx: WriteContext,
  run: AutomationRunRow,
  step: Step,
  { dependencies, states, scope, patience, decision }: Beginning,
): Promise<Partial<StepState>> {
  const wanted = dependencies.filter(({ key, branch }) => isTaken(states.get(key), branch, scope));
  if (dependencies.length > 0 && wanted.length === 0) return skipped(tx);
  if (
    dependencies.some(({ branch }) => branch !== null) &&
    !dependencies.some(
      ({ key, branch }) => branch !== null && wanted.some((w) => w.key === key && w.branch === branch),
    )
  ) {
    return skipped(tx);
  }
  try {
    const now = run.startedAt ?? timestamp(tx.clock);
    const seen = { ...scope, run: { id: run.id, startedAt: now }, now };
    const isOver = states.get(step.key)?.delayUntil !== undefined; // the condition was checked before the delay
    if (
      !isOver &&
      step.when !== undefined &&
      !(await stepHolds(tx, { decision, text: step.when }, seen, patience.whens))
    )
      return skipped(tx);
    const delayUntil = step.delay === undefined || isOver ? null : await delayOf(tx, step, decision, seen);
    if (delayUntil !== null) return { status: "waiting", startedAt: timestamp(tx.clock), delayUntil };
    if (step.forEach !== undefined) return await beginStepWithItems(tx, run, step, { states, scope: seen });
    const started = await startStep(tx, run, step, {
      scope: seen,
      patience,
      repeats: states.get(step.key)?.repeats,
    });
    if (started.status !== "pending" && isObject(scope.steps)) scope.steps[step.key] = seenStep(started);
    const { id: actionRunId, status, startedAt, completedAt, error } = started;
    return { status, actionRunId, startedAt: startedAt ?? timestamp(tx.clock), completedAt, error };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "internal") throw error;
    const { code, message, retryable, details } = error;
    const at = timestamp(tx.clock);
    return {
      status: "failed",
      startedAt: at,
      completedAt: at,
      error: { code, message, retryable, attempt: 1, details: details as JsonObject | null },
    };
  }
}

async function beginStepWithItems(
  tx: WriteContext,
  run: AutomationRunRow,
  step: Step,
  { states, scope }: Pick<Beginning, "states" | "scope">,
): Promise<Partial<StepState>> {
  const state = states.get(step.key);
  if (!state) throw new AppError("internal", "A step of this run has no state.");
  const begun = await beginItems(tx, run, step, { state, scope });
  if (begun.status === "completed" && isObject(scope.steps))
    scope.steps[step.key] = await seenItems(tx.db, { ...state, ...begun }, begun.items);
  return begun;
}

/** A dependency counts if its step ran and took the branch. A step that failed counts if it continues on failure. */
function isTaken(state: StepState | undefined, branch: string | null, scope: Scope): boolean {
  if (!state || state.status === "skipped" || state.status === "cancelled") return false;
  if (branch === null) return true;
  const steps = scope.steps;
  const step = isObject(steps) ? steps[state.key] : null;
  const result = isObject(step) ? step.result : null;
  return isObject(result) && result.branch === branch;
}

/** Queued, or already finished if its kind is decided immediately. */
async function startStep(
  tx: WriteContext,
  run: AutomationRunRow,
  step: Step,
  { scope, patience, repeats }: Pick<Beginning, "scope" | "patience"> & Pick<StepState, "repeats">,
): Promise<RunRow> {
  const work = await workOf(tx, step);
  const input = await runOfStep(tx, run, { step, work, scope, repeats });
  await refuseBusyKey(tx, run.id, input);
  const executor = tx.executors[work.kind];
  const readsKept = storedSteps(scope.steps, stepsIn(JSON.stringify(input.definition))).length > 0;
  if (!isDecider(executor) || input.concurrencyKey !== null || readsKept || patience.decideMs <= 0)
    return isDecider(executor) ? enqueueRun(tx, input) : enqueueStep(tx, input);
  const startedMs = tx.clock.monotonic();
  try {
    return await decideRun(tx, executor, input, scope);
  } catch (error) {
    if (!(error instanceof ExpressionTooLong)) throw error;
    return enqueueRun(tx, input);
  } finally {
    patience.decideMs -= tx.clock.monotonic() - startedMs;
  }
}
