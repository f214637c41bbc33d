import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import { json } from "../../store/columns.ts";

/** What a notice tells. */
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

/** `slack_person` is somebody in Slack, told by the bot. */
export const NOTICE_CHANNELS = ["mail", "slack", "slack_person", "url"] as const;
type NoticeChannel = (typeof NOTICE_CHANNELS)[number];

/** Where a notice goes. */
export type Recipient = Pick<NoticeRow, "channel" | "target" | "userId">;

/** Wakes the sender. */
export const NOTICES_TOPIC = "notices";

/** What somebody is told, once: made in the transaction of what it tells. */
export const notices = sqliteTable("notices", {
  /** The same for all tries. */
  id: text().primaryKey(),
  organizationId: text().notNull(),
  createdAt: text().notNull(),
  kind: text().$type<NoticeKind>().notNull(),
  automationId: text(),
  /** What it tells, and to whom: notices of one thing are grouped, and come one after the other. */
  thing: text().notNull(),
  channel: text().$type<NoticeChannel>().notNull(),
  /** Where it goes: an address; that of Slack without its last part. */
  target: text().notNull(),
  /** The person that it is for; null where it is for nobody by name. */
  userId: text(),
  facts: json<JsonObject>().notNull(),
  /** How often the thing happened. It grows until the first try. */
  count: integer().notNull(),
  /** Tries so far. */
  attempts: integer().notNull(),
  /** Null once it was sent or given up. */
  dueAt: text(),
  /** The process that sends it or has tried to: what it says stays as it is from then on. */
  takenBy: text(),
  sentAt: text(),
  /** Why it was not sent, or not yet. */
  error: text(),
});
export type NoticeRow = typeof notices.$inferSelect;

/** Automations that failed or were late, as was told or would have been, until a run completes. */
export const automationTroubles = sqliteTable("automation_troubles", {
  automationId: text().primaryKey(),
  organizationId: text().notNull(),
  /** Of the first failure. */
  since: text().notNull(),
});

export const APPROVAL_PREFERENCES = ["all", "assigned", "none"] as const;
export const FAILURE_PREFERENCES = ["mine", "all", "none"] as const;

/** What is mailed to a person, where that is not the default. */
export const noticePreferences = sqliteTable("notice_preferences", {
  userId: text().primaryKey(),
  /** Those that the person may decide, those assigned to the person alone, or none. */
  approvals: text().$type<(typeof APPROVAL_PREFERENCES)[number]>().notNull(),
  /**
   * Failures of automations whose alerts name the person, or nobody where the person has made them; of all
   * automations that tell any; or none.
   */
  failures: text().$type<(typeof FAILURE_PREFERENCES)[number]>().notNull(),
});
export type NoticePreferences = Omit<typeof noticePreferences.$inferSelect, "userId">;
