import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { json } from "../../store/columns.ts";
import type { RunError } from "../runs/table.ts";

/** dead → replaying → replayed | dead. */
export const DEAD_LETTER_STATUSES = ["dead", "replaying", "replayed"] as const;
export type DeadLetterStatus = (typeof DEAD_LETTER_STATUSES)[number];

/** An incoming or outgoing delivery that failed permanently. */
export const deadLetters = sqliteTable("dead_letters", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  source: text().$type<"inbound" | "outbound">().notNull(),
  /** The automation, or the webhook subscription. */
  sourceId: text().notNull(),
  deliveryId: text().notNull(),
  attempts: integer().notNull(),
  firstFailedAt: text().notNull(),
  lastFailedAt: text().notNull(),
  error: json<RunError | null>(),
  replayCount: integer().notNull(),
  status: text().$type<DeadLetterStatus>().notNull(),
});
export type DeadLetterRow = typeof deadLetters.$inferSelect;
