import { parseJson } from "../base/json.ts";
import type { Reply } from "../calls.ts";
import { plain } from "./client.ts";
import type { Host } from "./host.ts";
import { printJson } from "./show.ts";
import { openPatience, openStream } from "./sse.ts";
import { type Api, queryText } from "./verbs.ts";

type Page = Reply<"GET /api/v1/events">;
type Event = Page["items"][number];

interface Wanted {
  filter: Readonly<Record<string, string | undefined>>;
  /** Number of past events to show first. */
  first: number;
  isJson: boolean;
}

const PAGE = 200;
/** Number of event IDs to remember, so that no event is printed twice. */
const REMEMBERED = 2_000;

/**
 * Prints the last events and then new ones, each exactly once, even if the server restarts.
 * Ends at Ctrl-C, or when the reader of the output is gone.
 */
export async function tailEvents(api: Api, host: Host, { filter, first, isJson }: Wanted): Promise<void> {
  const stop = new AbortController();
  host.onStop(() => stop.abort());
  const { signal } = stop;
  const patience = openPatience(host, { signal, isEndless: true });
  const shown = new Set<string>();
  let lastId: string | null = null;
  let hasBegun = false;

  const show = (event: Event, text: string) => {
    if (shown.has(event.id) || signal.aborted) return;
    shown.add(event.id);
    for (const id of shown.size > REMEMBERED ? shown : []) {
      shown.delete(id);
      break;
    }
    host.status("");
    if (isJson) printJson(host, text);
    else host.out(eventText(event));
    if (!host.isRead()) stop.abort();
  };

  while (!signal.aborted) {
    let lost: unknown = null;
    try {
      const stream = await openStream(api, `/api/v1/events/stream${queryText(filter)}`, { lastId, signal });
      // The stream is open already, so no event between it and these is missed.
      const before = lastId === null ? await lastEvents(api, filter, hasBegun ? null : first, shown) : [];
      if (!hasBegun && first === 0) for (const event of before) shown.add(event.id);
      else for (const event of before) show(event, JSON.stringify(event));
      hasBegun = true;
      patience.reward();
      host.status("");
      for await (const { id, data } of stream) {
        show(parseJson(data) as unknown as Event, data);
        lastId = id ?? lastId;
        if (signal.aborted) break;
      }
    } catch (error) {
      if (signal.aborted) break;
      if (!hasBegun) throw error;
      lost = error;
    }
    if (!signal.aborted) await patience.wait(lost);
  }
  host.status("");
}

/**
 * The last `count` events, oldest first. With null, those since the newest one shown:
 * the stream was lost before its first message, whose ID would have allowed resuming it.
 */
async function lastEvents(
  api: Api,
  filter: Wanted["filter"],
  count: number | null,
  shown: ReadonlySet<string>,
): Promise<Event[]> {
  const found: Event[] = [];
  for (let cursor: string | undefined; ; ) {
    const limit = count === null ? PAGE : Math.max(1, count - found.length);
    const { body }: { body: Page } = await api.call("GET /api/v1/events", {
      query: { ...filter, limit, cursor },
    });
    for (const event of body.items) {
      if (count === null && shown.has(event.id)) return found.reverse();
      found.push(event);
    }
    cursor = body.nextCursor;
    const isEnough = count !== null && found.length >= count;
    if (isEnough || cursor === undefined || !body.hasMore) return found.reverse();
  }
}

function eventText({ timestamp, type, entity, actor }: Event): string {
  const who = actor.email ?? `${actor.type} ${actor.id}`;
  return plain(`${timestamp}  ${type.padEnd(24)}  ${entity.type} ${entity.id}  ${who}`);
}
