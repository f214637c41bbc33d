import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json, longJson } from "../../store/columns.ts";
import type { RunError } from "../runs/table.ts";

export const DELIVERY_STATUSES = ["processing", "processed", "retrying", "failed", "dead_letter"] as const;
/** processing → processed | failed | retrying → processing … → dead_letter, after the last attempt failed. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One accepted webhook request. */
export const webhookDeliveries = sqliteTable("webhook_deliveries", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  automationId: text().notNull(),
  automationRunId: text(),
  status: text().$type<DeliveryStatus>().notNull(),
  attempts: integer().notNull(),
  replyCode: integer(),
  receivedAt: text().notNull(),
  updatedAt: text().notNull(),
  nextAttemptAt: text(),
  error: json<RunError | null>(),
  /** The sender's own message ID: from `Idempotency-Key`, `webhook-id`, or the preset's header. */
  repeatKey: text(),
  /** The delivery that this one replays. */
  replayOf: text(),
  ipAddress: text(),
  headers: json<JsonObject | null>(),
  query: json<JsonObject | null>(),
  /** Deleted once it is processed, or later if `isKept`. */
  payload: longJson(),
  isKept: integer({ mode: "boolean" }).notNull(),
});
export type DeliveryRow = typeof webhookDeliveries.$inferSelect;

export const deliveryAttempts = sqliteTable(
  "delivery_attempts",
  {
    deliveryId: text().notNull(),
    number: integer().notNull(),
    startedAt: text().notNull(),
    completedAt: text(),
    replyCode: integer(),
    error: json<RunError | null>(),
  },
  (t) => [primaryKey({ columns: [t.deliveryId, t.number] })],
);

export type AttemptRow = typeof deliveryAttempts.$inferSelect;

/** Accepted signatures with a timestamp. Deleted once the timestamp is too old. */
export const webhookSignatures = sqliteTable(
  "webhook_signatures",
  {
    /** The sender's timestamp, in Unix seconds. */
    sentAt: integer().notNull(),
    automationId: text().notNull(),
    /** In base64. */
    signature: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.sentAt, t.automationId, t.signature] })],
);
