import { sqliteTable, text } from "drizzle-orm/sqlite-core";

export const CLIENT_TYPES = ["web", "cli", "api"] as const;
export type ClientType = (typeof CLIENT_TYPES)[number];

/** A signed-in browser or command line. Live while not revoked and before `expiresAt`. */
export const sessions = sqliteTable("sessions", {
  id: text().primaryKey(),
  userId: text().notNull(),
  /** SHA-256 of the token, hex. */
  tokenHash: text().notNull(),
  clientType: text().$type<ClientType>().notNull(),
  deviceId: text(),
  userAgent: text(),
  ipAddress: text(),
  cliVersion: text(),
  terminal: text(),
  createdAt: text().notNull(),
  /** Written at most once a minute. */
  lastActiveAt: text().notNull(),
  /** Slides while the session is used: 14 days idle, 90 days in all. */
  expiresAt: text().notNull(),
  revokedAt: text(),
});
export type SessionRow = typeof sessions.$inferSelect;
