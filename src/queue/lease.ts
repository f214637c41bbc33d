import { and, eq, inArray, lt, ne, notInArray, type SQL, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { type App, contextForRun, type WriteContext, write } from "../context.ts";
import { actionRuns, type RunRow } from "../resources/runs/table.ts";
import { LEASE_MS } from "./claim.ts";
import { RUNS_TOPIC, runTopic } from "./enqueue.ts";
import { appendLogs, type NewLog } from "./logs.ts";
import { withStatuses } from "./statuses.ts";

/** A run resumes after this many interruptions, and fails at the next. */
const MAX_INTERRUPTS = 3;

/** Written out: with a value in its place, the index of running runs wouldn't serve it. */
const IS_RUNNING = sql`${actionRuns.status} = 'running'`;

export type Leased = Pick<RunRow, "id" | "leaseToken">;

/** Extends the leases of these runs. Returns which have a cancellation request, and which another worker has. */
export async function renewLeases(
  app: App,
  runs: readonly Leased[],
): Promise<{ cancelled: string[]; lost: string[] }> {
  if (runs.length === 0) return { cancelled: [], lost: [] };
  const tokens = new Map(runs.map((run) => [run.id, run.leaseToken]));
  const rows = await app.store.write((db) =>
    db
      .update(actionRuns)
      .set({ leaseUntil: timestamp(app.clock, LEASE_MS) })
      .where(
        and(
          inArray(actionRuns.id, [...tokens.keys()]),
          inArray(
            actionRuns.leaseToken,
            [...tokens.values()].filter((token) => token !== null),
          ),
          IS_RUNNING,
        ),
      )
      .returning({ id: actionRuns.id, cancelRequestedAt: actionRuns.cancelRequestedAt }),
  );
  for (const { id } of rows) tokens.delete(id);
  return {
    cancelled: rows.filter((row) => row.cancelRequestedAt !== null).map((row) => row.id),
    lost: [...tokens.keys()],
  };
}

/**
 * Selects runs that lost their process: at boot, those of earlier boots (on a shared database, those with an expired
 * lease, as later on), or those whose outcome this process couldn't store.
 */
export type Lost = "at boot" | "later" | readonly Leased[];

function isLost(app: App, lost: Lost): SQL | undefined {
  const ofOthers = ne(actionRuns.bootId, app.bootId);
  if (lost === "at boot" && !app.store.remote) return ofOthers;
  if (typeof lost === "string") return and(ofOthers, lt(actionRuns.leaseUntil, timestamp(app.clock)));
  return inArray(
    actionRuns.leaseToken,
    lost.map((run) => run.leaseToken).filter((token) => token !== null),
  );
}

/** Queues lost runs again. A run that was interrupted more than three times is queued to be failed. */
export async function rescueRuns(app: App, lost: Lost): Promise<{ again: number; exhausted: RunRow[] }> {
  const now = timestamp(app.clock);
  // With a shared database, no process knows whether another died or was only suspended.
  const died = lost === "at boot" && !app.store.remote ? 1 : 0;
  const isExhausted = sql`${actionRuns.interruptCount} >= ${MAX_INTERRUPTS}`;
  const rows = await app.store.write((db) =>
    db
      .update(actionRuns)
      .set({
        // a run whose failure couldn't be stored comes here again
        interruptCount: sql`case when ${actionRuns.interruptCount} > ${MAX_INTERRUPTS} then ${actionRuns.interruptCount}
          else ${actionRuns.interruptCount} + 1 end`,
        processDeaths: sql`${actionRuns.processDeaths} + ${died}`,
        status: sql`case when ${isExhausted} then 'running' else 'pending' end`,
        statuses: sql`case when ${isExhausted} then ${actionRuns.statuses}
          else ${withStatuses({ status: "pending", since: now })} end`,
        dueAt: sql`case when ${isExhausted} then null else ${now} end`,
        leaseToken: sql`case when ${isExhausted} then ${app.ids.uuid()} else null end`,
        bootId: app.bootId,
        leaseUntil: timestamp(app.clock, LEASE_MS),
        updatedAt: now,
      })
      .where(and(IS_RUNNING, isLost(app, lost)))
      .returning(),
  );
  if (rows.length > 0) app.signals.notify(RUNS_TOPIC);
  return {
    again: rows.filter((row) => row.status === "pending").length,
    exhausted: rows.filter((row) => row.status === "running"),
  };
}

/** Resets the interruptions of a long run that has made progress. A run that keeps ending its process doesn't get that far. */
export const forgetInterrupts = async (tx: WriteContext, { id }: RunRow): Promise<void> =>
  void (await tx.db
    .update(actionRuns)
    .set({ interruptCount: 0, processDeaths: 0 })
    .where(eq(actionRuns.id, id)));

/** Queues a run again that hasn't been executed, in its old place. */
export const releaseRun = (app: App, run: RunRow, dueAt: string | null): Promise<void> =>
  requeue(app, run, { dueAt });

/**
 * Queues a run again that a stopping process leaves unfinished. It is counted as an interruption, but however often
 * servers are stopped, that alone doesn't end a run.
 */
export const interruptRun = (app: App, run: RunRow): Promise<void> =>
  requeue(app, run, {
    interruptCount: sql`case when ${actionRuns.interruptCount} < ${MAX_INTERRUPTS - 1} then ${actionRuns.interruptCount} + 1
      else ${actionRuns.interruptCount} end`,
  });

function requeue(
  app: App,
  run: RunRow,
  { dueAt = null, interruptCount }: { dueAt?: string | null; interruptCount?: SQL },
): Promise<void> {
  return write(contextForRun(app, run), async (tx) => {
    const now = timestamp(tx.clock);
    const message = "The server stopped before this attempt ended. The run starts again.";
    const lines: NewLog[] = interruptCount ? [{ timestamp: now, level: "warn", message }] : [];
    const [row] = await tx.db
      .update(actionRuns)
      .set({
        status: "pending",
        statuses: withStatuses({ status: "pending", since: now, moreLines: lines.length }),
        ...(interruptCount ? { interruptCount } : {}),
        dueAt: dueAt ?? now,
        leaseToken: null,
        leaseUntil: null,
        updatedAt: now,
      })
      .where(
        and(
          eq(actionRuns.id, run.id),
          eq(actionRuns.leaseToken, run.leaseToken ?? ""),
          eq(actionRuns.status, "running"),
        ),
      )
      .returning({ id: actionRuns.id });
    if (!row) return;
    await appendLogs(tx.db, run.id, lines);
    tx.afterCommit(() => {
      for (const topic of [runTopic(run.id), RUNS_TOPIC]) tx.signals.notify(topic);
    });
  });
}

/**
 * Returns runs that this process leased without knowing, as when the answer to a commit was lost: their lease has
 * expired, and they aren't among `held`.
 */
export async function unknownLeases(app: App, runs: readonly Leased[]): Promise<Leased[]> {
  const tokens = runs.map((run) => run.leaseToken).filter((token) => token !== null);
  return app.store.db
    .select({ id: actionRuns.id, leaseToken: actionRuns.leaseToken })
    .from(actionRuns)
    .where(
      and(
        eq(actionRuns.status, "running"),
        eq(actionRuns.bootId, app.bootId),
        lt(actionRuns.leaseUntil, timestamp(app.clock)),
        notInArray(actionRuns.leaseToken, tokens),
      ),
    );
}
