import type { RunStatus } from "../runs/table.ts";
import type { Step } from "./config.ts";
import type { StepState } from "./table.ts";

const ENDED: readonly string[] = ["completed", "failed", "cancelled", "skipped"];

/** Of a step or a run. */
export const isEnded = (status: string) => ENDED.includes(status);

/** True once a step has failed whose failure is that of the run. */
export const hasFailed = (definitions: readonly Step[], states: readonly StepState[]): boolean =>
  definitions.some(
    ({ key, onError }) =>
      onError !== "continue" && states.some((state) => state.key === key && state.status === "failed"),
  );

/** `waiting` where no step is in line or under way. */
export const statusOf = (steps: readonly StepState[]): RunStatus =>
  steps.some(
    ({ status, actionRunId }) => status === "running" || (status === "pending" && actionRunId !== null),
  )
    ? "running"
    : "waiting";

export const fresh = (key: string): StepState => ({
  key,
  status: "pending",
  actionRunId: null,
  startedAt: null,
  completedAt: null,
  error: null,
});

/** A step that is done again: of a `forEach` only the items that have not completed. */
export const again = (state: StepState): StepState => ({
  ...fresh(state.key),
  ...(state.items ? { items: state.items } : {}),
});
