import { basename } from "node:path";
import { and, asc, eq, inArray, isNotNull, isNull, lt, notExists, type SQL, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { firstIdAt } from "../base/ids.ts";
import type { App } from "../context.ts";
import { forgetHolds, heldLoads } from "../resources/datasets/hold.ts";
import { lakeFiles, lakeReads, lakeTables } from "../resources/datasets/table.ts";
import { dropSnapshots, publishedAmong } from "../resources/iceberg/published.ts";
import { actionRuns } from "../resources/runs/table.ts";
import type { WriteDb } from "../store/store.ts";
import { BATCH, batches, before, logRemoved, UUID_CHARACTERS } from "./sweep-files.ts";

/** Time for readers that started before a file was removed to finish. */
const REMOVED_FOR_MS = 10 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Maximum size of a table's past states. Beyond it, the oldest are deleted early. */
const HISTORY_BYTES = 1024 ** 3;

/** Deletes files of the lake that a commit removed, once nobody can be reading them and no past state needs them. */
export async function* sweepRemoved(app: App): AsyncGenerator<void> {
  const ago = (ms: number) => lt(lakeFiles.removedAt, timestamp(app.clock, -Math.max(ms, REMOVED_FOR_MS)));
  yield* deleteFiles(app, and(isNull(lakeFiles.removedSeq), ago(0)));
  yield* deleteFiles(app, and(isNotNull(lakeFiles.removedSeq), ago(app.config.lakeHistoryDays * DAY_MS)));
}

/** Deletes the oldest past states of tables that are rewritten so often that keeping all would fill the disk. */
export async function* sweepHistory(app: App): AsyncGenerator<void> {
  const tooMuch = sql`${lakeFiles.id} in (
    select id from (
      select f.id, f.removed_at, coalesce(t.bytes, 0) as live,
        sum(f.bytes) over (partition by f.organization_id, f.layer, f.dataset, f.table_name
          order by f.removed_at desc, f.id desc) as upTo
      from lake_files f left join lake_tables t on t.organization_id = f.organization_id and t.layer = f.layer
        and t.dataset = f.dataset and t.table_name = f.table_name
      where f.removed_seq is not null)
    where upTo > live + ${HISTORY_BYTES} and removed_at < ${timestamp(app.clock, -REMOVED_FOR_MS)})`;
  yield* deleteFiles(app, tooMuch);
}

async function* deleteFiles(app: App, which: SQL | undefined): AsyncGenerator<void> {
  for (;;) {
    const files = await app.store.db
      .select()
      .from(lakeFiles)
      .where(and(which, notExists(readersOf(app))))
      .orderBy(asc(lakeFiles.removedAt))
      .limit(BATCH);
    if (files.length === 0) return;
    await app.store.write((db) => forgetPast(db, files));
    await dropSnapshots(app, files);
    await app.lake.remove(files.map((file) => file.path));
    const ids = files.map((file) => file.id);
    await app.store.write(async (db) => void (await db.delete(lakeFiles).where(inArray(lakeFiles.id, ids))));
    if (files.length < BATCH) return;
    yield;
  }
}

/** Records for each table the oldest commit that can still be shown, before files are deleted. */
async function forgetPast(db: WriteDb, files: readonly (typeof lakeFiles.$inferSelect)[]): Promise<void> {
  for (const { organizationId, layer, dataset, tableName, removedSeq } of files) {
    if (removedSeq === null) continue;
    await db
      .update(lakeTables)
      .set({ keptFrom: removedSeq })
      .where(
        and(
          eq(lakeTables.organizationId, organizationId),
          eq(lakeTables.layer, layer),
          eq(lakeTables.dataset, dataset),
          eq(lakeTables.tableName, tableName),
          lt(lakeTables.keptFrom, removedSeq),
        ),
      );
  }
}

/** Returns running runs that may have seen a file before it was removed. */
const readersOf = (app: App) =>
  app.store.db
    .select({ id: actionRuns.id })
    .from(actionRuns)
    .where(
      and(
        sql`${actionRuns.status} = 'running'`, // matches the index on leases
        eq(actionRuns.organizationId, lakeFiles.organizationId),
        sql`${actionRuns.startedAt} <= ${lakeFiles.removedAt}`,
      ),
    );

/** Deletes files of the lake that no row names: leftovers of loads that never committed. */
export async function* sweepLake(app: App): AsyncGenerator<void> {
  for await (const paths of batches(app.lake.list(before(app)))) {
    // Checks loads first: one that ends after this check will have committed by the next.
    const ids = [...new Set(paths.map(loadOf))];
    const [running, loadsInUse] = await Promise.all([runningAmong(app, ids), heldLoads(app, ids)]);
    const busy = running.union(loadsInUse);
    const idle = paths.filter((path) => !busy.has(loadOf(path)));
    const named = await app.store.db
      .select({ path: lakeFiles.path })
      .from(lakeFiles)
      .where(inArray(lakeFiles.path, idle));
    const published = await publishedAmong(app, idle.filter(isMetadata));
    const known = new Set(named.map((file) => file.path)).union(published);
    const left = idle.filter((path) => !known.has(path));
    await app.lake.remove(left);
    logRemoved(app, "removed lake files of unfinished loads", left);
    yield;
  }
  await forgetHolds(app);
}

/** Filenames start with their load's ID, which is its run's ID if there is one. So do names of work folders. */
const loadOf = (path: string): string =>
  (path.startsWith(".work/") ? (path.split("/")[1] ?? "") : basename(path)).slice(0, UUID_CHARACTERS);

/** Metadata files for other engines. Those that the store doesn't name are out of date, too. */
const isMetadata = (path: string): boolean => path.split("/")[4] === "metadata";

async function runningAmong(app: App, ids: readonly string[]): Promise<Set<string>> {
  const rows = await app.store.db
    .select({ id: actionRuns.id })
    .from(actionRuns)
    .where(and(inArray(actionRuns.id, [...ids]), eq(actionRuns.status, "running")));
  return new Set(rows.map((row) => row.id));
}

/** Deletes lineage of reads whose runs were deleted. */
export async function* sweepReads(app: App): AsyncGenerator<void> {
  const old = timestamp(
    app.clock,
    -Math.max(app.config.retentionDays, app.config.retentionFailedDays) * DAY_MS,
  );
  for (;;) {
    const { changes } = await app.store.write((db) =>
      db
        .delete(lakeReads)
        .where(sql`id in (select id from lake_reads where id < ${firstIdAt(new Date(old))} limit ${BATCH})`),
    );
    if (changes < BATCH) return;
    yield;
  }
}
