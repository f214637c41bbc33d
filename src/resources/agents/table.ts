import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json, owned } from "../../store/columns.ts";

/** An agent as it was written: the Markdown is stored unchanged, and the other fields are read from it. */
export const agentSpecs = sqliteTable("agent_specs", {
  ...owned(),
  name: text().notNull(),
  slug: text().notNull(),
  description: text(),
  /** The front matter, as its YAML reads. */
  frontmatter: json<JsonObject>().notNull(),
  markdown: text().notNull(),
  /** Grows with each change; `versions` has how it was. */
  version: integer().notNull(),
});
export type AgentSpecRow = typeof agentSpecs.$inferSelect;
