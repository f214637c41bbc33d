import { and, asc, gt, inArray, lt, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { timestamp } from "../base/clock.ts";
import { firstIdAt } from "../base/ids.ts";
import type { App } from "../context.ts";
import type { WriteDb } from "../store/store.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Rows that one step looks at, and one write deletes at most. */
const BATCH = 100;

/** What is kept for `WEIR_RETENTION_FAILED_DAYS`; all else that has ended for `WEIR_RETENTION_DAYS`. */
const FAILED: readonly string[] = ["failed", "dead_letter", "dead"];

/** A row that has ended, or has not. */
interface Aged {
  id: string;
  status: string;
  /** Null for what is still running. */
  endedAt: string | null;
}

/** A table whose ids are in the order of their time, and where it says how and when a row ended. */
interface History {
  table: SQLiteTable;
  id: SQLiteColumn;
  status: SQLiteColumn;
  endedAt: SQLiteColumn;
}

/**
 * The ids of rows past their time, batch by batch, oldest first. Goes by the order of ids, which no index has to be
 * kept for; what is kept longer than most is looked at again in each round.
 */
async function* pastTheirTime(app: App, history: History): AsyncGenerator<string[]> {
  const { retentionDays, retentionFailedDays } = app.config;
  const [done, failed] = [retentionDays, retentionFailedDays].map((days) =>
    timestamp(app.clock, -days * DAY_MS),
  );
  const { table, id, status, endedAt } = history;
  const shortest = Math.min(retentionDays, retentionFailedDays) * DAY_MS;
  const before = firstIdAt(new Date(app.clock.now().getTime() - shortest));
  for (let after = ""; ; ) {
    const rows: Aged[] = await app.store.db
      .select({
        id: sql<string>`${id}`,
        status: sql<string>`${status}`,
        endedAt: sql<string | null>`${endedAt}`,
      })
      .from(table)
      .where(and(gt(id, after), lt(id, before)))
      .orderBy(asc(id))
      .limit(BATCH);
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
    yield rows
      .filter(
        (row) => row.endedAt !== null && row.endedAt < ((FAILED.includes(row.status) ? failed : done) ?? ""),
      )
      .map((row) => row.id);
    if (rows.length < BATCH) return;
  }
}

/** What belongs to rows and goes with them. */
interface Belongings {
  /** Deleted in the same write. */
  with?: (db: WriteDb, ids: string[]) => Promise<void>;
  /** What may be too much for one write is deleted before, in writes of its own. */
  before?: (ids: string[]) => AsyncIterable<void>;
}

/** Deletes rows past their time that are `free`, in small writes. Tells in the log how many there were. */
export async function* prune(
  app: App,
  { name, ...history }: History & { name: string },
  free: SQL | undefined,
  belongings: Belongings = {},
): AsyncGenerator<void> {
  const { table, id } = history;
  let count = 0;
  for await (const old of pastTheirTime(app, history)) {
    const where = (ids: string[]) => and(inArray(id, ids), free);
    const found = old.length === 0 ? [] : await app.store.db.select({ id }).from(table).where(where(old));
    const ids = found.map((row) => String(row.id));
    if (ids.length > 0) {
      if (belongings.before) yield* belongings.before(ids);
      count += await app.store.write(async (db) => {
        const rows = await db.delete(table).where(where(ids)).returning({ id }); // some may be needed by now
        const gone = rows.map((row) => String(row.id));
        if (gone.length > 0) await belongings.with?.(db, gone);
        return gone.length;
      });
    }
    yield;
  }
  if (count > 0) app.log.write("info", `removed expired ${name}`, { rows: count });
}
