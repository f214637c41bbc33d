import { secondsBetween } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import type { Actor, OpenRun, WriteContext } from "../context.ts";
import type { Done, NewArtifact, Waiting } from "../executors/contract.ts";
import type { LakeLoad, LakeRead } from "../lake/contract.ts";
import type { ArtifactRow } from "../resources/artifacts/table.ts";
import { record } from "../resources/events/service.ts";
import type { RunError, RunProgress, RunRow } from "../resources/runs/table.ts";
import { RUNS_TOPIC, runTopic } from "./enqueue.ts";
import type { NewLog } from "./logs.ts";
import { entityOf } from "./run-events.ts";

/** How an execution ended. */
export type Outcome =
  | {
      status: "completed";
      result: JsonObject;
      whole?: Done["whole"];
      load?: LakeLoad;
      reads?: readonly LakeRead[];
      artifacts?: readonly NewArtifact[];
      staged?: readonly ArtifactRow[];
    }
  | { status: "failed"; error: RunError; result?: JsonObject; staged?: readonly ArtifactRow[] }
  | { status: "waiting"; error: RunError; dueAt: string }
  | { status: "waiting"; wait: Waiting }
  | { status: "cancelled" };

/**
 * Does what every end of a run requires, in the transaction that updates its row: the event, what follows in its
 * automation, and the signals. `open` is the automation run if it was read before.
 */
export async function endRun(
  tx: WriteContext,
  run: RunRow,
  outcome: Outcome,
  open: OpenRun | null = null,
): Promise<void> {
  await recordOutcome(tx, run, outcome);
  if (run.automationRunId !== null) {
    if (outcome.status !== "waiting") await tx.runFollowers.ended(tx, [run], open);
    else if ("dueAt" in outcome) await tx.runFollowers.waits(tx, run);
  }
  notifyChanged(tx, run);
}

/** Last line of the log: why an attempt failed. */
export function failureLine(outcome: Outcome, timestamp: string): NewLog[] {
  if (!("error" in outcome)) return [];
  const { message } = outcome.error;
  return outcome.status === "failed"
    ? [{ timestamp, level: "error", message }]
    : [{ timestamp, level: "warn", message: `${message} Next attempt at ${outcome.dueAt}.` }];
}

/** Signals the run's watchers, and the worker if another run can start. */
export function notifyChanged(tx: WriteContext, run: RunRow): void {
  tx.afterCommit(() => {
    tx.signals.notify(runTopic(run.id));
    const setsFree = run.concurrencyKey !== null || run.datasetKey !== null;
    if (setsFree || run.status === "waiting") tx.signals.notify(RUNS_TOPIC);
  });
}

export async function recordOutcome(tx: WriteContext, row: RunRow, outcome: Outcome): Promise<void> {
  const data: JsonObject = {
    runId: row.id,
    ...(row.privateTo === null ? { actionId: row.actionId } : {}),
    kind: row.kind,
    status: row.status,
    durationSeconds: secondsBetween(row.startedAt, row.completedAt),
  };
  switch (outcome.status) {
    case "completed":
      return record(tx, "action.completed", entityOf(row), {
        ...data,
        recordsProcessed: row.privateTo === null ? recordsIn(outcome.result) : null,
      });
    case "failed":
      return record(tx, "action.failed", entityOf(row), { ...data, ...errorOf(row, outcome.error) });
    case "cancelled":
      return recordCancelled(tx, row, data);
    case "waiting":
      if ("wait" in outcome) {
        const waits = { phase: "waiting", waitKind: row.waitKind, waitId: row.waitId };
        return record(tx, "action.progress", entityOf(row), { ...data, ...waits });
      }
      return record(tx, "action.progress", entityOf(row), {
        ...data,
        phase: "retry",
        dueAt: outcome.dueAt,
        ...errorOf(row, outcome.error),
      });
  }
}

/** The actor is the user who cancelled the run, if anyone did. */
function recordCancelled(tx: WriteContext, row: RunRow, data: JsonObject): Promise<void> {
  const { cancelRequest } = row;
  if (cancelRequest === null) return record(tx, "action.cancelled", entityOf(row), data);
  const { correlationId: requestCorrelationId } = cancelRequest;
  const actor = cancelRequest.actor as unknown as Actor;
  return record(tx, "action.cancelled", entityOf(row), { ...data, requestCorrelationId }, actor);
}

const recordsIn = (result: JsonObject): number | null =>
  typeof result.rows === "number" ? result.rows : null;
/** Errors of a private run are visible to one person only. */
const errorOf = ({ privateTo }: RunRow, error: RunError): JsonObject =>
  privateTo === null ? { error: { ...error } } : {};

export const recordProgress = (tx: WriteContext, run: RunRow, progress: RunProgress): Promise<void> =>
  record(
    tx,
    "action.progress",
    entityOf(run),
    run.privateTo === null
      ? { runId: run.id, actionId: run.actionId, ...progress }
      : { runId: run.id, kind: run.kind, phase: "running" },
  );
