import { and, eq, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App } from "../../context.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { endOfTrail } from "../events/followed.ts";
import { forgetFormer, formerOf } from "./former.ts";
import { type Followed, type Move, moveFollowed, readFollowed } from "./position.ts";
import { type Subscription, subscriptionOf, wants } from "./subscriptions.ts";
import { webhooks } from "./table.ts";
import { type LeasedDelivery, leaseEnd, type Message, readMessages } from "./take.ts";

/** Limits per transaction: this many events … */
const EVENTS = 1_024;
/** … this many bytes of them … */
const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** … and this many deliveries, exceeded by at most one event's. */
const PAIRS = 2_000;
/** An organization with more deliveries in one transaction is followed separately from there on. */
const SHARE = 1_000;
/** Number of events read at a time. */
const SLICE_EVENTS = 128;
/** Number of audit log positions read at a time, whatever their events are. */
const WINDOW_EVENTS = 10_000;
/** Without deliveries, the position is stored only this often. */
const WRITE_DOWN_EVENTS = 50_000;

/**
 * Returns whether another delivery of the subscription can be taken immediately. Otherwise, it waits in the database.
 */
type HasRoom = (subscription: Subscription, event: Message) => boolean;

export interface Advance {
  taken: LeasedDelivery[];
  /** Subscriptions with deliveries that wait in the database. */
  left: ReadonlySet<string>;
  more: boolean;
}

const NOTHING: Advance = { taken: [], left: new Set(), more: false };

