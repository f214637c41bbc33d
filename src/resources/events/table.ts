import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json } from "../../store/columns.ts";

/** All event types, with descriptions. */
export const EVENTS = {
  "connection.created": "A connection was created",
  "connection.updated": "A connection was changed",
  "connection.deleted": "A connection was deleted",
  "connection.tested": "A connection was verified, or settings for one were tested",
  "connection.error": "A connection stopped working",
  "connection.token_refreshed": "A connection's token was renewed",
  "action.created": "An action was created",
  "action.updated": "An action was changed",
  "action.deleted": "An action was deleted",
  "action.started": "A run of an action started",
  "action.progress": "A run of an action reported progress",
  "action.completed": "A run of an action completed",
  "action.failed": "A run of an action failed",
  "action.cancelled": "A run of an action was cancelled",
  "automation.created": "An automation was created",
  "automation.updated": "An automation was changed",
  "automation.deleted": "An automation was deleted",
  "automation.triggered": "A run of an automation was started",
  "automation.completed": "A run of an automation completed",
  "automation.failed": "A run of an automation failed",
  "automation.cancelled": "A run of an automation was cancelled",
  "automation.enabled": "An automation was enabled",
  "automation.disabled": "An automation was disabled",
  "automation.schedule_missed": "A scheduled time passed while no server ran",
  "automation.stale": "An automation didn't do what `expect` says",
  "decision.requested": "An approval was requested",
  "decision.decided": "An approval was decided",
  "decision.expired": "An approval expired without a decision",
  "decision.cancelled": "An approval was cancelled with its run",
  "auth.login": "A person signed in",
  "auth.login_failed": "A sign-in failed",
  "auth.logout": "A person signed out",
  "auth.chat_linked": "A Slack account was linked to a person",
  "auth.chat_unlinked": "A Slack account was unlinked from a person",
  "auth.device_approved": "A device sign-in was approved",
  "auth.device_denied": "A device sign-in was denied",
  "auth.client_approved": "An MCP client was approved",
  "auth.client_denied": "An MCP client was denied",
  "auth.token_created": "An access token or API key was created",
  "auth.token_revoked": "An access token or API key was revoked",
  "auth.permission_granted": "A person got a role",
  "auth.permission_revoked": "A person lost a role",
  "organization.created": "The organization was created",
  "organization.updated": "The organization was changed",
  "organization.exported": "The organization's data was exported",
  "organization.removed": "The organization was deleted",
  "organization.restored": "The organization's deletion was undone",
  "organization.invitation_created": "A person was invited",
  "organization.invitation_withdrawn": "An invitation was revoked",
  "user.updated": "A person's profile or credentials changed",
  "user.erased": "A person's data was erased",
  "dashboard.created": "A dashboard was created",
  "dashboard.updated": "A dashboard was changed",
  "dashboard.deleted": "A dashboard was deleted",
  "dashboard.send_requested": "A member sent a dashboard by email",
  "dashboard.sent": "A dashboard was emailed to a member",
  "dashboard.send_failed": "A dashboard couldn't be emailed to a member",
  "dashboard_subscription.created": "A dashboard is emailed on a schedule",
  "dashboard_subscription.updated": "The schedule, recipients or filters of a dashboard's emails changed",
  "dashboard_subscription.deleted": "A dashboard is no longer emailed on a schedule",
  "query.created": "A saved query was created",
  "query.updated": "A saved query was changed",
  "query.deleted": "A saved query was deleted",
  "artifact.created": "An artifact was created",
  "artifact.deleted": "An artifact was deleted",
  "dataset.deleted": "A dataset was deleted",
  "dataset.uploaded": "Rows were uploaded to a dataset",
  "dataset.synced": "A dataset was copied from another organization",
  "connection.sign_in_started": "A person began to sign in for a connection",
  "connection.signed_in": "A person signed in for a connection",
  "connection.signed_out": "A person signed out of a connection",
  "template.created": "A template was created",
  "template.updated": "A template was changed",
  "template.published": "A template version was published",
  "template.deprecated": "A template version was deprecated",
  "template.deleted": "A template was deleted",
  "bundle.installed": "A bundle was installed",
  "agent_spec.created": "An agent was created",
  "agent_spec.updated": "An agent was changed",
  "agent_spec.deleted": "An agent was deleted",
  "chat_thread.created": "A chat was created",
  "chat_thread.updated": "A chat was changed",
  "chat_thread.deleted": "A chat was deleted",
  "chat_turn.started": "An agent began to answer",
  "chat_turn.tool_called": "An agent called a tool",
  "chat_turn.waiting": "An answer waits for approvals",
  "chat_turn.completed": "An agent answered",
  "chat_turn.failed": "An answer failed",
  "chat_turn.cancelled": "An answer was cancelled",
  "catalog.created": "An entry of the API catalog was created",
  "catalog.updated": "An entry of the API catalog was changed",
  "catalog.deleted": "An entry of the API catalog was deleted",
  "catalog.drifted": "An MCP server's tools changed",
  "catalog.tested": "An endpoint of the API catalog was tried",
  "catalog.sign_in_started": "A person began to sign in at an MCP server",
  "catalog.signed_in": "A person signed in at an MCP server",
  "catalog.signed_out": "A person signed out of an MCP server",
  "catalog.sign_in_needed": "An MCP server asks for a new sign-in",
  "catalog.token_refreshed": "The token for an MCP server was renewed",
  "webhook.created": "An outgoing webhook was created",
  "webhook.updated": "An outgoing webhook was changed",
  "webhook.deleted": "An outgoing webhook was deleted",
  "webhook.enabled": "An outgoing webhook was enabled",
  "webhook.disabled": "An outgoing webhook was disabled",
  "webhook.secret_rotated": "An outgoing webhook's secret was rotated",
  "webhook.tested": "A test event was sent",
  "webhook.dead_lettered": "A delivery failed on its last attempt",
  "webhook.replayed": "A failed delivery was sent again",
  "webhook.discarded": "A failed delivery was discarded",
  "backup.failed": "A scheduled backup failed",
} as const;
export type EventType = keyof typeof EVENTS;
export const EVENT_TYPES = Object.keys(EVENTS) as EventType[];

