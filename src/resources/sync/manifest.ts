import { and, asc, eq, gt, inArray } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import type { ManifestEntry, SyncManifest } from "../../executors/contract.ts";
import { prepared } from "../../store/prepared.ts";
import type { WriteDb } from "../../store/store.ts";
import { type SyncFileRow, syncFiles } from "./table.ts";

/** Number of paths per statement, and of rows read at once. */
const BATCH = 100;
const PAGE_ENTRIES = 5_000;

/** Inserts or replaces entries of one pair. The last value of each is JSON. */
const keep = prepared((db: WriteDb) =>
  db.statement(`insert into sync_files
      (organization_id, owner_id, place, copied_at, path, source_version, target_version, size, detail, action_run_id)
    select ?, ?, ?, ?, value ->> 0, value ->> 1, value ->> 2, cast(value ->> 3 as bigint), value ->> 4, value ->> 5
    from json_each(?) where true
    on conflict (organization_id, owner_id, place, path) do update set source_version = excluded.source_version,
      target_version = excluded.target_version, size = excluded.size, detail = excluded.detail,
      action_run_id = excluded.action_run_id, copied_at = excluded.copied_at`),
);

/**
 * Records which files the syncs of one owner have copied where.
 * Entries describe the destination, whichever run wrote them.
 */
export function openManifest(ctx: Context, ownerId: string, actionRunId: string): SyncManifest {
  const { organizationId } = ctx;
  const at = (pair: string) =>
    and(
      eq(syncFiles.organizationId, organizationId),
      eq(syncFiles.ownerId, ownerId),
      eq(syncFiles.place, pair),
    );
  const forget = async (tx: WriteContext, pair: string, paths: readonly string[]) => {
    for (let start = 0; start < paths.length; start += BATCH) {
      const some = paths.slice(start, start + BATCH);
      await tx.db.delete(syncFiles).where(and(at(pair), inArray(syncFiles.path, some)));
    }
  };
  return {
    async read(pair) {
      const found = new Map<string, ManifestEntry>();
      for (let after = ""; ; ) {
        const rows = await ctx.db
          .select()
          .from(syncFiles)
          .where(and(at(pair), gt(syncFiles.path, after)))
          .orderBy(asc(syncFiles.path))
          .limit(PAGE_ENTRIES);
        for (const row of rows) found.set(row.path, entryOf(row));
        const last = rows.at(-1);
        if (!last || rows.length < PAGE_ENTRIES) return found;
        after = last.path;
      }
    },
    async keep(pair, entries) {
      const rows = entries.map(({ path, sourceVersion, targetVersion, size, detail, runId }) => [
        path,
        sourceVersion,
        targetVersion,
        size,
        detail,
        runId ?? actionRunId,
      ]);
      const text = JSON.stringify(rows);
      await write(ctx, async (tx) => {
        await keep(tx.db)([organizationId, ownerId, pair, timestamp(tx.clock), text]);
      });
    },
    async forget(pair, paths) {
      await write(ctx, (tx) => forget(tx, pair, paths));
    },
  };
}

const entryOf = (row: SyncFileRow): ManifestEntry => ({
  path: row.path,
  sourceVersion: row.sourceVersion,
  targetVersion: row.targetVersion,
  size: row.size,
  detail: row.detail,
  runId: row.actionRunId,
});
