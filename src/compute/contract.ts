import type { Piece } from "../base/chore.ts";
import type { AppError } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/json.ts";

/** Jobs on data of external systems and tenants. To add one, add its name here and its function in `jobs.ts`. */
export type ComputeName = "conditions" | "fill" | "http_next_page" | "http_result" | "mask" | "search";

export interface ComputeJob {
  name: ComputeName;
  input: JsonObject;
  /** Bytes that the input refers to, unparsed: parsing is part of the job. */
  pieces: readonly Piece[];
  /** Error for a job that exceeds its limits; its message ends with `why`. */
  tooMuch: (why: "too long" | "too much memory") => AppError;
}

export interface Computed {
  output: Json;
  /** Additional output of the job, such as a long JSON text. */
  bytes: Uint8Array;
}

/**
 * Runs expensive work in child processes, which are killed at their deadline or memory limit. Organizations share the
 * processes fairly.
 */
export interface Compute {
  /** Throws the job's error, the signal's reason, and `tooMuch`. */
  run(job: ComputeJob, by: { organizationId: string; signal: AbortSignal }): Promise<Computed>;
}
