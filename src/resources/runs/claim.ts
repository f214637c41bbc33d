import { and, eq, inArray, lt, ne, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { type Actor, type App, type Context, contextFor, write, writeFor } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { WriteDb } from "../../store/store.ts";
import { type Entity, record } from "../events/service.ts";
import { RUNS_TOPIC, runTopic } from "./enqueue.ts";
import { actionRuns, type RunRow } from "./table.ts";

/** A worker that has not renewed its lease for so long is taken for dead. */
export const LEASE_MS = 30_000;
/** A run goes on after so many ends of its process, and fails at the next. */
const MAX_INTERRUPTS = 3;

/** A context to act on behalf of whoever set the run off. */
export const contextForRun = (app: App, run: Pick<RunRow, "organizationId" | "actor" | "correlationId">): Context =>
  contextFor(app, {
    organizationId: run.organizationId,
    actor: run.actor as unknown as Actor,
    role: "member",
    correlationId: run.correlationId,
  });

/** The system itself, in a run's organization and chain. */
export const systemContext = (ctx: Context): Context => ({ ...ctx, actor: SYSTEM });
export const SYSTEM: Actor = { type: "system", id: "worker", process: "weir" };

/**
 * Runs of one concurrency key go one at a time and in order: a run is held back while an older one of
 * its key is not finished.
 */
const claimDue = prepared((db: WriteDb) =>
  db
    .update(actionRuns)
    .set({
      status: "running",
      leaseToken: sql`${sql.placeholder("leaseToken")}`,
      leaseUntil: sql`${sql.placeholder("leaseUntil")}`,
      bootId: sql`${sql.placeholder("bootId")}`,
      startedAt: sql`coalesce(${actionRuns.startedAt}, ${sql.placeholder("now")})`,
      updatedAt: sql`${sql.placeholder("now")}`,
      dueAt: null,
    })
    .where(
      sql`${actionRuns.id} in (
        select r.id from action_runs r
        where r.status in ('pending', 'waiting') and r.due_at is not null and r.due_at <= ${sql.placeholder("now")}
          and (r.concurrency_key is null or not exists (
            select 1 from action_runs older
            where older.organization_id = r.organization_id and older.concurrency_key = r.concurrency_key
              and older.status in ('pending', 'running', 'waiting') and older.id < r.id))
        order by r.due_at, r.id limit ${sql.placeholder("limit")})`,
    )
    .returning()
    .prepare(),
);

/** Leases up to `limit` due runs to this process, those longest due first. */
export function claimRuns(app: App, limit: number): Promise<RunRow[]> {
  return writeFor(app, async (inside, db) => {
    const now = timestamp(app.clock);
    const rows: RunRow[] = await claimDue(db).all({
      now,
      limit,
      leaseToken: app.ids.uuid(),
      leaseUntil: timestamp(app.clock, LEASE_MS),
      bootId: app.bootId,
    });
    rows.sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const row of rows) {
      await record(inside(contextForRun(app, row)), "action.started", entityOf(row), startedData(row));
    }
    return rows;
  });
}

const startedData = (row: RunRow) => ({ runId: row.id, actionId: row.actionId, kind: row.kind, attempt: row.retryCount + 1 });

/** Events of a run are about its action, or about the run itself where it is a step without one; `data.runId` names it. */
export const entityOf = (run: Pick<RunRow, "id" | "actionId">): Entity =>
  run.actionId === null ? { type: "action_run", id: run.id } : { type: "action", id: run.actionId };

/** Extends the leases of the runs at hand; gives back those that somebody asked to cancel. */
export async function renewLeases(app: App, runs: readonly { id: string; leaseToken: string | null }[]): Promise<string[]> {
  if (runs.length === 0) return [];
  const ids = runs.map((run) => run.id);
  return app.store.write(async (db) => {
    const rows = await db
      .update(actionRuns)
      .set({ leaseUntil: timestamp(app.clock, LEASE_MS) })
      .where(and(inArray(actionRuns.id, ids), eq(actionRuns.bootId, app.bootId), eq(actionRuns.status, "running")))
      .returning({ id: actionRuns.id, cancelRequestedAt: actionRuns.cancelRequestedAt });
    return rows.filter((row) => row.cancelRequestedAt !== null).map((row) => row.id);
  });
}

/**
 * Takes up what dead processes left: at boot everything of earlier boots of a local store, else what has
 * outlived its lease. A run that was interrupted more than three times comes back to be failed.
 */
export function rescueRuns(app: App, atBoot: boolean): Promise<{ again: number; exhausted: RunRow[] }> {
  const lost =
    atBoot && !app.store.remote
      ? ne(actionRuns.bootId, app.bootId)
      : and(ne(actionRuns.bootId, app.bootId), lt(actionRuns.leaseUntil, timestamp(app.clock)));
  return app.store.write(async (db) => {
    const rows = await db
      .update(actionRuns)
      .set({
        interruptCount: sql`${actionRuns.interruptCount} + 1`,
        status: sql`case when ${actionRuns.interruptCount} >= ${MAX_INTERRUPTS} then 'running' else 'pending' end`,
        dueAt: sql`case when ${actionRuns.interruptCount} >= ${MAX_INTERRUPTS} then null else ${timestamp(app.clock)} end`,
        leaseToken: sql`case when ${actionRuns.interruptCount} >= ${MAX_INTERRUPTS} then ${app.ids.uuid()} else null end`,
        bootId: app.bootId,
        leaseUntil: timestamp(app.clock, LEASE_MS),
        updatedAt: timestamp(app.clock),
      })
      .where(and(eq(actionRuns.status, "running"), lost))
      .returning();
    if (rows.length > 0) app.signals.notify(RUNS_TOPIC);
    return {
      again: rows.filter((row) => row.status === "pending").length,
      exhausted: rows.filter((row) => row.status === "running"),
    };
  });
}

/** Puts a run back in line without using a try, for a process that is stopping. */
export function releaseRun(app: App, run: RunRow): Promise<void> {
  return write(contextForRun(app, run), async (tx) => {
    await tx.db
      .update(actionRuns)
      .set({ status: "pending", dueAt: timestamp(tx.clock), leaseToken: null, leaseUntil: null, updatedAt: timestamp(tx.clock) })
      .where(and(eq(actionRuns.id, run.id), eq(actionRuns.leaseToken, run.leaseToken ?? ""), eq(actionRuns.status, "running")));
    tx.afterCommit(() => tx.signals.notify(runTopic(run.id)));
  });
}
