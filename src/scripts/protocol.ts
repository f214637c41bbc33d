import type { ScriptWork } from "./contract.ts";

/** Parent to child: a job, whose input follows as bytes; or the reply to a call of the job under way. */
export type ToScript =
  | ({ job: number; organizationId: string } & Omit<ScriptWork, "input">)
  | { job: number; reply: number; isFault: boolean };

/** Child to parent: each but the first names its job. Bytes follow a call, its arguments, and each part of an output. */
export type FromScript =
  | { kind: "ready" }
  | { kind: "call"; job: number; id: number; name: string }
  | { kind: "log"; job: number; level: string; message: string }
  | { kind: "part"; job: number }
  | { kind: "end"; job: number; items: number; fault: ScriptFault | null; isBroken: boolean };

/** Why a script gave nothing. */
export interface ScriptFault {
  code: "script_error" | "script_timeout" | "script_memory" | "result_too_large";
  message: string;
  /** Of the source, from 1; null where none is to blame. */
  line: number | null;
}
