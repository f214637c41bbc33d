import { and, eq } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { AppError, notFound } from "../base/errors.ts";
import { type Context, inChainOf, requestChainOf, type WriteContext } from "../context.ts";
import { actionRuns, type RunRow } from "../resources/runs/table.ts";
import { endRun } from "./end.ts";
import { cancelTopic } from "./enqueue.ts";
import { withStatuses } from "./statuses.ts";
import { abandonWait } from "./waits.ts";

/** Limits every query to runs of the organization. */
const mine = (ctx: Context, id: string) =>
  and(eq(actionRuns.organizationId, ctx.organizationId), eq(actionRuns.id, id));

export async function findRun(ctx: Context, id: string): Promise<RunRow> {
  const [row] = await ctx.db.select().from(actionRuns).where(mine(ctx, id));
  if (!row) throw notFound("run");
  return row;
}

const FINAL: readonly string[] = ["completed", "failed", "cancelled"];
export const isFinal = (run: Pick<RunRow, "status">) => FINAL.includes(run.status);

/**
 * Cancels a run: immediately if it is waiting, otherwise by notifying its worker. Returns the run after the request.
 * Events belong to the run's correlation chain. Throws `invalid_state` if it has finished.
 */
export async function requestCancel(tx: WriteContext, id: string): Promise<RunRow> {
  const run = await findRun(tx, id);
  if (isFinal(run)) {
    throw new AppError("invalid_state", `This run has already finished: it is ${run.status}.`);
  }
  const at = timestamp(tx.clock);
  const ends = run.status !== "running";
  const [row] = await tx.db
    .update(actionRuns)
    .set({
      cancelRequestedAt: run.cancelRequestedAt ?? at,
      cancelRequest: run.cancelRequest ?? { actor: { ...tx.actor }, correlationId: requestChainOf(tx) },
      updatedAt: at,
      ...(ends
        ? {
            status: "cancelled" as const,
            statuses: withStatuses({ status: "cancelled", since: at }),
            completedAt: at,
            dueAt: null,
          }
        : {}),
    })
    .where(mine(tx, id))
    .returning();
  if (!row) throw notFound("run");
  if (ends) {
    const own = inChainOf(tx, row);
    await abandonWait(own, run);
    await endRun(own, row, { status: "cancelled" });
  } else tx.afterCommit(() => tx.signals.notify(cancelTopic(id)));
  return row;
}
