import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { json, owned } from "../../store/columns.ts";
import type { RunError } from "../runs/table.ts";

export const WEBHOOK_STATUSES = ["active", "disabled"] as const;
type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** A subscription: where events are delivered to. What is deleted stays until the sweeper has taken its deliveries. */
export const webhooks = sqliteTable("webhooks", {
  ...owned(),
  url: text().notNull(),
  /** Patterns of event types, as they were given. */
  events: json<string[]>().notNull(),
  /** `SecretBox` text under `webhookLabel`; null once deleted. */
  sealedSecret: text(),
  /** The secret before it, under the same label; signs too until `previousUntil`. */
  sealedPreviousSecret: text(),
  previousUntil: text(),
  status: text().$type<WebhookStatus>().notNull(),
  disabledReason: text(),
  /** The first failure since the last success; null while there is none. */
  failingSince: text(),
  /** Events after this position in the trail are delivered as they come. */
  afterSeq: integer().notNull(),
  /** While disabled: up to here deliveries were made. Afterwards moves to `heldTo`; null once it is there. */
  heldFrom: integer(),
  /** The last position of what was held while disabled; null while that goes on. */
  heldTo: integer(),
  deletedAt: text(),
});
export type WebhookRow = typeof webhooks.$inferSelect;

/** The label that a subscription's secrets are sealed under. */
export const webhookLabel = (row: { id: string; organizationId: string }) =>
  `webhook:${row.id}:${row.organizationId}`;

export const OUTBOUND_STATUSES = ["pending", "retrying", "delivered", "failed", "dead_letter"] as const;
/** pending → delivered | retrying → … → dead_letter after the last try; a test, or what lost its receiver, fails at once. */
export type OutboundStatus = (typeof OUTBOUND_STATUSES)[number];

/** One event on its way to one subscription; a replay is a delivery of its own. */
export const outboundDeliveries = sqliteTable("outbound_deliveries", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  webhookId: text().notNull(),
  eventSeq: integer().notNull(),
  eventId: text().notNull(),
  eventType: text().notNull(),
  createdAt: text().notNull(),
  status: text().$type<OutboundStatus>().notNull(),
  /** Tries that have ended. */
  attempts: integer().notNull(),
  /** When it is to be sent; while a process has taken it, when others may take it. Null once it is over. */
  dueAt: text(),
  /** The start of the process that has taken it; null while it waits. */
  takenBy: text(),
  /** Of the last try: */
  completedAt: text(),
  replyCode: integer(),
  durationMs: integer(),
  replyExcerpt: text(),
  error: json<RunError | null>(),
  /** The first delivery of the event, where this one repeats it. */
  replayOf: text(),
  isTest: integer({ mode: "boolean" }).notNull(),
});
export type OutboundRow = typeof outboundDeliveries.$inferSelect;

/** Tries that failed; one that went well is told by the delivery itself. */
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
