import { and, asc, eq, inArray, isNotNull, lte, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App } from "../../context.ts";
import { type NoticeRow, notices } from "./table.ts";

/** So many go at once, … */
const SLOTS = 20;
/** … and of one organization so many: its receivers that never answer don't delay another's notices. */
const SLOTS_OF_ONE = 2;
/** While one process sends a notice, no other takes it up. */
const LEASE_MS = 60_000;

/** Takes the notices that are due and that there is room for beside those in hand, in turn by organization. */
export async function takeNotices(app: App, inHand: readonly NoticeRow[]): Promise<NoticeRow[]> {
  const room = SLOTS - inHand.length;
  if (room <= 0) return [];
  const busy = new Map<string, number>();
  for (const row of inHand) busy.set(row.organizationId, (busy.get(row.organizationId) ?? 0) + 1);
  const { id, organizationId, dueAt } = notices;
  const isDue = () => lte(dueAt, timestamp(app.clock));
  const held = sql`coalesce((select value from json_each(${JSON.stringify(Object.fromEntries(busy))}) where key = ${organizationId}), 0)`;
  const ranked = app.store.db
    .select({
      id,
      dueAt,
      rank: sql<number>`row_number() over (partition by ${organizationId} order by ${dueAt}) + ${held}`.as(
        "rank",
      ),
    })
    .from(notices)
    .where(isDue())
    .as("ranked");
  const due = await app.store.db
    .select({ id: ranked.id })
    .from(ranked)
    .where(lte(ranked.rank, SLOTS_OF_ONE))
    .orderBy(asc(ranked.rank), asc(ranked.dueAt))
    .limit(room);
  if (due.length === 0) return [];
  const ids = due.map((one) => one.id);
  return app.store.write((db) =>
    db
      .update(notices)
      .set({ dueAt: timestamp(app.clock, LEASE_MS), takenBy: app.bootId })
      .where(and(inArray(id, ids), isDue()))
      .returning(),
  );
}

/** What a process that has ended had in hand is due at once; of other processes the leases run out. */
export async function takeUpNotices(app: App): Promise<void> {
  if (app.peers) return;
  await app.store.write(
    async (db) =>
      void (await db
        .update(notices)
        .set({ dueAt: timestamp(app.clock) })
        .where(and(isNotNull(notices.dueAt), isNotNull(notices.takenBy), eq(notices.attempts, 0)))),
  );
}
