import { canonicalJson } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import { runTopic } from "./enqueue.ts";
import { readLogs } from "./logs.ts";
import { findRun, isFinal } from "./service.ts";
import type { RunLogRow } from "./table.ts";
import { toRun } from "./wire.ts";

/** A reader that follows gets an answer at least this often. */
const FOLLOW_MS = 20_000;
/** Another process may change the run without a signal here. */
const POLL_MS = 1_000;
const LOG_BATCH = 500;

/**
 * Lines of a run's log in order. With `follow` it waits for more when there are none, and gives a cursor
 * as long as the run goes on.
 */
export async function pageLogs(
  ctx: Context,
  runId: string,
  query: { limit: number; cursor?: string; follow: boolean },
  signal: AbortSignal,
): Promise<{ items: Omit<RunLogRow, "runId">[]; nextCursor?: string }> {
  const scope = ["run-logs", ctx.organizationId, runId];
  let after = query.cursor === undefined ? 0 : Number(readCursor(ctx, scope, query.cursor));
  let run = await findRun(ctx, runId);
  let lines = await readLogs(ctx.db, runId, after, query.limit + 1);
  const until = ctx.clock.monotonic() + FOLLOW_MS;
  while (
    query.follow &&
    lines.length === 0 &&
    !isFinal(run) &&
    ctx.clock.monotonic() < until &&
    !signal.aborted
  ) {
    await ctx.signals.wait(runTopic(runId), POLL_MS, signal);
    run = await findRun(ctx, runId);
    lines = await readLogs(ctx.db, runId, after, query.limit + 1);
  }
  const items = lines.slice(0, query.limit).map(({ runId: _, ...line }) => line);
  after = items.at(-1)?.seq ?? after;
  const goesOn = lines.length > query.limit || (query.follow && !isFinal(run));
  return goesOn ? { items, nextCursor: makeCursor(ctx, scope, after) } : { items };
}

/**
 * A run as it goes: `status`, `progress` and `log`, then `end`. A late reader gets the log from the start,
 * one that comes back with `Last-Event-ID` what it has not seen.
 */
export async function* followRun(
  ctx: Context,
  runId: string,
  lastEventId: string | null,
  signal: AbortSignal,
) {
  let seq = Number(/^(\d+)$/.exec(lastEventId ?? "")?.[1] ?? 0);
  let shownStatus = "";
  let shownProgress = "";
  while (!signal.aborted) {
    const changed = ctx.signals.wait(runTopic(runId), POLL_MS, signal);
    const row = await findRun(ctx, runId);
    const run = toRun(row);
    if (run.displayStatus !== shownStatus) {
      shownStatus = run.displayStatus;
      yield {
        id: seq,
        event: "status",
        data: { status: run.status, displayStatus: run.displayStatus, updatedAt: run.updatedAt },
      };
    }
    for (
      let lines = await readLogs(ctx.db, runId, seq, LOG_BATCH);
      lines.length > 0;
      lines = await readLogs(ctx.db, runId, seq, LOG_BATCH)
    ) {
      for (const { runId: _, ...line } of lines) {
        seq = line.seq;
        yield { id: seq, event: "log", data: line };
      }
    }
    const progress = canonicalJson(run.progress);
    if (run.progress !== null && progress !== shownProgress) {
      shownProgress = progress;
      yield { id: seq, event: "progress", data: run.progress };
    }
    if (isFinal(row)) {
      yield { id: seq, event: "end", data: run };
      return;
    }
    await changed;
  }
}
