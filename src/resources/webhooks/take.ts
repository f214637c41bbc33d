import { and, eq, inArray, type SQL, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App } from "../../context.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { endOfTrail, movePlace, storedPlace } from "../events/followed.ts";
import { eventText, type RawEvent } from "../events/wire.ts";
import { forgetFormer, formerOf } from "./former.ts";
import { FOLLOWED } from "./hold.ts";
import { type Hook, hookOf, wants } from "./hooks.ts";
import { type OutboundRow, outboundDeliveries, webhooks } from "./table.ts";

/** An event, and the text of it that is sent. */
export type Message = Pick<
  RawEvent,
  "seq" | "id" | "organizationId" | "type" | "entityType" | "entityId" | "correlationId"
> & { body: string };

/** A delivery that this process has taken, and nobody else sends until then. */
export interface Taken {
  delivery: Pick<
    OutboundRow,
    "id" | "organizationId" | "webhookId" | "eventId" | "attempts" | "replayOf" | "isTest"
  >;
  event: Message;
  hook: Hook;
  /** Milliseconds since the epoch. */
  untilMs: number;
}

/** So many events become deliveries in one transaction … */
const EVENTS = 1_024;
/** So many events are read at a time. */
const SLICE = 128;
/** … or only so many that this number of deliveries is not passed by more than one event. */
const PAIRS = 2_000;
/** So many places of the trail are looked at in one go, whatever their events are. */
const WINDOW = 10_000;
/** Without a delivery to make, the place is written down only this often. */
const WRITE_DOWN_EVERY = 50_000;
/** So many deliveries that are due are looked at in one go. */
const DUE = 2_048;
/** What a taken delivery may wait in line here, on top of the time that its receiver has. */
const PATIENCE_MS = 120_000;

/** Asks whether one more delivery of the subscription is to be taken at once; otherwise it waits in the store. */
type HasRoom = (hook: Hook, event: Message) => boolean;

interface Step {
  taken: Taken[];
  /** Subscriptions whose deliveries had to stay in the store. */
  left: ReadonlySet<string>;
  more: boolean;
}

const NOTHING: Step = { taken: [], left: new Set(), more: false };

/** Follows the trail: makes deliveries of new events, each in the transaction that moves the place. */
export function openTrail(app: App) {
  const { db } = app.store;
  /** Nothing up to here becomes a delivery any more, though the row may not say so yet. */
  let seen = 0;
  /** What each subscription was for at the last look. */
  let known = new Map<string, Hook["types"]>();
  return {
    /** `readHooks` is asked after the end of the trail: who subscribes later wants no event up to there. */
    async follow(readHooks: () => Promise<readonly Hook[]>, hasRoom: HasRoom): Promise<Step> {
      const end = await endOfTrail(db);
      const hooks = await readHooks();
      if (hooks.length === 0) return NOTHING;
      const stored = await storedPlace(db, FOLLOWED);
      const from = Math.max(stored ?? 0, seen, Math.min(...hooks.map(({ row }) => row.afterSeq)));
      if (from >= end) return NOTHING;
      const { found, to } = await findEvents(db, hooks, from, Math.min(end, from + WINDOW));
      const pairs = pair(hooks, found, (hook, event) => event.seq > hook.row.afterSeq);
      // What was passed over is never to be of a type that a subscription is for only now.
      const isOther = hooks.some(({ id, types }) => (known.get(id) ?? types) !== types);
      if (pairs.length === 0 && !isOther && to - (stored ?? 0) <= WRITE_DOWN_EVERY) {
        seen = to;
        known = new Map(hooks.map(({ id, types }) => [id, types]));
        return { ...NOTHING, more: to < end };
      }
      const made =
        pairs.length > 0
          ? await make(app, pairs, hasRoom, {
              move: (tx) => leavePlace(tx, stored, to),
              isMoved: placeIs(to),
            })
          : (await app.store.write((tx) => movePlace(tx, FOLLOWED, stored, to)))
            ? NOTHING
            : null;
      if (made !== null) {
        seen = to;
        known = new Map(hooks.map(({ id, types }) => [id, types]));
      }
      return { ...(made ?? NOTHING), more: made === null || to < end };
    },

    /** Makes deliveries of what happened while the subscription was disabled, or was for other types. */
    async catchUp(hook: Hook, hasRoom: HasRoom): Promise<Step> {
      const { heldFrom, heldTo } = hook.row;
      if (heldFrom === null || heldTo === null) return NOTHING;
      const former = (await formerOf(db, hook.id)).find(({ upTo }) => upTo > heldFrom);
      const then = former ? hookOf({ ...hook.row, events: former.events }) : hook;
      const reach = Math.min(heldTo, former?.upTo ?? heldTo, heldFrom + WINDOW);
      const { found, to } = await findEvents(db, [then], heldFrom, reach);
      const isOver = to >= heldTo;
      const move = async (tx: WriteDb) => {
        const moved = await tx
          .update(webhooks)
          .set(isOver ? { heldFrom: null, heldTo: null } : { heldFrom: to })
          .where(
            and(
              eq(webhooks.id, hook.id),
              eq(webhooks.status, "active"),
              eq(webhooks.heldFrom, heldFrom),
              eq(webhooks.heldTo, heldTo),
            ),
          )
          .returning({ id: webhooks.id });
        if (former && moved.length > 0) await forgetFormer(tx, hook.id, to);
        return moved.length > 0;
      };
      const made = await make(app, pair([then], found), hasRoom, { move, isMoved: sql`true` });
      return { ...(made ?? NOTHING), more: made === null || !isOver };
    },
  };
}

