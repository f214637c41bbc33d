import { and, eq } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import type { Actor, WriteContext } from "../context.ts";
import { SYSTEM } from "../context.ts";
import type { Waiting, WaitKind, Waits } from "../executors/contract.ts";
import { actionRuns, type RunError, type RunRow } from "../resources/runs/table.ts";
import { type CommonFields, timedOut } from "./definition.ts";
import { endRun, failureLine } from "./end.ts";
import { RUNS_TOPIC, runTopic } from "./enqueue.ts";
import { appendLogs } from "./logs.ts";
import { failureOutcome } from "./retry.ts";
import { withStatuses } from "./statuses.ts";

/**
 * Creates what a run waits for, on behalf of the one who started it, in the transaction that makes it wait. Its timeout
 * limits the wait too, except for an approval to use a connection, before which nothing has been attempted.
 */
export async function beginWait(tx: WriteContext, run: RunRow, waiting: Waiting): Promise<void> {
  const { timeoutSeconds } = run.definition as CommonFields;
  if (waiting.wait !== "approval" && typeof timeoutSeconds === "number") {
    const waitUntil = timestamp(tx.clock, timeoutSeconds * 1000);
    await tx.db.update(actionRuns).set({ waitUntil }).where(eq(actionRuns.id, run.id));
  }
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
 * Ends the attempt that waits for `id`, in the transaction that ends what it waited for, so that it continues exactly
 * once: the run has its next attempt later, as after any failed one, or ends, with what follows in its automation. Null
 * if no run waits for it any longer.
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
  const outcome = outcomeOf(tx, run, ending);
  const at = timestamp(tx.clock);
  await appendLogs(tx.db, run.id, failureLine(outcome, at));
  const { status } = outcome;
  const next =
    "dueAt" in outcome ? { ...NO_WAIT, dueAt: outcome.dueAt, retryCount: run.retryCount + 1 } : null;
  const [row] = await tx.db
    .update(actionRuns)
    .set({
      status,
      statuses: withStatuses({ status, since: at }),
      result: "result" in outcome ? outcome.result : null,
      error: "error" in outcome ? outcome.error : null,
      completedAt: next === null ? at : null,
      updatedAt: at,
      ...next,
    })
    .where(waits)
    .returning();
  if (!row) return null;
  const own: WriteContext = { ...tx, actor: SYSTEM, role: "member", correlationId: row.correlationId };
  await endRun(own, row, outcome);
  return row;
}

const NO_WAIT = { waitKind: null, waitId: null, waitUntil: null };

function outcomeOf(tx: WriteContext, run: RunRow, ending: Ending) {
  if (ending.status !== "failed") return ending;
  return failureOutcome(tx, run.definition, { ...ending.error, attempt: run.retryCount + 1 });
}

/** Ends the attempt of a run whose wait is past its deadline, and what it waits for. */
export async function timeOutWait(tx: WriteContext, run: RunRow): Promise<void> {
  const { timeoutSeconds = 0 } = run.definition as CommonFields;
  const { code, message, retryable } = timedOut(timeoutSeconds);
  if (run.waitKind === null || run.waitId === null) return;
  const error = { code, message, retryable, details: null };
  if (await endWait(tx, run.waitKind, run.waitId, { status: "failed", error })) await abandonWait(tx, run);
}
