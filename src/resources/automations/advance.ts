import { and, eq, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { holds } from "../../base/condition.ts";
import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { Scope } from "../../base/template.ts";
import type { WriteContext } from "../../context.ts";
import type { Executor } from "../../executors/contract.ts";
import { insertInto, prepared } from "../../store/prepared.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { record } from "../events/service.ts";
import { deliverySettled, type HeldDelivery } from "../inbound/settle.ts";
import { SYSTEM } from "../runs/claim.ts";
import { type Decider, decideRun } from "../runs/decide.ts";
import { enqueueRun } from "../runs/enqueue.ts";
import { actionRuns, type RunError, type RunRow, type RunStatus } from "../runs/table.ts";
import { type AutomationConfig, readDependency, type Step, stepsOf } from "./config.ts";
import { beginItems, itemResults, itemSettled } from "./each.ts";
import { automationRunEnded } from "./ended.ts";
import { automationScope, seenItems, seenStep } from "./scope.ts";
import { type AutomationRunRow, automationRuns, automationVersions, type StepState } from "./table.ts";
import { runOfStep, workOf } from "./work.ts";

/** Signalled when an automation run has changed. */
export const automationRunTopic = (id: string) => `automation-run:${id}`;

const ENDED: readonly string[] = ["completed", "failed", "cancelled", "skipped"];
export const isEnded = (status: string) => ENDED.includes(status);

const runById = prepared((db: ReadDb) =>
  db
    .select()
    .from(automationRuns)
    .where(eq(automationRuns.id, sql.placeholder("id")))
    .prepare(),
);

const configOf = prepared((db: ReadDb) =>
  db
    .select({ config: automationVersions.config })
    .from(automationVersions)
    .where(
      and(
        eq(automationVersions.automationId, sql.placeholder("automationId")),
        eq(automationVersions.version, sql.placeholder("version")),
      ),
    )
    .prepare(),
);

const insertRun = insertInto(automationRuns);

const saveRun = prepared((db: WriteDb) =>
  db
    .update(automationRuns)
    .set({
      status: sql`${sql.placeholder("status")}`,
      steps: sql`${sql.placeholder("steps")}`,
      result: sql`${sql.placeholder("result")}`,
      error: sql`${sql.placeholder("error")}`,
      dueAt: sql`${sql.placeholder("dueAt")}`,
      // What a retry took over from a webhook is kept until it is processed, as in the delivery itself.
      scope: sql`case when ${sql.placeholder("status")} = 'completed' then '{}' else ${automationRuns.scope} end`,
      completedAt: sql`${sql.placeholder("completedAt")}`,
      updatedAt: sql`${sql.placeholder("now")}`,
    })
    .where(eq(automationRuns.id, sql.placeholder("id")))
    .prepare(),
);

/** Takes note of a step's ended action run, in its transaction, and starts whatever that sets free. */
export async function stepSettled(tx: WriteContext, run: RunRow): Promise<void> {
  const [row] = await runById(tx.db).all({ id: run.automationRunId });
  if (!row || isEnded(row.status)) return;
  if (row.steps.some((step) => step.key === run.stepKey && step.items))
    return itemOfStepSettled(tx, row, run);
  const steps = row.steps.map(
    (step): StepState =>
      step.key === run.stepKey && step.actionRunId === run.id
        ? {
            ...step,
            status: run.status,
            startedAt: run.startedAt,
            completedAt: run.completedAt,
            error: run.error,
            waitKind: undefined,
          }
        : step,
  );
  await advance(tx, { ...row, steps });
}

/** The same for the run of one item of a `forEach`. */
async function itemOfStepSettled(tx: WriteContext, row: AutomationRunRow, ended: RunRow): Promise<void> {
  const definitions = stepsOf(await findConfig(tx, row));
  const definition = definitions.find(({ key }) => key === ended.stepKey);
  if (!definition) return;
  const state = row.steps.find(({ key }) => key === definition.key);
  if (!state) return;
  const isStopped = hasFailed(definitions, row.steps);
  const settled = await itemSettled(tx, row, definition, { state, ended, isStopped });
  const next = { ...row, steps: row.steps.map((each) => (each === state ? settled : each)) };
  if (isEnded(settled.status)) await advance(tx, next);
  else await save(tx, next, null);
}

/** True once a step has failed whose failure is that of the run. */
const hasFailed = (definitions: readonly Step[], states: readonly StepState[]): boolean =>
  definitions.some(
    ({ key, onError }) =>
      onError !== "continue" && states.some((state) => state.key === key && state.status === "failed"),
  );

/** Takes note of a step that waits for something else than a worker or time. */
export async function stepWaits(tx: WriteContext, run: RunRow): Promise<void> {
  const [row] = await runById(tx.db).all({ id: run.automationRunId });
  if (!row || isEnded(row.status)) return;
  const steps = row.steps.map(
    (step): StepState =>
      step.key === run.stepKey && step.actionRunId === run.id
        ? { ...step, status: "waiting", startedAt: run.startedAt, waitKind: run.waitKind ?? undefined }
        : step,
  );
  await save(tx, { ...row, steps, status: statusOf(steps) }, null);
}

/** `waiting` where no step is in line or under way. */
const statusOf = (steps: readonly StepState[]): RunStatus =>
  steps.some(
    ({ status, actionRunId }) => status === "running" || (status === "pending" && actionRunId !== null),
  )
    ? "running"
    : "waiting";

/** A run that is being started: its row, and its delivery's, are stored once, as the first steps leave them. */
export interface Starting {
  config: AutomationConfig;
  delivery: HeldDelivery | null;
}

/** Starts every step that can start, and ends the run when nothing is left to do. */
export async function advance(
  tx: WriteContext,
  run: AutomationRunRow,
  starting: Starting | null = null,
): Promise<AutomationRunRow> {
  const definitions = stepsOf(starting?.config ?? (await findConfig(tx, run)));
  const states = new Map(run.steps.map((step) => [step.key, { ...step }]));
  let results: Record<string, Json> | null = null;

  for (let moved = true; moved; ) {
    moved = false;
    for (const step of definitions) {
      const state = states.get(step.key);
      if (state?.status !== "pending" || state.actionRunId !== null) continue;
      const dependencies = (step.dependsOn ?? []).map(readDependency);
      if (!dependencies.every(({ key }) => isEnded(states.get(key)?.status ?? "skipped"))) continue;
      results ??= await automationScope(tx.db, run);
      Object.assign(
        state,
        hasFailed(definitions, [...states.values()])
          ? skipped(tx)
          : await begin(tx, run, step, dependencies, states, results),
      );
      moved = true;
    }
  }
  const steps = [...states.values()];
  if (!steps.every((step) => isEnded(step.status)))
    return save(tx, { ...run, steps, status: statusOf(steps) }, starting);
  return finish(tx, { ...run, steps }, definitions, starting, results);
}

async function findConfig(tx: WriteContext, run: AutomationRunRow): Promise<AutomationConfig> {
  const [version] = await configOf(tx.db).all({
    automationId: run.automationId,
    version: run.automationVersion,
  });
  if (!version)
    throw new AppError("internal", "The version of the automation that this run began with is gone.");
  return version.config as AutomationConfig;
}

const skipped = (tx: WriteContext): Partial<StepState> => ({
  status: "skipped",
  completedAt: timestamp(tx.clock),
});

/** Decides over one step whose dependencies have ended: skipped, failed, or in line. */
async function begin(
  tx: WriteContext,
  run: AutomationRunRow,
  step: Step,
  dependencies: readonly { key: string; branch: string | null }[],
  states: ReadonlyMap<string, StepState>,
  scope: Record<string, Json>,
): Promise<Partial<StepState>> {
  const wanted = dependencies.filter(({ key, branch }) => isTaken(states.get(key), branch, scope));
  if (dependencies.length > 0 && wanted.length === 0) return skipped(tx);
  if (
    dependencies.some(({ branch }) => branch !== null) &&
    !dependencies.some(
      ({ key, branch }) => branch !== null && wanted.some((w) => w.key === key && w.branch === branch),
    )
  ) {
    return skipped(tx);
  }
  try {
    if (step.when !== undefined && !(await holds(step.when, { ...scope, now: timestamp(tx.clock) })))
      return skipped(tx);
    if (step.forEach !== undefined) return await beginStepWithItems(tx, run, step, states, scope);
    const started = await startStep(tx, run, step, scope);
    if (started.status !== "pending" && isObject(scope.steps)) scope.steps[step.key] = seenStep(started);
    const { id: actionRunId, status, startedAt, completedAt, error } = started;
    return { status, actionRunId, startedAt: startedAt ?? timestamp(tx.clock), completedAt, error };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "internal") throw error;
    const { code, message, retryable } = error;
    const at = timestamp(tx.clock);
    return {
      status: "failed",
      startedAt: at,
      completedAt: at,
      error: { code, message, retryable, attempt: 1, details: null },
    };
  }
}

