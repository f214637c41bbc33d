import { and, asc, eq, sql } from "drizzle-orm";
import { type Json, storedJson } from "../base/json.ts";
import { automationRunItems, type ItemsState, type StepState } from "../resources/automations/table.ts";
import { actionRuns } from "../resources/runs/table.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { itemsOf } from "./lay-out.ts";

/** If the results are larger in total, the step's result has only the IDs of the runs. */
const MAX_RESULTS_BYTES = 4 * 1024 * 1024;

/**
 * Returns the results of all items in the list's order, null for each that hasn't completed. If they are too large in
 * total, each is `{actionRunId, status}`.
 */
export async function itemResults(db: ReadDb, { runId, total }: ItemsState, key: string): Promise<Json[]> {
  const [size] = await db
    .select({ bytes: sql<number>`coalesce(sum(octet_length(${actionRuns.result})), 0)` })
    .from(automationRunItems)
    .leftJoin(actionRuns, eq(actionRuns.id, automationRunItems.actionRunId))
    .where(itemsOf(runId, key));
  const { status, actionRunId, itemIndex } = automationRunItems;
  if ((size?.bytes ?? 0) > MAX_RESULTS_BYTES) {
    const rows = await db
      .select({ actionRunId, status })
      .from(automationRunItems)
      .where(itemsOf(runId, key))
      .orderBy(asc(itemIndex));
    return filled<Json>(rows, total, { actionRunId: null, status: "pending" });
  }
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
