import { and, eq, isNull, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { holds } from "../../base/condition.ts";
import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { resolveTemplates, type Scope } from "../../base/template.ts";
import type { WriteContext } from "../../context.ts";
import type { ActionKind, Executor } from "../../executors/contract.ts";
import { insertInto, prepared } from "../../store/prepared.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { actions } from "../actions/table.ts";
import { record } from "../events/service.ts";
import { deliverySettled, type HeldDelivery } from "../inbound/settle.ts";
import { SYSTEM } from "../runs/claim.ts";
import { type Decider, decideRun } from "../runs/decide.ts";
import { enqueueRun, type NewRun } from "../runs/enqueue.ts";
import { actionRuns, type RunError, type RunRow, type RunStatus } from "../runs/table.ts";
import { type AutomationConfig, readDependency, type Step, stepsOf } from "./config.ts";
import { automationScope, seenStep } from "./scope.ts";
import { type AutomationRunRow, automationRuns, automationVersions, type StepState } from "./table.ts";

/** Signalled when an automation run has changed. */
export const automationRunTopic = (id: string) => `automation-run:${id}`;

const ENDED: readonly string[] = ["completed", "failed", "cancelled", "skipped"];
const isEnded = (status: string) => ENDED.includes(status);

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
  const steps = row.steps.map(
    (step): StepState =>
      step.key === run.stepKey && step.actionRunId === run.id
        ? {
            ...step,
            status: run.status,
            startedAt: run.startedAt,
            completedAt: run.completedAt,
            error: run.error,
          }
        : step,
  );
  await advance(tx, { ...row, steps });
}

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
  const failed = () =>
    definitions.some(({ key, onError }) => states.get(key)?.status === "failed" && onError !== "continue");
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
        failed() ? skipped(tx) : await begin(tx, run, step, dependencies, states, results),
      );
      moved = true;
    }
  }
  const steps = [...states.values()];
  if (!steps.every((step) => isEnded(step.status)))
    return save(tx, { ...run, steps, status: "running" }, starting);
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
  const key = work.definition.concurrencyKey;
  const concurrencyKey =
    typeof key === "string" ? textOf(resolveTemplates(key, { ...scope, now: timestamp(tx.clock) })) : null;
  const actor = { type: "automation" as const, id: run.automationId };
  const input: NewRun = {
    ...work,
    actor,
    trigger: { method: run.triggerMethod, sourceType: "automation", sourceId: run.automationId },
    automationRunId: run.id,
    stepKey: step.key,
    concurrencyKey,
  };
  const executor = tx.executors[work.kind];
  return isDecider(executor) && concurrencyKey === null
    ? decideRun(tx, executor, input, scope)
    : enqueueRun(tx, input);
}

const isDecider = (executor: Executor | undefined): executor is Decider => executor?.decide !== undefined;

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

interface Work {
  kind: ActionKind;
  definition: JsonObject;
  connectionId: string | null;
  actionId: string | null;
}

async function workOf(tx: WriteContext, step: Step): Promise<Work> {
  if (step.actionId === undefined) {
    if (!step.kind)
      throw new AppError("definition_invalid", `The step ${step.key} names neither an action nor a kind.`);
    return {
      kind: step.kind,
      definition: step.definition ?? {},
      connectionId: step.connectionId ?? null,
      actionId: null,
    };
  }
  const [action] = await tx.db
    .select()
    .from(actions)
    .where(
      and(
        eq(actions.organizationId, tx.organizationId),
        eq(actions.id, step.actionId),
        isNull(actions.deletedAt),
      ),
    );
  if (!action)
    throw new AppError("not_found", `The action of the step ${step.key} is gone; give the step another.`);
  if (action.status === "disabled")
    throw new AppError("invalid_state", `The action ${action.name} is disabled.`);
  return {
    kind: action.kind,
    definition: action.definition,
    connectionId: step.connectionId ?? action.connectionId,
    actionId: action.id,
  };
}

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
  return save(tx, ended, starting);
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
  const done = run.steps.filter((step) => step.status === "completed" && step.actionRunId !== null);
  const known = isObject(seen?.steps ?? null) ? (seen?.steps as JsonObject) : {};
  const results = done.every(({ key }) => key in known)
    ? Object.fromEntries(done.map(({ key }) => [key, (known[key] as JsonObject).result ?? null]))
    : await storedResults(tx, done);
  if (run.steps.length > 1) return results;
  return Object.values(results)[0] ?? null;
}

async function storedResults(tx: WriteContext, steps: readonly StepState[]): Promise<JsonObject> {
  const rows = await resultsOf(tx.db).all({ ids: JSON.stringify(steps.map((step) => step.actionRunId)) });
  return Object.fromEntries(rows.map((row) => [row.key ?? "", row.result]));
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

async function save(
  tx: WriteContext,
  run: AutomationRunRow,
  starting: Starting | null,
): Promise<AutomationRunRow> {
  tx.afterCommit(() => tx.signals.notify(automationRunTopic(run.id)));
  if (starting !== null) {
    const isKept = run.deliveryId === null && run.status !== "completed";
    await insertRun(tx.db, isKept ? run : { ...run, scope: {} });
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
