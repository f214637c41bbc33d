import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Role } from "../organizations/table.ts";

/** A key for a program. It acts in its organization, with its own role, until it is revoked. */
export const apiKeys = sqliteTable("api_keys", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  name: text().notNull(),
  role: text().$type<Role>().notNull(),
  /** SHA-256 of the key, hex. */
  tokenHash: text().notNull(),
  lastFour: text().notNull(),
  createdAt: text().notNull(),
  /** A user, or another key. */
  createdBy: text().notNull(),
  /** Written at most once a minute. */
  lastUsedAt: text(),
  revokedAt: text(),
});
export type ApiKeyRow = typeof apiKeys.$inferSelect;
