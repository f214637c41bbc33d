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

/** A past or current status of a run: since when, and after how many log lines. `waitKind` is as in the run's row. */
export type PastStatus = [status: RunStatus, waitKind: WaitKind | null, since: string, afterSeq: number];

export const actionRuns = sqliteTable("action_runs", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  createdAt: text().notNull(),
  createdBy: text(),
  updatedAt: text().notNull(),
  /** Null for an inline action of a step. */
  actionId: text(),
  /** Version of the action. Null without an action, and for a retry queued before versions were stored. */
  actionVersion: integer(),
  automationRunId: text(),
  stepKey: text(),
  kind: text().$type<ActionKind>().notNull(),
  status: text().$type<RunStatus>().notNull(),
  /**
   * All statuses that the run has had, in order, including the current one:
   * every change of `status` adds one (`queue/statuses`). Empty for a run that ended before this column existed.
   */
  statuses: json<PastStatus[]>().notNull(),
  connectionId: text(),
  definition: json<JsonObject>().notNull(),
  /** Whether the templates in `definition` have been filled in, which happens once, at the first start. */
  isResolved: integer({ mode: "boolean" }).notNull(),
  progress: json<RunProgress | null>(),
  /** ID of `progress` in the run's stream. */
  progressId: integer(),
  result: json<Json>(),
  error: json<RunError | null>(),
  /** Number of attempts after the first. */
  retryCount: integer().notNull(),
  /** How often a process stopped during the run. */
  interruptCount: integer().notNull(),
  /** How often the process crashed during the run. Clean stops and lost leases don't count. */
  processDeaths: integer().notNull().default(0),
  concurrencyKey: text(),
  /** The `layer.dataset` that it writes to. Runs for the same dataset run one at a time. */
  datasetKey: text(),
  idempotencyKey: text(),
  /** Input from an agent, `{{input.x}}` in templates. Null for other runs. */
  input: json<Json>(),
  parentActionRunId: text(),
  triggerMethod: text().$type<TriggerMethod>().notNull(),
  triggerSourceType: text().$type<TriggerSourceType>().notNull(),
  triggerSourceId: text(),
  /** An `Actor`: on whose behalf it runs. */
  actor: json<JsonObject>().notNull(),
  correlationId: text().notNull(),
  /** User whose private chat started it. Others only see its kind, times and status. */
  privateTo: text(),
  /** Not claimed before this time. Null while it waits for something else. */
  dueAt: text(),
  /** What a waiting run waits for. Null for the pause before another attempt. */
  waitKind: text().$type<WaitKind>(),
  /** ID of that, such as a decision. Created here, so that what it waits for can end immediately. */
  waitId: text(),
  /** When that ends as a timeout. Null for never. */
  waitUntil: text(),
  /** Fences off a worker that lost the run: outcomes are only written with this token. */
  leaseToken: text(),
  /** Until when a live worker has the run. */
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
