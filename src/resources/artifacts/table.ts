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
  /** `inline`: in `data`; `file`: below the data directory's `files/`, at `path`. */
  storageType: text().$type<"inline" | "file">().notNull(),
  title: text(),
  data: json<Json>(),
  /** Relative to the artifacts folder. */
  path: text(),
  mimeType: text(),
  bytes: integer().notNull(),
  /** As its run has it. */
  privateTo: text(),
});
export type ArtifactRow = typeof artifacts.$inferSelect;
