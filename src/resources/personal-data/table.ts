import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A user who is being erased. The row is deleted once work in progress can no longer write about them. */
export const userErasures = sqliteTable("user_erasures", {
  userId: text().primaryKey(),
  /** Text to search rows for. Null once all were searched. */
  sealedAddress: text(),
  begunAt: text().notNull(),
});
export type UserErasureRow = typeof userErasures.$inferSelect;

/** Label for encrypting the address. */
export const addressLabel = ({ userId }: { readonly userId: string }) => `user-erasure:${userId}:address`;
