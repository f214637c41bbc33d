import { and, asc, eq, inArray, ne, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type Json, storedJson } from "../../base/json.ts";
import type { Scope } from "../../base/template.ts";
import type { WriteContext } from "../../context.ts";
import { enqueueRun } from "../runs/enqueue.ts";
import type { RunError, RunRow } from "../runs/table.ts";
import type { Step } from "./config.ts";
import { itemsOf, layOut, layOutNext, reopenItems } from "./lay-out.ts";
import { namesIn } from "./names.ts";
import { runById, type SlimRun } from "./save.ts";
import { automationScope } from "./scope.ts";
import { isEnded, statusOfItems } from "./states.ts";
import { automationRunItems, type ItemsState, type StepState } from "./table.ts";
import { refuseHeldKey, runOfStep, workOf } from "./work.ts";

const DEFAULT_PARALLEL = 10;

/** A step with `forEach` that has begun, and ended already where its list is empty. */
type Begun = Partial<StepState> & { items: ItemsState };

/**
 * Lays out the items of a `forEach` and starts the first of them. Where an earlier try of the step has laid them out,
 * the items that completed stay as they are, and the rest is done again.
 *
 * Throws `template_error` for what is no list, `definition_invalid` for one that is too long.
 */
export async function beginItems(
  tx: WriteContext,
  run: SlimRun,
  step: Step,
  { state, scope }: { state: StepState; scope: Scope },
): Promise<Begun> {
  const kept = state.items ? await reopenItems(tx, run, step.key, state.items) : null;
  const items = kept ?? (await layOut(tx, run, step, scope));
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

const BEGIN_ITEMS = `update automation_run_items set status = 'running', action_run_id = v.run
  from (select value ->> 0 as place, value ->> 1 as run from json_each(?)) v
  where automation_run_id = ? and step_key = ? and item_index = v.place`;

/** Puts as many of the next items in line as may go at once. */
async function startItems(
  tx: WriteContext,
  run: SlimRun,
  step: Step,
  { state, scope }: { state: StepState & Begun; scope: Scope | null },
): Promise<StepState & Begun> {
  const { items } = state;
  const places = Math.max((step.maxParallel ?? DEFAULT_PARALLEL) - items.running, 0);
  const next = await nextItems(tx, run.id, step.key, places);
  if (next.length === 0) return state;
  const work = await workOf(tx, step);
  const { concurrencyKey } = work.definition;
  const isKeyed = typeof concurrencyKey === "string";
  const seen = isKeyed ? (scope ?? (await storedScope(tx, run, concurrencyKey))) : {};
  // All of them before the first is put in line: a key that can't be told fails the step, and then none is to go.
  const runs = next.map(({ index, item }) => {
    const own = isKeyed ? { ...seen, item: storedJson<Json>(item), index } : seen;
    return { index, input: runOfStep(tx, run, { step, work, scope: own }) };
  });
  for (const { input } of runs) await refuseHeldKey(tx, run.id, input);
  const begun: [index: number, runId: string][] = [];
  for (const { index, input } of runs) begun.push([index, (await enqueueRun(tx, input)).id]);
  await tx.db.statement(BEGIN_ITEMS)([JSON.stringify(begun), run.id, step.key]);
  return { ...state, items: { ...items, running: items.running + next.length } };
}

/** The next items in the list's order, up to `count`. */
async function nextItems(tx: WriteContext, runId: string, key: string, count: number) {
  if (count === 0) return [];
  const read = () =>
    tx.db
      .select({ index: automationRunItems.itemIndex, item: automationRunItems.item })
      .from(automationRunItems)
      .where(and(itemsOf(runId, key), sql`${automationRunItems.status} = 'pending'`))
      .orderBy(asc(automationRunItems.itemIndex))
      .limit(count);
  let next = await read();
  while (next.length < count && (await layOutNext(tx, runId, key))) next = await read();
  return next;
}

/** What a template sees of the run as it is stored. */
async function storedScope(tx: WriteContext, { id }: SlimRun, template: string): Promise<Scope> {
  const [row] = await runById(tx.db).all({ id });
  if (!row) throw new AppError("internal", "The run of this item is gone.");
  return automationScope(tx.db, row, namesIn(template));
}

/**
 * Takes note of the ended run of one item, and starts the next. With `onError: fail` no item is started after one has
 * failed, nor after another step has; those under way are waited for.
 */
export async function itemSettled(
  tx: WriteContext,
  run: SlimRun,
  step: Step,
  { state, ended, isStopped }: { state: StepState; ended: RunRow; isStopped: boolean },
): Promise<StepState> {
  if (!state.items || isEnded(state.status)) return state;
  const [item] = await tx.db
    .select({ index: automationRunItems.itemIndex, status: automationRunItems.status })
    .from(automationRunItems)
    .where(begunItem(run, ended));
  if (!item) return state;
  const status = ended.status === "completed" || ended.status === "failed" ? ended.status : "cancelled";
  await tx.db
    .update(automationRunItems)
    .set({ status })
    .where(and(itemsOf(run.id, step.key), eq(automationRunItems.itemIndex, item.index)));
  const isDone = status === "completed";
  const now: StepState & Begun = {
    ...state,
    error: state.error ?? (isDone ? null : itemError(ended, item.index)),
    items: {
      ...state.items,
      running: state.items.running - 1,
      waiting: (state.items.waiting ?? 0) - (item.status === "waiting" ? 1 : 0),
      completed: state.items.completed + (isDone ? 1 : 0),
      failed: state.items.failed + (isDone ? 0 : 1),
    },
  };
  const stops = isStopped || (now.error !== null && step.onError !== "continue");
  const next = stops ? now : await started(tx, run, step, now);
  return next.items.running > 0 ? asItemsAre(next) : endOf(tx, next);
}

/** The item that a run was begun for, while that has not ended. */
const begunItem = (run: SlimRun, { id }: RunRow) =>
  and(
    eq(automationRunItems.actionRunId, id),
    eq(automationRunItems.automationRunId, run.id),
    inArray(automationRunItems.status, ["running", "waiting"]),
  );

const asItemsAre = (state: StepState & Begun): StepState => {
  const status = statusOfItems(state.items);
  return { ...state, status, ...(status === "running" ? { waitKind: undefined } : {}) };
};

/** Takes note of an item whose run has begun to wait, or goes on. */
export async function itemTurned(
  tx: WriteContext,
  run: SlimRun,
  { state, turned }: { state: StepState; turned: RunRow },
): Promise<StepState> {
  if (!state.items || isEnded(state.status)) return state;
  const status = turned.status === "waiting" ? "waiting" : "running";
  const { changes } = await tx.db
    .update(automationRunItems)
    .set({ status })
    .where(and(begunItem(run, turned), ne(automationRunItems.status, status)));
  if (changes === 0) return state;
  const waiting = (state.items.waiting ?? 0) + (status === "waiting" ? 1 : -1);
  return asItemsAre({ ...state, items: { ...state.items, waiting }, waitKind: turned.waitKind ?? undefined });
}

/** An action that is gone meanwhile fails the step where it stands. */
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
    return { ...state, error: state.error ?? { code, message, retryable, attempt: 1, details: null } };
  }
}

const itemError = ({ error, status }: RunRow, index: number): RunError => ({
  ...(error ?? {
    code: "cancelled",
    message: `The run of item ${index} was ${status}.`,
    retryable: false,
    attempt: 1,
    details: null,
  }),
  details: { ...error?.details, item: index },
});

/** `skipped` where another step's failure kept items from being started. */
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
