import { and, asc, eq, ne, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type Json, storedJson } from "../../base/json.ts";
import { resolveTemplates, type Scope } from "../../base/template.ts";
import type { WriteContext } from "../../context.ts";
import type { ReadDb } from "../../store/store.ts";
import { enqueueRun } from "../runs/enqueue.ts";
import { actionRuns, type RunError, type RunRow } from "../runs/table.ts";
import type { Step } from "./config.ts";
import { automationScope } from "./scope.ts";
import { type AutomationRunRow, automationRunItems, type ItemsState, type StepState } from "./table.ts";
import { runOfStep, workOf } from "./work.ts";

/** A longer list is refused: its step fails before anything of it is done. */
const MAX_ITEMS = 10_000;
const MAX_ITEMS_BYTES = 16 * 1024 * 1024;
const DEFAULT_PARALLEL = 10;
/** Results that are larger together stand in the step's result by their runs' ids alone. */
const MAX_RESULTS_BYTES = 4 * 1024 * 1024;

const itemsOf = (runId: string, key: string) =>
  and(eq(automationRunItems.automationRunId, runId), eq(automationRunItems.stepKey, key));

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
  run: AutomationRunRow,
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

async function layOut(
  tx: WriteContext,
  run: AutomationRunRow,
  step: Step,
  scope: Scope,
): Promise<ItemsState> {
  const list = resolveTemplates(step.forEach ?? "", { ...scope, now: timestamp(tx.clock) });
  if (!Array.isArray(list)) {
    const message = `The forEach of the step ${step.key} has to give a list; ${step.forEach} gives ${nameOf(list)}.`;
    throw new AppError("template_error", message);
  }
  const texts = list.map((item) => JSON.stringify(item));
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (list.length > MAX_ITEMS || bytes > MAX_ITEMS_BYTES) {
    const message = `The forEach of the step ${step.key} gives ${list.length} items of ${bytes} bytes together; at most ${MAX_ITEMS} items and ${MAX_ITEMS_BYTES} bytes are taken. Pass on less at a time.`;
    throw new AppError("definition_invalid", message, { details: { items: list.length, bytes } });
  }
  await tx.db.delete(automationRunItems).where(itemsOf(run.id, step.key));
  await tx.db.run(sql`
    insert into automation_run_items (automation_run_id, step_key, item_index, item, status)
    select ${run.id}, ${step.key}, key, value, 'pending' from json_each(${JSON.stringify(texts)})`);
  return { runId: run.id, total: list.length, running: 0, completed: 0, failed: 0 };
}

const nameOf = (value: Json): string =>
  value === null ? "null" : typeof value === "object" ? "an object" : `a ${typeof value}`;

/** Null where the rows are not kept any more. */
async function reopenItems(
  tx: WriteContext,
  run: AutomationRunRow,
  key: string,
  { runId }: ItemsState,
): Promise<ItemsState | null> {
  if (runId === run.id) {
    await tx.db
      .update(automationRunItems)
      .set({ status: "pending", actionRunId: null })
      .where(and(itemsOf(run.id, key), ne(automationRunItems.status, "completed")));
  } else {
    await tx.db.run(sql`
      insert into automation_run_items (automation_run_id, step_key, item_index, item, status, action_run_id)
      select ${run.id}, step_key, item_index, item,
        case when status = 'completed' then 'completed' else 'pending' end,
        case when status = 'completed' then action_run_id end
      from automation_run_items where automation_run_id = ${runId} and step_key = ${key}`);
  }
  const [counts] = await tx.db
    .select({
      total: sql<number>`count(*)`,
      completed: sql<number>`coalesce(sum(${automationRunItems.status} = 'completed'), 0)`,
    })
    .from(automationRunItems)
    .where(itemsOf(run.id, key));
  if (!counts || counts.total === 0) return null;
  return { runId: run.id, ...counts, running: 0, failed: 0 };
}

