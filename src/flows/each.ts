import { and, asc, eq, inArray, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject, storedJson } from "../base/json.ts";
import type { Scope } from "../base/template.ts";
import type { WriteContext } from "../context.ts";
import { enqueueRun, type NewRun } from "../queue/enqueue.ts";
import { forEachTemplate, type Step } from "../resources/automations/config.ts";
import {
  automationRunItems,
  type BulkItems,
  type ItemsState,
  type RowsOfTable,
  type StepState,
} from "../resources/automations/table.ts";
import type { RunError, RunRow } from "../resources/runs/table.ts";
import { prepared } from "../store/prepared.ts";
import type { WriteDb } from "../store/store.ts";
import { beginBulk, goesInBulk, MIN_BULK } from "./bulk.ts";
import { withItemWarnings } from "./call-warnings.ts";
import { errorOfItem } from "./item-failures.ts";
import { layOut, layOutNext, reopenItems } from "./lay-out.ts";
import { openTriggerWithin } from "./long-payload.ts";
import { namesIn } from "./names.ts";
import { runById, type SlimRun } from "./save.ts";
import { automationScope } from "./scope.ts";
import { isEnded, statusOfItems } from "./states.ts";
import { decisionOf, stepValue } from "./whens.ts";
import { refuseBusyKey, runOfStep, workOf } from "./work.ts";

const DEFAULT_PARALLEL = 10;

/** State of a step with `forEach` that has started. It has already ended if its list is empty. */
type Begun = Partial<StepState> & { items: ItemsState };

/**
 * Creates the items of a `forEach` and starts the first of them. If an earlier attempt of the step created them,
 * completed items are kept and the others run again.
 *
 * Throws `template_error` if the value isn't a list, and `definition_invalid` if the list is too long.
 */
export async function beginItems(
  tx: WriteContext,
  run: SlimRun,
  step: Step,
  { state, scope }: { state: StepState; scope: Scope },
): Promise<Begun> {
  const { items: before } = state;
  const kept = before ? await reopenItems(tx, run, step.key, before) : null;
  if (kept?.bulk) return bulkOf(tx, run, step, { state, scope, items: kept });
  if (kept === null && isObject(step.forEach)) return beginTable(tx, run, step, { state, scope });
  const items = kept ?? (await newItems(tx, run, step, scope));
  if (items.bulk) return bulkOf(tx, run, step, { state, scope, items });
  const at = timestamp(tx.clock);
  const begun: StepState & Begun = {
    ...state,
    status: "running",
    actionRunId: null,
    startedAt: at,
    completedAt: null,
    error: null,
    items,
  };
  if (items.completed === items.total) return { ...begun, status: "completed", completedAt: at };
  return startItems(tx, run, step, { state: begun, scope });
}

/** Evaluates the list. Errors of its template name the field. */
async function listOf(tx: WriteContext, run: SlimRun, forEach: string, scope: Scope): Promise<Json> {
  const request = { decision: decisionOf(tx, run), value: { forEach: forEachTemplate(forEach) } };
  const { forEach: list = null } = (await stepValue(tx, request, scope)) as JsonObject;
  return list;
}

async function newItems(tx: WriteContext, run: SlimRun, step: Step, scope: Scope): Promise<ItemsState> {
  const list = await listOf(tx, run, typeof step.forEach === "string" ? step.forEach : "", scope);
  const isLong = Array.isArray(list) && list.length >= MIN_BULK;
  const isBulk = isLong && (await goesInBulk(tx, await workOf(tx, step), "list"));
  return layOut(tx, run, step, { list, isBulk });
}

async function bulkOf(
  tx: WriteContext,
  run: SlimRun,
  step: Step,
  { state, scope, items }: { state: StepState; scope: Scope; items: ItemsState },
): Promise<Begun> {
  const { repeats } = state;
  const input = await runOfStep(tx, run, { step, work: await workOf(tx, step), scope, repeats });
  const { maxParallel: parallel = DEFAULT_PARALLEL, onError } = step;
  const bulk: BulkItems = { ...(items.bulk ?? { of: "list" }), parallel, goesOn: onError === "continue" };
  return beginBulk(tx, input, { state, items: { ...items, bulk } });
}

