import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Json } from "../../base/json.ts";
import type { Manifest } from "../../lake/iceberg/manifests.ts";
import type { Column } from "../../sql/contract.ts";
import { json } from "../../store/columns.ts";

const datasetKey = () => ({
  organizationId: text().notNull(),
  layer: text().notNull(),
  dataset: text().notNull(),
});

/** A table as the last commit left it; the sums are kept by the commits. */
export const lakeTables = sqliteTable(
  "lake_tables",
  {
    ...datasetKey(),
    tableName: text().notNull(),
    columns: json<Column[]>().notNull(),
    rows: integer().notNull(),
    bytes: integer().notNull(),
    files: integer().notNull(),
    /** Grows with each commit that changes rows or columns. */
    version: integer().notNull(),
    updatedAt: text().notNull(),
    /** `lakeLoads.seq` of the last commit that changed rows or columns. */
    seq: integer().notNull().default(0),
    /** States before this `seq` can't be read any longer: their files were deleted. */
    keptFrom: integer().notNull().default(0),
    /** How many files fewer would do: small ones beyond the first of each part. */
    spareFiles: integer().notNull().default(0),
    /** The number of its newest row in `lakeSnapshots`. */
    snapshot: integer().notNull().default(0),
    /** The latest snapshot in the published metadata. Negative if one that it names was deleted. */
    publishedSnapshot: integer().notNull().default(0),
    /** The metadata that other engines read; null until it is written. */
    published: json<PublishedTable | null>(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.layer, t.dataset, t.tableName] })],
);

/** A Parquet file. Live while `removedAt` is null; afterwards it stays a while for readers under way. */
export const lakeFiles = sqliteTable("lake_files", {
  id: text().primaryKey(),
  ...datasetKey(),
  tableName: text().notNull(),
  path: text().notNull(),
  rows: integer().notNull(),
  bytes: integer().notNull(),
  loadId: text().notNull(),
  createdAt: text().notNull(),
  removedAt: text(),
  /** The values of the partition that all its rows are of, as DuckDB writes them; null in a table without. */
  part: text(),
  /** The first `lakeLoads.seq` of the organization whose state has it. */
  addedSeq: integer().notNull().default(0),
  /** The first one whose state no longer has it. Null for a live one, and for one that no past state has. */
  removedSeq: integer(),
  /** The number of the table's first snapshot that has it. */
  addedSnapshot: integer().notNull().default(0),
  /** Number of the first one that no longer has it. Null for a live one. */
  removedSnapshot: integer(),
  /** Whether a column is in a type that other engines don't read as the table's. */
  isMixed: integer({ mode: "boolean" }).notNull().default(false),
});

/** Signalled when a table has a snapshot that is not published. */
export const SNAPSHOTS_TOPIC = "lake-snapshots";

/** What is published of a table, as paths relative to its folder. */
export interface PublishedTable {
  uuid: string;
  /** The lake's URL at that time. Metadata with another URL is rewritten. */
  home: string;
  /** Counts how often it was written. */
  version: number;
  metadata: string;
  /** Those of the newest snapshot, which the next one may name again. */
  manifests: readonly Manifest[];
}

/** What is published of a snapshot, as paths relative to the table's folder. */
export interface PublishedSnapshot {
  list: string;
  manifests: string[];
  summary: Record<string, string>;
}

/** A state of a table: one for each commit to it, and one where files were compacted. */
export const lakeSnapshots = sqliteTable(
  "lake_snapshots",
  {
    ...datasetKey(),
    tableName: text().notNull(),
    /** 1, 2, … in the order of the table's commits. */
    number: integer().notNull(),
    /** `lakeLoads.seq` of the commit; a compaction has that of the one before. */
    seq: integer().notNull(),
    /** Null for a compaction. */
    loadId: text(),
    operation: text({ enum: ["append", "overwrite", "delete", "replace"] }).notNull(),
    committedAt: text().notNull(),
    /** Of the table, at that time. */
    files: integer().notNull(),
    rows: integer().notNull(),
    bytes: integer().notNull(),
    /** Null until its manifests are written. */
    published: json<PublishedSnapshot | null>(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.layer, t.dataset, t.tableName, t.number] })],
);

export const lakeLoads = sqliteTable("lake_loads", {
  id: text().primaryKey(),
  ...datasetKey(),
  /** Empty for an upload. */
  actionRunId: text().notNull(),
  committedAt: text().notNull(),
  /** In the order in which the organization's loads were committed. */
  seq: integer().notNull(),
  /** The kind of the action; `upload` for an upload, empty where an older version did not write it down. */
  kind: text().notNull(),
  actionId: text(),
  /** What it did to each table. Null if an older version didn't record it. */
  tables: json<LoadedTable[] | null>(),
});

export interface LoadedTable {
  table: string;
  /** Of the table after it. */
  rows: number;
  rowsChange: number;
  /** In its files, including rewritten rows. */
  rowsWritten: number;
  bytesWritten: number;
}

/** The columns that a table had from the load `seq` on, until the next row. */
export const lakeSchemas = sqliteTable(
  "lake_schemas",
  {
    ...datasetKey(),
    tableName: text().notNull(),
    seq: integer().notNull(),
    columns: json<Column[]>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.layer, t.dataset, t.tableName, t.seq] })],
);

/** Records that a completed run read tables of a dataset, and the load that it created. */
export const lakeReads = sqliteTable("lake_reads", {
  id: text().primaryKey(),
  ...datasetKey(),
  tables: json<string[]>().notNull(),
  actionRunId: text().notNull(),
  actionId: text(),
  kind: text().notNull(),
  loadId: text(),
  readAt: text().notNull(),
});

/** Cursor of an incremental extract, by action (or automation step) and resource. */
export const extractCursors = sqliteTable(
  "extract_cursors",
  {
    organizationId: text().notNull(),
    /** The action's id, or `AUTOMATION:STEP` for an inline one. */
    ownerId: text().notNull(),
    resource: text().notNull(),
    cursorField: text().notNull(),
    lastValue: json<Json>().notNull(),
    boundary: json<string[]>().notNull(),
    /** Null after a reset. */
    loadId: text(),
    updatedAt: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.ownerId, t.resource] })],
);
export type ExtractCursorRow = typeof extractCursors.$inferSelect;
