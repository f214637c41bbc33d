import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** `spent`: its access token has been handed out, which happens once. */
type DeviceStatus = "pending" | "approved" | "denied" | "spent";

/** A client that waits for a person to let it in (RFC 8628). The codes themselves are kept by client and person alone. */
export const deviceCodes = sqliteTable("device_codes", {
  id: text().primaryKey(),
  /** SHA-256, hex; so is `userCodeHash`, over the code without its dash. */
  deviceCodeHash: text().notNull(),
  userCodeHash: text().notNull(),
  /** What the client calls itself. Not verified. */
  clientId: text().notNull(),
  ipAddress: text(),
  userAgent: text(),
  status: text().$type<DeviceStatus>().notNull(),
  /** Seconds between two polls. Increases by 5 with each one that comes too early. */
  intervalSeconds: integer().notNull(),
  lastPolledAt: text(),
  /** Who approved or denied it. */
  userId: text(),
  /** Organization that the client is approved for. Null until then. */
  organizationId: text(),
  /** True where an access token for that organization alone approved it. */
  isConfined: integer({ mode: "boolean" }).notNull(),
  /** When the approving credential expires, and the client's session at the latest. Null if it doesn't. */
  endsAt: text(),
  createdAt: text().notNull(),
  expiresAt: text().notNull(),
});
export type DeviceCodeRow = typeof deviceCodes.$inferSelect;