async function beginStepWithItems(
  tx: WriteContext,
  run: AutomationRunRow,
  step: Step,
  states: ReadonlyMap<string, StepState>,
  scope: Record<string, Json>,
): Promise<Partial<StepState>> {
  const state = states.get(step.key);
  if (!state) throw new AppError("internal", "A step of this run has no state.");
  const begun = await beginItems(tx, run, step, { state, scope });
  if (begun.status === "completed" && isObject(scope.steps))
    scope.steps[step.key] = seenItems(
      { ...state, ...begun },
      await itemResults(tx.db, begun.items, step.key),
    );
  return begun;
}

/** A dependency counts when its step ran (also when it failed and was told to go on), and took the branch. */
function isTaken(state: StepState | undefined, branch: string | null, scope: Scope): boolean {
  if (!state || state.status === "skipped" || state.status === "cancelled") return false;
  if (branch === null) return true;
  const steps = scope.steps;
  const step = isObject(steps) ? steps[state.key] : null;
  const result = isObject(step) ? step.result : null;
  return isObject(result) && result.branch === branch;
}

/** In line, or already at its end where its kind is decided on the spot. */
async function startStep(tx: WriteContext, run: AutomationRunRow, step: Step, scope: Scope): Promise<RunRow> {
  const work = await workOf(tx, step);
  const input = runOfStep(tx, run, { step, work, scope });
  const executor = tx.executors[work.kind];
  return isDecider(executor) && input.concurrencyKey === null
    ? decideRun(tx, executor, input, scope)
    : enqueueRun(tx, input);
}

