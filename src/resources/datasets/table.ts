import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Json } from "../../base/json.ts";
import type { Column } from "../../sql/contract.ts";
import { json } from "../../store/columns.ts";

const place = () => ({
  organizationId: text().notNull(),
  layer: text().notNull(),
  dataset: text().notNull(),
});

/** A table as the last commit left it; the sums are kept by the commits. */
export const lakeTables = sqliteTable(
  "lake_tables",
  {
    ...place(),
    tableName: text().notNull(),
    columns: json<Column[]>().notNull(),
    rows: integer().notNull(),
    bytes: integer().notNull(),
    files: integer().notNull(),
    /** Grows with each commit. */
    version: integer().notNull(),
    updatedAt: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.layer, t.dataset, t.tableName] })],
);

/** A Parquet file. Live while `removedAt` is null; afterwards it stays a while for readers under way. */
export const lakeFiles = sqliteTable("lake_files", {
  id: text().primaryKey(),
  ...place(),
  tableName: text().notNull(),
  path: text().notNull(),
  rows: integer().notNull(),
  bytes: integer().notNull(),
  loadId: text().notNull(),
  createdAt: text().notNull(),
  removedAt: text(),
});

export const lakeLoads = sqliteTable("lake_loads", {
  id: text().primaryKey(),
  ...place(),
  actionRunId: text().notNull(),
  committedAt: text().notNull(),
});

/** How far an incremental extract has come, by action (or automation step) and resource. */
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
