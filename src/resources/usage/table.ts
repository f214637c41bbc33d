import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** An organization's usage of language models, by day. */
export const llmUsage = sqliteTable(
  "llm_usage",
  {
    organizationId: text().notNull(),
    /** In UTC, such as `2026-01-31`. */
    day: text().notNull(),
    inputTokens: integer().notNull(),
    outputTokens: integer().notNull(),
    /** Number of counted replies. */
    replies: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.day] })],
);
