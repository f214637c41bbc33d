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
  /** argon2id. Null for a user who signs in elsewhere. */
  passwordHash: text(),
  /** When the user proved that the address is theirs, or an identity provider or operator vouched for it. */
  addressProvenAt: text(),
  /** Administers the installation. Gives no access to organizations' data. */
  isOperator: integer({ mode: "boolean" }).notNull(),
  /** When the user was erased. Null for all others. */
  erasedAt: text(),
  createdAt: text().notNull(),
  updatedAt: text().notNull(),
});
export type UserRow = typeof users.$inferSelect;
