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

/** The position of the newest event, of all organizations; 0 where there is none. */
export async function endOfTrail(db: ReadDb): Promise<number> {
  const [last] = await newest(db).all();
  return last?.seq ?? 0;
}

/** How far whoever has the settings row `key` has followed the trail; null before it began. */
export async function storedPosition(db: ReadDb, key: string): Promise<number | null> {
  const [row] = await byKey(db).all({ key });
  return row ? Number(row.value) : null;
}

/** Moves the position from `stored` to `to`. False where another process has moved it meanwhile. */
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
