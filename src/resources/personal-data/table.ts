import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A user who is being erased. The row is deleted once work in progress can no longer write about them. */
export const userErasures = sqliteTable("user_erasures", {
  userId: text().primaryKey(),
  /** What rows are searched for. Null once all were searched. */
  sealedAddress: text(),
  begunAt: text().notNull(),
});
export type UserErasureRow = typeof userErasures.$inferSelect;

/** What the address is sealed with. */
export const addressLabel = ({ userId }: { readonly userId: string }) => `user-erasure:${userId}:address`;
