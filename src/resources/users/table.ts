import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

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
  /** When it was shown that the address is theirs: by a mailed link, an identity provider or an operator. */
  addressProvenAt: text(),
  /** Stands above organizations; sees no organization's data by that. */
  isOperator: integer({ mode: "boolean" }).notNull(),
  /** Null but for the shell that is left of a person who was erased. */
  erasedAt: text(),
  createdAt: text().notNull(),
  updatedAt: text().notNull(),
});
export type UserRow = typeof users.$inferSelect;
