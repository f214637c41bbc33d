import { and, asc, eq, gte, inArray, ne, sql } from "drizzle-orm";
import { AppError } from "../base/errors.ts";
import type { Json } from "../base/json.ts";
import { sizeText } from "../base/size.ts";
import { mapInSlices } from "../base/slices.ts";
import type { WriteContext } from "../context.ts";
import type { Step } from "../resources/automations/config.ts";
import { automationRunItems, type ItemsState } from "../resources/automations/table.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { copyResults, findDone } from "./bulk-results.ts";
import type { SlimRun } from "./save.ts";

/** Maximum length of a list. For a longer one, the step fails before anything runs. */
const MAX_ITEMS = 10_000;
/** The same limit if one run processes all items. */
const MAX_BULK_ITEMS = 100_000;
/** The maximum length of a result that expressions read. */
const MAX_ITEMS_BYTES = 64 * 1024 * 1024;
/** Maximum number of items created per transaction, or fewer if they are large in total. */
const BATCH_ITEMS = 500;
const BATCH_CHARACTERS = 1024 * 1024;

export const itemsOf = (runId: string, key: string) =>
  and(eq(automationRunItems.automationRunId, runId), eq(automationRunItems.stepKey, key));

/**
 * Where items without a row of their own are stored: one row per batch, named by the index of its first item. Keys of
 * steps contain no colon.
 */
const laterKey = (key: string) => `${key}:later`;

/** If one run processes all items of a list, items have no rows of their own. */
const pagesOf = prepared((db: ReadDb) =>
  db
    .select({ from: automationRunItems.itemIndex, items: automationRunItems.item })
    .from(automationRunItems)
    .where(
      and(
        eq(automationRunItems.automationRunId, sql.placeholder("runId")),
        eq(automationRunItems.stepKey, sql.placeholder("key")),
        gte(automationRunItems.itemIndex, sql.placeholder("from")),
      ),
    )
    .orderBy(asc(automationRunItems.itemIndex))
    .limit(1)
    .prepare(),
);

/** Yields the items of such a list, in order. */
export async function* listedItems(db: ReadDb, runId: string, key: string): AsyncGenerator<Json> {
  for (let from = 0; ; ) {
    const [page] = await pagesOf(db).all({ runId, key: laterKey(key), from });
    if (!page) return;
    const texts: string[] = JSON.parse(page.items);
    for (const text of texts) yield JSON.parse(text);
    from = page.from + texts.length;
  }
}

/**
 * Stores the list of a `forEach`. Only its first items get rows of their own, since every other write waits for this
 * one. `layOutNext` creates the next ones.
 *
 * Throws `template_error` if the value isn't a list, and `definition_invalid` if it is too long.
 */
export async function layOut(
  tx: WriteContext,
  run: SlimRun,
  step: Step,
  { list, isBulk }: { list: Json; isBulk: boolean },
): Promise<ItemsState> {
  const texts = await itemTexts(step, list, isBulk ? MAX_BULK_ITEMS : MAX_ITEMS);
  const batches = batchesOf(texts);
  const [first, later] = isBulk ? [null, batches] : [batches[0], batches.slice(1)];
  await tx.db
    .delete(automationRunItems)
    .where(
      and(
        eq(automationRunItems.automationRunId, run.id),
        inArray(automationRunItems.stepKey, [step.key, laterKey(step.key)]),
      ),
    );
  if (first) await insertItems(tx, run.id, step.key, first);
  for (const { from, items } of later) await insertLater(tx, run.id, step.key, from, JSON.stringify(items));
  const state = { runId: run.id, total: texts.length, running: 0, completed: 0, failed: 0 };
  return isBulk ? { ...state, bulk: { of: "list" } } : state;
}

async function itemTexts({ key, forEach }: Step, list: Json, most: number): Promise<string[]> {
  if (!Array.isArray(list)) {
    const message = `forEach of step ${key} must be a list, but ${forEach} is ${nameOf(list)}.`;
    throw new AppError("template_error", message);
  }
  const texts = await mapInSlices(list, (item) => JSON.stringify(item));
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (list.length > most || bytes > MAX_ITEMS_BYTES) {
    const message = `forEach of step ${key} has ${list.length} items (${sizeText(bytes)}). The limit is ${most} items and ${sizeText(MAX_ITEMS_BYTES)}. Pass fewer items.`;
    throw new AppError("definition_invalid", message, { details: { items: list.length, bytes } });
  }
  return texts;
}

