import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Role } from "../organizations/table.ts";

/** An invitation link. The row is deleted when it is used or revoked. */
export const invitations = sqliteTable("invitations", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  /** Lower case. At most one pending invitation per address in an organization. */
  email: text().notNull(),
  role: text().$type<Role>().notNull(),
  /** SHA-256 of the token in the link that the inviter sees, hex. */
  tokenHash: text().notNull(),
  /** SHA-256 of the token in the emailed link. Null if none was emailed. */
  mailTokenHash: text(),
  createdAt: text().notNull(),
  /** A user, or an API key. */
  createdBy: text().notNull(),
  expiresAt: text().notNull(),
});
export type InvitationRow = typeof invitations.$inferSelect;
