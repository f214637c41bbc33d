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

/** A table as of the last commit. Commits maintain the totals. */
export const lakeTables = sqliteTable(
  "lake_tables",
  {
    ...datasetKey(),
    tableName: text().notNull(),
    columns: json<Column[]>().notNull(),
    rows: integer().notNull(),
    bytes: integer().notNull(),
    files: integer().notNull(),
    /** Incremented with each commit that changes rows or columns. */
    version: integer().notNull(),
    updatedAt: text().notNull(),
    /** `lakeLoads.seq` of the last commit that changed rows or columns. */
    seq: integer().notNull().default(0),
    /** States before this `seq` can no longer be read: their files were deleted. */
    keptFrom: integer().notNull().default(0),
    /** Number of files that compaction could save: small ones beyond the first of each partition. */
    spareFiles: integer().notNull().default(0),
    /** Number of its newest row in `lakeSnapshots`. */
    snapshot: integer().notNull().default(0),
    /** The latest snapshot in the published metadata. Negative if one that it names was deleted. */
    publishedSnapshot: integer().notNull().default(0),
    /** The metadata that other engines read. Null until it is written. */
    published: json<PublishedTable | null>(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.layer, t.dataset, t.tableName] })],
);

/** A Parquet file. It is live while `removedAt` is null. After that, it stays for a while for current readers. */
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
  /** Values of its partition, as DuckDB writes them. Null in a table without partitions. */
  part: text(),
  /** The first `lakeLoads.seq` whose state includes it. */
  addedSeq: integer().notNull().default(0),
  /**
   * The first `lakeLoads.seq` whose state no longer includes it. Null for a live file, and for one in no past state.
   */
  removedSeq: integer(),
  /** Number of the table's first snapshot that includes it. */
  addedSnapshot: integer().notNull().default(0),
  /** Number of the first snapshot that no longer includes it. Null for a live file. */
  removedSnapshot: integer(),
  /** Whether a column has a type that other engines can't read as the table's. */
  isMixed: integer({ mode: "boolean" }).notNull().default(false),
});

/** Signalled when a table has an unpublished snapshot. */
export const SNAPSHOTS_TOPIC = "lake-snapshots";

/** What is published of a table. Paths are relative to its folder. */
export interface PublishedTable {
  uuid: string;
  /** The lake's URL at that time. Metadata with another URL is rewritten. */
  home: string;
  /** Incremented with each write. */
  version: number;
  metadata: string;
  /** The newest snapshot's manifests, which the next one may refer to again. */
  manifests: readonly Manifest[];
}

/** What is published of a snapshot. Paths are relative to the table's folder. */
export interface PublishedSnapshot {
  list: string;
  manifests: string[];
  summary: Record<string, string>;
}

/** A state of a table: one for each commit, and one for each compaction. */
export const lakeSnapshots = sqliteTable(
  "lake_snapshots",
  {
    ...datasetKey(),
    tableName: text().notNull(),
    /** 1, 2, … in the order of commits to the table. */
    number: integer().notNull(),
    /** `lakeLoads.seq` of the commit. For a compaction, that of the previous one. */
    seq: integer().notNull(),
    /** Null for a compaction. */
    loadId: text(),
    operation: text({ enum: ["append", "overwrite", "delete", "replace"] }).notNull(),
    committedAt: text().notNull(),
    /** Number of files in the table at that time. */
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
  /** The action's kind, or `upload`. Empty if an older version didn't record it. */
  kind: text().notNull(),
  actionId: text(),
  /** What it did to each table. Null if an older version didn't record it. */
  tables: json<LoadedTable[] | null>(),
});

export interface LoadedTable {
  table: string;
  /** Rows in the table after the load. */
  rows: number;
  rowsChange: number;
  /** Rows in its files, including rewritten ones. */
  rowsWritten: number;
  bytesWritten: number;
}

/** The columns of a table from the load `seq` on, until the next row. */
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
    /** The action's ID, or `AUTOMATION:STEP` for an inline action. */
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
