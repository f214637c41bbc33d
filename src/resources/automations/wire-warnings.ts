import type { RunError } from "../runs/table.ts";
import type { AutomationRunRow, ItemsState } from "./table.ts";

/** A failed step of a run that completed. */
export interface Warning {
  step: string;
  message: string;
}

/** Returns a warning for each failed step of a run that completed, since `onError` of these steps is `continue`. */
export function warningsOf({ status, steps }: Pick<AutomationRunRow, "status" | "steps">): Warning[] {
  if (status !== "completed") return [];
  return steps.flatMap((step) => {
    if (step.status !== "failed" && step.status !== "cancelled") return [];
    const message = step.error?.message ?? `The step was ${step.status}.`;
    return [{ step: step.key, message: step.items ? messageOf(step.items, step.error, message) : message }];
  });
}

function messageOf({ failed, total }: ItemsState, error: RunError | null, message: string): string {
  const item = error?.details?.item;
  const first = typeof item === "number" ? `Item ${item}: ${message}` : message;
  return `${failed} of ${total} items failed. ${first}`;
}
