import { invalid } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { endOf, eventsIn, placeOfId, reachOf } from "./list.ts";
import { typesMatching } from "./matching.ts";
import { eventsTopic } from "./service.ts";
import { type EventFilter, toEvent } from "./wire.ts";

/** Another process may write events without a signal here. */
const POLL_MS = 1_000;
const BATCH = 500;

/**
 * Where a stream of events begins: after the event that the client had last, or at this moment. Throws
 * `invalid` for a filter that fits no event and for an event that is not in the trail.
 */
export async function startOfStream(
  ctx: Context,
  filter: EventFilter,
  lastEventId: string | null,
): Promise<number> {
  if (filter.type !== undefined) typesMatching(filter.type, ["query", "type"]);
  if (lastEventId === null) return endOf(ctx);
  const place = await placeOfId(ctx, lastEventId);
  if (place !== null) return place;
  throw invalid(["header", "Last-Event-ID"], "No event of this organization has this id");
}

/** The events after the place `start`, in order, as they come, until `signal` aborts. */
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
      yield { id: row.id, event: "message", data: toEvent(row) };
    }
    after = reach;
  }
}
