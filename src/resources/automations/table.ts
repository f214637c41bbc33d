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

/** Signalled if something changed that webhook requests depend on: an automation, or its organization's plan. */
export const WEBHOOKS_TOPIC = "hooks";

export const automations = sqliteTable("automations", {
  ...owned(),
  name: text().notNull(),
  slug: text().notNull(),
  description: text(),
  /** Without the webhook's secret, which is sealed apart. */
  config: json<JsonObject>().notNull(),
  /** Increases with each change of `config`. A run keeps the version it started with. */
  version: integer().notNull(),
  /** `SecretBox` text under the label `automation:<id>:<organization>`; null without a webhook. */
  sealedSecret: text(),
  /** What the sender of a webhook sends along, by its `config.auth`; sealed under `automation-auth:<id>:<organization>`. */
  sealedAuth: text(),
  /** The Slack addresses of `config.alerts.notify`, as a JSON list; sealed under `automation-notify:<id>:<organization>`. */
  sealedNotify: text(),
  /**
   * Why signed requests need a timestamp: `new`, the automation was created since that is the rule, or `seen`, one has
   * arrived. Null for neither.
   */
  timestampRule: text().$type<"new" | "seen">(),
  /** Of a webhook or a form. */
  webhookPath: text(),
  orchestratorType: text().$type<"local">().notNull(),
  status: text().$type<AutomationStatus>().notNull(),
  triggerType: text().$type<TriggerType>().notNull(),
  templateId: text(),
  tags: json<string[]>().notNull(),
  /** Only for an active schedule: the next time that a run is due. Null if there is none. */
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

/** What a test run has instead of a version. */
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
  /** For a step with `delay`: while it only waits for this time. */
  delayUntil?: string;
  /** In a test run: the result to use instead of running the step. */
  pinned?: Json;
}

/** Progress of a `forEach`. */
export interface ItemsState {
  /** The automation run that the rows of the items belong to. */
  runId: string;
  total: number;
  /** In line, under way or waiting. */
  running: number;
  /** Those of them that wait for something other than a worker or a time. */
  waiting?: number;
  completed: number;
  /** Failed or cancelled. */
  failed: number;
  /** If one action run processes all of them: what they are. */
  bulk?: BulkItems;
}

/** The items of a list, stored with the run, or the rows of a table. */
export type BulkItems = ({ of: "list" } | ({ of: "table" } & RowsOfTable)) & {
  /** Number of items that run at once. */
  parallel?: number;
  /** Whether it continues after an item has failed. */
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

/** Maximum number of named failures of a list. All of them are counted. */
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
  /** The run that this one retries. */
  parentRunId: text(),
  /** Only for a schedule: the scheduled time. Each time of an automation has at most one run. */
  scheduledAt: text(),
  /** The automation run whose step called this one, or whose event started it. */
  causeRunId: text(),
  /** The action run that called this one. */
  callerRunId: text(),
  /** The first run of the chain of calls and events that led to this one. Null for a run that starts a chain. */
  rootRunId: text(),
  /** Number of links of that chain before this run. */
  depth: integer().notNull(),
  /** Whether the automation had `concurrency` when it started. Only such runs are counted and queued. */
  isLimited: integer({ mode: "boolean" }).notNull(),
  /**
   * Whether the automation had `expect` or `alerts` when it started. Freshness and recovery only consider such runs.
   */
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
  /** While waiting for a retry: when it continues. */
  dueAt: text(),
  startedAt: text(),
  completedAt: text(),
});
export type AutomationRunRow = typeof automationRuns.$inferSelect;

/** An active automation with `expect` or `alerts.lateAfterSeconds`, and what was reported about it. */
export const automationWatches = sqliteTable("automation_watches", {
  automationId: text().primaryKey(),
  organizationId: text().notNull(),
  /** From when on it is looked after: no silence begins before. */
  since: text().notNull(),
  /** Start of the last silence that was reported. */
  silentSince: text(),
  /** The first of the runs in a row that made too few rows; null once one made enough. */
  emptyRunId: text(),
  /** When lateness was last reported. */
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
    /** JSON text, also if the item is `null`. */
    item: text().notNull(),
    status: text()
      .$type<"pending" | "running" | "waiting" | "completed" | "failed" | "cancelled">()
      .notNull(),
    actionRunId: text(),
  },
  (t) => [primaryKey({ columns: [t.automationRunId, t.stepKey, t.itemIndex] })],
);

/** A draft of a config, one per automation. */
export const automationDrafts = sqliteTable("automation_drafts", {
  automationId: text().primaryKey(),
  organizationId: text().notNull(),
  /** Without secrets, as the automation's own. */
  config: json<JsonObject>().notNull(),
  /** The version that the draft is based on, or that was last merged. */
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

/** Outcomes of items of a bulk step: one row per group that was stored together. */
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
