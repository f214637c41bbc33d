import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Facts about the installation itself, such as which key its secrets are sealed with. */
export const settings = sqliteTable("settings", {
  key: text().primaryKey(),
  value: text().notNull(),
});
