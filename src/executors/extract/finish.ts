import { join } from "node:path";
import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import type { LakeTable, TableChange } from "../../lake/contract.ts";
import { insertNew, keepVersions } from "../../lake/history.ts";
import { mergeFiles, pruneFiles } from "../../lake/merge.ts";
import type { SqlFile, SqlSession } from "../../sql/contract.ts";
import type { RunLake } from "../contract.ts";
import { filesOf, type Ready, readyKeys } from "./keys.ts";
import type { Landed, LandedTable } from "./land.ts";
import type { Plan } from "./plan.ts";
import { columnsOf, type SchemaChange } from "./resolve.ts";

/** The effect of a load on one table. */
interface TableResult {
  table: string;
  rowsRead: number;
  rows: number;
  inserted: number;
  updated: number;
  deleted: number;
  deduplicated: number;
  rejected: number;
  bytes: number;
  files: number;
  cursor: { start: Json; end: Json } | null;
  schemaChanges: SchemaChange[];
}

/** A table's part of the load, ready to be moved into the lake. */
export interface Finished {
  result: TableResult;
  /** Null if the table is unchanged. */
  change: (Omit<TableChange, "add"> & { files: SqlFile[] }) | null;
}

export interface FinishOptions {
  session: SqlSession;
  lake: RunLake;
  folder: string;
  plan: Plan;
  /** When the run started, as ISO 8601. */
  startedAt: string;
  /** Child tables that earlier loads of the resource created. */
  children: readonly LakeTable[];
  warn(text: string): void;
}

/**
 * Combines the new rows with those of the tables. Throws `row_count_mismatch` if the number of rows read isn't that
 * of rows written, dropped and rejected.
 */
export async function finish(landed: Landed, options: FinishOptions): Promise<Finished[]> {
  const { disposition } = options.plan;
  const ready = await readyKeys(landed, options);
  const finished =
    disposition === "merge"
      ? await merged(landed, options, ready)
      : landed.tables.map((table) => written(table, options));
  if (disposition === "replace") {
    const present = new Set(landed.tables.map((table) => table.table));
    for (const child of options.children) if (!present.has(child.table)) finished.push(emptied(child));
  }
  const [root] = finished;
  if (root) root.result.cursor = landed.cursor;
  if (root && landed.tables[0]) withReady(root, landed.tables[0], ready);
  for (const { result } of finished) checkCounts(result);
  return finished;
}

/** Adds the files that were rewritten for the new key to those of the load. */
function withReady(finished: Finished, { table, existing, targets }: LandedTable, ready: Ready): void {
  if (ready.remove.length === 0) return;
  const change: NonNullable<Finished["change"]> = finished.change ?? {
    table,
    columns: columnsOf(targets),
    files: [],
    remove: [],
    baseVersion: existing?.version ?? null,
  };
  const own = new Set(ready.add.map(({ path }) => path));
  const remove = change.remove === "all" ? [] : change.remove;
  finished.change = {
    ...change,
    files: [...ready.add.filter(({ path }) => !remove.includes(path)), ...change.files],
    remove: [...ready.remove, ...remove.filter((id) => !own.has(id))],
  };
  finished.result.deleted += ready.deleted;
  Object.assign(finished.result, sizeOf(finished.change.files));
}

function checkCounts({ table, rowsRead, rows, deduplicated, rejected }: TableResult): void {
  if (rowsRead === rows + deduplicated + rejected) return;
  throw new AppError(
    "row_count_mismatch",
    `${rowsRead} rows of ${table} were read, but ${rows} were written, ${deduplicated} were duplicates and ${rejected} were rejected. Nothing was loaded.`,
    { details: { table, rowsRead, rows, deduplicated, rejected } },
  );
}

const resultOf = (table: LandedTable): TableResult => ({
  table: table.table,
  rowsRead: table.rowsRead,
  rows: table.rows,
  inserted: table.rows,
  updated: 0,
  deleted: 0,
  deduplicated: table.deduplicated,
  rejected: table.rejected,
  ...sizeOf(table.files),
  cursor: null,
  schemaChanges: table.changes,
});

export const sizeOf = (files: readonly SqlFile[]) => ({
  bytes: files.reduce((sum, file) => sum + file.bytes, 0),
  files: files.length,
});

function written(table: LandedTable, { plan }: FinishOptions): Finished {
  const { existing, files } = table;
  const columns = columnsOf(table.targets);
  const baseVersion = existing?.version ?? null;
  const result = resultOf(table);
  if (plan.disposition === "replace") {
    result.deleted = existing?.rows ?? 0;
    const isNothing = existing === null && files.length === 0 && !isKnown(table);
    return {
      result,
      change: isNothing ? null : { table: table.table, columns, files, remove: "all", baseVersion },
    };
  }
  // A table with known columns is created by its first load, even without rows.
  const isNothing = files.length === 0 && (existing !== null || !isKnown(table));
  return {
    result,
    change: isNothing ? null : { table: table.table, columns, files, remove: [], baseVersion },
  };
}

/** Whether the source named its columns, so that an empty table is useful. */
const isKnown = (table: LandedTable): boolean =>
  !table.isChild && table.targets.some((target) => !target.name.startsWith("_dlt_"));

