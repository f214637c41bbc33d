import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { json, owned } from "../../store/columns.ts";

/** A dashboard that is mailed to members on a schedule. */
export const dashboardSubscriptions = sqliteTable("dashboard_subscriptions", {
  ...owned(),
  dashboardId: text().notNull(),
  cron: text().notNull(),
  timezone: text().notNull(),
  /** IDs of people. Who is no member any more gets nothing. */
  recipients: json<string[]>().notNull(),
  /** As in the dashboard's address, by name. */
  filters: json<Record<string, string>>().notNull(),
  /** When it is sent next. */
  nextAt: text(),
  /** The instant of the schedule that was sent last: it does not come again. */
  lastAt: text(),
  /** When a mail server took a mail of it last. */
  sentAt: text(),
  /** Why the last mail was not sent; null where it was. */
  error: text(),
});
export type SubscriptionRow = typeof dashboardSubscriptions.$inferSelect;
