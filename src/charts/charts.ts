import { type Chore, doChore } from "../base/chore.ts";
import { AppError } from "../base/errors.ts";
import { openFairSemaphore } from "../base/semaphore.ts";
import type { Charts, Drawn } from "./contract.ts";

const DRAW: Chore = {
  word: "__draw",
  timeoutMs: 20_000,
  maxResidentBytes: 768 * 1024 * 1024,
  tooMuch: (why) =>
    new AppError(
      "definition_invalid",
      `The charts took ${why} to draw. Show fewer marks, or aggregate in SQL.`,
    ),
};

/** Maximum number of concurrent child processes. */
const MAX_CHILDREN = 4;

/** Draws charts in child processes started by `self`: one process for each call. */
export function openCharts(self: readonly string[]): Charts {
  const semaphore = openFairSemaphore(MAX_CHILDREN, "dashboards");
  return {
    async draw(charts, signal, organizationId = "") {
      if (charts.length === 0) return [];
      const leave = await semaphore.enter(signal, { organizationId });
      return (await doChore(self, DRAW, charts, signal).finally(leave)) as unknown as Drawn[];
    },
  };
}
