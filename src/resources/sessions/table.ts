import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

export const CLIENT_TYPES = ["web", "cli", "api"] as const;
export type ClientType = (typeof CLIENT_TYPES)[number];

/** A signed-in browser or command line. Live while not revoked and before `expiresAt`. */
export const sessions = sqliteTable("sessions", {
  id: text().primaryKey(),
  userId: text().notNull(),
  /** Organization of a command line's session. Null for a browser's, which uses the default membership. */
  organizationId: text(),
  /** Whether it is limited to that organization. */
  isConfined: integer({ mode: "boolean" }).notNull(),
  /** SHA-256 of the token, hex. */
  tokenHash: text().notNull(),
  clientType: text().$type<ClientType>().notNull(),
  deviceId: text(),
  userAgent: text(),
  ipAddress: text(),
  cliVersion: text(),
  terminal: text(),
  createdAt: text().notNull(),
  /** When the user last authenticated again after signing in. */
  confirmedAt: text(),
  /** Written at most once a minute. */
  lastActiveAt: text().notNull(),
  /** When the credential used to sign in expires, and the session at the latest. Null if it doesn't. */
  endsAt: text(),
  /** Extended while the session is used: 14 days idle, 90 days in total. */
  expiresAt: text().notNull(),
  revokedAt: text(),
  /** The user's identity at the provider that signed them in. Null for other ways of signing in. */
  identityId: text(),
  /** The provider's refresh token. Null if there is none, and once it is revoked. */
  sealedRefreshToken: text(),
  /** When the refresh token is used next, or revoked because the session has ended. Null without one. */
  refreshAt: text(),
});
export type SessionRow = typeof sessions.$inferSelect;
