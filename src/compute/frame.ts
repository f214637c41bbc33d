import type { Json, JsonObject } from "../base/json.ts";
import type { Computed } from "./contract.ts";

/** A job's error, in the form of an `AppError`. */
interface JobFault {
  code: string;
  message: string;
  details: Record<string, unknown> | null;
}

type Answer = Computed | { fault: JobFault };

const LINE_FEED = 0x0a;

/** One line of JSON; bytes may follow. */
export const writeFrame = (head: unknown): Buffer => Buffer.from(`${JSON.stringify(head)}\n`);

/** The JSON in the first line, and the bytes after it, which aren't copied. */
export function readFrame(frame: Buffer): { head: JsonObject; bytes: Buffer } {
  const end = frame.indexOf(LINE_FEED);
  return { head: JSON.parse(frame.toString("utf8", 0, end)), bytes: frame.subarray(end + 1) };
}

export function readAnswer(frame: Buffer): Answer {
  const { head, bytes } = readFrame(frame);
  return head.fault ? { fault: head.fault as unknown as JobFault } : { output: head.output as Json, bytes };
}