/** The audit log: append-only by triggers, and chained by organization. */
export const events = sqliteTable("events", {
  /** In order of commit, across all organizations. */
  seq: integer().primaryKey(),
  id: text().notNull(),
  organizationId: text().notNull(),
  type: text().$type<EventType>().notNull(),
  timestamp: text().notNull(),
  entityType: text().notNull(),
  entityId: text().notNull(),
  actorType: text().notNull(),
  actorId: text().notNull(),
  /** Data of the actor's type: email, IP, user agent … */
  actor: json<JsonObject>().notNull(),
  data: json<JsonObject>().notNull(),
  correlationId: text().notNull(),
  /** SHA-256 of the organization's previous hash and this row's canonical JSON. */
  hash: text().notNull(),
  /** When personal data was erased from it. Null if it is as recorded. */
  redactedAt: text(),
});
export type EventRow = typeof events.$inferSelect;

/** Previous hash for the first event of an organization. */
export const GENESIS = "0".repeat(64);

/** The newest end of each organization's chain, authenticated in the transaction of the event that moved it. */
export const trailHeads = sqliteTable("trail_heads", {
  organizationId: text().primaryKey(),
  /** Number of events up to it. */
  count: integer().notNull(),
  hash: text().notNull(),
  /** HMAC with a key derived from the master key. Empty if the previous head couldn't be authenticated. */
  mac: text().notNull(),
  /** ID of the master key used for `mac`. */
  keyId: text().notNull(),
  /** Count of the newest seal. */
  sealCount: integer().notNull(),
  sealAt: text().notNull(),
});
export type TrailHeadRow = typeof trailHeads.$inferSelect;

/** Past heads, which are kept forever. Of an erased audit log, one with no events remains. */
export const trailSeals = sqliteTable(
  "trail_seals",
  {
    organizationId: text().notNull(),
    count: integer().notNull(),
    /** Position of its newest event. */
    seq: integer().notNull(),
    hash: text().notNull(),
    createdAt: text().notNull(),
    mac: text().notNull(),
    keyId: text().notNull(),
  },
  ({ organizationId, count }) => [primaryKey({ columns: [organizationId, count] })],
);
export type SealRow = typeof trailSeals.$inferSelect;

/** Events from which personal data was erased, with what verifies their hashes. */
export const trailRedactions = sqliteTable("trail_redactions", {
  seq: integer().primaryKey(),
  organizationId: text().notNull(),
  /** Hash of the event's original content. */
  hash: text().notNull(),
  /** Hash of the previous hash and the remaining content. */
  redactedHash: text().notNull(),
  /** HMAC with a key derived from the master key. Empty if the event didn't match its hash before it was redacted. */
  mac: text().notNull(),
  keyId: text().notNull(),
});
export type RedactionRow = typeof trailRedactions.$inferSelect;

/** Organizations whose events are being erased or redacted: the triggers allow changes only to these. */
export const trailErasures = sqliteTable("trail_erasures", { organizationId: text().primaryKey() });
