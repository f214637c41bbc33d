import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** `spent`: its access token has been handed out, which happens once. */
type DeviceStatus = "pending" | "approved" | "denied" | "spent";

/** A client that waits for a person to let it in (RFC 8628). The codes themselves are kept by client and person alone. */
export const deviceCodes = sqliteTable("device_codes", {
  id: text().primaryKey(),
  /** SHA-256, hex; so is `userCodeHash`, over the code without its dash. */
  deviceCodeHash: text().notNull(),
  userCodeHash: text().notNull(),
  /** What the client calls itself; nobody has checked it. */
  clientId: text().notNull(),
  ipAddress: text(),
  userAgent: text(),
  status: text().$type<DeviceStatus>().notNull(),
  /** Between two polls; grows by 5 with each one that comes too early. */
  intervalSeconds: integer().notNull(),
  lastPolledAt: text(),
  /** Who approved or denied it. */
  userId: text(),
  /** Where the client is let in; null until it is approved. */
  organizationId: text(),
  /** True where an access token for that organization alone approved it. */
  isConfined: integer({ mode: "boolean" }).notNull(),
  /** When the credential that approved it expires, and so the client's session at the latest; null of one that doesn't. */
  endsAt: text(),
  createdAt: text().notNull(),
  expiresAt: text().notNull(),
});
export type DeviceCodeRow = typeof deviceCodes.$inferSelect;