/** The events that some of these subscriptions want, in order, and the place up to which there are no others. */
async function findEvents(db: ReadDb, hooks: readonly Hook[], from: number, reach: number) {
  const wanted = new Set(hooks.flatMap((hook) => [...hook.types].map((type) => hook.organizationId + type)));
  const pairs = JSON.stringify([...wanted]);
  const found: Message[] = [];
  for (let at = from; found.length < EVENTS; ) {
    const slice = await readMessages(
      db,
      sql`seq > ${at} and seq <= ${reach} and organization_id || type
        in (select value from json_each(${pairs})) order by seq limit ${SLICE}`,
    );
    found.push(...slice);
    const last = slice.at(-1);
    if (slice.length < SLICE || !last) break;
    at = last.seq;
    await new Promise((resolve) => setImmediate(resolve)); // replies that came meanwhile have their turn
  }
  let count = 0;
  const enough = found.findIndex((event) => {
    count += hooks.filter((hook) => wants(hook, event)).length;
    return count >= PAIRS;
  });
  const kept = enough < 0 ? found : found.slice(0, enough + 1);
  const isCut = kept.length < found.length || found.length === EVENTS;
  return { found: kept, to: isCut ? (kept.at(-1)?.seq ?? reach) : reach };
}

interface Pair {
  hook: Hook;
  event: Message;
}

const pair = (
  hooks: readonly Hook[],
  found: readonly Message[],
  isFor: (hook: Hook, event: Message) => boolean = () => true,
): Pair[] =>
  found.flatMap((event) =>
    hooks.filter((hook) => wants(hook, event) && isFor(hook, event)).map((hook) => ({ hook, event })),
  );

const placeIs = (to: number) => sql`(select value from settings where key = ${FOLLOWED}) = ${String(to)}`;

/** Moves the place without waiting to hear whether it was at `stored`; `placeIs` tells in the next statement. */
async function leavePlace(tx: WriteDb, stored: number | null, to: number): Promise<boolean> {
  const move = tx.statement(
    "insert into settings (key, value) values (?, ?) on conflict (key) do update set value = excluded.value where value = ?",
  );
  await move([FOLLOWED, String(to), stored === null ? null : String(stored)]);
  return true;
}

