import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Where a token may act: in the organization it was made in, or in each that its owner belongs to. */
export const TOKEN_ORGANIZATIONS = ["current", "all"] as const;
export type TokenOrganizations = (typeof TOKEN_ORGANIZATIONS)[number];

/** A personal access token: acts in its organization, with its owner's role of the moment. */
export const accessTokens = sqliteTable("access_tokens", {
  id: text().primaryKey(),
  userId: text().notNull(),
  organizationId: text().notNull(),
  organizations: text().$type<TokenOrganizations>().notNull(),
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