function emptied(child: LakeTable): Finished {
  const { table, columns, version, rows } = child;
  return {
    result: { ...nothing(table), deleted: rows },
    change: { table, columns, files: [], remove: "all", baseVersion: version },
  };
}

export const nothing = (table: string): TableResult => ({
  table,
  rowsRead: 0,
  rows: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  deduplicated: 0,
  rejected: 0,
  bytes: 0,
  files: 0,
  cursor: null,
  schemaChanges: [],
});

/** Deletes old rows of the new keys with their child rows. Of several new rows with one key, one is kept. */
async function merged(landed: Landed, options: FinishOptions, ready: Ready): Promise<Finished[]> {
  const [root, ...children] = landed.tables;
  if (!root) return [];
  const { session, folder, plan } = options;
  const isWhole = plan.incremental === null && !landed.isPartial && root.rejected === 0;
  if (plan.strategy === "scd2" && plan.incremental === null && !isWhole) warnOfOpenVersions(root, options);
  checkVersions(root, plan);
  const endsAll = plan.strategy === "scd2" && isWhole && root.existing !== null;
  if (root.files.length === 0 && !endsAll) return landed.tables.map((table) => written(table, options));
  const names = [
    ...new Set([...children.map((child) => child.table), ...options.children.map((child) => child.table)]),
  ];
  const ids = names.length > 0 ? join(folder, "gone.parquet") : undefined;
  const columns = columnsOf(root.targets);
  const merge = {
    existing: ready.existing,
    incoming: root.files.map((file) => file.path),
    columns,
    key: landed.key.match,
    out: join(folder, `merged-${root.table}`),
    ...(ids ? { goneIds: ids } : {}),
    ...(root.lacks ? { lacks: root.lacks } : {}),
    ...(landed.dedupeBy ? { dedupeBy: landed.dedupeBy } : {}),
  };
  const { add, remove, inserted, updated, deleted, deduplicated } =
    plan.strategy === "scd2"
      ? await keepVersions(session, { ...merge, at: options.startedAt, isWhole })
      : plan.strategy === "insert_only"
        ? await insertNew(session, merge)
        : await mergeFiles(session, { ...merge, strategy: plan.strategy });
  const finished: Finished[] = [
    {
      result: {
        ...resultOf(root),
        rows: root.rows - deduplicated,
        inserted,
        updated,
        deleted,
        deduplicated: root.deduplicated + deduplicated,
        ...sizeOf(add),
      },
      change: { table: root.table, columns, files: add, remove, baseVersion: root.existing?.version ?? null },
    },
  ];
  if (inserted + updated !== root.rows - deduplicated) {
    throw new AppError("row_count_mismatch", `The merge of ${root.table} lost rows. Nothing was loaded.`, {
      details: { table: root.table, rows: root.rows, inserted, updated, deduplicated },
    });
  }
  for (const name of names) {
    const child = children.find((each) => each.table === name);
    const existing = options.children.find((each) => each.table === name) ?? null;
    if (ids) finished.push(await pruned(name, child ?? null, existing, ids, options));
  }
  return finished;
}

/** Rows that weren't loaded may have the keys that seem to be gone. */
function warnOfOpenVersions({ table, existing }: LandedTable, { warn }: FinishOptions): void {
  if (existing === null) return;
  warn(
    `${table}: no version was ended for rows that the source no longer has, since not all of its rows were loaded. See the other warnings.`,
  );
}

/** A table of versions accepts no other merge, which would replace all versions. */
function checkVersions({ table, existing }: LandedTable, { strategy }: Plan): void {
  const isVersioned = existing?.columns.some((column) => column.name === "_dlt_valid_to") === true;
  if (!isVersioned || strategy === "scd2") return;
  throw new AppError(
    "definition_invalid",
    `${table} keeps every version of its rows; merge into it with the mergeStrategy scd2, or replace it.`,
    { details: { table, mergeStrategy: strategy } },
  );
}

async function pruned(
  table: string,
  child: LandedTable | null,
  existing: LakeTable | null,
  ids: string,
  { session, folder, lake, plan }: FinishOptions,
): Promise<Finished> {
  // Ended versions and remaining rows keep their child rows.
  const isAdding = plan.strategy === "scd2" || plan.strategy === "insert_only";
  const columns = child ? columnsOf(child.targets) : (existing?.columns ?? []);
  const { add, remove, inserted, deleted } = await pruneFiles(session, {
    existing: isAdding ? [] : await filesOf(existing, lake),
    incoming: child ? child.files.map((file) => file.path) : [],
    columns,
    out: join(folder, `merged-${table}`),
    column: "_dlt_root_id",
    ids,
  });
  const base = child ? resultOf(child) : nothing(table);
  const result = {
    ...base,
    rows: inserted,
    inserted,
    deleted,
    deduplicated: base.deduplicated + base.rows - inserted,
    ...sizeOf(add),
  };
  const isNothing = add.length === 0 && remove.length === 0;
  return {
    result,
    change: isNothing ? null : { table, columns, files: add, remove, baseVersion: existing?.version ?? null },
  };
}
