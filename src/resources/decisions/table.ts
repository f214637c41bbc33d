import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import type { DecisionRequest } from "../../executors/contract.ts";
import { json } from "../../store/columns.ts";

export const DECISION_TYPES = ["approve_reject", "form_input"] as const;
export const DECISION_VALUES = ["approved", "rejected"] as const;
export type DecisionValue = (typeof DECISION_VALUES)[number];

/** pending → decided | expired | cancelled, which are final. */
export const DECISION_STATUSES = ["pending", "decided", "expired", "cancelled"] as const;
export type DecisionStatus = (typeof DECISION_STATUSES)[number];

export const decisions = sqliteTable("decisions", {
  /** The `waitId` of the run that waits for it. */
  id: text().primaryKey(),
  organizationId: text().notNull(),
  createdAt: text().notNull(),
  updatedAt: text().notNull(),
  /** Who decided, or who cancelled the run. Null while pending, and after it expired. */
  updatedBy: text(),
  title: text().notNull(),
  description: text(),
  decisionType: text().$type<DecisionRequest["decisionType"]>().notNull(),
  status: text().$type<DecisionStatus>().notNull(),
  subjectType: text().$type<"action_run">().notNull(),
  subjectId: text().notNull(),
  automationId: text(),
  automationRunId: text(),
  stepKey: text(),
  context: json<JsonObject | null>(),
  formSchema: json<JsonObject | null>(),
  formResponse: json<JsonObject | null>(),
  /** Also `rejected` if it expired and `onExpire` is `reject`. */
  decisionValue: text().$type<DecisionValue>(),
  rejectionReason: text(),
  /** The user who requested it. Null if none did. */
  requestedBy: text(),
  /** The member who decides, in addition to admins. Null: every member. */
  assignedTo: text(),
  decidedBy: text(),
  decidedAt: text(),
  expiresAt: text(),
  onReject: text().$type<DecisionRequest["onReject"]>().notNull(),
  onExpire: text().$type<DecisionRequest["onExpire"]>().notNull(),
  /** User whose private chat started the waiting run. Null for none. */
  privateTo: text(),
  /** Same as the waiting run's. */
  correlationId: text().notNull(),
});
export type DecisionRow = typeof decisions.$inferSelect;
