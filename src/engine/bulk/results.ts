import { type Context, SYSTEM, write } from "../../context.ts";
import { bulkMoved } from "../../flows/bulk.ts";
import { appendResults, type Done, type ItemResult } from "../../flows/bulk-results.ts";
import { forgetInterrupts } from "../../queue/lease.ts";
import { hasLease } from "../../queue/progress.ts";
import { insertArtifact } from "../../resources/artifacts/keep.ts";
import type { ArtifactRow } from "../../resources/artifacts/table.ts";
import type { RunRow } from "../../resources/runs/table.ts";
import { NotWritten } from "../failure.ts";
import { collect } from "./collect.ts";

/** Interval for saving results together, … */
const FLUSH_MS = 100;
/** … or number and size of results that are saved sooner. */
const FLUSH_ITEMS = 200;
const FLUSH_CHARACTERS = 1024 * 1024;
/** With more unsaved results than this, no further item starts. */
const MAX_UNWRITTEN = 2_000;
/** Interval for showing the step's progress. */
const SHOW_MS = 1_000;
/** Earlier interruptions no longer count once a process has completed this many items, or this share of them, … */
const STEADY_ITEMS = 100;
const STEADY_PART = 0.01;
/** … or has run for this long. */
const STEADY_MS = 60_000;

/** Saves the results of items. A killed process loses only those of the last moment. */
export interface Results {
  add(result: ItemResult, artifacts: readonly ArtifactRow[]): void;
  /** Must be awaited before the next item starts. */
  ready(): Promise<void> | undefined;
  /** Saves all pending results. Throws if that fails. */
  close(): Promise<void>;
}

/** `lost` is called when another worker has taken over the run. */
export function openResults(
  ctx: Context,
  run: RunRow,
  { runId, total, done, lost }: { runId: string; total: number; done: Done; lost(): void },
): Results {
  const step = { runId, key: run.stepKey ?? "" };
  let unwritten: ItemResult[] = [];
  let staged: ArtifactRow[] = [];
  let characters = 0;
  let timer: Timer | null = null;
  let writing: Promise<void> | null = null;
  let failure: { error: unknown } | null = null;
  let shownAt = 0;
  const steadyAt = ctx.clock.monotonic() + STEADY_MS;
  const steadyItems = done.completed + done.failed + Math.max(STEADY_ITEMS, total * STEADY_PART);
  let isSteady = run.interruptCount === 0;

  const flush = async (isLast: boolean) => {
    const [results, artifacts] = [unwritten, staged];
    [unwritten, staged, characters] = [[], [], 0];
    const now = ctx.clock.monotonic();
    collect(ctx);
    const isShown = isLast || now - shownAt > SHOW_MS;
    if (isShown) shownAt = now;
    const { completed, failed } = done;
    await write({ ...ctx, actor: SYSTEM }, async (tx) => {
      if (!(await hasLease(tx.db, run))) return lost();
      await appendResults(tx, step, results);
      for (const artifact of artifacts) await insertArtifact(tx, artifact);
      if (isShown) await bulkMoved(tx, run, { completed, failed });
      if (isSteady || (now < steadyAt && completed + failed < steadyItems)) return;
      await forgetInterrupts(tx, run);
      tx.afterCommit(() => {
        isSteady = true;
      });
    });
  };

  const start = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (writing !== null || failure !== null) return;
    writing = flush(false)
      .catch((error: unknown) => {
        failure = { error };
      })
      .finally(() => {
        writing = null;
        if (unwritten.length > 0) schedule();
      });
  };

  const schedule = () => {
    if (unwritten.length >= FLUSH_ITEMS || characters >= FLUSH_CHARACTERS) start();
    else timer ??= setTimeout(start, FLUSH_MS);
  };

  const check = () => {
    if (failure !== null) throw new NotWritten("results of items", { cause: failure.error });
  };

  return {
    add(result, artifacts) {
      done.mark(result.index, result.isCompleted);
      unwritten.push(result);
      staged.push(...artifacts);
      characters += result.json.length;
      schedule();
    },
    ready() {
      check();
      if (writing === null || (unwritten.length < MAX_UNWRITTEN && characters < 4 * FLUSH_CHARACTERS)) return;
      return writing.then(check);
    },
    async close() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      if (writing !== null) await writing;
      if (timer !== null) clearTimeout(timer);
      check();
      await flush(true).catch((cause: unknown) => {
        throw new NotWritten("results of items", { cause });
      });
    },
  };
}
