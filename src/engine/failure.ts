import { diskFull } from "../base/disk.ts";
import { AppError, InvalidInput } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { CommonFields } from "../queue/definition.ts";
import type { RunError } from "../resources/runs/table.ts";

const DEFAULT_BACKOFF_SECONDS = [1, 5, 30, 120, 600];

/** Why a run's signal aborts; tells cancel, stop and timeout apart. */
export class Ended extends Error {
  override readonly name = "Ended";
  readonly why: "cancelled" | "stopped" | "timeout" | "lost";
  constructor(why: Ended["why"]) {
    super(why);
    this.why = why;
  }
}

/** What a run came to could not be saved: it is taken up again once that can be. */
export class NotWritten extends Error {
  override readonly name = "NotWritten";
}

/** What was thrown, as people are told of it. */
export function asAppError(error: unknown): AppError {
  if (error instanceof InvalidInput) return new AppError("definition_invalid", error.message);
  if (error instanceof AppError) return error;
  const full = diskFull(error);
  if (full) return full;
  return new AppError(
    "internal",
    "The action failed unexpectedly; the run's id leads to the cause in the server's log.",
    { cause: error },
  );
}

/** What people hear of a failure. */
export const toRunError = (error: AppError, attempt: number): RunError => ({
  code: error.code,
  message: error.message,
  retryable: error.retryable,
  attempt,
  details: error.details as JsonObject | null,
});

/** The pause after a try, in seconds; null when there is no other. What the other side asked for is waited out. */
export function pauseSeconds({ retry }: CommonFields, error: AppError, tries: number): number | null {
  const { maxAttempts = 1, backoffSeconds = [] } = retry ?? {};
  if (tries >= maxAttempts) return null;
  const steps = backoffSeconds.length > 0 ? backoffSeconds : DEFAULT_BACKOFF_SECONDS;
  const pause = steps[Math.min(tries - 1, steps.length - 1)] ?? 0;
  return Math.max(pause, error.retryAfterSeconds ?? 0);
}