const isDecider = (executor: Executor | undefined): executor is Decider => executor?.decide !== undefined;

async function finish(
  tx: WriteContext,
  run: AutomationRunRow,
  definitions: readonly Step[],
  starting: Starting | null,
  seen: Record<string, Json> | null,
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
    result: status === "completed" ? await resultOf(tx, run, seen) : null,
    dueAt: null,
    completedAt: timestamp(tx.clock),
  };
  const dueAt = run.deliveryId === null ? null : await deliverySettled(tx, ended, starting?.delivery ?? null);
  if (dueAt !== null) return save(tx, { ...ended, status: "waiting", completedAt: null, dueAt }, starting);
  await recordEnd(tx, ended);
  const saved = await save(tx, ended, starting);
  await automationRunEnded(tx, saved);
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

/** The one step's result, or the results of all completed steps by key. */
async function resultOf(
  tx: WriteContext,
  run: AutomationRunRow,
  seen: Record<string, Json> | null,
): Promise<Json> {
  const done = run.steps.filter(
    ({ status, actionRunId, items }) =>
      (status === "completed" && actionRunId !== null) || (items && ["completed", "failed"].includes(status)),
  );
  const known = isObject(seen?.steps ?? null) ? (seen?.steps as JsonObject) : {};
  const results = done.every(({ key }) => Object.hasOwn(known, key))
    ? Object.fromEntries(done.map(({ key }) => [key, (known[key] as JsonObject).result ?? null]))
    : await storedResults(tx, done);
  if (run.steps.length > 1) return results;
  return Object.values(results)[0] ?? null;
}

async function storedResults(tx: WriteContext, steps: readonly StepState[]): Promise<JsonObject> {
  const rows = await resultsOf(tx.db).all({ ids: JSON.stringify(steps.map((step) => step.actionRunId)) });
  const results = Object.fromEntries(rows.map((row): [string, Json] => [row.key ?? "", row.result]));
  for (const { key, items } of steps) if (items) results[key] = await itemResults(tx.db, items, key);
  return results;
}

async function recordEnd(tx: WriteContext, run: AutomationRunRow): Promise<void> {
  const type = {
    completed: "automation.completed",
    failed: "automation.failed",
    cancelled: "automation.cancelled",
  } as const;
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
      ...(run.error ? { error: { ...run.error } } : {}),
    },
    SYSTEM,
  );
}

/** Stores a new run; what a webhook brought lies in its delivery, and what is done needs it no more. */
export async function insertAutomationRun(tx: WriteContext, run: AutomationRunRow): Promise<void> {
  const isKept = run.deliveryId === null && run.status !== "completed";
  await insertRun(tx.db, isKept ? run : { ...run, scope: {} });
}

async function save(
  tx: WriteContext,
  run: AutomationRunRow,
  starting: Starting | null,
): Promise<AutomationRunRow> {
  tx.afterCommit(() => tx.signals.notify(automationRunTopic(run.id)));
  if (starting !== null) {
    await insertAutomationRun(tx, run);
    return run;
  }
  const text = (value: unknown) => (value === null ? null : JSON.stringify(value));
  await saveRun(tx.db).run({
    id: run.id,
    status: run.status,
    steps: JSON.stringify(run.steps),
    result: text(run.result),
    error: text(run.error),
    dueAt: run.dueAt,
    completedAt: run.completedAt,
    now: timestamp(tx.clock),
  });
  return run;
}
