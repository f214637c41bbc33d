import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json } from "../../store/columns.ts";

/** The interface's section 6. */
export const EVENT_TYPES = [
  "connection.created",
  "connection.updated",
  "connection.deleted",
  "connection.tested",
  "connection.error",
  "connection.token_refreshed",
  "action.created",
  "action.updated",
  "action.deleted",
  "action.started",
  "action.progress",
  "action.completed",
  "action.failed",
  "action.cancelled",
  "automation.created",
  "automation.updated",
  "automation.deleted",
  "automation.triggered",
  "automation.completed",
  "automation.failed",
  "automation.cancelled",
  "automation.enabled",
  "automation.disabled",
  "auth.login",
  "auth.logout",
  "auth.token_created",
  "auth.token_revoked",
  "auth.permission_granted",
  "auth.permission_revoked",
  "organization.created",
  "organization.updated",
  "user.updated",
  "artifact.created",
  "artifact.deleted",
  "dataset.deleted",
  "webhook.dead_lettered",
  "webhook.replayed",
  "webhook.discarded",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The audit trail: append-only by triggers, and chained by organization. */
export const events = sqliteTable("events", {
  /** In order of commit, over all organizations. */
  seq: integer().primaryKey(),
  id: text().notNull(),
  organizationId: text().notNull(),
  type: text().$type<EventType>().notNull(),
  timestamp: text().notNull(),
  entityType: text().notNull(),
  entityId: text().notNull(),
  actorType: text().notNull(),
  actorId: text().notNull(),
  /** What the actor's type carries: email, IP, user agent … */
  actor: json<JsonObject>().notNull(),
  data: json<JsonObject>().notNull(),
  correlationId: text().notNull(),
  /** SHA-256 over the hash before it in the organization and this row's canonical JSON. */
  hash: text().notNull(),
});
export type EventRow = typeof events.$inferSelect;
