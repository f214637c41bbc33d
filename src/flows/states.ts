import type { Step } from "../resources/automations/config.ts";
import { type ItemsState, isDelayed, type StepState } from "../resources/automations/table.ts";
import type { RunStatus } from "../resources/runs/table.ts";

const ENDED: readonly string[] = ["completed", "failed", "cancelled", "skipped"];

/** Of a step or a run. */
export const isEnded = (status: string) => ENDED.includes(status);

/** Returns whether a step failed or was cancelled in a way that fails the run. */
export const hasFailed = (definitions: readonly Step[], states: readonly StepState[]): boolean =>
  definitions.some(
    ({ key, onError }) =>
      onError !== "continue" &&
      states.some((state) => state.key === key && ["failed", "cancelled"].includes(state.status)),
  );

/** `waiting` if no step is queued or running. */
export const statusOf = (steps: readonly StepState[]): RunStatus =>
  steps.some(
    ({ status, actionRunId }) => status === "running" || (status === "pending" && actionRunId !== null),
  )
    ? "running"
    : "waiting";

/** Status of a `forEach` that hasn't ended: waiting if all of its started items wait. */
export const statusOfItems = ({ running, waiting = 0 }: ItemsState): "running" | "waiting" =>
  running > 0 && waiting === running ? "waiting" : "running";

export const fresh = (key: string): StepState => ({
  key,
  status: "pending",
  actionRunId: null,
  startedAt: null,
  completedAt: null,
  error: null,
});

/** State of a step that runs again. Of a `forEach`, only the uncompleted items do. */
export function again(state: StepState): StepState {
  const repeats = state.actionRunId ?? state.repeats;
  return {
    ...fresh(state.key),
    ...(state.items ? { items: state.items, ...(state.warnings ? { warnings: state.warnings } : {}) } : {}),
    ...(repeats === undefined ? {} : { repeats }),
  };
}

/** Returns the earliest time that a step waits for. Null if none does. */
export const nextDelay = (steps: readonly StepState[]): string | null =>
  steps.flatMap((step) => (isDelayed(step) ? [step.delayUntil ?? ""] : [])).sort()[0] ?? null;
