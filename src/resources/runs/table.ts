import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Json, JsonObject } from "../../base/json.ts";
import type { ActionKind, LogLevel, WaitKind } from "../../executors/contract.ts";
import { json } from "../../store/columns.ts";

export const RUN_STATUSES = ["pending", "running", "waiting", "completed", "failed", "cancelled"] as const;
/**
 * pending → running → completed | failed | cancelled; running ⇄ waiting (approval, called automation,
 * retry delay). `completed`, `failed` and `cancelled` are final.
 */
export type RunStatus = (typeof RUN_STATUSES)[number];

export const TRIGGER_METHODS = [
  "ui",
  "api",
  "cli",
  "schedule",
  "webhook",
  "form",
  "event",
  "automation",
  "agent",
  "retry",
  "test",
] as const;
export type TriggerMethod = (typeof TRIGGER_METHODS)[number];
export type TriggerSourceType = "user" | "api_key" | "automation" | "agent" | "system";

export interface RunError {
  code: string;
  message: string;
  retryable: boolean;
  attempt: number;
  details: JsonObject | null;
}

export interface RunProgress {
  phase: string;
  message: string | null;
  current: number | null;
  total: number | null;
  unit: string | null;
  percent: number | null;
  updatedAt: string;
}

/** A status that a run has had: since when, and after how many lines of its log. `waitKind` as in the run's row. */
export type PastStatus = [status: RunStatus, waitKind: WaitKind | null, since: string, afterSeq: number];

export const actionRuns = sqliteTable("action_runs", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  createdAt: text().notNull(),
  createdBy: text(),
  updatedAt: text().notNull(),
  /** Null for the inline action of an automation's step. */
  actionId: text(),
  /** Version of the action. Null without an action, and for a retry queued before versions were stored. */
  actionVersion: integer(),
  automationRunId: text(),
  stepKey: text(),
  kind: text().$type<ActionKind>().notNull(),
  status: text().$type<RunStatus>().notNull(),
  /**
   * All statuses that the run has had, in order, the current one too: every change of `status` adds one (`queue/statuses`).
   * Empty for a run that ended before there was this column.
   */
  statuses: json<PastStatus[]>().notNull(),
  connectionId: text(),
  definition: json<JsonObject>().notNull(),
  /** True once the templates in `definition` have been filled in; that happens once, at the first start. */
  isResolved: integer({ mode: "boolean" }).notNull(),
  progress: json<RunProgress | null>(),
  /** The id of `progress` in the run's stream. */
  progressId: integer(),
  result: json<Json>(),
  error: json<RunError | null>(),
  /** Number of attempts after the first. */
  retryCount: integer().notNull(),
  /** How often a process ended under the run. */
  interruptCount: integer().notNull(),
  /** How often the process died with the run under way; no clean stop and no lost lease counts. */
  processDeaths: integer().notNull().default(0),
  concurrencyKey: text(),
  /** `layer.dataset` that it writes to; runs of one dataset go one at a time. */
  datasetKey: text(),
  idempotencyKey: text(),
  /** What an agent gave it, `{{input.x}}` in templates; null for all others. */
  input: json<Json>(),
  parentActionRunId: text(),
  triggerMethod: text().$type<TriggerMethod>().notNull(),
  triggerSourceType: text().$type<TriggerSourceType>().notNull(),
  triggerSourceId: text(),
  /** On whose behalf it runs; an `Actor`. */
  actor: json<JsonObject>().notNull(),
  correlationId: text().notNull(),
  /** The one whose private chat set it off: others see its kind, its times and its status alone. */
  privateTo: text(),
  /** Not claimed before this time. Null while it waits for something else. */
  dueAt: text(),
  /** What a waiting run waits for. Null for the pause before another attempt. */
  waitKind: text().$type<WaitKind>(),
  /** ID of that, such as a decision. Created here, so that what it waits for can end immediately. */
  waitId: text(),
  /** Fences off a worker that lost the run: every write of an outcome names it. */
  leaseToken: text(),
  /** Until then, the run has a living worker. */
  leaseUntil: text(),
  /** The process that holds the lease. */
  bootId: text(),
  cancelRequestedAt: text(),
  /** Who requested it, and the correlation ID of the request, for the cancellation's event. */
  cancelRequest: json<{ actor: JsonObject; correlationId: string } | null>(),
  startedAt: text(),
  completedAt: text(),
});
export type RunRow = typeof actionRuns.$inferSelect;

export const runLogs = sqliteTable(
  "run_logs",
  {
    runId: text().notNull(),
    /** From 1, without gaps. */
    seq: integer().notNull(),
    timestamp: text().notNull(),
    level: text().$type<LogLevel>().notNull(),
    message: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.runId, t.seq] })],
);
export type RunLogRow = typeof runLogs.$inferSelect;
