import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { ComputeName } from "./contract.ts";
import { readFrame, writeFrame } from "./frame.ts";
import { jobs } from "./jobs.ts";

/** The child process: runs the job in standard input, writes its result and returns the exit code. */
export async function computeChild(): Promise<number> {
  const { head, bytes } = readFrame(Buffer.from(await Bun.stdin.bytes()));
  try {
    const { output, bytes: made } = await jobs[head.name as ComputeName](head.input as JsonObject, bytes);
    await Bun.write(Bun.stdout, Buffer.concat([writeFrame({ output }), made]));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, details } = error;
    await Bun.write(Bun.stdout, writeFrame({ fault: { code, message, details } }));
  }
  return 0;
}
