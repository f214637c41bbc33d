import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json } from "../../store/columns.ts";

/** All types of events. */
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
  "automation.schedule_missed",
  "automation.stale",
  "decision.requested",
  "decision.decided",
  "decision.expired",
  "decision.cancelled",
  "auth.login",
  "auth.login_failed",
  "auth.logout",
  "auth.chat_linked",
  "auth.device_approved",
  "auth.device_denied",
  "auth.token_created",
  "auth.token_revoked",
  "auth.permission_granted",
  "auth.permission_revoked",
  "organization.created",
  "organization.updated",
  "organization.exported",
  "organization.removed",
  "organization.restored",
  "organization.invitation_created",
  "organization.invitation_withdrawn",
  "user.updated",
  "user.erased",
  "dashboard.created",
  "dashboard.updated",
  "dashboard.deleted",
  "query.created",
  "query.updated",
  "query.deleted",
  "artifact.created",
  "artifact.deleted",
  "dataset.deleted",
  "dataset.uploaded",
  "dataset.synced",
  "connection.sign_in_started",
  "connection.signed_in",
  "connection.signed_out",
  "template.created",
  "template.updated",
  "template.published",
  "template.deprecated",
  "template.deleted",
  "bundle.installed",
  "agent_spec.created",
  "agent_spec.updated",
  "agent_spec.deleted",
  "chat_thread.created",
  "chat_thread.updated",
  "chat_thread.deleted",
  "chat_turn.started",
  "chat_turn.tool_called",
  "chat_turn.waiting",
  "chat_turn.completed",
  "chat_turn.failed",
  "chat_turn.cancelled",
  "catalog.created",
  "catalog.updated",
  "catalog.deleted",
  "catalog.drifted",
  "catalog.tested",
  "catalog.sign_in_started",
  "catalog.signed_in",
  "catalog.signed_out",
  "catalog.sign_in_needed",
  "catalog.token_refreshed",
  "webhook.created",
  "webhook.updated",
  "webhook.deleted",
  "webhook.enabled",
  "webhook.disabled",
  "webhook.secret_rotated",
  "webhook.tested",
  "webhook.dead_lettered",
  "webhook.replayed",
  "webhook.discarded",
  "backup.failed",
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
  /** When personal data was erased from it; null for one that is as it was recorded. */
  redactedAt: text(),
});
export type EventRow = typeof events.$inferSelect;

/** The hash before the first event of an organization. */
export const GENESIS = "0".repeat(64);

/** The newest end of each organization's chain, authenticated in the transaction of the event that moved it. */
export const trailHeads = sqliteTable("trail_heads", {
  organizationId: text().primaryKey(),
  /** Number of events up to it. */
  count: integer().notNull(),
  hash: text().notNull(),
  /** HMAC under a key of the master key; empty where the head before could not be authenticated. */
  mac: text().notNull(),
  /** Id of the master key that `mac` was made with. */
  keyId: text().notNull(),
  /** The newest seal's count. */
  sealCount: integer().notNull(),
  sealAt: text().notNull(),
});
export type TrailHeadRow = typeof trailHeads.$inferSelect;

/** Heads of the past that are kept for good. */
export const trailSeals = sqliteTable(
  "trail_seals",
  {
    organizationId: text().notNull(),
    count: integer().notNull(),
    /** The position of its newest event. */
    seq: integer().notNull(),
    hash: text().notNull(),
    createdAt: text().notNull(),
    mac: text().notNull(),
    keyId: text().notNull(),
  },
  ({ organizationId, count }) => [primaryKey({ columns: [organizationId, count] })],
);
export type SealRow = typeof trailSeals.$inferSelect;

/** Events that personal data was erased from: what makes their hashes hold. */
export const trailRedactions = sqliteTable("trail_redactions", {
  seq: integer().primaryKey(),
  organizationId: text().notNull(),
  /** The event's hash, of its content as it was recorded. */
  hash: text().notNull(),
  /** The event's hash over the hash before it and the content that is left. */
  redactedHash: text().notNull(),
  /** HMAC under a key of the master key; empty where the event did not fit its hash before it was redacted. */
  mac: text().notNull(),
  keyId: text().notNull(),
});
export type RedactionRow = typeof trailRedactions.$inferSelect;

/** Organizations whose events are being erased or redacted: the triggers let only theirs change. */
export const trailErasures = sqliteTable("trail_erasures", { organizationId: text().primaryKey() });