interface Move {
  /** False where another process was faster, if that is known at once. */
  move(tx: WriteDb): Promise<boolean>;
  /** True in SQL once it has moved. */
  isMoved: SQL;
}

/** Stores deliveries in the transaction of a move; null where another process was faster. */
async function make(
  app: App,
  pairs: readonly Pair[],
  hasRoom: HasRoom,
  { move, isMoved }: Move,
): Promise<Omit<Step, "more"> | null> {
  const now = timestamp(app.clock);
  const untilMs = leaseEnd(app);
  const until = new Date(untilMs).toISOString();
  const left = new Set<string>();
  const made = pairs.map(({ hook, event }) => {
    const isTaken = !left.has(hook.id) && hasRoom(hook, event);
    if (!isTaken) left.add(hook.id);
    return { id: app.ids.uuid(), hook, event, isTaken };
  });
  const rows = JSON.stringify(
    made.map(({ id, hook, event, isTaken }) => [id, hook.id, event.seq, isTaken ? 1 : 0]),
  );
  const stored = await app.store.write(async (db) => {
    if (!(await move(db))) return null;
    if (made.length === 0) return "all" as const;
    const { changes } = await db.run(
      sql`insert into outbound_deliveries (id, organization_id, webhook_id, event_seq, event_id, event_type,
          due_at, taken_by, created_at, status, attempts, is_test)
        select v.value ->> 0, e.organization_id, v.value ->> 1, e.seq, e.id, e.type,
          iif(v.value ->> 3, ${until}, ${now}), iif(v.value ->> 3, ${app.bootId}, null), ${now}, 'pending', 0, 0
        from json_each(${rows}) v cross join events e
        where e.seq = v.value ->> 2 and ${isMoved}
        on conflict do nothing`,
    );
    if (changes === made.length) return "all" as const;
    const [place] = await db.all<{ moved: number }>(sql`select ${isMoved} as moved`);
    if (!place?.moved) return null;
    return db.all<{ id: string }>(
      sql`select id from outbound_deliveries
        where id in (select value ->> 0 from json_each(${rows}))`,
    );
  });
  if (stored === null) return null;
  const isNew = stored === "all" ? null : new Set(stored.map(({ id }) => id)); // not those that a test has made before
  const taken = made
    .filter(({ id, isTaken }) => isTaken && (isNew === null || isNew.has(id)))
    .map(({ id, hook, event }): Taken => {
      const { organizationId, id: webhookId } = hook;
      const { id: eventId } = event;
      const delivery = { id, organizationId, webhookId, eventId, attempts: 0, replayOf: null, isTest: false };
      return { delivery, event, hook, untilMs };
    });
  return { taken, left };
}

const leaseEnd = ({ clock, config }: App) =>
  clock.now().getTime() + config.webhookTimeout * 1000 + PATIENCE_MS;

interface Claimed {
  taken: Taken[];
  /** Subscriptions that have more which is due. */
  left: Set<string>;
  /** Those that were not looked at, as others before them had so much. */
  unreached: Set<string>;
}

/**
 * Takes deliveries that are due, at most so many of each of these subscriptions, in their order. `reserve` is told the
 * bytes of what is to be sent, and says whether there is room for it.
 */
