import type { Json } from "../base/json.ts";
import type { LogLevel } from "../executors/contract.ts";

/** The functions of `weir` that a script can call, besides `weir.now`. */
export type WeirFunction = "http" | "sql";

/** JSON as UTF-8, in consecutive pieces. */
export type JsonBytes = readonly Uint8Array[];

/** One run of a script. */
export interface ScriptWork {
  /** TypeScript or JavaScript: a module whose default export is called with the input and `weir`. */
  source: string;
  input: JsonBytes;
  /** Memory for its values in MiB; maximum: 256. */
  memoryMb: number;
  timeoutMs: number;
  /** The constant time of its clock, in milliseconds. */
  now: number;
  /** Seed of `Math.random`. */
  seed: number;
}

export interface ScriptLine {
  level: LogLevel;
  message: string;
}

/** What a script can access outside its process. */
export interface ScriptHost {
  organizationId: string;
  signal: AbortSignal;
  /** Runs a call. An `AppError` is thrown in the script; any other error ends it. */
  call(name: WeirFunction, args: readonly Json[], signal: AbortSignal): Promise<JsonBytes>;
  /** A line logged by the script; only the first thousand are passed on. */
  log(line: ScriptLine): void;
}

export interface ScriptOutput {
  json: Buffer;
  /** Number of items if it is a list. */
  items: number | null;
}

/**
 * Runs tenants' scripts in QuickJS, each in a locked child process that is kept for the same organization's next script
 * (docs/decisions/scripts.md).
 *
 * Throws `script_error` with `details.line` for an error in the script, `script_timeout`, `script_memory`,
 * `result_too_large`, the signal's reason, and errors of `call` other than `AppError`.
 */
export interface Scripts {
  run(work: ScriptWork, host: ScriptHost): Promise<ScriptOutput>;
  close(): Promise<void>;
}
