import { asc, eq, sql } from "drizzle-orm";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Clock } from "../base/clock.ts";
import type { ReadDb, Store, WriteDb } from "./store.ts";

/** The processes that share a database server. A row is deleted when its process ends or is considered dead. */
export const processes = sqliteTable("processes", {
  /** The process's boot ID. */
  id: text().primaryKey(),
  host: text().notNull(),
  pid: integer().notNull(),
  version: text().notNull(),
  /** Identifies its data directory: processes with the same ID see the same files. */
  folderId: text().notNull(),
  /** Bucket of its lake. Empty if the lake is in the data directory. */
  lake: text().notNull(),
  /** ID of its master key. */
  keyId: text().notNull(),
  /** By the database's clock, like all times here. */
  startedAt: text().notNull(),
  seenAt: text().notNull(),
});
export type ProcessRow = typeof processes.$inferSelect;
export type NewProcess = Omit<ProcessRow, "startedAt" | "seenAt">;

/** At start, peers seen within this many seconds are considered alive. */
export const SEEN_SECONDS = 20;

const NOW = sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`;

/** Recently seen processes, the oldest first. */
export const livingProcesses = (db: ReadDb): Promise<ProcessRow[]> =>
  db
    .select()
    .from(processes)
    .where(sql`${processes.seenAt} > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ${`-${SEEN_SECONDS} seconds`})`)
    .orderBy(asc(processes.startedAt), asc(processes.id));

export const allProcesses = (db: ReadDb): Promise<ProcessRow[]> =>
  db.select().from(processes).orderBy(asc(processes.startedAt), asc(processes.id));

/** Adds a process unless `check` throws for the others. Serialized with other starts. */
export function addProcess(
  store: Store,
  own: NewProcess,
  check: (others: readonly ProcessRow[]) => void,
): Promise<void> {
  return store.write(async (db) => {
    check(await livingProcesses(db));
    await db.insert(processes).values({ ...own, startedAt: NOW, seenAt: NOW });
  });
}

/**
 * Records a heartbeat. Returns false if the row was missing and had to be added again: peers considered this process
 * dead.
 */
export function sendHeartbeat(store: Store, own: NewProcess): Promise<boolean> {
  return store.write(async (db) => {
    const { changes } = await db.update(processes).set({ seenAt: NOW }).where(eq(processes.id, own.id));
    if (changes === 0) await db.insert(processes).values({ ...own, startedAt: NOW, seenAt: NOW });
    return changes > 0;
  });
}

/** Deletes the row of a process if it was last seen at `seenAt`. Returns false if it has changed. */
export async function removeProcess(db: WriteDb, { id, seenAt }: ProcessRow): Promise<boolean> {
  const { changes } = await db
    .delete(processes)
    .where(sql`${processes.id} = ${id} and ${processes.seenAt} = ${seenAt}`);
  return changes > 0;
}

export async function endProcess(store: Store, id: string): Promise<void> {
  await store.write(async (db) => {
    await db.delete(processes).where(eq(processes.id, id));
  });
}

/** Returns how far the database's clock is ahead of `clock`, and how long the query took, in milliseconds. */
export async function askTime(db: ReadDb, clock: Clock): Promise<{ aheadMs: number; tookMs: number }> {
  const startedMs = clock.monotonic();
  const row = (await db.get(sql`select unixepoch('subsec') as seconds`)) as { seconds: number };
  const tookMs = clock.monotonic() - startedMs;
  return { aheadMs: row.seconds * 1000 - (clock.now().getTime() - tookMs / 2), tookMs };
}
