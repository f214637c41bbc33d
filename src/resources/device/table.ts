import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** `spent`: its access token has been issued, which happens once. */
type DeviceStatus = "pending" | "approved" | "denied" | "spent";

/** A client that waits for a user's approval (RFC 8628). Only the client and the user have the codes themselves. */
export const deviceCodes = sqliteTable("device_codes", {
  id: text().primaryKey(),
  /** SHA-256, hex, as is `userCodeHash`, which covers the code without its hyphen. */
  deviceCodeHash: text().notNull(),
  userCodeHash: text().notNull(),
  /** The client's own name. Not verified. */
  clientId: text().notNull(),
  ipAddress: text(),
  userAgent: text(),
  status: text().$type<DeviceStatus>().notNull(),
  /** Seconds between two polls. Increases by 5 with each poll that is too early. */
  intervalSeconds: integer().notNull(),
  lastPolledAt: text(),
  /** Who approved or denied it. */
  userId: text(),
  /** Organization that the client is approved for. Null until then. */
  organizationId: text(),
  /** Whether it was approved with an access token for that organization only. */
  isConfined: integer({ mode: "boolean" }).notNull(),
  /** When the approving credential expires, and the client's session at the latest. Null if it doesn't. */
  endsAt: text(),
  createdAt: text().notNull(),
  expiresAt: text().notNull(),
});
export type DeviceCodeRow = typeof deviceCodes.$inferSelect;
