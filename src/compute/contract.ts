import type { Piece } from "../base/chore.ts";
import type { AppError } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/json.ts";

/** Work on what outside systems and tenants give. To add one: its name here, its function in `jobs.ts`. */
export type ComputeName = "conditions" | "fill" | "http_next_page" | "http_result" | "mask" | "search";

export interface ComputeJob {
  name: ComputeName;
  input: JsonObject;
  /** Bytes that the input speaks of, as they came: parsing them is the job's own business. */
  pieces: readonly Piece[];
  /** What is said of a job that takes too long or too much memory; ends where `why` goes on. */
  tooMuch: (why: "too long" | "too much memory") => AppError;
}

export interface Computed {
  output: Json;
  /** What the job made beside its output, such as a long JSON text. */
  bytes: Uint8Array;
}

/**
 * Does what may take long or much memory in a process of its own, which is ended at its deadline or its limit of memory.
 * Organizations take turns at these processes.
 */
export interface Compute {
  /** Throws what the job throws, the signal's reason, and `tooMuch`. */
  run(job: ComputeJob, by: { organizationId: string; signal: AbortSignal }): Promise<Computed>;
}
