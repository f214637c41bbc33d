import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Role } from "../organizations/table.ts";

/** A link that makes whoever it was sent to a member. The row goes when it is used or withdrawn. */
export const invitations = sqliteTable("invitations", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  /** Lower case; one open invitation for each address in an organization. */
  email: text().notNull(),
  role: text().$type<Role>().notNull(),
  /** SHA-256 of the token in the link that the inviter sees, hex. */
  tokenHash: text().notNull(),
  /** SHA-256 of the token in the link that was mailed to the address itself; null where none was. */
  mailTokenHash: text(),
  createdAt: text().notNull(),
  /** A person, or an API key. */
  createdBy: text().notNull(),
  expiresAt: text().notNull(),
});
export type InvitationRow = typeof invitations.$inferSelect;
