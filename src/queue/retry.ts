import { timestamp } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import { pauseSeconds } from "../base/retry.ts";
import type { App } from "../context.ts";
import type { RunError } from "../resources/runs/table.ts";
import type { CommonFields } from "./definition.ts";

export type Failure =
  | { status: "failed"; error: RunError }
  | { status: "waiting"; error: RunError; dueAt: string };

/** The outcome of an attempt that failed: the next one is due later, or the run has failed. */
export function failureOutcome(
  { clock }: Pick<App, "clock">,
  definition: JsonObject,
  error: RunError,
  retryAfterSeconds: number | null = null,
): Failure {
  const { retry = {} } = definition as CommonFields;
  const pause = error.retryable ? pauseSeconds(retry, { retryAfterSeconds }, error.attempt) : null;
  if (pause === null) return { status: "failed", error };
  return { status: "waiting", error, dueAt: timestamp(clock, pause * 1000) };
}
