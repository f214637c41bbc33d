import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Who a person is with an identity provider; found again by issuer and subject, whatever their address becomes. */
export const openidIdentities = sqliteTable("openid_identities", {
  id: text().primaryKey(),
  /** Has one identity of each issuer at most. */
  userId: text().notNull(),
  /** As `URL` writes it. */
  issuer: text().notNull(),
  subject: text().notNull(),
  createdAt: text().notNull(),
});
export type OpenIdIdentityRow = typeof openidIdentities.$inferSelect;

/** A sign-in that waits for its browser to return. The row is deleted then. */
export const openidAttempts = sqliteTable("openid_attempts", {
  /** SHA-256 of `state`, hex. */
  stateHash: text().primaryKey(),
  /** SHA-256 of what the browser's cookie holds, hex. */
  browserHash: text().notNull(),
  /** A path of this Weir. */
  returnTo: text().notNull(),
  expiresAt: text().notNull(),
});

/** Label for encrypting a session's refresh token. */
export const refreshLabel = ({ id }: { readonly id: string }) => `session:${id}:refresh`;
