import type { ScriptWork } from "./contract.ts";

/** Parent to child: a job, followed by its input as bytes; or the reply to a call of the current job. */
export type ToScript =
  | ({ job: number; organizationId: string } & Omit<ScriptWork, "input">)
  | { job: number; reply: number; isFault: boolean };

/** Child to parent: all but the first name their job. Bytes follow a call (its arguments) and each output part. */
export type FromScript =
  | { kind: "ready" }
  | { kind: "call"; job: number; id: number; name: string }
  | { kind: "log"; job: number; level: string; message: string }
  | { kind: "part"; job: number }
  | { kind: "end"; job: number; items: number; fault: ScriptFault | null; isBroken: boolean };

/** Why a script failed. */
export interface ScriptFault {
  code: "script_error" | "script_timeout" | "script_memory" | "result_too_large";
  message: string;
  /** Line in the source, from 1; null if no line is responsible. */
  line: number | null;
}
