import { invalid } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { endOf, eventsIn, lastBefore, reachOf } from "./list.ts";
import { typesMatching } from "./matching.ts";
import { eventsTopic } from "./service.ts";
import { type EventFilter, type EventStreamQuery, toEvent } from "./wire.ts";

/** Another process may write events without a signal here. */
const POLL_MS = 1_000;
const BATCH = 500;

/** How far back a stream can begin. */
const MAX_BACK_MS = 60_000;

/**
 * Returns where a stream of events starts: after the client's last event, at a time, or now. Throws `invalid` for a
 * filter that matches no event type and for an invalid message ID.
 */
export async function startOfStream(
  ctx: Context,
  filter: EventStreamQuery,
  lastEventId: string | null,
): Promise<number> {
  if (filter.type !== undefined) typesMatching(filter.type, ["query", "type"]);
  if (lastEventId === null && filter.since !== undefined) {
    const earliestMs = ctx.clock.now().getTime() - MAX_BACK_MS;
    return lastBefore(ctx, new Date(Math.max(Date.parse(filter.since), earliestMs)).toISOString());
  }
  if (lastEventId === null) return endOf(ctx);
  if (/^\d{1,15}$/.test(lastEventId)) return Math.min(Number(lastEventId), await endOf(ctx));
  throw invalid(
    ["header", "Last-Event-ID"],
    "No message of this stream has this id",
    "string_pattern_mismatch",
  );
}

/** Yields the events after position `start`, in order, until `signal` aborts. */
export async function* followEvents(ctx: Context, filter: EventFilter, start: number, signal: AbortSignal) {
  let after = start;
  while (!signal.aborted) {
    const grown = ctx.signals.wait(eventsTopic(ctx.organizationId), POLL_MS, signal);
    const reach = await reachOf(ctx, after, BATCH);
    if (reach === after) {
      await grown;
      continue;
    }
    const stretch = { filter, order: "asc", from: after + 1, to: reach } as const;
    for (const row of await eventsIn(ctx.db, ctx.organizationId, stretch, BATCH)) {
      yield { id: row.seq, event: "message", data: toEvent(row) };
    }
    after = reach;
  }
}