/** Follows the audit log: creates deliveries of new events, each in the transaction that moves the position. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its parts share how far the events were followed
export function openTrail(app: App) {
  const { db } = app.store;
  /** Nothing up to this position needs a delivery, although the stored position may be lower. */
  let seen = 0;
  /** Each subscription's types at the last check. */
  let known = new Map<string, Subscription["types"]>();
  /** The separately followed organization whose turn was last. */
  let served = "";

  /** Follows the events of all organizations that aren't followed separately. */
  async function followAll(
    followed: Followed,
    end: number,
    subscriptions: readonly Subscription[],
    hasRoom: HasRoom,
  ): Promise<Advance> {
    const isAlone = Object.keys(followed.behind).length === 0;
    const own = isAlone
      ? subscriptions
      : subscriptions.filter(({ organizationId }) => !(organizationId in followed.behind));
    if (own.length === 0) return NOTHING;
    const from = Math.max(followed.all, seen, Math.min(...own.map(({ row }) => row.afterSeq)));
    if (from >= end) return NOTHING;
    const isShared = own.some(({ organizationId }) => organizationId !== subscriptions[0]?.organizationId);
    const { pairs, to, behind } = await findPairs(db, own, from, {
      reach: Math.min(end, from + WINDOW_EVENTS),
      share: isShared ? SHARE : Number.POSITIVE_INFINITY,
    });
    // Skipped events must never match a type that a subscription added only now.
    const isOther = subscriptions.some(({ id, types }) => (known.get(id) ?? types) !== types);
    const isNoted = pairs.length > 0 || isOther || !isAlone || to - followed.all > WRITE_DOWN_EVENTS;
    const made = isNoted
      ? await make(
          app,
          pairs,
          hasRoom,
          moveFollowed(followed, { all: to, behind: { ...followed.behind, ...behind } }),
        )
      : NOTHING;
    if (made === null) return { ...NOTHING, more: true };
    seen = to;
    known = new Map(subscriptions.map(({ id, types }) => [id, types]));
    return { ...made, more: to < end || Object.keys(behind).length > 0 };
  }

  /** Follows an organization separately, until it has caught up with the others. */
  async function followOne(
    end: number,
    subscriptions: readonly Subscription[],
    hasRoom: HasRoom,
  ): Promise<Advance> {
    const followed = await readFollowed(db);
    const ids = Object.keys(followed.behind).sort();
    const id = ids.find((one) => one > served) ?? ids[0];
    if (id === undefined) return NOTHING;
    served = id;
    const { [id]: from = 0, ...behind } = followed.behind;
    const own = subscriptions.filter(({ organizationId }) => organizationId === id);
    const { pairs, to } = await findPairs(db, own, from, {
      reach: Math.min(end, followed.all, from + WINDOW_EVENTS),
      share: Number.POSITIVE_INFINITY,
    });
    const isOver = own.length === 0 || to >= followed.all;
    const next = { all: followed.all, behind: isOver ? behind : { ...behind, [id]: to } };
    const made = await make(app, pairs, hasRoom, moveFollowed(followed, next));
    return { ...(made ?? NOTHING), more: true };
  }

  return {
    /**
     * Calls `readSubscriptions` after reading the end of the audit log: a later subscriber wants no event up to there.
     */
    async *follow(
      readSubscriptions: () => Promise<readonly Subscription[]>,
      hasRoom: HasRoom,
    ): AsyncGenerator<Advance> {
      const end = await endOfTrail(db);
      const subscriptions = await readSubscriptions();
      if (subscriptions.length === 0) return;
      const followed = await readFollowed(db);
      yield await followAll(followed, end, subscriptions, hasRoom);
      if (Object.keys(followed.behind).length > 0) yield await followOne(end, subscriptions, hasRoom);
    },

    /** Creates deliveries of events that happened while the subscription was disabled, or had other types. */
    async catchUp(subscription: Subscription, hasRoom: HasRoom): Promise<Advance> {
      const { heldFrom, heldTo } = subscription.row;
      if (heldFrom === null || heldTo === null) return NOTHING;
      const former = (await formerOf(db, subscription.id)).find(({ upTo }) => upTo > heldFrom);
      const then = former ? subscriptionOf({ ...subscription.row, events: former.events }) : subscription;
      const { pairs, to } = await findPairs(
        db,
        [{ ...then, row: { ...then.row, afterSeq: heldFrom } }],
        heldFrom,
        {
          reach: Math.min(heldTo, former?.upTo ?? heldTo, heldFrom + WINDOW_EVENTS),
          share: Number.POSITIVE_INFINITY,
        },
      );
      const isOver = to >= heldTo;
      const move = async (tx: WriteDb) => {
        const moved = await tx
          .update(webhooks)
          .set(isOver ? { heldFrom: null, heldTo: null } : { heldFrom: to })
          .where(
            and(
              eq(webhooks.id, subscription.id),
              eq(webhooks.status, "active"),
              eq(webhooks.heldFrom, heldFrom),
              eq(webhooks.heldTo, heldTo),
            ),
          )
          .returning({ id: webhooks.id });
        if (former && moved.length > 0) await forgetFormer(tx, subscription.id, to);
        return moved.length > 0;
      };
      const made = await make(app, pairs, hasRoom, { move, isMoved: sql`true` });
      return { ...(made ?? NOTHING), more: made === null || !isOver };
    },
  };
}

interface Pair {
  subscription: Subscription;
  event: Message;
}

interface Found {
  pairs: Pair[];
  /** There are no others up to here, except of organizations that are behind. */
  to: number;
  /** Organizations with more than their share, and the position that was reached. */
  behind: Record<string, number>;
}

