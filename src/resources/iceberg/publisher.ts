import { and, isNotNull, sql } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { App } from "../../context.ts";
import { type Here, tableIs } from "../datasets/commit.ts";
import { lakeTables } from "../datasets/table.ts";
import { publishTable, unpublishedTables } from "./publish.ts";

/** Time before a table that couldn't be published is tried again. */
const PAUSE_MS = 60_000;

/**
 * Publishes changed tables, all snapshots of a table at once.
 * After a crash, unfinished tables are found again, since the database doesn't list them as published.
 */
export function openPublisher(app: App): (signal: AbortSignal) => Promise<number> {
  const pausedUntil = new Map<string, number>();
  let hasLooked = false;

  return async (signal) => {
    if (app.peers?.isEldest() === false) return 0;
    if (!hasLooked) await forgetOtherHomes(app);
    hasLooked = true;
    let published = 0;
    for (const table of await unpublishedTables(app)) {
      if (signal.aborted) return 0;
      const key = JSON.stringify(table);
      if ((pausedUntil.get(key) ?? 0) > app.clock.monotonic()) continue;
      try {
        await publishTable(app, table);
        pausedUntil.delete(key);
        published++;
      } catch (error) {
        if (error instanceof AppError && error.code === "not_found") continue; // Deleted in the meantime.
        if (error instanceof AppError && error.code === "invalid_state") {
          app.log.write("warn", "table not published for other engines", { cause: error.message, ...table });
          await leaveOut(app, table);
          continue;
        }
        pausedUntil.set(key, app.clock.monotonic() + PAUSE_MS);
        app.log.report(error, { loop: "table publisher", ...table });
      }
    }
    return published;
  };
}

/** If the lake was moved, its metadata still has the old URLs. */
async function forgetOtherHomes(app: App): Promise<void> {
  const rows = await app.store.db
    .select({
      organizationId: lakeTables.organizationId,
      layer: lakeTables.layer,
      dataset: lakeTables.dataset,
      tableName: lakeTables.tableName,
      published: lakeTables.published,
    })
    .from(lakeTables)
    .where(isNotNull(lakeTables.published));
  for (const { published, ...here } of rows)
    if (published?.home !== app.lake.home)
      await app.store.write(
        async (db) => void (await db.update(lakeTables).set({ publishedSnapshot: -1 }).where(tableIs(here))),
      );
}

/** Skips the table until its next commit, which may remove column types that Iceberg lacks. */
const leaveOut = (app: App, here: Here): Promise<void> =>
  app.store.write(async (db) => {
    const isUnpublished = sql`${lakeTables.publishedSnapshot} < ${lakeTables.snapshot}`;
    const set = {
      published: null,
      publishedSnapshot: sql`${lakeTables.snapshot}`,
    };
    await db
      .update(lakeTables)
      .set(set)
      .where(and(tableIs(here), isUnpublished));
  });
