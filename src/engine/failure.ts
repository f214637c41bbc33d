import { diskFull } from "../base/disk.ts";
import { AppError, InvalidInput } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { RunError } from "../resources/runs/table.ts";

/** Why a run's signal aborts: cancel, stop or timeout. */
export class Ended extends Error {
  override readonly name = "Ended";
  readonly why: "cancelled" | "stopped" | "timeout" | "lost";
  constructor(why: Ended["why"]) {
    super(why);
    this.why = why;
  }
}

/** The run's outcome couldn't be saved. It resumes when the store is available. */
export class NotWritten extends Error {
  override readonly name = "NotWritten";
}

/** The error in the form that people see. */
export function asAppError(error: unknown): AppError {
  if (error instanceof InvalidInput) return new AppError("definition_invalid", error.message);
  if (error instanceof AppError) return error;
  const full = diskFull(error);
  if (full) return full;
  return new AppError("internal", "The action failed unexpectedly. See the server log for this run ID.", {
    cause: error,
  });
}

/** The message of a failure for people. */
export const toRunError = (error: AppError, attempt: number): RunError => ({
  code: error.code,
  message: error.message,
  retryable: error.retryable,
  attempt,
  details: error.details as JsonObject | null,
});