/** Finds deliveries for events after `from`, in order. An organization with more than `share` is left behind. */
async function findPairs(
  db: ReadDb,
  subscriptions: readonly Subscription[],
  from: number,
  { reach, share }: { reach: number; share: number },
): Promise<Found> {
  const subscriptionsOf = Map.groupBy(subscriptions, ({ organizationId }) => organizationId);
  const counts = new Map<string, number>();
  const behind: Record<string, number> = {};
  const pairs: Pair[] = [];
  let events = 0;
  let bytes = 0;
  for (let at = from; ; ) {
    const slice = await readMessages(
      db,
      sql`seq > ${at} and seq <= ${reach} and organization_id || type
        in (select value from json_each(${typesIn(subscriptionsOf)})) order by seq limit ${SLICE_EVENTS}`,
    );
    for (const event of slice) {
      const { seq, organizationId } = event;
      const own = (subscriptionsOf.get(organizationId) ?? []).filter(
        (subscription) => seq > subscription.row.afterSeq && wants(subscription, event),
      );
      const count = (counts.get(organizationId) ?? 0) + own.length;
      counts.set(organizationId, count);
      for (const subscription of own) pairs.push({ subscription, event });
      if (count >= share && subscriptionsOf.delete(organizationId)) behind[organizationId] = seq;
      bytes += event.body.length;
      events++;
      if (pairs.length >= PAIRS || bytes >= MAX_HELD_BYTES || events >= EVENTS)
        return { pairs, to: seq, behind };
    }
    const last = slice.at(-1);
    if (slice.length < SLICE_EVENTS || !last) return { pairs, to: reach, behind };
    at = last.seq;
    await new Promise((resolve) => setImmediate(resolve)); // Responses that arrived in the meantime get their turn.
  }
}

const typesIn = (subscriptionsOf: ReadonlyMap<string, readonly Subscription[]>): string =>
  JSON.stringify([
    ...new Set(
      [...subscriptionsOf].flatMap(([id, subscriptions]) =>
        subscriptions.flatMap(({ types }) => [...types].map((type) => id + type)),
      ),
    ),
  ]);

/** Stores deliveries in the transaction of a move. Null if another process was faster. */
async function make(
  app: App,
  pairs: readonly Pair[],
  hasRoom: HasRoom,
  { move, isMoved }: Move,
): Promise<Omit<Advance, "more"> | null> {
  const now = timestamp(app.clock);
  const untilMs = leaseEnd(app);
  const until = new Date(untilMs).toISOString();
  const left = new Set<string>();
  const made = pairs.map(({ subscription, event }) => {
    const isTaken = !left.has(subscription.id) && hasRoom(subscription, event);
    if (!isTaken) left.add(subscription.id);
    return { id: app.ids.uuid(), subscription, event, isTaken };
  });
  const rows = JSON.stringify(
    made.map(({ id, subscription, event, isTaken }) => [id, subscription.id, event.seq, isTaken ? 1 : 0]),
  );
  const isThere = async (db: ReadDb) => {
    const [stored] = await db.all<{ moved: number }>(sql`select ${isMoved} as moved`);
    return Boolean(stored?.moved);
  };
  const stored = await app.store.write(async (db) => {
    if (!(await move(db))) return null;
    if (made.length === 0) return (await isThere(db)) ? ("all" as const) : null;
    const { changes } = await db.run(
      sql`insert into outbound_deliveries (id, organization_id, webhook_id, event_seq, event_id, event_type,
          due_at, taken_by, created_at, status, attempts, is_test)
        select v.value ->> 0, e.organization_id, v.value ->> 1, e.seq, e.id, e.type,
          case when cast(v.value ->> 3 as bigint) = 1 then ${until} else ${now} end,
          case when cast(v.value ->> 3 as bigint) = 1 then ${app.bootId} end, ${now}, 'pending', 0, 0
        from json_each(${rows}) v cross join events e
        where e.seq = cast(v.value ->> 2 as bigint) and ${isMoved}
        on conflict do nothing`,
    );
    if (changes === made.length) return "all" as const;
    if (!(await isThere(db))) return null;
    return db.all<{ id: string }>(
      sql`select id from outbound_deliveries
        where id in (select value ->> 0 from json_each(${rows}))`,
    );
  });
  if (stored === null) return null;
  // Except those that a test has created before.
  const isNew = stored === "all" ? null : new Set(stored.map(({ id }) => id));
  const taken = made
    .filter(({ id, isTaken }) => isTaken && (isNew === null || isNew.has(id)))
    .map(({ id, subscription, event }): LeasedDelivery => {
      const { organizationId, id: webhookId } = subscription;
      const { id: eventId } = event;
      const delivery = { id, organizationId, webhookId, eventId, attempts: 0, replayOf: null, isTest: false };
      return { delivery, event, subscription, untilMs };
    });
  return { taken, left };
}
