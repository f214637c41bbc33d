import { diskFull } from "../base/disk.ts";
import { AppError, InvalidInput } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { RunError } from "../resources/runs/table.ts";

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
  return new AppError("internal", "The action failed unexpectedly. See the server log for this run ID.", {
    cause: error,
  });
}

/** What people hear of a failure. */
export const toRunError = (error: AppError, attempt: number): RunError => ({
  code: error.code,
  message: error.message,
  retryable: error.retryable,
  attempt,
  details: error.details as JsonObject | null,
});
