import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { contextForRun } from "../context.ts";
import type { Outcome } from "../queue/end.ts";
import { finishRun, finishRuns, isSmall, type Leftover, type SmallEnd } from "../queue/finish.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { toRunError } from "./failure.ts";

/** Writes how runs have ended. */
export interface Endings {
  /** Writes what a run came to; what can't be written as a success is written as the failure that it is. */
  conclude(run: RunRow, outcome: Outcome, left: Leftover, isItem: boolean): Promise<void>;
}

interface Waiting {
  end: SmallEnd;
  resolve(): void;
  reject(error: unknown): void;
}

/** Number of ends in one transaction, and of automation runs that go on in it: much may follow from the end of a step. */
const MAX_TOGETHER = 32;
const MAX_AUTOMATION_RUNS = 8;

/** How many of those that wait longest are written in one transaction. */
function countTogether(waiting: readonly Waiting[]): number {
  const automationRuns = new Set<string | null>();
  for (const [count, { end }] of waiting.slice(0, MAX_TOGETHER).entries()) {
    automationRuns.add(end.run.automationRunId);
    if (automationRuns.size > MAX_AUTOMATION_RUNS) return count;
  }
  return MAX_TOGETHER;
}

/** Runs that end with nothing but a result or an error are written together with those that end meanwhile. */
export function openEndings(app: App): Endings {
  const waiting: Waiting[] = [];

  const flush = async () => {
    let taken: Waiting[] | null = null;
    const take = () => {
      if (taken === null) {
        taken = waiting.splice(0, countTogether(waiting));
        if (waiting.length > 0) void flush();
      }
      return taken;
    };
    try {
      await finishRuns(app, () => take().map(({ end }) => end));
      for (const { resolve } of take()) resolve();
    } catch (error) {
      for (const { reject } of take()) reject(error);
    }
  };

  const together = (end: SmallEnd) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ end, resolve, reject });
      if (waiting.length === 1) void flush();
    });

  const alone = async (run: RunRow, outcome: Outcome, left: Leftover, isItem: boolean) => {
    const ctx = contextForRun(app, run);
    try {
      await finishRun(ctx, run, outcome, left, isItem);
    } catch (error) {
      if (outcome.status !== "completed" && !("wait" in outcome)) throw error;
      if (error instanceof AppError && error.code === "dataset_changed") throw error;
      app.log.report(error, { runId: run.id, at: "save the result of a run" });
      const known =
        error instanceof AppError && error.code !== "internal"
          ? error
          : new AppError(
              "internal",
              "The result of the run couldn't be saved. See the server log for this run ID.",
            );
      const failed: Outcome = { status: "failed", error: toRunError(known, run.retryCount + 1) };
      await finishRun(ctx, run, failed, left, isItem);
    }
  };

  return {
    async conclude(run, outcome, left, isItem) {
      if (!isSmall(outcome)) return alone(run, outcome, left, isItem);
      try {
        await together({ run, outcome, left, isItem });
      } catch {
        await alone(run, outcome, left, isItem); // whose fault it was comes out where each is by itself
      }
    },
  };
}
