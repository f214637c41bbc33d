import { and, eq, inArray, lt, ne, type SQL, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { type Actor, type App, type Context, contextFor, write, writeFor } from "../../context.ts";
import { changing, prepared } from "../../store/prepared.ts";
import type { WriteDb } from "../../store/store.ts";
import { version } from "../../version.ts";
import { type Entity, record } from "../events/service.ts";
import { RUNS_TOPIC, runTopic } from "./enqueue.ts";
import { actionRuns, type RunRow } from "./table.ts";

/** A worker that has not renewed its lease for so long is taken for dead. */
export const LEASE_MS = 30_000;
/** A run goes on after so many ends of its process, and fails at the next. */
const MAX_INTERRUPTS = 3;

/** A context to act on behalf of whoever set the run off. */
export const contextForRun = (
  app: App,
  run: Pick<RunRow, "organizationId" | "actor" | "correlationId">,
): Context =>
  contextFor(app, {
    organizationId: run.organizationId,
    actor: run.actor as unknown as Actor,
    role: "member",
    correlationId: run.correlationId,
  });

/** The worker itself, for what no person and no automation does. */
export const SYSTEM: Actor = { type: "system", id: "worker", process: "weir", version };

/**
 * Runs of one concurrency key go one at a time and in order: a run is held back while an older one of
 * its key is not finished, and while any is under way: after the clock was set back the newer one may have
 * the smaller id. Runs that write to one dataset go one at a time: a run is held back while another is under
 * way, and while an older one could go; one that is itself held back by its key may wait for this very run. The
 * youngest of the older ones is looked at first, so that a long line of those is not gone through for each run.
 */
const isClaimable = sql`
  r.status in ('pending', 'waiting') and r.due_at is not null and r.due_at <= ${sql.placeholder("now")}
  and (r.concurrency_key is null or case
    when exists (
      select 1 from action_runs older
      where older.organization_id = r.organization_id and older.concurrency_key = r.concurrency_key
        and older.status in ('pending', 'running', 'waiting') and older.id < r.id) then 0
    else not exists (
      select 1 from action_runs other indexed by action_runs_leased
      where other.status = 'running' and other.organization_id = r.organization_id
        and other.concurrency_key = r.concurrency_key) end)
  and (r.dataset_key is null or case
    when exists (
      select 1 from action_runs other indexed by action_runs_leased
      where other.status = 'running' and other.organization_id = r.organization_id
        and other.dataset_key = r.dataset_key) then 0
    else (
      select 1 from action_runs other indexed by action_runs_by_dataset
      where other.organization_id = r.organization_id and other.dataset_key = r.dataset_key
        and other.status in ('pending', 'running', 'waiting') and other.due_at <= ${sql.placeholder("now")}
        and other.id < r.id and (other.concurrency_key is null or not exists (
          select 1 from action_runs ahead
          where ahead.organization_id = other.organization_id and ahead.concurrency_key = other.concurrency_key
            and ahead.status in ('pending', 'running', 'waiting') and ahead.id < other.id))
      order by other.id desc limit 1) is null end)`;

/** With a bare parameter here SQLite would compile the statement anew each time that it runs. */
const LIMIT = sql`+${sql.placeholder("limit")}`;

/** The first organization after `after`, in the order of their ids, that has runs in line. */
const nextInLine = (after: SQL) => sql`(
  select min(organization_id) from action_runs indexed by action_runs_due
  where status in ('pending', 'waiting') and due_at is not null and organization_id > ${after})`;

/** Organizations with runs that can go, in turn: those after `last`, then from the first on. One seek for each. */
const inTurn = prepared((db: WriteDb) =>
  db
    .select({ id: sql<string>`id` })
    .from(sql`(
      with recursive
        later(id) as (
          select ${nextInLine(sql`${sql.placeholder("last")}`)}
          union all select ${nextInLine(sql`later.id`)} from later where later.id is not null),
        sooner(id) as (
          select ${nextInLine(sql`''`)}
          union all select ${nextInLine(sql`sooner.id`)} from sooner where sooner.id < ${sql.placeholder("last")})
      select o.id from (
        select id from later where id is not null
        union all select id from sooner where id <= ${sql.placeholder("last")}) o
      where exists (select 1 from action_runs r indexed by action_runs_due
        where r.organization_id = o.id and ${isClaimable})
      limit ${LIMIT})`)
    .prepare(),
);

const dueOf = prepared((db: WriteDb) =>
  db
    .select()
    .from(actionRuns)
    .where(
      sql`${actionRuns.id} in (
        select r.id from action_runs r indexed by action_runs_due
        where r.organization_id = ${sql.placeholder("organizationId")} and ${isClaimable}
        order by r.due_at, r.id limit ${LIMIT})`,
    )
    .prepare(),
);

/** Of rows that were read in the same transaction, which nobody else can have changed since. */
const lease = changing((db) =>
  db
    .update(actionRuns)
    .set({
      status: sql`'running'`,
      leaseToken: sql`${sql.placeholder("leaseToken")}`,
      leaseUntil: sql`${sql.placeholder("leaseUntil")}`,
      bootId: sql`${sql.placeholder("bootId")}`,
      startedAt: sql`coalesce(${actionRuns.startedAt}, ${sql.placeholder("now")})`,
      updatedAt: sql`${sql.placeholder("now")}`,
      dueAt: sql`null`,
    })
    .where(sql`${actionRuns.id} in (select value from json_each(${sql.placeholder("ids")}))`),
);

/** Runs that need no place are leased so many at a time of each organization. */
const INSTANTS = 64;

/**
 * A run that is over as soon as it is begun: its kind only computes, and no automation waits for it. One under which a
 * process has ended goes the ordinary way, so that it can't draw many others into the next end.
 */
export const isInstant = (app: App, run: RunRow): boolean =>
  app.executors[run.kind].decide !== undefined && run.automationRunId === null && run.interruptCount === 0;

/** The organization that was given a place last, by store. */
const lastServed = new WeakMap<object, string>();

/**
 * Leases due runs to this process, as many as there are `places`, and instant ones beyond: organizations take turns,
 * so that a long line of one holds up no other; within an organization those longest due come first.
 */
export function claimRuns(app: App, places: number): Promise<RunRow[]> {
  return writeFor(app, async (inside, db) => {
    const claim: Claim = {
      app,
      db,
      now: timestamp(app.clock),
      leaseToken: app.ids.uuid(),
      leaseUntil: timestamp(app.clock, LEASE_MS),
    };
    const last = lastServed.get(app.store) ?? "";
    const turns = await inTurn(db).all({ now: claim.now, limit: places, last });
    const rows: RunRow[] = [];
    let left = places;
    for (const [index, { id: organizationId }] of turns.entries()) {
      const claimed = await claimOf(claim, organizationId, Math.ceil(left / (turns.length - index)));
      left -= claimed.filter((row) => !isInstant(app, row)).length;
      rows.push(...claimed);
      lastServed.set(app.store, organizationId);
    }
    rows.sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const row of rows) {
      await record(inside(contextForRun(app, row)), "action.started", entityOf(row), startedData(row));
    }
    return rows;
  });
}

