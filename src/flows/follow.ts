import { isNotNull, sql } from "drizzle-orm";
import { AppError } from "../base/errors.ts";
import { type Actor, type App, contextFor, write } from "../context.ts";
import { automations } from "../resources/automations/table.ts";
import { endOfTrail, movePosition, storedPosition } from "../resources/events/followed.ts";
import { type EventRow, type EventType, events } from "../resources/events/table.ts";
import { mayPass } from "../store/faults.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { version } from "../version.ts";
import { reactTo } from "./react.ts";
import { typesOf } from "./trigger.ts";

/** Key of the row with the position of event triggers in the audit log. */
const POSITION_KEY = "event_triggers_followed";
/** Number of audit log positions read at a time, whatever their events are. */
const WINDOW_EVENTS = 10_000;
/** Maximum number of events per transaction, since every other write waits for it. */
const BATCH = 10;
/** After the first event, only as many as start this many runs in total. */
const RUNS_AT_ONCE = 200;
/** If there was nothing to act on, the position is stored only this often. */
const WRITE_DOWN_EVENTS = 50_000;

const FOLLOWER: Actor = { type: "system", id: "follower", process: "weir", version };

/** An automation with an event trigger. */
interface Listener {
  id: string;
  organizationId: string;
  afterSeq: number;
  types: ReadonlySet<EventType>;
}

/** Starts runs for events, in the order of the audit log. `tick` processes one batch. */
export interface Follower {
  tick(): Promise<"more" | "idle">;
}

/**
 * The position is in a row that moves in the transaction that starts the runs. No event is lost or processed twice,
 * even after a crash or with several processes.
 */
export function openFollower(app: App): Follower {
  /** Everything up to this position is done, even if the row doesn't say so yet. */
  let seen = 0;
  /** Event types of each automation when they were last read. */
  let known = new Map<string, Listener["types"]>();
  return {
    async tick() {
      const { db } = app.store;
      const end = await endOfTrail(db); // read before the listeners: an automation added later wants no event up to here
      const listeners = await readListeners(db);
      if (listeners.length === 0) return "idle";
      const stored = await storedPosition(db, POSITION_KEY);
      const from = Math.max(stored ?? 0, seen, Math.min(...listeners.map(({ afterSeq }) => afterSeq)));
      if (from >= end) return "idle";
      const isOther = listeners.some(({ id, types }) => (known.get(id) ?? types) !== types);
      const reach = Math.min(end, from + WINDOW_EVENTS);
      const found = await findEvents(db, listeners, from, reach);
      const batch = atOnce(listeners, found);
      const to = found.length > batch.length ? (batch.at(-1)?.seq ?? reach) : reach;
      // Skipped events can't be of a type that an automation has only started to listen to.
      if (batch.length > 0 || isOther || to - (stored ?? 0) > WRITE_DOWN_EVENTS) {
        const done = await act(app, listeners, { batch, stored, to });
        if (done === null) return "more"; // another process moved the position
        seen = done;
      } else {
        seen = to;
      }
      known = new Map(listeners.map(({ id, types }) => [id, types]));
      return seen < end ? "more" : "idle";
    },
  };
}

const listening = prepared((db: ReadDb) =>
  db
    .select({
      id: automations.id,
      organizationId: automations.organizationId,
      afterSeq: automations.eventAfterSeq,
      patterns: sql<string>`json_extract(${automations.config}, '$.event.types')`,
    })
    .from(automations)
    .where(isNotNull(automations.eventAfterSeq))
    .prepare(),
);

async function readListeners(db: ReadDb): Promise<Listener[]> {
  const rows = await listening(db).all();
  return rows.map(({ id, organizationId, afterSeq, patterns }) => ({
    id,
    organizationId,
    afterSeq: afterSeq ?? 0,
    types: knownTypes(patterns),
  }));
}

/** Cached by their text: there are few, and each tick needs them. */
const typesByPatterns = new Map<string, ReadonlySet<EventType>>();

function knownTypes(patterns: string): ReadonlySet<EventType> {
  const known = typesByPatterns.get(patterns);
  if (known) return known;
  const types = new Set(typesOf(JSON.parse(patterns) as string[]));
  if (typesByPatterns.size >= 1000) typesByPatterns.clear();
  typesByPatterns.set(patterns, types);
  return types;
}

