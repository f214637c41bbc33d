import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { WriteContext } from "../../context.ts";
import { SMALL_FILE_BYTES } from "../../lake/compact.ts";
import type { LakeFile, LakeLoad, TableChange } from "../../lake/contract.ts";
import type { Column } from "../../sql/contract.ts";
import { withinStorage } from "../usage/quotas.ts";
import { checkSqlName } from "./sql-names.ts";
import {
  extractCursors,
  type LoadedTable,
  lakeFiles,
  lakeLoads,
  lakeSchemas,
  lakeSnapshots,
  lakeTables,
  SNAPSHOTS_TOPIC,
} from "./table.ts";

/** Source of a load: the kind of the action that created it, or `upload`. */
export interface Origin {
  kind: string;
  actionId: string | null;
}

/**
 * Makes a load visible in the caller's transaction: its files, those that they replace, the tables' columns and totals,
 * and the cursors of `ownerId`.
 *
 * Throws `dataset_changed` (retryable) if a table has changed since the version that the load was computed from,
 * `conflict` for a new table whose name in SQL another one has, and `quota_exceeded`.
 */
export async function commitLoad(
  tx: WriteContext,
  runId: string,
  ownerId: string,
  load: LakeLoad,
  origin: Origin = { kind: "", actionId: null },
): Promise<void> {
  const at = timestamp(tx.clock);
  const dataset = { organizationId: tx.organizationId, layer: load.layer, dataset: load.dataset };
  const moment = { at, seq: await nextSeq(tx), loadId: load.loadId };
  const { kind, actionId } = origin;
  const tables: LoadedTable[] = [];
  await withinStorage(tx, async () => {
    for (const change of load.tables) tables.push(await commitTable(tx, dataset, change, moment));
  });
  await tx.db.insert(lakeLoads).values({
    id: load.loadId,
    ...dataset,
    actionRunId: runId,
    committedAt: at,
    seq: moment.seq,
    kind,
    actionId,
    tables,
  });
  for (const [resource, cursor] of Object.entries(load.cursors ?? {})) {
    const values = {
      cursorField: cursor.cursorField,
      lastValue: cursor.lastValue,
      boundary: cursor.boundary,
      loadId: load.loadId,
      updatedAt: at,
    };
    await tx.db
      .insert(extractCursors)
      .values({ organizationId: tx.organizationId, ownerId, resource, ...values })
      .onConflictDoUpdate({
        target: [extractCursors.organizationId, extractCursors.ownerId, extractCursors.resource],
        set: values,
      });
  }
}

/** Position of a commit in its organization, and its time. */
interface Moment {
  at: string;
  seq: number;
  /** Null for a compaction. */
  loadId: string | null;
}

/** A commit of one table, with the number of the snapshot that it creates. */
type TableMoment = Moment & { snapshot: number };

async function nextSeq(tx: WriteContext): Promise<number> {
  const [last] = await tx.db
    .select({ seq: sql<number | null>`max(${lakeLoads.seq})` })
    .from(lakeLoads)
    .where(eq(lakeLoads.organizationId, tx.organizationId));
  return (last?.seq ?? 0) + 1;
}

type DatasetKey = { organizationId: string; layer: string; dataset: string };

async function commitTable(
  tx: WriteContext,
  dataset: DatasetKey,
  change: TableChange,
  commit: Moment,
): Promise<LoadedTable> {
  const here = { ...dataset, tableName: change.table };
  const [before] = await tx.db.select().from(lakeTables).where(tableIs(here));
  if (change.remove !== "all" && (before?.version ?? null) !== change.baseVersion) throw changed(dataset);
  if (!before) await checkSqlName(tx, here);
  const moment = { ...commit, snapshot: (before?.snapshot ?? 0) + 1 };
  const removed = await removeFiles(tx, here, change.remove, moment);
  await addFiles(tx, here, change.add, moment);
  const sums = await sumsOf(tx, here);
  const operation = removed === 0 ? "append" : change.add.length > 0 ? "overwrite" : "delete";
  await addSnapshot(tx, here, moment, operation, sums);
  const values = {
    columns: change.columns,
    ...sums,
    snapshot: moment.snapshot,
    // A table that is created again after it was deleted never reuses a version.
    version: before ? before.version + 1 : moment.seq,
    updatedAt: moment.at,
    seq: moment.seq,
  };
  if (before) await tx.db.update(lakeTables).set(values).where(tableIs(here));
  else await tx.db.insert(lakeTables).values({ ...here, ...values });
  if (!before || shapeOf(before.columns) !== shapeOf(change.columns))
    await tx.db.insert(lakeSchemas).values({ ...here, seq: moment.seq, columns: change.columns });
  const written = (field: "rows" | "bytes") => change.add.reduce((sum, file) => sum + file[field], 0);
  return {
    table: change.table,
    rows: values.rows,
    rowsChange: values.rows - (before?.rows ?? 0),
    rowsWritten: written("rows"),
    bytesWritten: written("bytes"),
  };
}

