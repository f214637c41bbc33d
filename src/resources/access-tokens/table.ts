import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A personal access token: acts in its organization, with its owner's role of the moment. */
export const accessTokens = sqliteTable("access_tokens", {
  id: text().primaryKey(),
  userId: text().notNull(),
  organizationId: text().notNull(),
  name: text().notNull(),
  /** SHA-256 of the token, hex. */
  tokenHash: text().notNull(),
  lastFour: text().notNull(),
  createdAt: text().notNull(),
  /** Written at most once a minute. */
  lastUsedAt: text(),
  expiresAt: text().notNull(),
  revokedAt: text(),
});
export type AccessTokenRow = typeof accessTokens.$inferSelect;
