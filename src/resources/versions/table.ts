import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json } from "../../store/columns.ts";

/** Types of resources with versions. */
export type VersionedType = "action" | "agent_spec" | "automation";

/** A resource after each change. */
export const versions = sqliteTable(
  "versions",
  {
    entityType: text().$type<VersionedType>().notNull(),
    entityId: text().notNull(),
    version: integer().notNull(),
    organizationId: text().notNull(),
    /** The fields that a restore sets. */
    content: json<JsonObject>().notNull(),
    /** Compared with the previous version. Secrets are masked. */
    changes: json<JsonObject[]>().notNull(),
    createdAt: text().notNull(),
    createdBy: text(),
  },
  (t) => [primaryKey({ columns: [t.entityType, t.entityId, t.version] })],
);
export type VersionRow = typeof versions.$inferSelect;
