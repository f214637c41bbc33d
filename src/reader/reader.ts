import { type Chore, doChore } from "../base/chore.ts";
import { AppError } from "../base/errors.ts";
import { openFairSemaphore } from "../base/semaphore.ts";
import type { Reader, ReadPage } from "./contract.ts";

const READ: Chore = {
  word: "__read",
  timeoutMs: 8_000,
  maxResidentBytes: 768 * 1024 * 1024,
  tooMuch: (why) => new AppError("upstream", `The page takes ${why} to read.`),
};

/** Maximum number of concurrent child processes. */
const MAX_CHILDREN = 4;

/** Reads pages in child processes started by `self`: one process for each page. */
export function openReader(self: readonly string[]): Reader {
  const semaphore = openFairSemaphore(MAX_CHILDREN, "pages");
  return {
    async read(source, signal, organizationId = "") {
      const leave = await semaphore.enter(signal, { organizationId });
      try {
        return (await doChore(self, READ, source, signal)) as unknown as ReadPage;
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "internal") throw error;
        throw new AppError("upstream", "The structure of the page can't be read.", { cause: error });
      } finally {
        leave();
      }
    },
  };
}
