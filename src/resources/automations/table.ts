import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Json, JsonObject } from "../../base/json.ts";
import type { WaitKind } from "../../executors/contract.ts";
import { json, longValues, owned } from "../../store/columns.ts";
import type { RunError, RunStatus, TriggerMethod, TriggerSourceType } from "../runs/table.ts";

/** A draft may be incomplete; nothing triggers it. */
export const AUTOMATION_STATUSES = ["active", "disabled", "draft"] as const;
export type AutomationStatus = (typeof AUTOMATION_STATUSES)[number];
export const TRIGGER_TYPES = ["manual", "webhook", "form", "schedule", "event"] as const;
export type TriggerType = (typeof TRIGGER_TYPES)[number];

/** Signalled when something changed that webhook intake goes by: an automation, or its organization's plan. */
export const WEBHOOKS_TOPIC = "hooks";

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
  /** What the sender of a webhook sends along, by its `config.auth`; sealed under `automation-auth:<id>:<organization>`. */
  sealedAuth: text(),
  /** The Slack addresses of `config.alerts.notify`, as a JSON list; sealed under `automation-notify:<id>:<organization>`. */
  sealedNotify: text(),
  /**
   * Why a signed webhook takes no request without a timestamp: `new`, it was made since that is the rule, or `seen`,
   * one has come. Null for none of them.
   */
  timestampRule: text().$type<"new" | "seen">(),
  /** Of a webhook or a form. */
  webhookPath: text(),
  orchestratorType: text().$type<"local">().notNull(),
  status: text().$type<AutomationStatus>().notNull(),
  triggerType: text().$type<TriggerType>().notNull(),
  templateId: text(),
  tags: json<string[]>().notNull(),
  /** Of an active schedule: the next instant that a run is due at; null where there is none. */
  nextRunAt: text(),
  /** Of an active event trigger: only events after this position in the log start runs. */
  eventAfterSeq: integer(),
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

/** The configs of test runs, which are no versions of their automations. */
export const automationRunConfigs = sqliteTable("automation_run_configs", {
  automationRunId: text().primaryKey(),
  config: json<JsonObject>().notNull(),
});

/** What a test run has in place of a version. */
export const TEST_VERSION = 0;

/** pending → running (or waiting) → completed | failed | cancelled | skipped. */
type StepStatus = RunStatus | "skipped";

export interface StepState {
  key: string;
  status: StepStatus;
  actionRunId: string | null;
  startedAt: string | null;
  completedAt: string | null;
  error: RunError | null;
  /** While it waits: for what. */
  waitKind?: WaitKind;
  /** Of a step with `forEach`, once it has begun. */
  items?: ItemsState;
  /** Of a step with `delay`: while it waits for nothing but this instant. */
  delayUntil?: string;
  /** In a test run: the result that stands in for the step, which is not carried out. */
  pinned?: Json;
}

/** How far a `forEach` has come. */
export interface ItemsState {
  /** The automation run that the rows of the items belong to. */
  runId: string;
  total: number;
  /** In line, under way or waiting. */
  running: number;
  /** Of those, the ones that wait for something else than a worker or time. */
  waiting?: number;
  completed: number;
  /** Failed or cancelled. */
  failed: number;
  /** Where one action run carries out all of them: what they are. */
  bulk?: BulkItems;
}

/** The items of a list, which lie with the run, or the rows of a table. */
export type BulkItems = ({ of: "list" } | ({ of: "table" } & RowsOfTable)) & {
  /** So many items go at once. */
  parallel?: number;
  /** Goes on after an item has failed. */
  goesOn?: boolean;
};

/** Which rows of the lake; `where` with `parameters` for its `$name`. */
export interface RowsOfTable {
  table: string;
  where?: string;
  orderBy?: string;
  /** Number of rows in one item, which is then a list. */
  batch?: number;
  parameters?: JsonObject;
  /** The artifact that has the rows as they were when the step began. */
  snapshotId?: string;
}

/** An item of a `forEach` that did not complete. */
export interface ItemFailure {
  index: number;
  error: RunError;
}

