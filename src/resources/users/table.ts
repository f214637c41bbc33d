import { sqliteTable, text } from "drizzle-orm/sqlite-core";

export const users = sqliteTable("users", {
  id: text().primaryKey(),
  /** Lower case. */
  email: text().notNull(),
  firstName: text(),
  lastName: text(),
  profilePictureUrl: text(),
  locale: text(),
  timezone: text(),
  /** argon2id; null for someone who signs in elsewhere. */
  passwordHash: text(),
  createdAt: text().notNull(),
  updatedAt: text().notNull(),
});
export type UserRow = typeof users.$inferSelect;
