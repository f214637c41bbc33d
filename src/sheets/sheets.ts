import { type Chore, doChore } from "../base/chore.ts";
import { AppError } from "../base/errors.ts";
import { openFairSemaphore } from "../base/semaphore.ts";
import type { SheetAnswer, Sheets } from "./contract.ts";

const READ: Chore = {
  word: "__sheet",
  timeoutMs: 30 * 60_000,
  maxResidentBytes: 768 * 1024 * 1024,
  tooMuch: (why) =>
    new AppError("upstream", `Couldn't read the file: it takes ${why}. Split it into smaller files.`),
};

/** Maximum number of concurrent child processes. */
const MAX_CHILDREN = 4;

/** Reads sheets in child processes started by `self`: one process for each file. */
export function openSheets(self: readonly string[]): Sheets {
  const semaphore = openFairSemaphore(MAX_CHILDREN, "files");
  return {
    async read({ signal, organizationId = "", ...source }) {
      const leave = await semaphore.enter(signal, { organizationId });
      const paths = { read: [source.path], write: [source.folder] };
      const reading = doChore(self, READ, source, signal, paths).finally(leave);
      const answer = (await reading.catch((error: unknown) => {
        if (!(error instanceof AppError) || error.code !== "internal") throw error;
        const message = "Couldn't read the file: its structure is unexpected.";
        throw new AppError("upstream", message, { cause: error });
      })) as unknown as SheetAnswer;
      if ("tables" in answer) return answer.tables;
      throw new AppError(answer.code, answer.fault, { retryable: answer.code === "disk_full" });
    },
  };
}
