import { type SQL, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { type App, type Context, contextForRun, type WriteContext, writeFor } from "../context.ts";
import { organizations } from "../resources/organizations/table.ts";
import { actionRuns, type RunRow } from "../resources/runs/table.ts";
import { roomToRun } from "../resources/usage/quotas.ts";
import { changing, prepared } from "../store/prepared.ts";
import type { ReadDb, WriteDb } from "../store/store.ts";
import { runTopic } from "./enqueue.ts";
import { HANDOVER } from "./handover.ts";
import { type Claimed, type ClaimWatch, mostOfOne, type Room, UNWATCHED } from "./room.ts";
import { recordStart } from "./run-events.ts";
import { withStatuses } from "./statuses.ts";

/** A worker that hasn't renewed its lease for this long is considered dead. */
export const LEASE_MS = 30_000;

/**
 * Runs with the same concurrency key execute one at a time and in order: a run is held back while an older one of its
 * key is unfinished, and while any is running, since a clock that was set back can give the newer one the smaller ID.
 * Runs that write to the same dataset execute one at a time: a run is held back while another is running, and while an
 * older one could start. An older run that is held back by its own key may be waiting for this very run. The youngest
 * of the older runs is checked first, so that a long queue isn't scanned for each run.
 */
const isClaimable = sql`
  r.status in ('pending', 'waiting') and r.due_at is not null and r.due_at <= ${sql.placeholder("now")}
  and (r.concurrency_key is null or case
    when exists (
      select 1 from action_runs older
      where older.organization_id = r.organization_id and older.concurrency_key = r.concurrency_key
        and older.status in ('pending', 'running', 'waiting') and older.id < r.id) then false
    else not exists (
      select 1 from action_runs other indexed by action_runs_leased
      where other.status = 'running' and other.organization_id = r.organization_id
        and other.concurrency_key = r.concurrency_key) end)
  and (r.dataset_key is null or case
    when exists (
      select 1 from action_runs other indexed by action_runs_leased
      where other.status = 'running' and other.organization_id = r.organization_id
        and other.dataset_key = r.dataset_key) then false
    else (
      select 1 from action_runs other indexed by action_runs_by_dataset
      where other.organization_id = r.organization_id and other.dataset_key = r.dataset_key
        and other.status in ('pending', 'running', 'waiting') and other.due_at <= ${sql.placeholder("now")}
        and other.id < r.id and (other.concurrency_key is null or not exists (
          select 1 from action_runs ahead
          where ahead.organization_id = other.organization_id and ahead.concurrency_key = other.concurrency_key
            and ahead.status in ('pending', 'running', 'waiting') and ahead.id < other.id))
      order by other.id desc limit 1) is null end)`;

/** A run interrupted this often is suspected of crashing the process, and isn't started next to others. */
const SUSPECT_DEATHS = 2;
export const isSuspect = (run: Pick<RunRow, "processDeaths">) => run.processDeaths >= SUSPECT_DEATHS;
const isClaimableBesideOthers = sql`${isClaimable} and r.process_deaths < ${sql.placeholder("tooManyDeaths")}`;
const tooManyDeaths = ({ isolates }: Pick<Room, "isolates">) => (isolates ? SUSPECT_DEATHS : NEVER);
const NEVER = 2 ** 31 - 1;

/** With a bare parameter here, SQLite would recompile the statement on every run. */
const LIMIT = sql`+${sql.placeholder("limit")}`;

/** Returns the first organization after `after`, by ID, that has queued runs. */
const nextInQueue = (after: SQL) => sql`(
  select min(organization_id) from action_runs indexed by action_runs_due
  where status in ('pending', 'waiting') and due_at is not null and organization_id > ${after})`;

/**
 * Yields organizations with runs that can start, in turn: those after `last`, then from the beginning. One seek each.
 */
const roundRobin = prepared((db: ReadDb) =>
  db
    .select({ id: sql<string>`id` })
    .from(sql`(
      with recursive
        later(id) as (
          select ${nextInQueue(sql`${sql.placeholder("last")}`)}
          union all select ${nextInQueue(sql`later.id`)} from later where later.id is not null),
        sooner(id) as (
          select ${nextInQueue(sql`''`)}
          union all select ${nextInQueue(sql`sooner.id`)} from sooner where sooner.id < ${sql.placeholder("last")})
      select o.id from (
        select id from later where id is not null
        union all select id from sooner where id <= ${sql.placeholder("last")}) o
      where exists (select 1 from action_runs r indexed by action_runs_due
        where r.organization_id = o.id and ${isClaimableBesideOthers})
        and o.id not in (select value from json_each(${sql.placeholder("full")}))
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
        where r.organization_id = ${sql.placeholder("organizationId")} and ${isClaimableBesideOthers}
        order by r.due_at, r.id limit ${LIMIT})`,
    )
    .prepare(),
);

/** Returns the suspected run that has been due longest. */
const dueSuspect = prepared((db: ReadDb) =>
  db
    .select()
    .from(actionRuns)
    .where(
      sql`${actionRuns.id} in (
        select r.id from action_runs r indexed by action_runs_suspect
        where r.process_deaths > 1 and ${isClaimable}
        order by r.due_at limit 1)`,
    )
    .prepare(),
);

const countSuspects = prepared((db: ReadDb) =>
  db
    .select({ n: sql<number>`count(*)` })
    .from(sql`action_runs r indexed by action_runs_suspect where r.process_deaths > 1 and ${isClaimable}`)
    .prepare(),
);

/** Returns the number of suspected runs that could start. */
export async function suspectsDue({ store, clock }: App): Promise<number> {
  const [row] = await countSuspects(store.db).all({ now: timestamp(clock) });
  return row?.n ?? 0;
}

const hasNeighbours = prepared((db: ReadDb) =>
  db.select({ n: sql<number>`count(*)` }).from(sql`(select 1 from ${organizations} limit 2)`).prepare(),
);

/** Only for rows read in the same transaction, which nobody else can have changed since. */
const lease = changing(actionRuns, (update) =>
  update
    .set({
      status: sql`'running'`,
      statuses: withStatuses({ status: sql`'running'`, since: sql.placeholder("now") }),
      leaseToken: sql`${sql.placeholder("leaseToken")}`,
      leaseUntil: sql`${sql.placeholder("leaseUntil")}`,
      bootId: sql`${sql.placeholder("bootId")}`,
      startedAt: sql`coalesce(${actionRuns.startedAt}, ${sql.placeholder("now")})`,
      updatedAt: sql`${sql.placeholder("now")}`,
      dueAt: sql`null`,
    })
    .where(sql`${actionRuns.id} in (select value from json_each(${sql.placeholder("ids")}))`),
);

/** Runs that need no slot are read in batches of this size per organization. */
const INSTANTS = 128;
/** Time limit of these decisions per transaction, since every other write waits for it. */
const DECIDE_MS = 500;
/** Time before other work gets a turn on the thread. */
const SLICE_MS = 20;

/**
 * Returns whether a run can be finished immediately: its kind only computes, and no automation waits for it. A run from
 * before this process started, or one that has already ended a process, is executed like any other, so that it can't
 * end each process that gets it.
 */
const isInstant = (app: App, run: RunRow): boolean =>
  app.executors[run.kind].decide !== undefined &&
  run.automationRunId === null &&
  run.interruptCount === 0 &&
  run.id > app.bootId;

/** Executes a run in the transaction that found it due. Returns null, with nothing written, if it must be leased. */
type Complete = (tx: WriteContext, run: RunRow) => Promise<RunRow | null>;

/** The organization that got a slot last, by database. */
const lastServed = new WeakMap<object, string>();

/**
 * The queue just before a claim, read outside the transaction. It only narrows the search. The transaction decides.
 */
interface Outlook {
  hasSuspect: boolean;
  isShared: boolean;
  /** Slots that one organization can hold. */
  most: number;
  /** Free places of organizations with a quota. */
  quotas: ReadonlyMap<string, number>;
  /** Organizations that hold all the slots they can. */
  full: readonly string[];
  /** Organizations with claimable runs, in turn. */
  round: readonly string[];
}

async function lookAhead({ store, clock }: App, room: Room): Promise<Outlook> {
  const { slots, of, ahead, isolates, isQuiet } = room;
  const heldSlots = room.heldSlots();
  const { db } = store;
  const now = timestamp(clock);
  const [suspects, [neighbours], quotas] = await Promise.all([
    isolates && isQuiet() ? dueSuspect(db).all({ now }) : [],
    hasNeighbours(db).all(),
    roomToRun(db),
  ]);
  const isShared = (neighbours?.n ?? 0) > 1;
  const most = isShared ? mostOfOne(of) : of + ahead;
  const hasSuspect = suspects.length > 0;
  const last = lastServed.get(store) ?? "";
  const known = [...new Set([...heldSlots.keys(), ...quotas.keys()])];
  const full = known.filter((id) => roomOf(id, { most, heldSlots, quotas }) <= 0);
  const round = hasSuspect
    ? []
    : await roundRobin(db).all({
        now,
        limit: slots,
        last,
        full: JSON.stringify(full),
        tooManyDeaths: tooManyDeaths(room),
      });
  return { hasSuspect, isShared, most, quotas, full, round: round.map(({ id }) => id) };
}

const roomOf = (
  id: string,
  { most, heldSlots, quotas }: Pick<Outlook, "most" | "quotas"> & { heldSlots: ReadonlyMap<string, number> },
) => Math.min(most - (heldSlots.get(id) ?? 0), quotas.get(id) ?? Number.POSITIVE_INFINITY);

/**
 * Leases due runs to this process, as many as there are `slots`. Organizations take turns, so that a long queue of one
 * doesn't block the others. Within an organization, the runs due longest come first. Runs that only compute need no
 * slot: with `complete`, they are returned completed. A suspected run is returned alone, and before all others, if the
 * room isolates such runs.
 */
export async function claimRuns(
  app: App,
  room: Room,
  complete: Complete | null = null,
  watch: ClaimWatch = UNWATCHED,
): Promise<Claimed> {
  const outlook = await lookAhead(app, room);
  const { hasSuspect, isShared, quotas, full, round } = outlook;
  const limited = new Set([...quotas.keys(), ...full]);
  const isNone = !hasSuspect && round.length === 0;
  if (isNone) return { runs: [], isAll: true, isShared, limited };
  return writeFor(app, async (inside, db) => {
    watch.begun();
    const { runs, isAll, passedOver } = await claimIn(app, room, { outlook, complete, inside, db });
    const claim = { runs, isAll, isShared, limited: new Set([...limited, ...passedOver]) };
    watch.claimed(claim);
    const [first] = runs;
    if (first) inside(contextForRun(app, first)).afterCommit(() => watch.committed(claim));
    return claim;
  });
}

interface ClaimTransaction {
  outlook: Outlook;
  complete: Complete | null;
  inside: (ctx: Context) => WriteContext;
  db: WriteDb;
}

async function claimIn(app: App, room: Room, { outlook, complete, inside, db }: ClaimTransaction) {
  const { slots } = room;
  const claim: Claim = {
    app,
    db,
    now: timestamp(app.clock),
    leaseToken: app.ids.uuid(),
    leaseUntil: timestamp(app.clock, LEASE_MS),
    complete: complete && ((run) => complete(inside(contextForRun(app, run)), run)),
    decideMs: DECIDE_MS,
    tooManyDeaths: tooManyDeaths(room),
    resumed: new Set(),
  };
  const isForSuspect = outlook.hasSuspect && room.isQuiet(); // transactions before this one have started runs
  const [suspect] = isForSuspect ? await dueSuspect(db).all({ now: claim.now }) : [];
  const rows: RunRow[] = suspect ? await leaseAll(claim, [suspect]) : [];
  const { most, round } = outlook;
  const quotas = outlook.quotas.size > 0 ? await roomToRun(db) : outlook.quotas; // other processes claim, too
  const heldSlots = room.heldSlots(); // transactions before this one have reserved slots
  const passedOver: string[] = [];
  let left = slots;
  let isAll = !outlook.hasSuspect && round.length < slots;
  for (const [index, organizationId] of round.entries()) {
    if (claim.decideMs <= 0) break;
    const share = Math.min(
      Math.ceil(left / (round.length - index)),
      roomOf(organizationId, { most, heldSlots, quotas }),
    );
    if (share <= 0) {
      passedOver.push(organizationId);
      continue;
    }
    const claimed = await claimOf(claim, organizationId, share);
    isAll &&= claimed.length < share;
    left -= claimed.filter((row) => row.status === "running" && !(complete && isInstant(app, row))).length;
    rows.push(...claimed);
    lastServed.set(app.store, organizationId);
  }
  rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const row of rows) {
    if (row.status !== "running") continue;
    const tx = inside(contextForRun(app, row));
    await recordStart(tx, row);
    if (claim.resumed.has(row.id)) await tx.runFollowers.resumed(tx, row);
    tx.afterCommit(() => tx.signals.notify(runTopic(row.id)));
  }
  return { runs: rows, isAll: isAll && claim.decideMs > 0, passedOver };
}

