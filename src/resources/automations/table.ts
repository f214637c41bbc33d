import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Json, JsonObject } from "../../base/json.ts";
import { json, owned } from "../../store/columns.ts";
import type { RunError, RunStatus, TriggerMethod, TriggerSourceType } from "../runs/table.ts";

export const AUTOMATION_STATUSES = ["active", "disabled"] as const;
export type AutomationStatus = (typeof AUTOMATION_STATUSES)[number];
export const TRIGGER_TYPES = ["manual", "webhook", "schedule", "event"] as const;
export type TriggerType = (typeof TRIGGER_TYPES)[number];

/** Signalled when something changed that webhook intake goes by: an automation, or its organization's plan. */
export const HOOKS_TOPIC = "hooks";

export const automations = sqliteTable("automations", {
  ...owned(),
  name: text().notNull(),
  slug: text().notNull(),
  description: text(),
  /** Without the webhook's secret, which is sealed apart. */
  config: json<JsonObject>().notNull(),
  /** Grows with each change of `config`; a run goes on with the one it began with. */
  version: integer().notNull(),
  /** `SecretBox` text under the label `automation:<id>:<organization>`; null without a webhook. */
  sealedSecret: text(),
  /** Null without a webhook. */
  webhookPath: text(),
  orchestratorType: text().$type<"local">().notNull(),
  status: text().$type<AutomationStatus>().notNull(),
  triggerType: text().$type<TriggerType>().notNull(),
  templateId: text(),
  deletedAt: text(),
});
export type AutomationRow = typeof automations.$inferSelect;

export const automationVersions = sqliteTable(
  "automation_versions",
  {
    automationId: text().notNull(),
    version: integer().notNull(),
    config: json<JsonObject>().notNull(),
    createdAt: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.automationId, t.version] })],
);

/** pending → running (or waiting) → completed | failed | cancelled | skipped. */
type StepStatus = RunStatus | "skipped";

export interface StepState {
  key: string;
  status: StepStatus;
  actionRunId: string | null;
  startedAt: string | null;
  completedAt: string | null;
  error: RunError | null;
}

export const automationRuns = sqliteTable("automation_runs", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  createdAt: text().notNull(),
  updatedAt: text().notNull(),
  automationId: text().notNull(),
  automationVersion: integer().notNull(),
  /** The webhook delivery that started it. */
  deliveryId: text(),
  /** The run that this one tries again. */
  parentRunId: text(),
  status: text().$type<RunStatus>().notNull(),
  triggerMethod: text().$type<TriggerMethod>().notNull(),
  triggerSourceType: text().$type<TriggerSourceType>().notNull(),
  triggerSourceId: text(),
  input: json<Json>(),
  /** What templates see of the trigger: payload, headers, query. */
  scope: json<JsonObject>().notNull(),
  /** One for each step, in the definition's order. */
  steps: json<StepState[]>().notNull(),
  result: json<Json>(),
  error: json<RunError | null>(),
  /** On whose behalf it runs; an `Actor`. */
  actor: json<JsonObject>().notNull(),
  correlationId: text().notNull(),
  /** While waiting for a retry: when it goes on. */
  dueAt: text(),
  startedAt: text(),
  completedAt: text(),
});
export type AutomationRunRow = typeof automationRuns.$inferSelect;
