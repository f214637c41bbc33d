import { sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { OpenRun, WriteContext } from "../context.ts";
import { SYSTEM } from "../context.ts";
import type { Step } from "../resources/automations/config.ts";
import type { AutomationRunRow, StepState } from "../resources/automations/table.ts";
import { warningsOf } from "../resources/automations/wire-warnings.ts";
import { record } from "../resources/events/service.ts";
import { actionRuns, type RunError, type RunStatus } from "../resources/runs/table.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { deliveryEnded, retryCompleted } from "./delivery.ts";
import { itemResults } from "./item-results.ts";
import { type Starting, save } from "./save.ts";
import { seenBulk } from "./scope.ts";
import { ownResult } from "./stored-results.ts";

/** Parts of an automation run that were read before it continues. */
export interface Known extends Partial<Pick<OpenRun, "config" | "delivery">> {
  /** Results of action runs that have just ended, by ID. */
  results?: ReadonlyMap<string, Json>;
}

interface Finishing {
  starting: Starting | null;
  /** The scope of templates, if steps were started. */
  seen: Record<string, Json> | null;
  known: Known;
}

/** Finishes the run with the result of its steps. A run of a webhook can be retried later instead. */
export async function finish(
  tx: WriteContext,
  run: AutomationRunRow,
  definitions: readonly Step[],
  { starting, seen, known }: Finishing,
): Promise<AutomationRunRow> {
  const culprit = definitions
    .filter((step) => step.onError !== "continue")
    .map((step) => run.steps.find(({ key }) => key === step.key))
    .find((state) => state?.status === "failed" || state?.status === "cancelled");
  const status: RunStatus = culprit ? (culprit.status === "cancelled" ? "cancelled" : "failed") : "completed";
  const error = culprit?.error ? inStep(culprit.key, culprit.error, definitions.length) : null;
  const ended: AutomationRunRow = {
    ...run,
    status,
    error,
    result: status === "completed" ? await resultOf(tx, run, seen, known) : null,
    dueAt: null,
    completedAt: timestamp(tx.clock),
  };
  const dueAt =
    run.deliveryId === null
      ? null
      : await deliveryEnded(tx, ended, starting?.delivery ?? null, known.delivery);
  if (dueAt !== null) return save(tx, { ...ended, status: "waiting", completedAt: null, dueAt }, starting);
  if (status === "completed" && run.parentRunId !== null) await retryCompleted(tx, run);
  await recordEnd(tx, ended);
  const saved = await save(tx, ended, starting);
  tx.runFollowers.automationEnded(tx, saved);
  return saved;
}

const inStep = (key: string, error: RunError, steps: number): RunError =>
  steps === 1 ? error : { ...error, details: { ...error.details, step: key } };

const resultsOf = prepared((db: ReadDb) =>
  db
    .select({ key: actionRuns.stepKey, result: actionRuns.result })
    .from(actionRuns)
    .where(sql`${actionRuns.id} in (select value from json_each(${sql.placeholder("ids")}))`)
    .prepare(),
);

/** Returns the single step's result, or the results of all completed steps by key. */
async function resultOf(
  tx: WriteContext,
  run: AutomationRunRow,
  seen: Record<string, Json> | null,
  { results: ended }: Known,
): Promise<Json> {
  const done = run.steps.filter(
    ({ status, actionRunId, pinned, items }) =>
      (status === "completed" && (actionRunId !== null || pinned !== undefined)) ||
      (items && ["completed", "failed"].includes(status)),
  );
  const [only] = done;
  if (run.steps.length === 1 && only && !only.items && ended?.has(only.actionRunId ?? ""))
    return ended.get(only.actionRunId ?? "") ?? null;
  const known = isObject(seen?.steps ?? null) ? (seen?.steps as JsonObject) : {};
  const isKnown = ({ key, items }: StepState) => Object.hasOwn(known, key) && (!items || items.bulk);
  const results = done.every(isKnown)
    ? Object.fromEntries(done.map(({ key }) => [key, ownResult((known[key] as JsonObject).result ?? null)]))
    : await storedResults(tx, done);
  if (run.steps.length > 1) return results;
  return Object.values(results)[0] ?? null;
}

async function storedResults(tx: WriteContext, steps: readonly StepState[]): Promise<JsonObject> {
  const rows = await resultsOf(tx.db).all({ ids: JSON.stringify(steps.map((step) => step.actionRunId)) });
  const results = Object.fromEntries(rows.map((row): [string, Json] => [row.key ?? "", row.result]));
  for (const { key, items, pinned } of steps) {
    if (items?.bulk) results[key] = seenBulk({ result: results[key] ?? null }, items.bulk).result ?? null;
    else if (items) results[key] = await itemResults(tx.db, items, key);
    else if (pinned !== undefined) results[key] = pinned;
  }
  return results;
}

/** Returns the event of a run that finished by itself, or because one of its steps was cancelled. */
export async function recordEnd(tx: WriteContext, run: AutomationRunRow): Promise<void> {
  const type = {
    completed: "automation.completed",
    failed: "automation.failed",
    cancelled: "automation.cancelled",
  } as const;
  const warnings = warningsOf(run).map((warning) => ({ ...warning }));
  if (warnings.length > 0) {
    const { id: automationRunId, correlationId } = run;
    const about = { automationRunId, correlationId, warnings };
    tx.afterCommit(() => tx.log.write("warn", "automation run completed with warnings", about));
  }
  const isOpen = run.privateTo === null;
  const seconds =
    run.startedAt === null || run.completedAt === null
      ? null
      : (Date.parse(run.completedAt) - Date.parse(run.startedAt)) / 1000;
  await record(
    tx,
    type[run.status as keyof typeof type],
    { type: "automation", id: run.automationId },
    {
      runId: run.id,
      status: run.status,
      durationSeconds: seconds,
      ...(run.error && isOpen ? { error: { ...run.error } } : {}),
      ...(warnings.length > 0 && isOpen ? { warnings } : {}),
      ...(run.status === "cancelled" && tx.requestCorrelationId !== undefined
        ? { requestCorrelationId: tx.requestCorrelationId }
        : {}),
    },
    SYSTEM,
  );
}