/** Throws `definition_invalid` for kinds that need a run for each row. */
async function beginTable(
  tx: WriteContext,
  run: SlimRun,
  step: Step,
  { state, scope }: { state: StepState; scope: Scope },
): Promise<Begun> {
  if (!(await goesInBulk(tx, await workOf(tx, step), "table"))) {
    const message = `Step ${step.key} can't iterate over a table: its kind, its concurrencyKey or an approval needs a run per row. Read the rows with a duckdb_transform, and pass them to forEach.`;
    throw new AppError("definition_invalid", message);
  }
  const request = {
    decision: decisionOf(tx, run),
    value: step.forEach as unknown as Json,
    options: TABLE_FIELDS,
  };
  const rows = (await stepValue(tx, request, scope)) as unknown as RowsOfTable;
  const bulk: BulkItems = { of: "table", ...rows };
  const items = { runId: run.id, total: 0, running: 0, completed: 0, failed: 0, bulk };
  return bulkOf(tx, run, step, { state, scope, items });
}

const TABLE_FIELDS = { sql: [["where"], ["orderBy"]] };

const beginItem = prepared((db: WriteDb) =>
  db.statement(`update automation_run_items set status = 'running', action_run_id = ?
    where automation_run_id = ? and step_key = ? and item_index = ?`),
);

/** Queues the next items, as many as can run at once. */
async function startItems(
  tx: WriteContext,
  run: SlimRun,
  step: Step,
  { state, scope }: { state: StepState & Begun; scope: Scope | null },
): Promise<StepState & Begun> {
  const { items } = state;
  const slots = Math.max((step.maxParallel ?? DEFAULT_PARALLEL) - items.running, 0);
  const next = await nextItems(tx, run.id, step.key, slots);
  if (next.length === 0) return state;
  const work = await workOf(tx, step);
  const { concurrencyKey } = work.definition;
  const isKeyed = typeof concurrencyKey === "string";
  const seen = isKeyed ? (scope ?? (await storedScope(tx, run, concurrencyKey))) : {};
  // Evaluates all keys before the first item is queued: if a key has no value, the step fails without starting any item.
  const runs: { index: number; input: NewRun }[] = [];
  for (const { index, item, repeats } of next) {
    const own = isKeyed ? { ...seen, item: storedJson<Json>(item), index } : seen;
    runs.push({ index, input: await runOfStep(tx, run, { step, work, scope: own, repeats }) });
  }
  for (const { input } of runs) await refuseBusyKey(tx, run.id, input);
  for (const { index, input } of runs)
    await beginItem(tx.db)([(await enqueueRun(tx, input)).id, run.id, step.key, index]);
  return { ...state, items: { ...items, running: items.running + next.length } };
}

const pendingItems = prepared((db: WriteDb) =>
  db
    .select({
      index: automationRunItems.itemIndex,
      item: automationRunItems.item,
      repeats: automationRunItems.actionRunId,
    })
    .from(automationRunItems)
    .where(
      and(
        eq(automationRunItems.automationRunId, sql.placeholder("runId")),
        eq(automationRunItems.stepKey, sql.placeholder("key")),
        sql`${automationRunItems.status} = 'pending'`,
      ),
    )
    .orderBy(asc(automationRunItems.itemIndex))
    .limit(sql.placeholder("count"))
    .prepare(),
);

/** Returns up to `count` of the next items, in the list's order. */
async function nextItems(tx: WriteContext, runId: string, key: string, count: number) {
  if (count === 0) return [];
  const read = () => pendingItems(tx.db).all({ runId, key, count });
  let next = await read();
  while (next.length < count && (await layOutNext(tx, runId, key))) next = await read();
  return next;
}

/** What templates see of the stored run. */
async function storedScope(tx: WriteContext, { id }: SlimRun, template: string): Promise<Scope> {
  const [row] = await runById(tx.db).all({ id });
  if (!row) throw new AppError("internal", "The run of this item no longer exists.");
  const scope = await automationScope(
    tx.db,
    row,
    (trigger) => openTriggerWithin(tx, trigger),
    namesIn(template),
  );
  const now = row.startedAt ?? timestamp(tx.clock);
  return { ...scope, run: { id, startedAt: now }, now };
}

/** Selects items by their unfinished action runs, not by list: with a list, SQLite would scan all of its items. */
const openItems = prepared((db: WriteDb) =>
  db
    .select({
      runId: automationRunItems.automationRunId,
      index: automationRunItems.itemIndex,
      status: automationRunItems.status,
      actionRunId: automationRunItems.actionRunId,
    })
    .from(automationRunItems)
    .where(
      and(
        sql`${automationRunItems.actionRunId} in (select value from json_each(${sql.placeholder("ids")}))`,
        inArray(automationRunItems.status, ["running", "waiting"]),
      ),
    )
    .prepare(),
);

