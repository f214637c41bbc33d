import { and, desc, eq, sql } from "drizzle-orm";
import { prepared } from "../../store/prepared.ts";
import { settings } from "../../store/settings.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { events } from "./table.ts";

const newest = prepared((db: ReadDb) =>
  db.select({ seq: events.seq }).from(events).orderBy(desc(events.seq)).limit(1).prepare(),
);

const byKey = prepared((db: ReadDb) =>
  db
    .select({ value: settings.value })
    .from(settings)
    .where(eq(settings.key, sql.placeholder("key")))
    .prepare(),
);

/** Returns the position of the newest event of all organizations. 0 if there is none. */
export async function endOfTrail(db: ReadDb): Promise<number> {
  const [last] = await newest(db).all();
  return last?.seq ?? 0;
}

/** Returns the position up to which the follower with the settings row `key` has read. Null before it started. */
export async function storedPosition(db: ReadDb, key: string): Promise<number | null> {
  const [row] = await byKey(db).all({ key });
  return row ? Number(row.value) : null;
}

/** Moves the position from `stored` to `to`. Returns false if another process moved it. */
export async function movePosition(
  db: WriteDb,
  key: string,
  stored: number | null,
  to: number,
): Promise<boolean> {
  const value = String(to);
  if (stored === null) {
    const made = await db.insert(settings).values({ key, value }).onConflictDoNothing().returning();
    return made.length > 0;
  }
  const moved = await db
    .update(settings)
    .set({ value })
    .where(and(eq(settings.key, key), eq(settings.value, String(stored))))
    .returning({ key: settings.key });
  return moved.length > 0;
}
