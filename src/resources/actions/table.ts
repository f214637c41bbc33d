import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import type { ActionKind } from "../../executors/contract.ts";
import { json, owned } from "../../store/columns.ts";

export const ACTION_STATUSES = ["active", "disabled"] as const;
export type ActionStatus = (typeof ACTION_STATUSES)[number];

export const actions = sqliteTable("actions", {
  ...owned(),
  kind: text().$type<ActionKind>().notNull(),
  name: text().notNull(),
  slug: text().notNull(),
  status: text().$type<ActionStatus>().notNull(),
  connectionId: text(),
  templateId: text(),
  tags: json<string[]>().notNull(),
  definition: json<JsonObject>().notNull(),
  /** Incremented with each change; `versions` has the earlier versions. */
  version: integer().notNull(),
  latestRunId: text(),
  /** Set if the action had runs: it is no longer in the API, but its runs are. */
  deletedAt: text(),
});
export type ActionRow = typeof actions.$inferSelect;
