import { integer, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import type { RequestedCall } from "../../models/agent.ts";
import type { UiMessage } from "../../models/chunks.ts";
import type { Usage } from "../../models/contract.ts";
import type { Summary } from "../../models/fit.ts";
import { json } from "../../store/columns.ts";

/** pending → streaming ⇄ waiting (approval) → completed | failed | cancelled; then streaming again with the next turn. */
export const TURN_STATUSES = ["pending", "streaming", "waiting", "completed", "failed", "cancelled"] as const;
export type TurnStatus = (typeof TURN_STATUSES)[number];

/** A private conversation of one user with an agent. */
export const chatThreads = sqliteTable("chat_threads", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  ownerId: text().notNull(),
  createdAt: text().notNull(),
  updatedAt: text().notNull(),
  agentSpecId: text().notNull(),
  title: text(),
  /** `pending` until the first turn. */
  lastTurnStatus: text().$type<TurnStatus>().notNull(),
  /** The turn in progress or waiting; at most one. */
  activeTurnId: text(),
  /** Summary of the first messages, if the thread exceeds the model's context. */
  summary: json<Summary>(),
});
export type ThreadRow = typeof chatThreads.$inferSelect;

export const chatMessages = sqliteTable("chat_messages", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  threadId: text().notNull(),
  turnId: text().notNull(),
  role: text().$type<"user" | "assistant">().notNull(),
  /** All of its text. For a reply in progress, the text so far. */
  content: text().notNull(),
  format: text().$type<"text" | "markdown">().notNull(),
  /** The message as AI SDK clients store it. */
  rawData: json<UiMessage>().notNull(),
  cancelled: integer({ mode: "boolean" }).notNull(),
  durationSeconds: real(),
  createdBy: text(),
  createdAt: text().notNull(),
  updatedAt: text().notNull(),
});
export type MessageRow = typeof chatMessages.$inferSelect;

/** A call that waits for a decision, with its run and decision. */
export interface PendingCall extends RequestedCall {
  /** SHA-256 of what the decision shows: tool, arguments, and what the tool does. */
  hash: string;
  runId: string;
  decisionId: string;
  /** True once it was started after its approval. */
  begun?: boolean;
}

/** What a turn used, and how long it took. */
export type Spent = Usage & { workMs?: number };

export const chatTurns = sqliteTable("chat_turns", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  threadId: text().notNull(),
  agentSpecId: text().notNull(),
  /** The reply. */
  messageId: text().notNull(),
  status: text().$type<TurnStatus>().notNull(),
  /** The user's IANA time zone. */
  timezone: text(),
  steps: integer().notNull(),
  usage: json<Spent>().notNull(),
  pending: json<PendingCall[]>().notNull(),
  error: json<{ code: string; message: string } | null>(),
  /** An `Actor`: on whose behalf it acts. */
  actor: json<JsonObject>().notNull(),
  correlationId: text().notNull(),
  /** The process that runs it. Null while it waits. */
  bootId: text(),
  leaseUntil: text(),
  cancelRequestedAt: text(),
  /** What the user saw when it was cancelled. */
  partialText: text(),
  createdAt: text().notNull(),
  startedAt: text().notNull(),
  updatedAt: text().notNull(),
  completedAt: text(),
});
export type TurnRow = typeof chatTurns.$inferSelect;