export async function claimDeliveries(
  app: App,
  hooks: readonly Hook[],
  most: number,
  reserve: (hook: Hook, bytes: number) => boolean,
): Promise<Claimed> {
  const now = timestamp(app.clock);
  const hookIds = JSON.stringify(hooks.map(({ id }) => id));
  const found = await app.store.db.all<{ id: string; webhookId: string; bytes: number }>(
    sql`select d.id as "id", d.webhook_id as "webhookId", octet_length(v.data) as "bytes"
      from json_each(${hookIds}) w cross join webhooks h cross join outbound_deliveries d
        left join events v on v.seq = d.event_seq
      where h.id = w.value and h.status = 'active' and d.id in (
        select e.id from outbound_deliveries e indexed by outbound_deliveries_due
        where e.webhook_id = w.value and e.due_at is not null and e.due_at <= ${now}
        order by e.due_at limit ${most})
      limit ${DUE}`,
  );
  const byId = new Map(hooks.map((hook) => [hook.id, hook]));
  const counts = new Map<string, number>();
  const left = new Set<string>();
  const due = found.filter(({ webhookId, bytes }) => {
    const hook = byId.get(webhookId);
    const count = (counts.get(webhookId) ?? 0) + 1;
    counts.set(webhookId, count);
    if (count === most) left.add(webhookId);
    if (hook && reserve(hook, bytes ?? 0)) return true;
    left.add(webhookId);
    return false;
  });
  const isCut = found.length === DUE;
  const last = isCut ? hooks.findIndex(({ id }) => id === found.at(-1)?.webhookId) : hooks.length;
  const unreached = new Set(hooks.slice(last).map(({ id }) => id));
  if (due.length === 0) return { taken: [], left, unreached };
  const untilMs = leaseEnd(app);
  const dueIds = JSON.stringify(due.map(({ id }) => id));
  const rows = await app.store.write((db) =>
    db
      .update(outboundDeliveries)
      .set({ dueAt: new Date(untilMs).toISOString(), takenBy: app.bootId })
      .where(
        and(
          sql`${outboundDeliveries.id} in (select value from json_each(${dueIds}))`,
          sql`${outboundDeliveries.dueAt} <= ${now}`,
          sql`${outboundDeliveries.webhookId} in (select id from webhooks where status = 'active')`,
        ),
      )
      .returning(),
  );
  const bySeq = await eventsAt(
    app.store.db,
    rows.map(({ eventSeq }) => eventSeq),
  );
  const taken = rows.flatMap((delivery): Taken[] => {
    const [hook, event] = [byId.get(delivery.webhookId), bySeq.get(delivery.eventSeq)];
    return hook && event ? [{ delivery, event, hook, untilMs }] : [];
  });
  return { taken, left, unreached };
}

async function eventsAt(db: ReadDb, places: readonly number[]): Promise<Map<number, Message>> {
  const seqs = JSON.stringify([...new Set(places)]);
  const found = await readMessages(db, sql`seq in (select value from json_each(${seqs}))`);
  return new Map(found.map((message) => [message.seq, message]));
}

async function readMessages(db: ReadDb, which: SQL): Promise<Message[]> {
  const rows = await db.all<RawEvent>(
    sql`select seq, id, organization_id as "organizationId", type, timestamp, entity_type as "entityType",
        entity_id as "entityId", actor_type as "actorType", actor_id as "actorId", actor, data,
        correlation_id as "correlationId", hash
      from events where ${which}`,
  );
  return rows.map((row) => {
    const { seq, id, organizationId, type, entityType, entityId, correlationId } = row;
    return { seq, id, organizationId, type, entityType, entityId, correlationId, body: eventText(row) };
  });
}

/** The event at this place. */
export const messageAt = async (db: ReadDb, seq: number): Promise<Message | undefined> =>
  (await eventsAt(db, [seq])).get(seq);

/** Puts back what was taken and not sent; each is due at once. */
export async function putBack(app: App, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await app.store.write(async (db) => {
    await db
      .update(outboundDeliveries)
      .set({ dueAt: timestamp(app.clock), takenBy: null })
      .where(
        and(
          sql`${outboundDeliveries.id} in (select value from json_each(${JSON.stringify(ids)}))`,
          eq(outboundDeliveries.takenBy, app.bootId),
          inArray(outboundDeliveries.status, ["pending", "retrying"]),
        ),
      );
  });
}

/** Puts back what processes before this one had taken; only where no other has the store. */
export async function putBackAll(app: App): Promise<void> {
  if (app.store.remote) return;
  await app.store.write(async (db) => {
    await db
      .update(outboundDeliveries)
      .set({ dueAt: timestamp(app.clock), takenBy: null })
      .where(sql`${outboundDeliveries.dueAt} is not null and ${outboundDeliveries.takenBy} is not null`);
  });
}
