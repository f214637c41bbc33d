import { and, asc, desc, gt, gte, inArray, sql } from "drizzle-orm";
import type { App } from "../../context.ts";
import { firstSince } from "../events/position.ts";
import { events } from "../events/table.ts";
import { type Histogram, observe } from "./histogram.ts";

/** Upper limits of the duration histogram, in seconds. */
export const DURATION_BUCKETS = [0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200] as const;

/** What the audit log shows since this process started. */
export interface Tally {
  /** Finished runs, by kind and status. */
  runs: Map<string, { kind: string; status: string; count: number }>;
  durations: Map<string, Histogram>;
  /** Webhook requests that started a run. */
  deliveries: number;
  deadLettered: number;
  /** Time of the last completed run of each automation, by ID. */
  successes: Map<string, string>;
}

interface Follower extends Tally {
  /** The last event counted. Null before the first read. */
  after: number | null;
  previous: Promise<void>;
}

const COUNTED = [
  "action.completed",
  "action.failed",
  "action.cancelled",
  "automation.triggered",
  "automation.completed",
  "webhook.dead_lettered",
] as const;

/** Number of events read before other work gets its turn. */
const BATCH = 500;

const followers = new WeakMap<App["store"], Follower>();

/** Counts from events, so that runs don't have to count, and each call costs only what happened since the last one. */
export async function tallyOf(app: App): Promise<Tally> {
  const mine = followers.get(app.store) ?? newFollower();
  followers.set(app.store, mine);
  const previous = mine.previous.then(() => catchUp(app, mine));
  mine.previous = previous.catch(() => undefined); // Reported to the caller; the next one tries again.
  await previous;
  return mine;
}

const newFollower = (): Follower => ({
  runs: new Map(),
  durations: new Map(),
  deliveries: 0,
  deadLettered: 0,
  successes: new Map(),
  after: null,
  previous: Promise.resolve(),
});

async function catchUp(app: App, follower: Follower): Promise<void> {
  let after = follower.after ?? (await startOf(app));
  for (;;) {
    const rows = await app.store.db
      .select({
        seq: events.seq,
        type: events.type,
        entityId: events.entityId,
        timestamp: events.timestamp,
        kind: sql<string | null>`json_extract(${events.data}, '$.kind')`,
        seconds: sql<
          number | null
        >`cast(json_extract(${events.data}, '$.durationSeconds') as double precision)`,
        deliveryId: sql<string | null>`json_extract(${events.data}, '$.deliveryId')`,
      })
      .from(events)
      .where(and(gt(events.seq, after), inArray(sql`${events.type} || ''`, [...COUNTED])))
      .orderBy(asc(events.seq))
      .limit(BATCH);
    for (const row of rows) add(follower, row);
    after = rows.at(-1)?.seq ?? after;
    follower.after = after;
    if (rows.length < BATCH) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Where this process started: the ID of its start contains the time, in milliseconds. */
async function startOf({ store, bootId }: App): Promise<number> {
  const startedAt = new Date(Number.parseInt(bootId.replaceAll("-", "").slice(0, 12), 16)).toISOString();
  const [last] = await store.db.select({ seq: events.seq }).from(events).orderBy(desc(events.seq)).limit(1);
  const first = await firstSince(startedAt, (last?.seq ?? 0) + 1, async (seq) => {
    const [row] = await store.db
      .select({ seq: events.seq, timestamp: events.timestamp })
      .from(events)
      .where(gte(events.seq, seq))
      .orderBy(asc(events.seq))
      .limit(1);
    return row;
  });
  return first - 1;
}

interface Row {
  type: string;
  entityId: string;
  timestamp: string;
  kind: string | null;
  seconds: number | null;
  deliveryId: string | null;
}

function add(tally: Tally, { type, entityId, timestamp, kind, seconds, deliveryId }: Row): void {
  if (type === "automation.completed") tally.successes.set(entityId, timestamp);
  else if (type === "webhook.dead_lettered") tally.deadLettered++;
  else if (type === "automation.triggered") tally.deliveries += deliveryId === null ? 0 : 1;
  else if (kind !== null) {
    const status = type.slice("action.".length);
    const key = `${kind} ${status}`;
    const counted = tally.runs.get(key) ?? { kind, status, count: 0 };
    tally.runs.set(key, { ...counted, count: counted.count + 1 });
    if (seconds !== null) observe(tally.durations, DURATION_BUCKETS, kind, seconds);
  }
}
