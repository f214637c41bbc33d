import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json, owned } from "../../store/columns.ts";

/** An agent. Its Markdown is stored unchanged, and the other fields are parsed from it. */
export const agentSpecs = sqliteTable("agent_specs", {
  ...owned(),
  name: text().notNull(),
  slug: text().notNull(),
  description: text(),
  /** The front matter as parsed YAML. */
  frontmatter: json<JsonObject>().notNull(),
  markdown: text().notNull(),
  /** Incremented with each change; `versions` has the earlier versions. */
  version: integer().notNull(),
});
export type AgentSpecRow = typeof agentSpecs.$inferSelect;
