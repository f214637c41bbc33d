import { and, asc, eq, sql } from "drizzle-orm";
import { isObject, type Json, storedJson } from "../base/json.ts";
import { automationRunItems, type ItemsState, type StepState } from "../resources/automations/table.ts";
import { actionRuns } from "../resources/runs/table.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { itemsOf } from "./lay-out.ts";
import { asStored, isStored } from "./stored-results.ts";

/** If the results are larger in total, they aren't read as values together with other steps. */
const MAX_RESULTS_BYTES = 4 * 1024 * 1024;

/**
 * Returns the results of all items in the list's order, null for each that hasn't completed. If they are too large in
 * total, each is `{actionRunId, status}`.
 */
export async function itemResults(db: ReadDb, { runId, total }: ItemsState, key: string): Promise<Json[]> {
  if ((await bytesOf(db, runId, key)) <= MAX_RESULTS_BYTES) return valuesOf(db, { runId, total }, key);
  const { status, actionRunId, itemIndex } = automationRunItems;
  const rows = await db
    .select({ actionRunId, status })
    .from(automationRunItems)
    .where(itemsOf(runId, key))
    .orderBy(asc(itemIndex));
  return filled<Json>(rows, total, { actionRunId: null, status: "pending" });
}

/** Whether an element of `itemResults` only names its run. */
export const isReference = (item: Json): boolean =>
  isObject(item) && Object.keys(item).length === 2 && "actionRunId" in item && "status" in item;

/** Returns the list as a scope has it: large results are read from where they are stored once they are needed. */
export async function seenResults(db: ReadDb, { runId, total }: ItemsState, key: string): Promise<Json> {
  const bytes = await bytesOf(db, runId, key);
  const values = bytes > MAX_RESULTS_BYTES ? null : await valuesOf(db, { runId, total }, key);
  return values === null || values.some(isStored) ? asStored({ runId, total, key }, bytes) : values;
}

/** The size of the items' results without those in artifacts. */
export async function bytesOf(db: ReadDb, runId: string, key: string): Promise<number> {
  const [size] = await db
    .select({ bytes: sql<number>`coalesce(sum(octet_length(${actionRuns.result})), 0)` })
    .from(automationRunItems)
    .leftJoin(actionRuns, eq(actionRuns.id, automationRunItems.actionRunId))
    .where(itemsOf(runId, key));
  return size?.bytes ?? 0;
}

async function valuesOf(
  db: ReadDb,
  { runId, total }: Pick<ItemsState, "runId" | "total">,
  key: string,
): Promise<Json[]> {
  const { actionRunId, itemIndex } = automationRunItems;
  const rows = await db
    .select({ result: actionRuns.result })
    .from(automationRunItems)
    .leftJoin(actionRuns, eq(actionRuns.id, actionRunId))
    .where(itemsOf(runId, key))
    .orderBy(asc(itemIndex));
  return filled<Json>(
    rows.map(({ result }) => result ?? null),
    total,
    null,
  );
}

/** Fills up the list for the items that were never created, which are at its end. */
const filled = <T>(list: T[], total: number, missing: T): T[] => [
  ...list,
  ...Array.from({ length: Math.max(0, total - list.length) }, () => missing),
];

const itemOfRun = prepared((db: ReadDb) =>
  db
    .select({ item: automationRunItems.item, index: automationRunItems.itemIndex })
    .from(automationRunItems)
    .where(
      and(
        eq(automationRunItems.actionRunId, sql.placeholder("actionRunId")),
        eq(automationRunItems.automationRunId, sql.placeholder("runId")),
      ),
    )
    .prepare(),
);

/** Returns the additional values that templates of an item's run see. Empty for a run without an item. */
export async function itemScope(
  db: ReadDb,
  state: StepState | undefined,
  actionRunId: string,
): Promise<{ item?: Json; index?: number }> {
  if (!state?.items) return {};
  const [row] = await itemOfRun(db).all({ actionRunId, runId: state.items.runId });
  return row ? { item: storedJson<Json>(row.item), index: row.index } : {};
}
