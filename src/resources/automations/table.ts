import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Json, JsonObject } from "../../base/json.ts";
import type { WaitKind } from "../../executors/contract.ts";
import { json, longValues, owned } from "../../store/columns.ts";
import type { RunError, RunStatus, TriggerMethod, TriggerSourceType } from "../runs/table.ts";

/** A draft may be incomplete, and nothing triggers it. */
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
  /** Without the webhook's secret, which is encrypted separately. */
  config: json<JsonObject>().notNull(),
  /** Increases with each change of `config`. A run keeps the version it started with. */
  version: integer().notNull(),
  /** `SecretBox` text with the label `automation:<id>:<organization>`. Null without a webhook. */
  sealedSecret: text(),
  /**
   * Secret that a webhook's sender sends, as set in `config.auth`.
   * Encrypted with the label `automation-auth:<id>:<organization>`.
   */
  sealedAuth: text(),
  /**
   * Slack URLs of `config.alerts.notify`, a JSON list.
   * Encrypted with the label `automation-notify:<id>:<organization>`.
   */
  sealedNotify: text(),
  /**
   * Why signed requests need a timestamp. `new`: the automation is newer than the rule. `seen`:
   * a request with one has arrived. Null if they don't.
   */
  timestampRule: text().$type<"new" | "seen">(),
  /** For a webhook or a form. */
  webhookPath: text(),
  orchestratorType: text().$type<"local">().notNull(),
  status: text().$type<AutomationStatus>().notNull(),
  triggerType: text().$type<TriggerType>().notNull(),
  templateId: text(),
  tags: json<string[]>().notNull(),
  /** Only for an active schedule: the next time that a run is due. Null if there is none. */
  nextRunAt: text(),
  /** For an active event trigger: only events after this position in the log start runs. */
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

/** Configs of test runs, which aren't versions of their automations. */
export const automationRunConfigs = sqliteTable("automation_run_configs", {
  automationRunId: text().primaryKey(),
  config: json<JsonObject>().notNull(),
});

/** Marks a test run, whose config isn't a version. */
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
  /** For a step that is attempted again: the action run of the attempt before. Items have theirs in their rows. */
  repeats?: string;
  /** What the step waits for, while it waits. */
  waitKind?: WaitKind;
  /** Of the automation that it called. */
  warnings?: string[];
  /** For a step with `forEach`, once it has begun. */
  items?: ItemsState;
  /** For a step with `delay`: while it only waits for this time. */
  delayUntil?: string;
  /** In a test run: the result to use instead of running the step. */
  pinned?: Json;
}

/** Returns whether a step waits only for a time and hasn't begun. A step that has begun keeps its `delayUntil`. */
export const isDelayed = ({ status, delayUntil, actionRunId, items }: StepState): boolean =>
  status === "waiting" && delayUntil !== undefined && actionRunId === null && !items?.running;

/** Progress of a `forEach`. */
export interface ItemsState {
  /** The automation run that the rows of the items belong to. */
  runId: string;
  total: number;
  /** Queued, running or waiting. */
  running: number;
  /** Of these, the number that wait for something other than a worker or a time. */
  waiting?: number;
  completed: number;
  /** Failed or cancelled. */
  failed: number;
  /** The items, if one action run processes all of them. */
  bulk?: BulkItems;
}

/** The items of a list, stored with the run, or rows of a table. */
export type BulkItems = ({ of: "list" } | ({ of: "table" } & RowsOfTable)) & {
  /** Number of items that run at once. */
  parallel?: number;
  /** Whether it continues after an item has failed. */
  goesOn?: boolean;
};

/** Rows of a table in the lake. `parameters` has the values for `$name` in `where`. */
export interface RowsOfTable {
  table: string;
  where?: string;
  orderBy?: string;
  /** Number of rows per item. If set, an item is a list. */
  batch?: number;
  parameters?: JsonObject;
  /** Artifact with the rows as of the start of the step. */
  snapshotId?: string;
}

/** An item of a `forEach` that didn't complete. */
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
  /** One per step, in the definition's order. */
  steps: json<StepState[]>().notNull(),
  result: json<Json>(),
  error: json<RunError | null>(),
  /** An `Actor`: on whose behalf it runs. */
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

/** An active automation with `expect` or `alerts.lateAfterSeconds`, and what has been reported about it. */
export const automationWatches = sqliteTable("automation_watches", {
  automationId: text().primaryKey(),
  organizationId: text().notNull(),
  /** Start of monitoring: earlier silence isn't counted. */
  since: text().notNull(),
  /** Start of the last silence that was reported. */
  silentSince: text(),
  /** The first of consecutive runs that produced too few rows. Null after one that produced enough. */
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
    /** Index in the list, from 0. */
    itemIndex: integer().notNull(),
    /** JSON text, also if the item is `null`. */
    item: text().notNull(),
    status: text()
      .$type<"pending" | "running" | "waiting" | "completed" | "failed" | "cancelled">()
      .notNull(),
    /** Of a pending item: that of the attempt before. */
    actionRunId: text(),
  },
  (t) => [primaryKey({ columns: [t.automationRunId, t.stepKey, t.itemIndex] })],
);

/** A draft of a config, one per automation. */
export const automationDrafts = sqliteTable("automation_drafts", {
  automationId: text().primaryKey(),
  organizationId: text().notNull(),
  /** Without secrets, like the automation's own config. */
  config: json<JsonObject>().notNull(),
  /** The version that the draft is based on, or that was last merged. */
  basedOn: integer().notNull(),
  /** Who last changed or removed each step, by its key, and each setting, by `$` and its name. */
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
    /** One line per item, in order (`flows/bulk-results`). */
    body: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.automationRunId, t.stepKey, t.seq] })],
);

/** Label for encrypting a webhook's secret. */
export const secretLabel = (row: { id: string; organizationId: string }) =>
  `automation:${row.id}:${row.organizationId}`;

/** Label for encrypting the Slack URLs of alerts. */
export const notifyLabel = (row: { id: string; organizationId: string }) =>
  `automation-notify:${row.id}:${row.organizationId}`;
