import { eq, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { Json, JsonObject } from "../base/json.ts";
import type { Actor, WriteContext } from "../context.ts";
import type { ActionKind } from "../executors/contract.ts";
import { actions } from "../resources/actions/table.ts";
import {
  actionRuns,
  type RunRow,
  type TriggerMethod,
  type TriggerSourceType,
} from "../resources/runs/table.ts";
import { refuseQueue } from "../resources/usage/quotas.ts";
import { changing, insertInto } from "../store/prepared.ts";
import { HANDOVER } from "./handover.ts";

/** What starts a run. */
export interface Trigger {
  method: TriggerMethod;
  sourceType: TriggerSourceType;
  sourceId: string | null;
  /** The user whose private chat it is. */
  privateTo?: string | null;
}

export interface NewRun {
  kind: ActionKind;
  /** Templates aren't evaluated yet, unless `isResolved`. */
  definition: JsonObject;
  isResolved?: boolean;
  trigger: Trigger;
  /** On whose behalf it runs. Default: the context's actor. */
  actor?: Actor;
  actionId?: string | null;
  actionVersion?: number | null;
  connectionId?: string | null;
  automationRunId?: string | null;
  stepKey?: string | null;
  parentActionRunId?: string | null;
  concurrencyKey?: string | null;
  idempotencyKey?: string | null;
  /** What templates see as `input`, if an agent starts the run. */
  input?: Json;
}

/** Signalled when a run has become due in this process. */
export const RUNS_TOPIC = "runs";
/** Signalled when a run's status, progress or log has changed. */
export const runTopic = (id: string) => `run:${id}`;

/** Signals the worker of a run that it was cancelled. */
export const cancelTopic = (id: string) => `cancel:${id}`;

const insertRun = insertInto(actionRuns);

const setLatest = changing(actions, (update) =>
  update
    .set({ latestRunId: sql`${sql.placeholder("runId")}` })
    .where(eq(actions.id, sql.placeholder("actionId"))),
);

/**
 * Queues a run. A worker can claim it once the transaction is committed. Throws `quota_exceeded`, except for steps of
 * an automation run, which was admitted as a whole.
 */
export async function enqueueRun(tx: WriteContext, run: NewRun): Promise<RunRow> {
  if (!run.automationRunId) await refuseQueue(tx);
  return enqueueRow(tx, newRun(tx, run));
}

/** Stores a pending run, and wakes the worker once it is committed, unless a claim has taken it by then. */
export async function enqueueRow(tx: WriteContext, row: RunRow): Promise<RunRow> {
  await insertRunRow(tx, row);
  const { queued } = tx.memory.of(HANDOVER);
  queued.add(row.id);
  tx.afterCommit(() => {
    if (queued.delete(row.id)) tx.signals.notify(RUNS_TOPIC);
  });
  tx.afterRollback(() => queued.delete(row.id));
  return row;
}

/** Stores a run unchanged, and as its action's latest one unless it is private. */
export async function insertRunRow(tx: WriteContext, row: RunRow): Promise<void> {
  await insertRun(tx.db, row);
  if (row.actionId !== null && row.privateTo === null)
    await setLatest(tx.db, { runId: row.id, actionId: row.actionId });
}

/** Returns the row of a new run. */
export function newRun(tx: WriteContext, run: NewRun): RunRow {
  const { actor = tx.actor } = run;
  const at = timestamp(tx.clock);
  return {
    id: tx.ids.uuid(),
    organizationId: tx.organizationId,
    createdAt: at,
    createdBy: actor.type === "user" || actor.type === "api" ? actor.id : null,
    updatedAt: at,
    actionId: run.actionId ?? null,
    actionVersion: run.actionVersion ?? null,
    automationRunId: run.automationRunId ?? null,
    stepKey: run.stepKey ?? null,
    kind: run.kind,
    status: "pending",
    statuses: [["pending", null, at, 0]],
    connectionId: run.connectionId ?? null,
    definition: run.definition,
    isResolved: run.isResolved ?? false,
    progress: null,
    progressId: null,
    result: null,
    error: null,
    retryCount: 0,
    interruptCount: 0,
    processDeaths: 0,
    concurrencyKey: run.concurrencyKey ?? null,
    datasetKey: tx.executors[run.kind].writes?.(run.definition) ?? null,
    idempotencyKey: run.idempotencyKey ?? null,
    input: run.input ?? null,
    parentActionRunId: run.parentActionRunId ?? null,
    triggerMethod: run.trigger.method,
    triggerSourceType: run.trigger.sourceType,
    triggerSourceId: run.trigger.sourceId,
    actor: { ...actor },
    correlationId: tx.correlationId,
    privateTo: run.trigger.privateTo ?? null,
    dueAt: at,
    waitKind: null,
    waitId: null,
    waitUntil: null,
    leaseToken: null,
    leaseUntil: null,
    bootId: null,
    cancelRequestedAt: null,
    cancelRequest: null,
    startedAt: null,
    completedAt: null,
  };
}
