import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { json, owned } from "../../store/columns.ts";
import type { RunError } from "../runs/table.ts";

export const WEBHOOK_STATUSES = ["active", "disabled"] as const;
type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** A subscription: where events are delivered. A deleted one stays until the sweeper has removed its deliveries. */
export const webhooks = sqliteTable("webhooks", {
  ...owned(),
  url: text().notNull(),
  /** Patterns of event types, as in the request. */
  events: json<string[]>().notNull(),
  /** `SecretBox` text with the label `webhookLabel`. Null once deleted. */
  sealedSecret: text(),
  /** The previous secret, with the same label. It signs as well until `previousUntil`. */
  sealedPreviousSecret: text(),
  previousUntil: text(),
  status: text().$type<WebhookStatus>().notNull(),
  disabledReason: text(),
  /** The first failure since the last success. Null if there is none. */
  failingSince: text(),
  /** Events up to this position in the audit log are not delivered, except those held while it was disabled. */
  afterSeq: integer().notNull(),
  /**
   * While disabled: the position up to which deliveries were created.
   * Then moves to `heldTo`, and is null once it gets there.
   */
  heldFrom: integer(),
  /** Last position of the events held while disabled. Null while it is disabled. */
  heldTo: integer(),
  deletedAt: text(),
});
export type WebhookRow = typeof webhooks.$inferSelect;

/** Label for encrypting a subscription's secrets. */
export const webhookLabel = (row: { id: string; organizationId: string }) =>
  `webhook:${row.id}:${row.organizationId}`;

export const OUTBOUND_STATUSES = ["pending", "retrying", "delivered", "failed", "dead_letter"] as const;
/**
 * pending → delivered | retrying → … → dead_letter after the last attempt.
 * A test, or a delivery without a receiver, fails immediately.
 */
export type OutboundStatus = (typeof OUTBOUND_STATUSES)[number];

/** One event for one subscription. A replay is a separate delivery. */
export const outboundDeliveries = sqliteTable("outbound_deliveries", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  webhookId: text().notNull(),
  eventSeq: integer().notNull(),
  eventId: text().notNull(),
  eventType: text().notNull(),
  createdAt: text().notNull(),
  status: text().$type<OutboundStatus>().notNull(),
  /** Number of finished attempts. */
  attempts: integer().notNull(),
  /** When it is due; while a process has it, when others may take it. Null once it is finished. */
  dueAt: text(),
  /** The process start that has it. Null while it waits. */
  takenBy: text(),
  /** Of the last attempt: */
  completedAt: text(),
  replyCode: integer(),
  durationMs: integer(),
  replyExcerpt: text(),
  error: json<RunError | null>(),
  /** The first delivery of the event, if this one repeats it. */
  replayOf: text(),
  isTest: integer({ mode: "boolean" }).notNull(),
});
export type OutboundRow = typeof outboundDeliveries.$inferSelect;

/** Failed attempts. A successful one is stored in the delivery itself. */
export const outboundAttempts = sqliteTable(
  "outbound_attempts",
  {
    deliveryId: text().notNull(),
    /** From 1. */
    number: integer().notNull(),
    startedAt: text().notNull(),
    durationMs: integer().notNull(),
    replyCode: integer(),
    replyExcerpt: text(),
    error: json<RunError | null>(),
  },
  (t) => [primaryKey({ columns: [t.deliveryId, t.number] })],
);
export type OutboundAttemptRow = typeof outboundAttempts.$inferSelect;

/** Signalled when there may be something to deliver. */
export const OUTBOUND_TOPIC = "outbound";
