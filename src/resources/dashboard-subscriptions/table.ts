import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { json, owned } from "../../store/columns.ts";

/** A schedule for sending a dashboard to members by email. */
export const dashboardSubscriptions = sqliteTable("dashboard_subscriptions", {
  ...owned(),
  dashboardId: text().notNull(),
  cron: text().notNull(),
  timezone: text().notNull(),
  /** User IDs. Former members get nothing. */
  recipients: json<string[]>().notNull(),
  /** By name, as in the dashboard's URL. */
  filters: json<Record<string, string>>().notNull(),
  /** When it is sent next. */
  nextAt: text(),
  /** The scheduled time that was sent last, so that it isn't sent twice. */
  lastAt: text(),
  /** When a mail server last accepted an email. */
  sentAt: text(),
  /** Why the last email wasn't sent. Null if it was. */
  error: text(),
});
export type SubscriptionRow = typeof dashboardSubscriptions.$inferSelect;
