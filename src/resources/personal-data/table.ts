import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A person who is being erased; the row goes when work that was under way can't write of them any more. */
export const userErasures = sqliteTable("user_erasures", {
  userId: text().primaryKey(),
  /** What rows are searched for; null once all of them were. */
  sealedAddress: text(),
  begunAt: text().notNull(),
});
export type UserErasureRow = typeof userErasures.$inferSelect;

/** What the address is sealed with. */
export const addressLabel = ({ userId }: { readonly userId: string }) => `user-erasure:${userId}:address`;
