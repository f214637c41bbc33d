import type { Json, JsonObject } from "../base/json.ts";
import type { Computed } from "./contract.ts";

/** Why a job gave nothing, as an `AppError` has it. */
interface JobFault {
  code: string;
  message: string;
  details: Record<string, unknown> | null;
}

type Answer = Computed | { fault: JobFault };

const LINE_FEED = 0x0a;

/** JSON on a line of its own; bytes may follow. */
export const writeFrame = (head: unknown): Buffer => Buffer.from(`${JSON.stringify(head)}\n`);

/** The JSON of the first line, and the bytes after it, which are no copy. */
export function readFrame(frame: Buffer): { head: JsonObject; bytes: Buffer } {
  const end = frame.indexOf(LINE_FEED);
  return { head: JSON.parse(frame.toString("utf8", 0, end)), bytes: frame.subarray(end + 1) };
}

export function readAnswer(frame: Buffer): Answer {
  const { head, bytes } = readFrame(frame);
  return head.fault ? { fault: head.fault as unknown as JobFault } : { output: head.output as Json, bytes };
}
