import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** An emailed link that sets a new password. The row is deleted when it is used. */
export const passwordResets = sqliteTable("password_resets", {
  /** SHA-256 of the link's token, hex. */
  tokenHash: text().primaryKey(),
  userId: text().notNull(),
  createdAt: text().notNull(),
  expiresAt: text().notNull(),
});
