import { availableParallelism } from "node:os";
import { doChoreOnBytes } from "../base/chore.ts";
import { AppError, type ErrorCode } from "../base/errors.ts";
import { openSemaphore } from "../base/semaphore.ts";
import type { Compute } from "./contract.ts";
import { readAnswer, writeFrame } from "./frame.ts";

/** Number of concurrent child processes, half of them for one organization. */
const CHILDREN = Math.max(2, availableParallelism());
const TIMEOUT_MS = 20_000;
const MAX_RESIDENT_BYTES = 768 * 1024 * 1024;

/** Runs each job in a child process, started by the command `self`. */
export function openCompute(self: readonly string[]): Compute {
  const semaphore = openSemaphore(CHILDREN, { mostOfOne: Math.floor(CHILDREN / 2) });
  return {
    async run({ name, input, pieces, tooMuch }, { organizationId, signal }) {
      const leave = await semaphore.enter(signal, { organizationId });
      const chore = {
        word: "__compute",
        timeoutMs: TIMEOUT_MS,
        maxResidentBytes: MAX_RESIDENT_BYTES,
        tooMuch,
      };
      const frame = [writeFrame({ name, input }), ...pieces];
      const answer = readAnswer(await doChoreOnBytes(self, chore, frame, signal).finally(leave));
      if (!("fault" in answer)) return answer;
      const { code, message, details } = answer.fault;
      throw new AppError(code as ErrorCode, message, details === null ? {} : { details });
    },
  };
}
