import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json } from "../../store/columns.ts";

/**
 * The manifest of `file_sync`: which version of a source's file is at which path of a destination, in which version.
 */
export const syncFiles = sqliteTable(
  "sync_files",
  {
    organizationId: text().notNull(),
    /** The action's ID, or `AUTOMATION:STEP` for an inline action. */
    ownerId: text().notNull(),
    /** Hash of both folders, as their connections were configured when they were copied. */
    place: text().notNull(),
    /** Relative to the destination's folder. */
    path: text().notNull(),
    sourceVersion: text().notNull(),
    /** Empty if the destination has no versions. */
    targetVersion: text().notNull(),
    size: integer().notNull(),
    /** What the destination needs to continue an interrupted run. */
    detail: json<JsonObject | null>(),
    actionRunId: text().notNull(),
    copiedAt: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.ownerId, t.place, t.path] })],
);
export type SyncFileRow = typeof syncFiles.$inferSelect;

const tableKey = () => ({
  /** The destination's organization. */
  organizationId: text().notNull(),
  layer: text().notNull(),
  dataset: text().notNull(),
  tableName: text().notNull(),
  sourceOrganizationId: text().notNull(),
});

/** A lake table copied to another organization, as both were when the copy was committed. */
export const syncTables = sqliteTable(
  "sync_tables",
  {
    ...tableKey(),
    /** `lakeTables.version` of the source. */
    sourceVersion: integer().notNull(),
    /** `lakeTables.version` of the destination, after the commit. */
    version: integer().notNull(),
    /** Whether everything in the destination's table came from this source. */
    isOwn: integer({ mode: "boolean" }).notNull(),
    /** Whether it has everything that the source's table had. False after a sync of selected days. */
    isWhole: integer({ mode: "boolean" }).notNull(),
    syncedAt: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.layer, t.dataset, t.tableName, t.sourceOrganizationId] }),
  ],
);
export type SyncTableRow = typeof syncTables.$inferSelect;

/** A lake file that was copied to another organization. */
export const syncCopies = sqliteTable(
  "sync_copies",
  {
    ...tableKey(),
    sourceFileId: text().notNull(),
    /** At the destination. It may have been compacted since then. */
    fileId: text().notNull(),
    bytes: integer().notNull(),
    sha256: text().notNull(),
  },
  (t) => [
    primaryKey({
      columns: [t.organizationId, t.layer, t.dataset, t.tableName, t.sourceOrganizationId, t.sourceFileId],
    }),
  ],
);
export type SyncCopyRow = typeof syncCopies.$inferSelect;
