import type { Json } from "../base/json.ts";
import type { LogLevel } from "../executors/contract.ts";

/** What a script may call of `weir`, beside `weir.now`. */
export type WeirFunction = "http" | "sql";

/** JSON as UTF-8, in pieces that are written one after the other. */
export type JsonBytes = readonly Uint8Array[];

/** One run of a script. */
export interface ScriptWork {
  /** TypeScript or JavaScript: a module whose default export is called with the input and `weir`. */
  source: string;
  input: JsonBytes;
  /** MiB that its values may take; 256 at most. */
  memoryMb: number;
  timeoutMs: number;
  /** What its clock shows throughout, in milliseconds. */
  now: number;
  /** Of `Math.random`. */
  seed: number;
}

export interface ScriptLine {
  level: LogLevel;
  message: string;
}

/** What the script reaches outside of its process. */
export interface ScriptHost {
  organizationId: string;
  signal: AbortSignal;
  /** Carries out a call. An `AppError` goes to the script, every other error ends it. */
  call(name: WeirFunction, args: readonly Json[], signal: AbortSignal): Promise<JsonBytes>;
  /** A line that the script has logged; the first thousand come here. */
  log(line: ScriptLine): void;
}

export interface ScriptOutput {
  json: Buffer;
  /** Of a list the number of its items. */
  items: number | null;
}

/**
 * Runs scripts of tenants in QuickJS, each in a locked child process, which stays for the same organization's next one
 * (docs/decisions/scripts.md).
 *
 * Throws `script_error` with `details.line` for a fault of the script, `script_timeout`, `script_memory`,
 * `result_too_large`, the signal's reason, and what `call` throws that is no `AppError`.
 */
export interface Scripts {
  run(work: ScriptWork, host: ScriptHost): Promise<ScriptOutput>;
  close(): Promise<void>;
}
