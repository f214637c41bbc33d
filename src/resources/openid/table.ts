import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A user's identity at an identity provider. Found by issuer and subject, even if the address changes. */
export const openidIdentities = sqliteTable("openid_identities", {
  id: text().primaryKey(),
  /** At most one identity per issuer. */
  userId: text().notNull(),
  /** Normalized by `URL`. */
  issuer: text().notNull(),
  subject: text().notNull(),
  createdAt: text().notNull(),
});
export type OpenIdIdentityRow = typeof openidIdentities.$inferSelect;

/** A sign-in whose user hasn't returned yet. The row is deleted then. */
export const openidAttempts = sqliteTable("openid_attempts", {
  /** SHA-256 of `state`, hex. */
  stateHash: text().primaryKey(),
  /** SHA-256 of the browser cookie's value, hex. */
  browserHash: text().notNull(),
  /** A path on this server. */
  returnTo: text().notNull(),
  expiresAt: text().notNull(),
});

/** Label for encrypting a session's refresh token. */
export const refreshLabel = ({ id }: { readonly id: string }) => `session:${id}:refresh`;
