import { and, asc, eq, inArray, sql } from "drizzle-orm";
import {
  automationRunItems,
  type ItemFailure,
  type ItemsState,
  MAX_FAILURES,
  type StepState,
} from "../resources/automations/table.ts";
import { actionRuns, type RunError, type RunRow } from "../resources/runs/table.ts";
import type { ReadDb } from "../store/store.ts";
import { itemsOf } from "./lay-out.ts";

/** Returns the items of a step with `forEach` whose runs failed or were cancelled, in the list's order. */
export async function itemFailures(
  db: ReadDb,
  { runId, failed }: ItemsState,
  key: string,
): Promise<ItemFailure[]> {
  if (failed === 0) return [];
  const rows = await db
    .select({ index: automationRunItems.itemIndex, status: actionRuns.status, error: actionRuns.error })
    .from(automationRunItems)
    .innerJoin(actionRuns, eq(actionRuns.id, automationRunItems.actionRunId))
    .where(
      and(
        itemsOf(runId, key),
        inArray(automationRunItems.status, ["failed", "cancelled", "running", "waiting"]),
        inArray(actionRuns.status, ["failed", "cancelled"]),
      ),
    )
    .orderBy(asc(automationRunItems.itemIndex))
    .limit(MAX_FAILURES);
  return rows.map(({ index, ...run }) => ({ index, error: errorOfItem(run, index) }));
}

/** Returns the failures of all steps with `forEach` by the step's key. */
export async function failuresOf(
  db: ReadDb,
  steps: readonly StepState[],
): Promise<ReadonlyMap<string, ItemFailure[]>> {
  const byKey = new Map<string, ItemFailure[]>();
  for (const { key, items, actionRunId } of steps) {
    if (items?.bulk) byKey.set(key, await bulkFailures(db, actionRunId));
    else if (items) byKey.set(key, await itemFailures(db, items, key));
  }
  return byKey;
}

/** Returns the failures named in the result of a bulk step's run. */
async function bulkFailures(db: ReadDb, actionRunId: string | null): Promise<ItemFailure[]> {
  if (actionRunId === null) return [];
  const [run] = await db
    .select({ failures: sql<string | null>`${actionRuns.result} ->> 'failures'` })
    .from(actionRuns)
    .where(eq(actionRuns.id, actionRunId));
  return run?.failures ? JSON.parse(run.failures) : [];
}

/** Returns why an item's run didn't complete. A cancelled run has no error of its own. */
export const errorOfItem = ({ error, status }: Pick<RunRow, "error" | "status">, index: number): RunError =>
  error ?? {
    code: "cancelled",
    message: `The run of item ${index} was ${status}.`,
    retryable: false,
    attempt: 1,
    details: null,
  };
