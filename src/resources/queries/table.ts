import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Json, JsonObject } from "../../base/json.ts";
import { json, owned } from "../../store/columns.ts";

export const PARAMETER_TYPES = ["text", "number", "integer", "boolean", "date", "timestamp"] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];

/** A value for `$name`. One without a default is required. */
export interface Parameter {
  type: ParameterType;
  default: Json;
}

export const savedQueries = sqliteTable("saved_queries", {
  ...owned(),
  name: text().notNull(),
  slug: text().notNull(),
  description: text(),
  sql: text().notNull(),
  parameters: json<Record<string, Parameter>>().notNull(),
  /** How to show its rows. Null: as a table. */
  chart: json<JsonObject | null>(),
});
export type SavedQueryRow = typeof savedQueries.$inferSelect;
