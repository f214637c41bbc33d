import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json } from "../../store/columns.ts";

/** What versions are kept of. */
export type VersionedType = "action" | "agent_spec" | "automation";

/** How something was after each change of it. */
export const versions = sqliteTable(
  "versions",
  {
    entityType: text().$type<VersionedType>().notNull(),
    entityId: text().notNull(),
    version: integer().notNull(),
    organizationId: text().notNull(),
    /** The fields that a restore sets. */
    content: json<JsonObject>().notNull(),
    /** From the version before; secrets masked. */
    changes: json<JsonObject[]>().notNull(),
    createdAt: text().notNull(),
    createdBy: text(),
  },
  (t) => [primaryKey({ columns: [t.entityType, t.entityId, t.version] })],
);
export type VersionRow = typeof versions.$inferSelect;
