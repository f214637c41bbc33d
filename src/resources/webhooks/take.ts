import { and, eq, inArray, type SQL, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App } from "../../context.ts";
import type { ReadDb } from "../../store/store.ts";
import { eventText, type RawEvent } from "../events/wire.ts";
import type { Subscription } from "./subscriptions.ts";
import { type OutboundRow, outboundDeliveries } from "./table.ts";

/** An event, with the text that is sent. */
export type Message = Pick<
  RawEvent,
  "seq" | "id" | "organizationId" | "type" | "entityType" | "entityId" | "correlationId"
> & { body: string };

/** A delivery that this process has taken. Nobody else sends it until `untilMs`. */
export interface LeasedDelivery {
  delivery: Pick<
    OutboundRow,
    "id" | "organizationId" | "webhookId" | "eventId" | "attempts" | "replayOf" | "isTest"
  >;
  event: Message;
  subscription: Subscription;
  /** Milliseconds since the epoch. */
  untilMs: number;
}

/** Maximum number of due deliveries read at once. */
const DUE = 2_048;
/** How long a taken delivery may be queued here, in addition to the receiver's timeout. */
const PATIENCE_MS = 120_000;

/** When a lease taken now ends, in milliseconds since the epoch. */
export const leaseEnd = ({ clock, config }: App) =>
  clock.now().getTime() + config.webhookTimeout * 1000 + PATIENCE_MS;

interface Claimed {
  taken: LeasedDelivery[];
  /** Subscriptions with more due deliveries. */
  left: Set<string>;
  /** Subscriptions that weren't reached, because earlier ones had so many. */
  unreached: Set<string>;
}

/**
 * Takes due deliveries in order, at most `most` of each subscription.
 * `reserve` gets the number of bytes to send, and returns whether there is room.
 */
export async function claimDeliveries(
  app: App,
  subscriptions: readonly Subscription[],
  most: number,
  reserve: (subscription: Subscription, bytes: number) => boolean,
): Promise<Claimed> {
  const now = timestamp(app.clock);
  const subscriptionIds = JSON.stringify(subscriptions.map(({ id }) => id));
  const found = await app.store.db.all<{ id: string; webhookId: string; bytes: number }>(
    sql`select d.id as "id", d.webhook_id as "webhookId", octet_length(v.data) as "bytes"
      from json_each(${subscriptionIds}) w cross join webhooks h cross join outbound_deliveries d
        left join events v on v.seq = d.event_seq
      where h.id = w.value and h.status = 'active' and d.id in (
        select e.id from outbound_deliveries e indexed by outbound_deliveries_due
        where e.webhook_id = w.value and e.due_at is not null and e.due_at <= ${now}
        order by e.due_at limit ${most})
      limit ${DUE}`,
  );
  const byId = new Map(subscriptions.map((subscription) => [subscription.id, subscription]));
  const counts = new Map<string, number>();
  const left = new Set<string>();
  const due = found.filter(({ webhookId, bytes }) => {
    const subscription = byId.get(webhookId);
    const count = (counts.get(webhookId) ?? 0) + 1;
    counts.set(webhookId, count);
    if (count === most) left.add(webhookId);
    if (subscription && reserve(subscription, bytes ?? 0)) return true;
    left.add(webhookId);
    return false;
  });
  const isCut = found.length === DUE;
  const last = isCut
    ? subscriptions.findIndex(({ id }) => id === found.at(-1)?.webhookId)
    : subscriptions.length;
  const unreached = new Set(subscriptions.slice(last).map(({ id }) => id));
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
  const taken = rows.flatMap((delivery): LeasedDelivery[] => {
    const [subscription, event] = [byId.get(delivery.webhookId), bySeq.get(delivery.eventSeq)];
    return subscription && event ? [{ delivery, event, subscription, untilMs }] : [];
  });
  return { taken, left, unreached };
}

async function eventsAt(db: ReadDb, positions: readonly number[]): Promise<Map<number, Message>> {
  const seqs = JSON.stringify([...new Set(positions)]);
  const found = await readMessages(db, sql`seq in (select cast(value as bigint) from json_each(${seqs}))`);
  return new Map(found.map((message) => [message.seq, message]));
}

export async function readMessages(db: ReadDb, which: SQL): Promise<Message[]> {
  const rows = await db.all<RawEvent>(
    sql`select seq, id, organization_id as "organizationId", type, timestamp, entity_type as "entityType",
        entity_id as "entityId", actor_type as "actorType", actor_id as "actorId", actor, data,
        correlation_id as "correlationId", hash, redacted_at as "redactedAt"
      from events where ${which}`,
  );
  return rows.map((row) => {
    const { seq, id, organizationId, type, entityType, entityId, correlationId } = row;
    return { seq, id, organizationId, type, entityType, entityId, correlationId, body: eventText(row) };
  });
}

/** Returns the event at this position. */
export const messageAt = async (db: ReadDb, seq: number): Promise<Message | undefined> =>
  (await eventsAt(db, [seq])).get(seq);

/** Returns taken deliveries that weren't sent. They are due immediately. */
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

/** Returns deliveries that earlier processes had taken. Only if no other process uses the database. */
export async function putBackAll(app: App): Promise<void> {
  if (app.store.remote) return;
  await app.store.write(async (db) => {
    await db
      .update(outboundDeliveries)
      .set({ dueAt: timestamp(app.clock), takenBy: null })
      .where(sql`${outboundDeliveries.dueAt} is not null and ${outboundDeliveries.takenBy} is not null`);
  });
}
