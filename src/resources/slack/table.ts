import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Which person somebody in Slack is, and in which organization they act from there. */
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

/** What a link in Slack leads to, until the person behind it has signed in and agreed; used once. */
export const slackLinkTokens = sqliteTable("slack_link_tokens", {
  tokenHash: text().primaryKey(),
  teamId: text().notNull(),
  teamName: text().notNull(),
  slackUserId: text().notNull(),
  slackUserName: text().notNull(),
  expiresAt: text().notNull(),
});
export type LinkTokenRow = typeof slackLinkTokens.$inferSelect;

/** What Slack has sent already, by its own id of it; a day long. */
export const slackSeen = sqliteTable("slack_seen", {
  key: text().primaryKey(),
  seenAt: text().notNull(),
});

/** Where an answer goes. */
export type Target = { url: string } | { channel: string; threadTs: string };

/** Answers that wait to be sent: a text, or how a run ended once it has. A row goes when it was sent or is too late. */
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