const shapeOf = (columns: readonly Column[]): string =>
  JSON.stringify(columns.map(({ name, dataType, nullable }) => [name, dataType, nullable]));

/**
 * Replaces files with others that have the same rows. The table's version stays the same since no rows change,
 * so computations based on it stay valid. A merge that rewrites one of the files wins.
 * Throws `dataset_changed` if one of the old files was replaced in the meantime.
 */
export async function commitCompaction(
  tx: WriteContext,
  here: Here,
  { add, remove }: { add: readonly LakeFile[]; remove: readonly string[] },
): Promise<void> {
  const [table] = await tx.db.select().from(lakeTables).where(tableIs(here));
  if (!table) throw changed(here);
  const { seq } = table;
  const moment = { at: timestamp(tx.clock), seq, loadId: null, snapshot: table.snapshot + 1 };
  await removeFiles(tx, here, remove, moment);
  await addFiles(tx, here, add, moment);
  const sums = await sumsOf(tx, here);
  if (sums.rows !== table.rows)
    throw new AppError("row_count_mismatch", "files not compacted: the rows would differ");
  await addSnapshot(tx, here, moment, "replace", sums);
  await tx.db
    .update(lakeTables)
    .set({ ...sums, snapshot: moment.snapshot })
    .where(tableIs(here));
}

async function addSnapshot(
  tx: WriteContext,
  here: Here,
  { snapshot, seq, loadId, at }: TableMoment,
  operation: (typeof lakeSnapshots.$inferInsert)["operation"],
  { files, rows, bytes }: Awaited<ReturnType<typeof sumsOf>>,
): Promise<void> {
  await tx.db
    .insert(lakeSnapshots)
    .values({ ...here, number: snapshot, seq, loadId, operation, committedAt: at, files, rows, bytes });
  tx.afterCommit(() => tx.signals.notify(SNAPSHOTS_TOPIC));
}

const changed = ({ layer, dataset }: DatasetKey) =>
  new AppError("dataset_changed", `Another run wrote to ${layer}.${dataset} at the same time.`, {
    retryable: true,
  });

async function sumsOf(tx: WriteContext, here: Here) {
  const small = sql`${lakeFiles.bytes} < ${SMALL_FILE_BYTES}`;
  const [sums] = await tx.db
    .select({
      rows: sql<number>`coalesce(sum(${lakeFiles.rows}), 0)`,
      bytes: sql<number>`coalesce(sum(${lakeFiles.bytes}), 0)`,
      files: sql<number>`count(*)`,
      spareFiles: sql<number>`count(case when ${small} then 1 end)
        - count(distinct case when ${small} then coalesce(${lakeFiles.part}, '') end)`,
    })
    .from(lakeFiles)
    .where(and(fileIs(here), isNull(lakeFiles.removedAt)));
  return sums ?? { rows: 0, bytes: 0, files: 0, spareFiles: 0 };
}

export type Here = DatasetKey & { tableName: string };

export const tableIs = (here: Here) =>
  and(
    eq(lakeTables.organizationId, here.organizationId),
    eq(lakeTables.layer, here.layer),
    eq(lakeTables.dataset, here.dataset),
    eq(lakeTables.tableName, here.tableName),
  );

export const fileIs = (here: Here) =>
  and(
    eq(lakeFiles.organizationId, here.organizationId),
    eq(lakeFiles.layer, here.layer),
    eq(lakeFiles.dataset, here.dataset),
    eq(lakeFiles.tableName, here.tableName),
  );

/** Statements accept a limited number of parameters. */
const BATCH = 200;

/** Returns the number of removed files. */
async function removeFiles(
  tx: WriteContext,
  here: Here,
  remove: TableChange["remove"],
  { at, seq, snapshot }: TableMoment,
): Promise<number> {
  const live = and(fileIs(here), isNull(lakeFiles.removedAt));
  const gone = { removedAt: at, removedSeq: seq, removedSnapshot: snapshot };
  if (remove === "all")
    return (await tx.db.update(lakeFiles).set(gone).where(live).returning({ id: lakeFiles.id })).length;
  for (let start = 0; start < remove.length; start += BATCH) {
    const ids = remove.slice(start, start + BATCH);
    const rows = await tx.db
      .update(lakeFiles)
      .set(gone)
      .where(and(live, inArray(lakeFiles.id, ids)))
      .returning({ id: lakeFiles.id });
    if (rows.length < ids.length) throw changed(here); // Compacted since the load read them.
  }
  return remove.length;
}

async function addFiles(
  tx: WriteContext,
  here: Here,
  add: readonly LakeFile[],
  { at, seq, snapshot }: TableMoment,
): Promise<void> {
  for (let start = 0; start < add.length; start += BATCH) {
    const rows = add.slice(start, start + BATCH).map((file) => ({
      ...file,
      ...here,
      part: file.part ?? null,
      createdAt: at,
      removedAt: null,
      addedSeq: seq,
      addedSnapshot: snapshot,
    }));
    if (rows.length > 0) await tx.db.insert(lakeFiles).values(rows);
  }
}