const nameOf = (value: Json): string =>
  value === null ? "null" : typeof value === "object" ? "an object" : `a ${typeof value}`;

/** Consecutive items as JSON texts. */
interface Batch {
  from: number;
  items: string[];
}

function batchesOf(texts: readonly string[]): Batch[] {
  const batches: Batch[] = [];
  let last: Batch | null = null;
  let length = 0;
  for (const [index, text] of texts.entries()) {
    length += text.length;
    if (last !== null && last.items.length < BATCH_ITEMS && length <= BATCH_CHARACTERS) {
      last.items.push(text);
      continue;
    }
    last = { from: index, items: [text] };
    length = text.length;
    batches.push(last);
  }
  return batches;
}

const insertItems = (tx: WriteContext, runId: string, key: string, { from, items }: Batch) =>
  tx.db.run(sql`
    insert into automation_run_items (automation_run_id, step_key, item_index, item, status)
    select ${runId}, ${key}, ${from} + cast(key as bigint), value, 'pending' from json_each(${JSON.stringify(items)})`);

const insertLater = (tx: WriteContext, runId: string, key: string, from: number, items: string) =>
  tx.db.run(sql`
    insert into automation_run_items (automation_run_id, step_key, item_index, item, status)
    values (${runId}, ${laterKey(key)}, ${from}, ${items}, 'pending')`);

/** Creates rows for the next items of the list. Returns false if all have theirs. */
export async function layOutNext(tx: WriteContext, runId: string, key: string): Promise<boolean> {
  const [next] = await tx.db
    .select({ from: automationRunItems.itemIndex, items: automationRunItems.item })
    .from(automationRunItems)
    .where(and(itemsOf(runId, laterKey(key)), sql`${automationRunItems.status} = 'pending'`))
    .orderBy(asc(automationRunItems.itemIndex))
    .limit(1);
  if (!next) return false;
  await tx.db
    .delete(automationRunItems)
    .where(and(itemsOf(runId, laterKey(key)), eq(automationRunItems.itemIndex, next.from)));
  await tx.db.run(sql`
    insert into automation_run_items (automation_run_id, step_key, item_index, item, status)
    select ${runId}, ${key}, ${next.from} + cast(key as bigint), value, 'pending' from json_each(${next.items})`);
  return true;
}

/** Recreates the uncompleted items of an earlier attempt, of this run or another. Null if the rows are no longer stored. */
export async function reopenItems(
  tx: WriteContext,
  run: SlimRun,
  key: string,
  { runId, total, bulk }: ItemsState,
): Promise<ItemsState | null> {
  const isTable = bulk?.of === "table";
  if (bulk && runId !== run.id) await copyResults(tx, key, runId, run.id);
  if (isTable) return reopened(tx, { runId: run.id, total, bulk }, key);
  if (runId === run.id) {
    await tx.db
      .update(automationRunItems)
      .set({ status: "pending" })
      .where(and(itemsOf(run.id, key), ne(automationRunItems.status, "completed")));
  } else {
    await tx.db.run(sql`
      insert into automation_run_items (automation_run_id, step_key, item_index, item, status, action_run_id)
      select ${run.id}, step_key, item_index, item,
        case when status = 'completed' then 'completed' else 'pending' end, action_run_id
      from automation_run_items
      where automation_run_id = ${runId} and step_key in (${key}, ${laterKey(key)})`);
  }
  const [counts] = await tx.db
    .select({
      items: sql<number>`coalesce(sum(case step_key when ${key} then 1 else json_array_length(item) end), 0)`,
      completed: sql<number>`coalesce(sum(case when ${automationRunItems.status} = 'completed' then 1 else 0 end), 0)`,
    })
    .from(automationRunItems)
    .where(
      and(
        eq(automationRunItems.automationRunId, run.id),
        inArray(automationRunItems.stepKey, [key, laterKey(key)]),
      ),
    );
  if (!counts || counts.items === 0 || counts.items !== total) return null; // some were deleted by retention
  if (bulk) return reopened(tx, { runId: run.id, total, bulk }, key);
  return { runId: run.id, total, completed: counts.completed, running: 0, failed: 0 };
}

/** Returns the state of a bulk step that is attempted again. Failed items run again only in another automation run. */
async function reopened(
  tx: WriteContext,
  items: Pick<ItemsState, "runId" | "total" | "bulk">,
  key: string,
): Promise<ItemsState> {
  const { completed, failed } = await findDone(tx.db, { runId: items.runId, key });
  return { ...items, running: 0, completed, failed };
}