/** So many failures of a list are named at most; all of them are counted. */
export const MAX_FAILURES = 1_000;

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
  /** Of a schedule: the instant that it stands for; each instant of an automation has one run at most. */
  scheduledAt: text(),
  /** The automation run whose step called this one, or whose event started it. */
  causeRunId: text(),
  /** The action run that called this one. */
  callerRunId: text(),
  /** The first run of the chain of calls and events that led to this one; null for one that begins a chain. */
  rootRunId: text(),
  /** How many links of such a chain lie before this run. */
  depth: integer().notNull(),
  /** True where the automation had a `concurrency` when it started: only such runs are counted and queued. */
  isLimited: integer({ mode: "boolean" }).notNull(),
  /** True where the automation had an `expect` or `alerts` when it started: freshness and recoveries go by such runs alone. */
  isWatched: integer({ mode: "boolean" }).notNull(),
  status: text().$type<RunStatus>().notNull(),
  triggerMethod: text().$type<TriggerMethod>().notNull(),
  triggerSourceType: text().$type<TriggerSourceType>().notNull(),
  triggerSourceId: text(),
  input: json<Json>(),
  /** What templates see of the trigger: payload, headers, query. */
  scope: longValues().notNull(),
  /** One for each step, in the definition's order. */
  steps: json<StepState[]>().notNull(),
  result: json<Json>(),
  error: json<RunError | null>(),
  /** On whose behalf it runs; an `Actor`. */
  actor: json<JsonObject>().notNull(),
  correlationId: text().notNull(),
  /** As in `actionRuns`. */
  privateTo: text(),
  /** While waiting for a retry: when it goes on. */
  dueAt: text(),
  startedAt: text(),
  completedAt: text(),
});
export type AutomationRunRow = typeof automationRuns.$inferSelect;

/** An active automation with an `expect` or `alerts.lateAfterSeconds`, and what was told of it. */
export const automationWatches = sqliteTable("automation_watches", {
  automationId: text().primaryKey(),
  organizationId: text().notNull(),
  /** From when on it is looked after: no silence begins before. */
  since: text().notNull(),
  /** The beginning of the last silence that was told of. */
  silentSince: text(),
  /** The first of the runs in a row that made too few rows; null once one made enough. */
  emptyRunId: text(),
  /** When it was last told that it is late. */
  lateAt: text(),
});
export type WatchRow = typeof automationWatches.$inferSelect;

/** The items of a `forEach`. */
export const automationRunItems = sqliteTable(
  "automation_run_items",
  {
    automationRunId: text().notNull(),
    stepKey: text().notNull(),
    /** The index in the list, from 0. */
    itemIndex: integer().notNull(),
    /** JSON text, also where the item is `null`. */
    item: text().notNull(),
    status: text()
      .$type<"pending" | "running" | "waiting" | "completed" | "failed" | "cancelled">()
      .notNull(),
    actionRunId: text(),
  },
  (t) => [primaryKey({ columns: [t.automationRunId, t.stepKey, t.itemIndex] })],
);

/** A config beside the one that runs go by; one for each automation. */
export const automationDrafts = sqliteTable("automation_drafts", {
  automationId: text().primaryKey(),
  organizationId: text().notNull(),
  /** Without secrets, as the automation's own. */
  config: json<JsonObject>().notNull(),
  /** The version that it was begun from, or that was last taken into account. */
  basedOn: integer().notNull(),
  /** Who changed or removed a step last, by the step's key; who a setting, by its name after `$`. */
  changedBy: json<Record<string, string>>().notNull(),
  updatedAt: text().notNull(),
});
export type DraftRow = typeof automationDrafts.$inferSelect;

/** How the canvas shows an automation. */
export const automationLayouts = sqliteTable("automation_layouts", {
  automationId: text().primaryKey(),
  organizationId: text().notNull(),
  layout: json<JsonObject>().notNull(),
  updatedAt: text().notNull(),
});

/** What became of items of a bulk step: a row for each group that was written down together. */
export const automationRunResults = sqliteTable(
  "automation_run_results",
  {
    automationRunId: text().notNull(),
    stepKey: text().notNull(),
    seq: integer().notNull(),
    firstIndex: integer().notNull(),
    /** Ranges of indexes, such as `0-4,7`. */
    completed: text().notNull(),
    failed: text().notNull(),
    /** A line for each item, in their order (`flows/bulk-results`). */
    body: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.automationRunId, t.stepKey, t.seq] })],
);

/** The label that a webhook's secret is sealed under. */
export const secretLabel = (row: { id: string; organizationId: string }) =>
  `automation:${row.id}:${row.organizationId}`;

/** The label that the Slack addresses of its alerts are sealed under. */
export const notifyLabel = (row: { id: string; organizationId: string }) =>
  `automation-notify:${row.id}:${row.organizationId}`;
