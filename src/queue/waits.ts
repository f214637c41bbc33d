import { and, eq } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import type { Actor, WriteContext } from "../context.ts";
import { SYSTEM } from "../context.ts";
import type { Waiting, WaitKind, Waits } from "../executors/contract.ts";
import { actionRuns, type RunError, type RunRow } from "../resources/runs/table.ts";
import { endRun } from "./end.ts";
import { RUNS_TOPIC, runTopic } from "./enqueue.ts";
import { withStatuses } from "./statuses.ts";

/** Creates what a run waits for, on behalf of the one who started it, in the transaction that makes it wait. */
export async function beginWait(tx: WriteContext, run: RunRow, waiting: Waiting): Promise<void> {
  if (run.automationRunId !== null) await tx.runFollowers.waits(tx, run);
  await begin({ ...tx, actor: run.actor as unknown as Actor }, run, waiting);
}

const begin = <K extends WaitKind>(
  tx: WriteContext,
  run: RunRow,
  { wait, request }: { wait: K; request: Waits[K] },
): Promise<void> => tx.runFollowers.waitServices[wait].begin(tx, run, request);

/** Ends what a cancelled run waited for. */
export async function abandonWait(tx: WriteContext, run: RunRow): Promise<void> {
  if (run.status === "waiting" && run.waitKind !== null && run.waitId !== null)
    await tx.runFollowers.waitServices[run.waitKind].abandon(tx, run.waitId);
}

/**
 * Queues the run that waits for `id` again, in the transaction that ends what it waited for. It is executed again. Null
 * if no run waits for it any longer.
 */
export async function resumeWait(tx: WriteContext, kind: WaitKind, id: string): Promise<RunRow | null> {
  const at = timestamp(tx.clock);
  const [row] = await tx.db
    .update(actionRuns)
    .set({
      status: "pending",
      statuses: withStatuses({ status: "pending", since: at }),
      waitKind: null,
      waitId: null,
      dueAt: at,
      updatedAt: at,
    })
    .where(
      and(
        eq(actionRuns.waitId, id),
        eq(actionRuns.waitKind, kind),
        eq(actionRuns.organizationId, tx.organizationId),
        eq(actionRuns.status, "waiting"),
      ),
    )
    .returning();
  if (!row) return null;
  if (row.automationRunId !== null) await tx.runFollowers.resumed(tx, row);
  tx.afterCommit(() => {
    tx.signals.notify(runTopic(row.id));
    tx.signals.notify(RUNS_TOPIC);
  });
  return row;
}

/** How a wait ends its run. */
export type Ending =
  | { status: "completed"; result: JsonObject }
  | { status: "failed"; error: Omit<RunError, "attempt"> }
  | { status: "cancelled" };

/**
 * Ends the run that waits for `id`, with its event and what follows in its automation, in the transaction that ends
 * what it waited for, so that it continues exactly once. Null if no run waits for it any longer.
 */
export async function endWait(
  tx: WriteContext,
  kind: WaitKind,
  id: string,
  ending: Ending,
): Promise<RunRow | null> {
  const waits = and(
    eq(actionRuns.waitId, id),
    eq(actionRuns.waitKind, kind),
    eq(actionRuns.organizationId, tx.organizationId),
    eq(actionRuns.status, "waiting"),
  );
  const [run] = await tx.db.select().from(actionRuns).where(waits);
  if (!run) return null;
  const error = ending.status === "failed" ? { ...ending.error, attempt: run.retryCount + 1 } : null;
  const at = timestamp(tx.clock);
  const [row] = await tx.db
    .update(actionRuns)
    .set({
      status: ending.status,
      statuses: withStatuses({ status: ending.status, since: at }),
      result: ending.status === "completed" ? ending.result : null,
      error,
      completedAt: at,
      updatedAt: at,
    })
    .where(waits)
    .returning();
  if (!row) return null;
  const own: WriteContext = { ...tx, actor: SYSTEM, role: "member", correlationId: row.correlationId };
  await endRun(
    own,
    row,
    error === null ? (ending as Exclude<Ending, { error: unknown }>) : { status: "failed", error },
  );
  return row;
}
