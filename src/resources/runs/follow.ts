import type { Context } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import { findRun, isFinal } from "../../queue/cancel.ts";
import { runTopic } from "../../queue/enqueue.ts";
import { readLogs } from "../../queue/logs.ts";
import { statusesOf, streamIds } from "../../queue/statuses.ts";
import { namesOfRuns } from "./names.ts";
import type { PastStatus, RunLogRow, RunRow } from "./table.ts";
import { displayStatus, toNamedRun } from "./wire.ts";
import { isHidden, refuseOthers } from "./wire-private.ts";

/** A following reader gets a response at least this often. */
const FOLLOW_MS = 20_000;
/** Another process may change the run without a signal here. */
const POLL_MS = 1_000;
const LOG_BATCH = 500;

/**
 * Returns lines of a run's log in order. With `follow`, waits for more if there are none, and returns a cursor until
 * the run ends.
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
  refuseOthers(ctx, run);
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
 * Streams a run: `status`, `progress` and `log`, then `end`. A late reader gets every status and log line from the
 * start, and the latest progress. One that reconnects with `Last-Event-ID` gets what comes after it.
 */
export async function* followRun(
  ctx: Context,
  runId: string,
  lastEventId: string | null,
  signal: AbortSignal,
): AsyncGenerator<RunEvent> {
  let last = Number(/^\d{1,15}$/.exec(lastEventId ?? "")?.[0] ?? 0);
  const run = await findRun(ctx, runId);
  const hidden = isHidden(ctx, run);
  let seq = streamIds(await statusesOf(ctx.db, run)).lineAt(last);
  while (!signal.aborted) {
    const changed = ctx.signals.wait(runTopic(runId), POLL_MS, signal);
    const lines = await readLogs(ctx.db, runId, seq, LOG_BATCH);
    // Read after the lines, so that no status that precedes one of them is missing.
    const row = await findRun(ctx, runId);
    const statuses = await statusesOf(ctx.db, row);
    seq = lines.at(-1)?.seq ?? seq;
    const entries = entriesOf(row, statuses, lines);
    const ids = streamIds(statuses);
    const next = ids.after(seq);
    for (const entry of entries) {
      if (entry.id <= last || entry.id > next) continue;
      last = entry.id;
      if (!hidden || entry.event === "status") yield entry;
    }
    if (lines.length === LOG_BATCH || (entries.at(-1)?.id ?? 0) > next) continue; // There are more lines.
    if (isFinal(row)) {
      if (last >= ids.end) return;
      const names = await namesOfRuns(ctx, [row]);
      yield { id: ids.end, event: "end", data: toNamedRun(ctx, row, names) };
      return;
    }
    await changed;
  }
}

interface RunEvent {
  id: number;
  event: "status" | "progress" | "log" | "end";
  data: unknown;
}

/** Returns the events of a run's stream in order: all statuses, the given lines, and the latest progress. */
function entriesOf(row: RunRow, statuses: readonly PastStatus[], lines: readonly RunLogRow[]): RunEvent[] {
  const ids = streamIds(statuses);
  const entries: RunEvent[] = statuses.map(([status, waitKind, since], index) => ({
    id: ids.ofStatus(index),
    event: "status",
    data: { status, displayStatus: displayStatus({ status, waitKind }), updatedAt: since },
  }));
  for (const { runId: _, ...line } of lines)
    entries.push({ id: ids.ofLine(line.seq), event: "log", data: line });
  const { progress, progressId } = row;
  if (progress !== null && progressId !== null)
    entries.push({ id: progressId, event: "progress", data: progress });
  return entries.sort((one, other) => one.id - other.id);
}
