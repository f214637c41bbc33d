import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { contextForRun } from "../context.ts";
import type { Outcome } from "../queue/end.ts";
import { finishRun, finishRuns, isSmall, type Leftover, type SmallEnd } from "../queue/finish.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { isStoreAway } from "../store/faults.ts";
import { toRunError } from "./failure.ts";

/** Saves the outcomes of runs. */
export interface Endings {
  /** Saves the outcome of a run. If it can't be saved as a success, it is saved as a failure. */
  conclude(run: RunRow, outcome: Outcome, left: Leftover, isItem: boolean): Promise<void>;
}

interface Waiting {
  end: SmallEnd;
  resolve(): void;
  reject(error: unknown): void;
}

/** Maximum number of runs and automation runs per transaction, since the end of a step can start much work. */
const MAX_TOGETHER = 32;
const MAX_AUTOMATION_RUNS = 8;

/** Returns how many of the oldest waiting outcomes are saved in one transaction. */
function countTogether(waiting: readonly Waiting[]): number {
  const automationRuns = new Set<string | null>();
  for (const [count, { end }] of waiting.slice(0, MAX_TOGETHER).entries()) {
    automationRuns.add(end.run.automationRunId);
    if (automationRuns.size > MAX_AUTOMATION_RUNS) return count;
  }
  return MAX_TOGETHER;
}

/**
 * Saves outcomes that have only a result or an error together with those that arrive in the meantime. `queued` is
 * called with the ID of each such run before it waits.
 */
export function openEndings(app: App, queued: (runId: string) => void): Endings {
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
      if (isStoreAway(error)) throw error; // the run is retried: it didn't fail
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
      queued(run.id);
      try {
        await together({ run, outcome, left, isItem });
      } catch {
        await alone(run, outcome, left, isItem); // saved individually, so that each gets its own error
      }
    },
  };
}
