import { and, eq, inArray, ne } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { WriteContext } from "../context.ts";
import { enqueueRun, type NewRun } from "../queue/enqueue.ts";
import type { ItemsState, StepState } from "../resources/automations/table.ts";
import { connections } from "../resources/connections/table.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { saveProgress, slimRunById } from "./save.ts";
import { isEnded } from "./states.ts";
import type { Work } from "./work.ts";

/** In a shorter list, each item has a run of its own. */
export const MIN_BULK = 1_000;

/**
 * Returns whether one run can process all items of a step: its kind allows it, no concurrency key orders the items, and
 * none needs an approval of its own.
 */
export async function goesInBulk(
  tx: WriteContext,
  { kind, definition, connectionId }: Work,
  of: "list" | "table",
): Promise<boolean> {
  const executor = tx.executors[kind];
  if (executor.inBulk?.(definition, of) !== true || definition.concurrencyKey !== undefined) return false;
  const named = (executor.connections?.(definition) ?? []).map(({ id }) => id);
  const ids = connectionId === null ? named : [...named, connectionId];
  if (ids.length === 0) return true;
  const { organizationId, id, approvalRequired } = connections;
  const [asking] = await tx.db
    .select({ id })
    .from(connections)
    .where(and(eq(organizationId, tx.organizationId), inArray(id, ids), ne(approvalRequired, "none")))
    .limit(1);
  return asking === undefined;
}

/** Queues the run that processes all items, or the remaining ones. */
export async function beginBulk(
  tx: WriteContext,
  input: NewRun,
  { state, items }: { state: StepState; items: ItemsState },
): Promise<Partial<StepState> & { items: ItemsState }> {
  const { id } = await enqueueRun(tx, input);
  return {
    status: "pending",
    actionRunId: id,
    startedAt: state.startedAt ?? timestamp(tx.clock),
    completedAt: null,
    error: null,
    items,
  };
}

/** Reports the progress of a bulk step. */
export async function bulkMoved(
  tx: WriteContext,
  { automationRunId, stepKey, id }: RunRow,
  moved: Partial<ItemsState>,
): Promise<void> {
  const [run] = await slimRunById(tx.db).all({ id: automationRunId });
  if (!run || isEnded(run.status)) return;
  const steps = run.steps.map((state) =>
    state.key === stepKey && state.actionRunId === id && state.items
      ? { ...state, items: { ...state.items, ...moved } }
      : state,
  );
  await saveProgress(tx, { ...run, steps });
}
