import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Which user a Slack user is, and in which organization they act from Slack. */
export const slackLinks = sqliteTable(
  "slack_links",
  {
    teamId: text().notNull(),
    slackUserId: text().notNull(),
    userId: text().notNull(),
    organizationId: text().notNull(),
    createdAt: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.teamId, table.slackUserId] })],
);

/** Token of a link in Slack, until its user has signed in and agreed. Can be used once. */
export const slackLinkTokens = sqliteTable("slack_link_tokens", {
  tokenHash: text().primaryKey(),
  teamId: text().notNull(),
  teamName: text().notNull(),
  slackUserId: text().notNull(),
  slackUserName: text().notNull(),
  expiresAt: text().notNull(),
});
export type LinkTokenRow = typeof slackLinkTokens.$inferSelect;

/** Requests from Slack by their IDs, kept for a day. */
export const slackSeen = sqliteTable("slack_seen", {
  key: text().primaryKey(),
  seenAt: text().notNull(),
});

/** Where an answer is sent. */
export type Target = { url: string } | { channel: string; threadTs: string };

/** Queued answers: a text, or how a run ended once it has. The row is deleted when it is sent or too late. */
export const slackReplies = sqliteTable("slack_replies", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  sealedTarget: text().notNull(),
  runKind: text().$type<"action" | "automation">(),
  runId: text(),
  text: text(),
  attempts: integer().notNull(),
  dueAt: text().notNull(),
  createdAt: text().notNull(),
});
export type ReplyRow = typeof slackReplies.$inferSelect;

export const targetLabel = ({ id, organizationId }: { id: string; organizationId: string }) =>
  `slack_reply:${id}:${organizationId}`;