interface Claim {
  app: App;
  db: WriteDb;
  now: string;
  leaseToken: string;
  leaseUntil: string;
  complete: ((run: RunRow) => Promise<RunRow | null>) | null;
  /** Time left for decisions. */
  decideMs: number;
  /** Runs interrupted this often aren't claimed. */
  tooManyDeaths: number;
  /** Runs of automations that waited for their next attempt. */
  resumed: Set<string>;
}

const yieldNow = () => new Promise((resolve) => setImmediate(resolve));

/** If all it found are runs that only compute, it continues, so that a queue of them doesn't advance in small steps. */
async function claimOf(claim: Claim, organizationId: string, slots: number): Promise<RunRow[]> {
  const { app, db, now, complete, tooManyDeaths } = claim;
  const rows: RunRow[] = [];
  let turnMs = 0;
  let left = slots;
  for (const limit of complete && slots < INSTANTS ? [slots, INSTANTS] : [slots]) {
    const due = await dueOf(db).all({ now, organizationId, limit, tooManyDeaths });
    due.sort((a, b) => (`${a.dueAt} ${a.id}` < `${b.dueAt} ${b.id}` ? -1 : 1));
    const taken: RunRow[] = [];
    for (const row of due) {
      const isOnTheSpot = complete !== null && isInstant(app, row);
      if (isOnTheSpot && claim.decideMs <= 0) continue;
      const startedMs = app.clock.monotonic();
      const completed = isOnTheSpot ? await complete(row) : null;
      if (completed) app.memory.of(HANDOVER).queued.delete(row.id);
      claim.decideMs -= app.clock.monotonic() - startedMs;
      turnMs += app.clock.monotonic() - startedMs;
      if (completed) rows.push(completed);
      if (turnMs > SLICE_MS) {
        turnMs = 0;
        await yieldNow();
      }
      if (completed) continue;
      if (isOnTheSpot || left-- > 0) taken.push(row);
    }
    rows.push(...(await leaseAll(claim, taken)));
    if (due.length < limit || left < slots || claim.decideMs <= 0) break;
  }
  return rows;
}

async function leaseAll(claim: Claim, taken: readonly RunRow[]): Promise<RunRow[]> {
  const { app, db, now, leaseToken, leaseUntil } = claim;
  if (taken.length === 0) return [];
  const { bootId } = app;
  const ids = JSON.stringify(taken.map(({ id }) => id));
  const { queued } = app.memory.of(HANDOVER);
  for (const { id } of taken) queued.delete(id);
  for (const { id, status, automationRunId } of taken)
    if (status === "waiting" && automationRunId !== null) claim.resumed.add(id);
  await lease(db, { now, leaseToken, leaseUntil, bootId, ids });
  return taken.map((row) => {
    const startedAt = row.startedAt ?? now;
    const leased = { leaseToken, leaseUntil, bootId, startedAt, updatedAt: now };
    return { ...row, ...leased, status: "running" };
  });
}
