import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json } from "../../store/columns.ts";

/** The manifest of `file_sync`: which version of a source's file lies at which path of a destination, as which version. */
export const syncFiles = sqliteTable(
  "sync_files",
  {
    organizationId: text().notNull(),
    /** The action's id, or `AUTOMATION:STEP` for an inline one. */
    ownerId: text().notNull(),
    /** Hash of both folders, wherever their connections led when they were copied. */
    place: text().notNull(),
    /** Below the destination's folder. */
    path: text().notNull(),
    sourceVersion: text().notNull(),
    /** Empty where the destination tells none. */
    targetVersion: text().notNull(),
    size: integer().notNull(),
    /** What the destination has to know to take up a run that was interrupted. */
    detail: json<JsonObject | null>(),
    actionRunId: text().notNull(),
    copiedAt: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.ownerId, t.place, t.path] })],
);
export type SyncFileRow = typeof syncFiles.$inferSelect;

const tableKey = () => ({
  /** The destination's. */
  organizationId: text().notNull(),
  layer: text().notNull(),
  dataset: text().notNull(),
  tableName: text().notNull(),
  sourceOrganizationId: text().notNull(),
});

/** A table of the lake that another organization's was copied into, as both were when the copy was committed. */
export const syncTables = sqliteTable(
  "sync_tables",
  {
    ...tableKey(),
    /** `lakeTables.version` of the source. */
    sourceVersion: integer().notNull(),
    /** And of the destination, after the commit. */
    version: integer().notNull(),
    /** True where all that the destination's table holds came from this source. */
    isOwn: integer({ mode: "boolean" }).notNull(),
    /** True where it holds all that the source's table did; false after a choice of dates. */
    isWhole: integer({ mode: "boolean" }).notNull(),
    syncedAt: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.layer, t.dataset, t.tableName, t.sourceOrganizationId] }),
  ],
);
export type SyncTableRow = typeof syncTables.$inferSelect;

/** A file of the lake that was copied to another organization. */
export const syncCopies = sqliteTable(
  "sync_copies",
  {
    ...tableKey(),
    sourceFileId: text().notNull(),
    /** At the destination; it may have been put together with others since. */
    fileId: text().notNull(),
    bytes: integer().notNull(),
    /** Hex. */
    sha256: text().notNull(),
  },
  (t) => [
    primaryKey({
      columns: [t.organizationId, t.layer, t.dataset, t.tableName, t.sourceOrganizationId, t.sourceFileId],
    }),
  ],
);
export type SyncCopyRow = typeof syncCopies.$inferSelect;
