import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json } from "../../store/columns.ts";

/** Kind of a notice. */
export const NOTICE_KINDS = [
  "webhook.failing",
  "automation.stale",
  "automation.failed",
  "automation.recovered",
  "automation.late",
  "approval.open",
  "dashboard",
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** `slack_person` is a Slack user, notified by the bot. */
export const NOTICE_CHANNELS = ["mail", "slack", "slack_person", "url"] as const;
type NoticeChannel = (typeof NOTICE_CHANNELS)[number];

/** Recipient of a notice. */
export type Recipient = Pick<NoticeRow, "channel" | "target" | "userId">;

/** Wakes the sender. */
export const NOTICES_TOPIC = "notices";

/** A single notification, created in the transaction of its event. */
export const notices = sqliteTable("notices", {
  /** The same for all attempts. */
  id: text().primaryKey(),
  organizationId: text().notNull(),
  createdAt: text().notNull(),
  kind: text().$type<NoticeKind>().notNull(),
  automationId: text(),
  /** Subject and recipient: notices about the same thing are grouped, and sent one after another. */
  thing: text().notNull(),
  channel: text().$type<NoticeChannel>().notNull(),
  /** Recipient address. A Slack URL is without its last part. */
  target: text().notNull(),
  /** The user it is for. Null if it is for no particular user. */
  userId: text(),
  facts: json<JsonObject>().notNull(),
  /** Number of occurrences until the first attempt. */
  count: integer().notNull(),
  /** Number of attempts so far. */
  attempts: integer().notNull(),
  /** Null once it was sent or given up. */
  dueAt: text(),
  /** The process that sends it or has tried to. From then on, its content doesn't change. */
  takenBy: text(),
  sentAt: text(),
  /** Why it wasn't sent yet, or at all. */
  error: text(),
});
export type NoticeRow = typeof notices.$inferSelect;

/** Automations that failed or were late, whether reported or not, until a run completes. */
export const automationTroubles = sqliteTable("automation_troubles", {
  automationId: text().primaryKey(),
  organizationId: text().notNull(),
  /** Time of the first failure. */
  since: text().notNull(),
});

export const APPROVAL_PREFERENCES = ["all", "assigned", "none"] as const;
export const FAILURE_PREFERENCES = ["mine", "all", "none"] as const;

/** Email preferences of a user, if not the default. */
export const noticePreferences = sqliteTable("notice_preferences", {
  userId: text().primaryKey(),
  /** All that the user can decide, those assigned to the user, or none. */
  approvals: text().$type<(typeof APPROVAL_PREFERENCES)[number]>().notNull(),
  /**
   * Failures of automations whose alerts name the user, or nobody if the user created them; of all automations with
   * alerts; or none.
   */
  failures: text().$type<(typeof FAILURE_PREFERENCES)[number]>().notNull(),
});
export type NoticePreferences = Omit<typeof noticePreferences.$inferSelect, "userId">;
