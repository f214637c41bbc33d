import { and, asc, eq, getTableColumns, gt, inArray, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import type { ManifestBench, ManifestEntry } from "../../executors/contract.ts";
import { prepared } from "../../store/prepared.ts";
import type { SqlValue, WriteDb } from "../../store/store.ts";
import { type SyncFileRow, syncFiles } from "./table.ts";

/** Rows that go in one statement, and those that are read at once. */
const BATCH = 100;
const PAGE = 5_000;

const COLUMNS = Object.entries(getTableColumns(syncFiles));

/** One statement for so many rows, built once: an entry that is there gives way. */
const statements = prepared((_: WriteDb) => new Map<number, ReturnType<WriteDb["statement"]>>());

function build(db: WriteDb, count: number) {
  const { organizationId, ownerId, place, path } = syncFiles;
  const marks = Object.fromEntries(COLUMNS.map(([name]) => [name, sql.placeholder(name)]));
  const { sql: text } = db
    .insert(syncFiles)
    .values(Array.from({ length: count }, () => marks) as unknown as SyncFileRow[])
    .onConflictDoUpdate({
      target: [organizationId, ownerId, place, path],
      set: {
        sourceVersion: sql`excluded.source_version`,
        targetVersion: sql`excluded.target_version`,
        size: sql`excluded.size`,
        detail: sql`excluded.detail`,
        actionRunId: sql`excluded.action_run_id`,
        copiedAt: sql`excluded.copied_at`,
      },
    })
    .toSQL();
  return db.statement(text);
}

async function upsert(db: WriteDb, rows: readonly SyncFileRow[]): Promise<void> {
  const known = statements(db);
  const run = known.get(rows.length) ?? build(db, rows.length);
  known.set(rows.length, run);
  const values = rows.flatMap((row) =>
    COLUMNS.map(([name, column]) => {
      const value = row[name as keyof SyncFileRow];
      return (value === null ? null : column.mapToDriverValue(value)) as SqlValue;
    }),
  );
  await run(values);
}

/** What the syncs of one owner have copied where. What is written is true of the destination, whoever has the run. */
export function openManifest(ctx: Context, ownerId: string, actionRunId: string): ManifestBench {
  const { organizationId } = ctx;
  const at = (place: string) =>
    and(
      eq(syncFiles.organizationId, organizationId),
      eq(syncFiles.ownerId, ownerId),
      eq(syncFiles.place, place),
    );
  const forget = async (tx: WriteContext, place: string, paths: readonly string[]) => {
    for (let start = 0; start < paths.length; start += BATCH) {
      const some = paths.slice(start, start + BATCH);
      await tx.db.delete(syncFiles).where(and(at(place), inArray(syncFiles.path, some)));
    }
  };
  return {
    async read(place) {
      const found = new Map<string, ManifestEntry>();
      for (let after = ""; ; ) {
        const rows = await ctx.db
          .select()
          .from(syncFiles)
          .where(and(at(place), gt(syncFiles.path, after)))
          .orderBy(asc(syncFiles.path))
          .limit(PAGE);
        for (const row of rows) found.set(row.path, entryOf(row));
        const last = rows.at(-1);
        if (!last || rows.length < PAGE) return found;
        after = last.path;
      }
    },
    async keep(place, entries) {
      await write(ctx, async (tx) => {
        const copiedAt = timestamp(tx.clock);
        const rows = entries.map(
          ({ path, sourceVersion, targetVersion, size, detail, runId }): SyncFileRow => ({
            organizationId,
            ownerId,
            place,
            path,
            sourceVersion,
            targetVersion,
            size,
            detail,
            actionRunId: runId ?? actionRunId,
            copiedAt,
          }),
        );
        for (let start = 0; start < rows.length; start += BATCH)
          await upsert(tx.db, rows.slice(start, start + BATCH));
      });
    },
    async forget(place, paths) {
      await write(ctx, (tx) => forget(tx, place, paths));
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
