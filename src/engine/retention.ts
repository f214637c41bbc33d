import { and, asc, gt, inArray, lt, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { timestamp } from "../base/clock.ts";
import { firstIdAt } from "../base/ids.ts";
import type { App } from "../context.ts";
import type { WriteDb } from "../store/store.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Maximum number of rows to check in one step and to delete in one write. */
const BATCH = 100;

/** Whether `WEIR_RETENTION_FAILED_DAYS` applies. Otherwise it is `WEIR_RETENTION_DAYS`. */
const FAILED: readonly string[] = ["failed", "dead_letter", "dead"];

/** A row that may have ended. */
interface Aged {
  id: string;
  status: string;
  /** Null if it is still running. */
  endedAt: string | null;
}

/** A table with IDs in the order of creation, and the columns for how and when a row ended. */
interface History {
  table: SQLiteTable;
  id: SQLiteColumn;
  status: SQLiteColumn;
  endedAt: SQLiteColumn;
}

/**
 * IDs of expired rows in batches, oldest first. Uses the order of IDs, which needs no index. Rows that are kept
 * longer are checked again in each round.
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

/** Data that is deleted with its rows. */
interface Belongings {
  /** Deleted in the same write. */
  with?: (db: WriteDb, ids: string[]) => Promise<void>;
  /** Data that may be too large for one write, deleted before in separate writes. */
  before?: (ids: string[]) => AsyncIterable<void>;
}

/** Deletes expired rows that are `free`, in small writes, and logs their number. */
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
        const rows = await db.delete(table).where(where(ids)).returning({ id }); // some may be in use by now
        const gone = rows.map((row) => String(row.id));
        if (gone.length > 0) await belongings.with?.(db, gone);
        return gone.length;
      });
    }
    yield;
  }
  if (count > 0) app.log.write("info", `removed expired ${name}`, { rows: count });
}