/** Uses the index on organization and type, so that events without listeners cost nothing. */
async function findEvents(
  db: ReadDb,
  listeners: readonly Listener[],
  from: number,
  to: number,
): Promise<EventRow[]> {
  const wanted = new Map<string, Set<EventType>>();
  for (const { organizationId, types } of listeners) {
    const all = wanted.get(organizationId) ?? new Set();
    for (const type of types) all.add(type);
    wanted.set(organizationId, all);
  }
  const pairs = [...wanted].flatMap(([organizationId, types]) =>
    [...types].map((type) => [organizationId, type]),
  );
  return db
    .select()
    .from(events)
    .where(
      sql`${events.seq} in (
        select e.seq from json_each(${JSON.stringify(pairs)}) p
        cross join events e indexed by events_by_type
        where e.organization_id = p.value ->> 0 and e.type = p.value ->> 1
          and e.seq > ${from} and e.seq <= ${to}
        order by e.seq limit ${BATCH + 1})`,
    )
    .orderBy(events.seq);
}

/** Returns the first of these events that fit into one transaction. */
function atOnce(listeners: readonly Listener[], found: readonly EventRow[]): EventRow[] {
  let runs = 0;
  const batch: EventRow[] = [];
  for (const event of found.slice(0, BATCH)) {
    runs += listeners.filter((listener) => isFor(listener, event)).length;
    if (batch.length > 0 && runs > RUNS_AT_ONCE) break;
    batch.push(event);
  }
  return batch;
}

interface Stretch {
  batch: readonly EventRow[];
  /** Reads the position from its row. */
  stored: number | null;
  to: number;
}

/** Returns the new position. Null if another process moved it. */
async function act(app: App, listeners: readonly Listener[], stretch: Stretch): Promise<number | null> {
  try {
    return await move(app, listeners, stretch);
  } catch (error) {
    if (error instanceof AppError && error.retryable) throw error;
    const [first, ...others] = stretch.batch;
    if (!first) throw error;
    if (others.length > 0) return act(app, listeners, { ...stretch, batch: [first], to: first.seq });
    // An internal error must block neither later events nor other automations of this event.
    const sound = await soundFor(app, listeners, first);
    return move(app, sound, { ...stretch, batch: sound.length > 0 ? [first] : [] });
  }
}

/** Returns the automations that can act on the event: each is tried alone, and rolled back. */
async function soundFor(app: App, listeners: readonly Listener[], event: EventRow): Promise<Listener[]> {
  const sound: Listener[] = [];
  for (const listener of listeners.filter((each) => isFor(each, event))) {
    const undone = new Error("This was a test.");
    try {
      await write(contextOf(app, event.organizationId), async (tx) => {
        await reactTo({ ...tx, correlationId: event.correlationId }, event, [listener.id]);
        await endOfTrail(tx.db); // a read reports what went wrong in statements that weren't awaited
        throw undone;
      });
    } catch (error) {
      if (error === undone) sound.push(listener);
      else if (mayPass(error)) throw error;
      else {
        const { id: eventId, correlationId } = event;
        app.log.report(error, { at: "act on an event", eventId, automationId: listener.id, correlationId });
      }
    }
  }
  return sound;
}

const contextOf = (app: App, organizationId: string) =>
  contextFor(app, { organizationId, actor: FOLLOWER, role: "member", correlationId: "" });

async function move(
  app: App,
  listeners: readonly Listener[],
  { batch, stored, to }: Stretch,
): Promise<number | null> {
  return write(contextOf(app, batch[0]?.organizationId ?? ""), async (tx) => {
    if (!(await movePosition(tx.db, POSITION_KEY, stored, to))) return null;
    for (const event of batch) {
      const own = { ...tx, organizationId: event.organizationId, correlationId: event.correlationId };
      const ids = listeners.filter((listener) => isFor(listener, event)).map(({ id }) => id);
      await reactTo(own, event, ids);
    }
    return to;
  });
}

const isFor = ({ organizationId, afterSeq, types }: Listener, event: EventRow): boolean =>
  organizationId === event.organizationId && event.seq > afterSeq && types.has(event.type);
