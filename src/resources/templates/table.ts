import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json, owned } from "../../store/columns.ts";

export const TEMPLATE_TYPES = ["connection", "action", "bundle"] as const;
export type TemplateType = (typeof TEMPLATE_TYPES)[number];

export const TEMPLATE_STATUSES = ["draft", "published", "deprecated"] as const;
/** draft → published by publish, published → deprecated by deprecate; nothing leads back. */
export type TemplateStatus = (typeof TEMPLATE_STATUSES)[number];

/** How the ids of all begin that ship inside the executable; they belong to no organization and can't be changed by any. */
const BUILT_IN = "019b76da-a800-7000-8000-00000000";

export const isBuiltIn = ({ id }: { id: string }): boolean => id.startsWith(BUILT_IN);

/** One row for each version; the versions of a template share their slug. */
export const templates = sqliteTable("templates", {
  ...owned(),
  slug: text().notNull(),
  /** From 1; at most one version of a slug is a draft. */
  version: integer().notNull(),
  displayName: text().notNull(),
  description: text(),
  iconUrl: text(),
  /** The action kind of an action template; a word of its maker for others. */
  kind: text(),
  templateType: text().$type<TemplateType>().notNull(),
  status: text().$type<TemplateStatus>().notNull(),
  definition: json<JsonObject>().notNull(),
  inputDefaults: json<JsonObject>().notNull(),
  inputJsonSchema: json<JsonObject>().notNull(),
});
export type TemplateRow = typeof templates.$inferSelect;
