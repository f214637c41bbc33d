import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { claimRuns, contextForRun, releaseRun, renewLeases } from "../resources/runs/claim.ts";
import { cancelTopic } from "../resources/runs/enqueue.ts";
import { finishRun, type Leftover, type Outcome } from "../resources/runs/finish.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { Ended, execute, tell } from "./execute.ts";
import { type DatasetLocks, openLocks } from "./locks.ts";
import type { Loop } from "./loop.ts";
import { rescue } from "./rescuer.ts";

/** The runs that this process has under way. */
export interface Worker extends Loop {
  /** Lets nothing new start. */
  drain(): void;
  /** Resolves when nothing is under way any more. */
  idle(): Promise<void>;
  /** Puts all that is under way back in line, as soon as it lets go. */
  stop(): void;
  /** Puts back what does not let go; whatever it still comes to is not written. */
  abandon(): Promise<void>;
  /** Extends leases and notices cancellations; call it every few seconds. */
  renew(): Promise<void>;
}

/** With all places taken it looks again after so long, or as soon as one is free. */
const FULL_MS = 5_000;

interface Job {
  run: RunRow;
  control: AbortController;
  done: Promise<void>;
}

/** Claims due runs, as many as there are free places, and carries them out side by side. */
export function openWorker(app: App, locks: DatasetLocks = openLocks()): Worker {
  const jobs = new Map<string, Job>();
  /** Runs that ended here without an outcome in the store, as when the disk was full. */
  let stranded: RunRow[] = [];
  let draining = false;
  let freed = () => {};

  const start = (run: RunRow) => {
    const control = new AbortController();
    const unlisten = app.signals.listen(cancelTopic(run.id), () => control.abort(new Ended("cancelled")));
    const done = carryOut(app, run, control, locks)
      .catch((error) => {
        app.log.report(error, { runId: run.id, correlationId: run.correlationId });
        stranded.push(run);
      })
      .finally(() => {
        jobs.delete(run.id);
        unlisten();
        freed();
      });
    jobs.set(run.id, { run, control, done });
  };

  return {
    name: "worker",
    async tick(signal) {
      const places = app.config.concurrency - jobs.size;
      if (draining || signal.aborted) return "idle";
      if (places <= 0) {
        const full = new AbortController();
        freed = () => full.abort();
        await app.clock.sleep(FULL_MS, AbortSignal.any([signal, full.signal]));
        return "more";
      }
      const runs = await claimRuns(app, places);
      if (draining) {
        for (const run of runs) await releaseRun(app, run);
        return "idle";
      }
      for (const run of runs) start(run);
      return runs.length > 0 ? "more" : "idle";
    },
    drain() {
      draining = true;
    },
    async idle() {
      while (jobs.size > 0) await Promise.all([...jobs.values()].map((job) => job.done));
    },
    stop() {
      for (const { control } of jobs.values()) control.abort(new Ended("stopped"));
    },
    async abandon() {
      for (const { run } of jobs.values()) {
        app.log.write("warn", "a run that does not let go goes back in line", { runId: run.id });
        await releaseRun(app, run).catch((error) => app.log.report(error, { runId: run.id })); // the next start takes it up
      }
    },
    async renew() {
      const { cancelled, lost } = await renewLeases(
        app,
        [...jobs.values()].map((job) => job.run),
      );
      for (const id of cancelled) jobs.get(id)?.control.abort(new Ended("cancelled"));
      for (const id of lost) jobs.get(id)?.control.abort(new Ended("lost"));
      if (stranded.length === 0) return;
      const again = stranded;
      stranded = [];
      try {
        stranded.push(...(await rescue(app, again)));
      } catch (error) {
        stranded.push(...again); // as while the disk is still full: nothing else would ever take them up
        throw error;
      }
    },
  };
}

/** A commit that lost the race for its dataset is worked out anew so many times before the run fails. */
const MAX_RACES = 5;

async function carryOut(app: App, run: RunRow, control: AbortController, locks: DatasetLocks): Promise<void> {
  const ctx = contextForRun(app, run);
  for (let race = 1; ; race++) {
    const { outcome, definition, isResolved, bench } = await execute(ctx, run, control, locks);
    try {
      const gathered = bench
        ? await bench.leftover()
        : { progress: run.progress, isProgressNew: false, logs: [] };
      if (outcome === null) return await releaseRun(app, run);
      await conclude(app, run, outcome, { definition, isResolved, ...gathered });
      return;
    } catch (error) {
      if (!(error instanceof AppError && error.code === "dataset_changed") || race >= MAX_RACES) throw error;
    } finally {
      await bench?.dispose();
    }
  }
}

/** Writes the outcome; what can't be written as a success is written as the failure that it is. */
async function conclude(app: App, run: RunRow, outcome: Outcome, left: Leftover): Promise<void> {
  const ctx = contextForRun(app, run);
  try {
    await finishRun(ctx, run, outcome, left);
  } catch (error) {
    if (outcome.status !== "completed" && !("wait" in outcome)) throw error;
    if (error instanceof AppError && error.code === "dataset_changed") throw error;
    app.log.report(error, { runId: run.id, at: "write the outcome of a run" });
    const known =
      error instanceof AppError && error.code !== "internal"
        ? error
        : new AppError(
            "internal",
            "What the run made could not be saved; the run's id leads to the cause in the server's log.",
          );
    await finishRun(ctx, run, { status: "failed", error: tell(known, run.retryCount + 1) }, left);
  }
}