/** Returns the items of an automation run that `runs` belong to, in the list's order. */
async function itemsOfRuns(tx: WriteContext, { id }: SlimRun, runs: readonly RunRow[]) {
  const items = await openItems(tx.db).all({ ids: JSON.stringify(runs.map((run) => run.id)) });
  return items.filter(({ runId }) => runId === id).sort((one, other) => one.index - other.index);
}

const setItem = prepared((db: WriteDb) =>
  db.statement(`update automation_run_items set status = ?
    where automation_run_id = ? and step_key = ? and item_index = ?`),
);

/**
 * Records that runs of items ended, and starts the same number of next ones. With `onError: fail`, no item starts after
 * an item or another step has failed. Running ones are waited for.
 */
export async function itemsEnded(
  tx: WriteContext,
  run: SlimRun,
  step: Step,
  { state, ended, isStopped }: { state: StepState; ended: readonly RunRow[]; isStopped: boolean },
): Promise<StepState> {
  if (!state.items || isEnded(state.status)) return state;
  const begun = await itemsOfRuns(tx, run, ended);
  if (begun.length === 0) return state;
  const items = { ...state.items };
  let { error, warnings } = state;
  for (const { index, status: before, actionRunId } of begun) {
    const row = ended.find(({ id }) => id === actionRunId);
    if (!row) continue;
    const status = row.status === "completed" || row.status === "failed" ? row.status : "cancelled";
    await setItem(tx.db)([status, run.id, step.key, index]);
    items.running--;
    if (before === "waiting") items.waiting = (items.waiting ?? 0) - 1;
    if (status === "completed") items.completed++;
    else items.failed++;
    warnings = withItemWarnings(warnings, row, index);
    if (status !== "completed") error ??= stepError(row, index);
  }
  const now: StepState & Begun = { ...state, error, items, ...(warnings?.length ? { warnings } : {}) };
  const stops = isStopped || (error !== null && step.onError !== "continue");
  const next = stops ? now : await started(tx, run, step, now);
  return next.items.running > 0 ? asItemsAre(next) : endOf(tx, next);
}

const asItemsAre = (state: StepState & Begun): StepState => {
  const status = statusOfItems(state.items);
  return { ...state, status, ...(status === "running" ? { waitKind: undefined } : {}) };
};

/** Records that an item's run started to wait, or resumed. */
export async function itemTurned(
  tx: WriteContext,
  run: SlimRun,
  { state, turned }: { state: StepState; turned: RunRow },
): Promise<StepState> {
  if (!state.items || isEnded(state.status)) return state;
  const [item] = await itemsOfRuns(tx, run, [turned]);
  if (!item) return state;
  const status = turned.status === "waiting" ? "waiting" : "running";
  const items = { ...state.items };
  if (item.status !== status) {
    await setItem(tx.db)([status, run.id, state.key, item.index]);
    items.waiting = (items.waiting ?? 0) + (status === "waiting" ? 1 : -1);
  }
  const waitKind = status === "waiting" ? (turned.waitKind ?? undefined) : state.waitKind;
  return asItemsAre({ ...state, items, waitKind });
}

/** If the action was deleted in the meantime, the step fails. */
async function started(
  tx: WriteContext,
  run: SlimRun,
  step: Step,
  state: StepState & Begun,
): Promise<StepState & Begun> {
  try {
    return await startItems(tx, run, step, { state, scope: null });
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "internal") throw error;
    const { code, message, retryable } = error;
    const details = error.details as JsonObject | null;
    return { ...state, error: state.error ?? { code, message, retryable, attempt: 1, details } };
  }
}

/** A step's error is that of the first failed item. */
function stepError(run: RunRow, index: number): RunError {
  const error = errorOfItem(run, index);
  return { ...error, details: { ...error.details, item: index } };
}

/** `skipped` if the failure of another step kept items from starting. */
function endOf(tx: WriteContext, state: StepState & Begun): StepState {
  const { completed, total } = state.items;
  const failed = state.error?.code === "cancelled" ? "cancelled" : "failed";
  const undone = state.error === null ? "skipped" : failed;
  return {
    ...state,
    status: completed === total && state.error === null ? "completed" : undone,
    completedAt: timestamp(tx.clock),
  };
}
