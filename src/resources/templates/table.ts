import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json, owned } from "../../store/columns.ts";

export const TEMPLATE_TYPES = ["connection", "action", "bundle"] as const;
export type TemplateType = (typeof TEMPLATE_TYPES)[number];

export const TEMPLATE_STATUSES = ["draft", "published", "deprecated"] as const;
/** draft → published by publish, published → deprecated by deprecate. There is no way back. */
export type TemplateStatus = (typeof TEMPLATE_STATUSES)[number];

/** Prefix of the IDs of all built-in templates. They belong to no organization and can't be changed. */
const BUILT_IN = "019b76da-a800-7000-8000-00000000";

export const isBuiltIn = ({ id }: { id: string }): boolean => id.startsWith(BUILT_IN);

/** One row per version. The versions of a template share their slug. */
export const templates = sqliteTable("templates", {
  ...owned(),
  slug: text().notNull(),
  /** From 1. At most one version of a slug is a draft. */
  version: integer().notNull(),
  displayName: text().notNull(),
  description: text(),
  iconUrl: text(),
  /** For an action template, the action kind. For others, a word chosen by its author. */
  kind: text(),
  templateType: text().$type<TemplateType>().notNull(),
  status: text().$type<TemplateStatus>().notNull(),
  definition: json<JsonObject>().notNull(),
  inputDefaults: json<JsonObject>().notNull(),
  inputJsonSchema: json<JsonObject>().notNull(),
});
export type TemplateRow = typeof templates.$inferSelect;
