import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Json } from "../../base/json.ts";
import { json } from "../../store/columns.ts";

export const ARTIFACT_KINDS = ["json", "text", "file"] as const;
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number];

export const artifacts = sqliteTable("artifacts", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  createdAt: text().notNull(),
  updatedAt: text().notNull(),
  actionRunId: text().notNull(),
  kind: text().$type<ArtifactKind>().notNull(),
  /** `inline`: in `data`. `file`: at `path` below `files/` in the data directory. */
  storageType: text().$type<"inline" | "file">().notNull(),
  title: text(),
  data: json<Json>(),
  /** Relative to the artifacts folder. */
  path: text(),
  mimeType: text(),
  bytes: integer().notNull(),
  /** As in its run. */
  privateTo: text(),
});
export type ArtifactRow = typeof artifacts.$inferSelect;
