import { and, asc, eq, inArray, isNotNull, lte, ne, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App } from "../../context.ts";
import { type NoticeRow, notices } from "./table.ts";

/** Maximum number of emails in progress, and of others: a stalled mail server delays no webhook posts, … */
const SLOTS = 10;
/** … and per organization: its unresponsive receivers delay nobody else's notices. */
const SLOTS_OF_ONE = 2;
/** How long one process has to send a notice before others take it. */
const LEASE_MS = 60_000;

/** Takes due notices, as many as there are slots for, in turn by organization. */
export async function takeNotices(app: App, inHand: readonly NoticeRow[]): Promise<NoticeRow[]> {
  const isMail = ({ channel }: NoticeRow) => channel === "mail";
  const mails = await dueIn(app, true, inHand.filter(isMail));
  const posts = await dueIn(
    app,
    false,
    inHand.filter((row) => !isMail(row)),
  );
  const ids = [...mails, ...posts];
  if (ids.length === 0) return [];
  return app.store.write((db) =>
    db
      .update(notices)
      .set({ dueAt: timestamp(app.clock, LEASE_MS), takenBy: app.bootId })
      .where(and(inArray(notices.id, ids), isDue(app)))
      .returning(),
  );
}

const isDue = (app: App) => lte(notices.dueAt, timestamp(app.clock));

/** Notices about the same thing are sent one after another. */
const isFirst = sql`not exists (select 1 from notices e where e.thing = ${notices.thing} and e.due_at is not null and e.id < ${notices.id})`;

async function dueIn(app: App, isMail: boolean, inHand: readonly NoticeRow[]): Promise<string[]> {
  const room = SLOTS - inHand.length;
  if (room <= 0) return [];
  const busy: Record<string, number> = {};
  for (const { organizationId } of inHand) busy[organizationId] = (busy[organizationId] ?? 0) + 1;
  const { id, organizationId, dueAt, channel } = notices;
  const busyCount = sql`coalesce((select cast(value as bigint) from json_each(${JSON.stringify(busy)}) where key = ${organizationId}), 0)`;
  const rank = sql<number>`row_number() over (partition by ${organizationId} order by ${dueAt}) + ${busyCount}`;
  const ranked = app.store.db
    .select({ id, dueAt, rank: rank.as("rank") })
    .from(notices)
    .where(and(isDue(app), isMail ? eq(channel, "mail") : ne(channel, "mail"), isFirst))
    .as("ranked");
  const due = await app.store.db
    .select({ id: ranked.id })
    .from(ranked)
    .where(lte(ranked.rank, SLOTS_OF_ONE))
    .orderBy(asc(ranked.rank), asc(ranked.dueAt))
    .limit(room);
  return due.map((one) => one.id);
}

/**
 * Notices of a process that has ended are due immediately. Those of other processes wait for their leases to expire.
 */
export async function takeUpNotices(app: App): Promise<void> {
  if (app.peers) return;
  const inHand = and(isNotNull(notices.dueAt), isNotNull(notices.takenBy), eq(notices.attempts, 0));
  await app.store.write(
    async (db) =>
      void (await db
        .update(notices)
        .set({ dueAt: timestamp(app.clock) })
        .where(inHand)),
  );
}