/** Puts as many of the next items in line as may go at once. */
async function startItems(
  tx: WriteContext,
  run: AutomationRunRow,
  step: Step,
  { state, scope }: { state: StepState & Begun; scope: Scope | null },
): Promise<StepState & Begun> {
  const { items } = state;
  const places = (step.maxParallel ?? DEFAULT_PARALLEL) - items.running;
  const next = await tx.db
    .select({ index: automationRunItems.itemIndex, item: automationRunItems.item })
    .from(automationRunItems)
    .where(and(itemsOf(run.id, step.key), sql`${automationRunItems.status} = 'pending'`))
    .orderBy(asc(automationRunItems.itemIndex))
    .limit(Math.max(places, 0));
  if (next.length === 0) return state;
  const work = await workOf(tx, step);
  const isKeyed = typeof work.definition.concurrencyKey === "string";
  const seen = isKeyed ? (scope ?? (await automationScope(tx.db, run))) : {};
  for (const { index, item } of next) {
    const own = isKeyed ? { ...seen, item: storedJson<Json>(item), index } : seen;
    const started = await enqueueRun(tx, runOfStep(tx, run, { step, work, scope: own }));
    await tx.db
      .update(automationRunItems)
      .set({ status: "running", actionRunId: started.id })
      .where(and(itemsOf(run.id, step.key), eq(automationRunItems.itemIndex, index)));
  }
  return { ...state, items: { ...items, running: items.running + next.length } };
}

/**
 * Takes note of the ended run of one item, and starts the next. With `onError: fail` no item is started after one has
 * failed, nor after another step has; those under way are waited for.
 */
export async function itemSettled(
  tx: WriteContext,
  run: AutomationRunRow,
  step: Step,
  { state, ended, isStopped }: { state: StepState; ended: RunRow; isStopped: boolean },
): Promise<StepState> {
  if (!state.items || state.status !== "running") return state;
  const [item] = await tx.db
    .select({ index: automationRunItems.itemIndex })
    .from(automationRunItems)
    .where(
      and(
        eq(automationRunItems.actionRunId, ended.id),
        eq(automationRunItems.automationRunId, run.id),
        eq(automationRunItems.status, "running"),
      ),
    );
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
      completed: state.items.completed + (isDone ? 1 : 0),
      failed: state.items.failed + (isDone ? 0 : 1),
    },
  };
  const stops = isStopped || (now.error !== null && step.onError !== "continue");
  const next = stops ? now : await started(tx, run, step, now);
  return next.items.running > 0 ? next : endOf(tx, next);
}

/** An action that is gone meanwhile fails the step where it stands. */
async function started(
  tx: WriteContext,
  run: AutomationRunRow,
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

/**
 * The results of all items in the list's order, null for one that has not completed. Where they are too large
 * together, each stands by `{actionRunId, status}`.
 */
export async function itemResults(db: ReadDb, { runId }: ItemsState, key: string): Promise<Json[]> {
  const [size] = await db
    .select({ bytes: sql<number>`coalesce(sum(length(cast(${actionRuns.result} as blob))), 0)` })
    .from(automationRunItems)
    .leftJoin(actionRuns, eq(actionRuns.id, automationRunItems.actionRunId))
    .where(itemsOf(runId, key));
  const isLarge = (size?.bytes ?? 0) > MAX_RESULTS_BYTES;
  const { status, actionRunId, itemIndex } = automationRunItems;
  if (isLarge) {
    return db
      .select({ actionRunId, status })
      .from(automationRunItems)
      .where(itemsOf(runId, key))
      .orderBy(asc(itemIndex));
  }
  const rows = await db
    .select({ result: actionRuns.result })
    .from(automationRunItems)
    .leftJoin(actionRuns, eq(actionRuns.id, actionRunId))
    .where(itemsOf(runId, key))
    .orderBy(asc(itemIndex));
  return rows.map(({ result }) => result ?? null);
}

/** What the templates of one item's run see beside the rest; nothing for a run that belongs to no item. */
export async function itemScope(
  db: ReadDb,
  state: StepState | undefined,
  actionRunId: string,
): Promise<{ item?: Json; index?: number }> {
  if (!state?.items) return {};
  const [row] = await db
    .select({ item: automationRunItems.item, index: automationRunItems.itemIndex })
    .from(automationRunItems)
    .where(
      and(
        eq(automationRunItems.actionRunId, actionRunId),
        eq(automationRunItems.automationRunId, state.items.runId),
      ),
    );
  return row ? { item: storedJson<Json>(row.item), index: row.index } : {};
}