interface Claim {
  app: App;
  db: WriteDb;
  now: string;
  leaseToken: string;
  leaseUntil: string;
}

/** Where all that there is room for are instant ones, it looks further: a line of them is not to go in small steps. */
async function claimOf(claim: Claim, organizationId: string, places: number): Promise<RunRow[]> {
  const { app, db, now, leaseToken, leaseUntil } = claim;
  const rows: RunRow[] = [];
  let left = places;
  for (const limit of places < INSTANTS ? [places, INSTANTS] : [places]) {
    const due = await dueOf(db).all({ now, organizationId, limit });
    due.sort((a, b) => (`${a.dueAt} ${a.id}` < `${b.dueAt} ${b.id}` ? -1 : 1));
    const taken = due.filter((row) => isInstant(app, row) || left-- > 0);
    if (taken.length === 0) break;
    const ids = JSON.stringify(taken.map(({ id }) => id));
    await lease(db, { now, leaseToken, leaseUntil, bootId: app.bootId, ids });
    for (const row of taken) {
      const startedAt = row.startedAt ?? now;
      const leased = { leaseToken, leaseUntil, bootId: app.bootId, startedAt, updatedAt: now, dueAt: null };
      rows.push({ ...row, ...leased, status: "running" });
    }
    if (due.length < limit || left < places) break;
  }
  return rows;
}

export const startedData = (row: RunRow) => ({
  runId: row.id,
  actionId: row.actionId,
  kind: row.kind,
  attempt: row.retryCount + 1,
});

/** Events of a run are about its action, or about the run itself where it is a step without one; `data.runId` names it. */
export const entityOf = (run: Pick<RunRow, "id" | "actionId">): Entity =>
  run.actionId === null ? { type: "action_run", id: run.id } : { type: "action", id: run.actionId };

type Leased = Pick<RunRow, "id" | "leaseToken">;

/** Extends the leases of the runs at hand. Gives back which of them somebody asked to cancel, and which another worker has. */
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
          eq(actionRuns.status, "running"),
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
 * Which runs have lost their process: at boot all of earlier boots (of a shared store those past their lease,
 * as later on), or those whose outcome this process could not write.
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

/** Puts lost runs back in line. One that was interrupted more than three times comes back to be failed. */
export async function rescueRuns(app: App, lost: Lost): Promise<{ again: number; exhausted: RunRow[] }> {
  const now = timestamp(app.clock);
  const isExhausted = sql`${actionRuns.interruptCount} >= ${MAX_INTERRUPTS}`;
  const rows = await app.store.write((db) =>
    db
      .update(actionRuns)
      .set({
        interruptCount: sql`${actionRuns.interruptCount} + 1`,
        status: sql`case when ${isExhausted} then 'running' else 'pending' end`,
        dueAt: sql`case when ${isExhausted} then null else ${now} end`,
        leaseToken: sql`case when ${isExhausted} then ${app.ids.uuid()} else null end`,
        bootId: app.bootId,
        leaseUntil: timestamp(app.clock, LEASE_MS),
        updatedAt: now,
      })
      .where(and(eq(actionRuns.status, "running"), isLost(app, lost)))
      .returning(),
  );
  if (rows.length > 0) app.signals.notify(RUNS_TOPIC);
  return {
    again: rows.filter((row) => row.status === "pending").length,
    exhausted: rows.filter((row) => row.status === "running"),
  };
}

/** Puts a run back in line without using a try, for a process that is stopping. */
export function releaseRun(app: App, run: RunRow): Promise<void> {
  return write(contextForRun(app, run), async (tx) => {
    await tx.db
      .update(actionRuns)
      .set({
        status: "pending",
        dueAt: timestamp(tx.clock),
        leaseToken: null,
        leaseUntil: null,
        updatedAt: timestamp(tx.clock),
      })
      .where(
        and(
          eq(actionRuns.id, run.id),
          eq(actionRuns.leaseToken, run.leaseToken ?? ""),
          eq(actionRuns.status, "running"),
        ),
      );
    tx.afterCommit(() => tx.signals.notify(runTopic(run.id)));
  });
}
