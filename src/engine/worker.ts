import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { contextForRun } from "../context.ts";
import { completeDue } from "../queue/at-once.ts";
import { claimRuns, isSuspect, suspectsDue } from "../queue/claim.ts";
import { cancelTopic, RUNS_TOPIC } from "../queue/enqueue.ts";
import { HANDOVER } from "../queue/handover.ts";
import { interruptRun, releaseRun, renewLeases } from "../queue/lease.ts";
import { type Claimed, type ClaimWatch, mostOfOne } from "../queue/room.ts";
import { tracedContext, traceTry } from "../queue/trace.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { elsewhere } from "../store/shared-signals.ts";
import { type Endings, openEndings } from "./endings.ts";
import { execute } from "./execute.ts";
import { Ended } from "./failure.ts";
import { type DatasetLocks, openLocks } from "./locks.ts";
import type { Loop } from "./loop.ts";
import { openPace } from "./pace.ts";
import { rescue } from "./rescuer.ts";
import { openSlots, type Slots } from "./slots.ts";

/** Runs that this process is executing. */
export interface Worker extends Loop {
  /** Its running runs. */
  leasedRuns(): readonly RunRow[];
  /** Stops claiming runs. */
  drain(): void;
  /** Resolves when no run is executing. */
  idle(): Promise<void>;
  /** Requeues all running runs as soon as they stop. */
  stop(): void;
  /** Requeues runs that don't stop. Nothing they do afterwards is saved. */
  abandon(): Promise<void>;
  /** Extends leases and notices cancellations. Called every few seconds. */
  renew(): Promise<void>;
}

/** Delay before checking again if all slots are taken, unless one becomes free. */
const FULL_MS = 5_000;
/**
 * Period after a process starts in which suspected runs run alone, since crashes happen early.
 * They share it, so that many of them delay the others no longer than one.
 */
const ISOLATION_MS = 20_000;
/** A run that takes longer is slow: no other is claimed before its slot is free. */
const SLOW_MS = 100;
/** Longest time that a claimed run waits for a slot. */
const WAIT_MS = 500;

interface Job {
  run: RunRow;
  startedMs: number;
  /** When it got the slot that it holds. Null while it has none. */
  enteredMs: number | null;
  /** How long other runs wait for it, if it is suspected. */
  aloneMs?: number;
  control: AbortController;
  done: Promise<void>;
}

/** Claims due runs, up to the number of free slots, and executes them concurrently. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its parts share the slots and the running runs
export function openWorker(app: App, locks: DatasetLocks = openLocks()): Worker {
  const jobs = new Map<string, Job>();
  /** Runs that ended here but whose outcome couldn't be stored, for example because the disk was full. */
  let stranded: RunRow[] = [];
  let draining = false;
  /** When the first tick began. */
  let openedMs: number | null = null;
  let freed = () => {};
  /** Slots reserved for runs being claimed. */
  let claiming = 0;
  /** Organizations of new runs with room here whose transaction isn't committed, by run. */
  const reserved = new Map<string, string>();
  /** Organizations of runs that were claimed in a transaction that isn't committed. */
  let claimedOf: readonly string[] = [];
  const { concurrency } = app.config;
  const pace = openPace();
  /** True during a claim, from its first read to its commit. */
  let isClaiming = false;
  let last: Claimed | null = null;
  /** True if the last claim found all runs, and no run has had to wait for a slot since. */
  let isClear = false;
  /** Number of runs that have had to wait for a slot, now and when the last claim was made. */
  let waited = 0;
  let waitedBefore = 0;
  /** Only for runs that end fast, and if no other organization or process could start them now. */
  const ahead = () => {
    if (last === null || last.isShared || (app.peers?.size ?? 1) > 1) return 0;
    const now = app.clock.monotonic();
    let slow = 0;
    for (const { enteredMs } of jobs.values()) if (enteredMs !== null && now - enteredMs > SLOW_MS) slow++;
    return pace.ahead(Math.max(0, concurrency - slow));
  };
  const slots = openSlots(
    concurrency,
    { underWay: () => jobs.size, claiming: () => claiming + reserved.size, ahead },
    () => freed(),
  );
  /** A slot of an organization is free. A claim may have passed over its runs. */
  const mayClaim = (organizationId: string) => {
    const isPassing = isClaiming && (last === null || last.isShared || last.limited.size > 0);
    if (isPassing || last?.limited.has(organizationId)) app.signals.notify(RUNS_TOPIC);
  };
  const endings = openEndings(app, (runId) => {
    const job = jobs.get(runId);
    slots.release(runId);
    if (!job) return;
    ran(job);
    mayClaim(job.run.organizationId);
  });
  const ran = (job: Job) => {
    if (job.enteredMs !== null) pace.ran(app.clock.monotonic() - job.enteredMs);
    job.enteredMs = null;
  };

  const strand = (error: unknown, run: RunRow) => {
    app.log.report(error, { runId: run.id, correlationId: run.correlationId });
    stranded.push(run);
  };

  const underWay = () => [...jobs.values()].map(({ run }) => run);

  /** How long suspected runs may still run alone. */
  const isolationMs = () => {
    const now = app.clock.monotonic();
    openedMs ??= now;
    return Math.max(0, ISOLATION_MS - (now - openedMs));
  };

  const start = (run: RunRow) => {
    const control = new AbortController();
    const unlisten = app.signals.listen(cancelTopic(run.id), () => control.abort(new Ended("cancelled")));
    const before = jobs.get(run.id)?.done ?? Promise.resolve(); // its last attempt may still be cleaning up
    const job: Job = { run, startedMs: app.clock.monotonic(), enteredMs: null, control, done: before };
    jobs.set(run.id, job);
    job.done = before
      .then(() => enter(job))
      .catch((error) => strand(error, run))
      .finally(() => {
        ran(job);
        if (jobs.get(run.id)?.run === run) jobs.delete(run.id);
        unlisten();
        slots.left(run.id);
        mayClaim(run.organizationId);
      });
  };

  /** Executes a run once it has a slot. If that takes too long, the run returns to the queue. */
  const enter = async (job: Job) => {
    const { run, control } = job;
    if (slots.isLate()) {
      const [entered, late] = [new AbortController(), new AbortController()];
      void app.clock.limit(WAIT_MS, entered.signal).then(() => late.abort());
      await slots.enter(run.id, AbortSignal.any([control.signal, late.signal]));
      if (late.signal.aborted && !control.signal.aborted) return pass(run);
      entered.abort();
    }
    job.enteredMs = app.clock.monotonic();
    await carryOut(app, run, { control, locks, endings, slots });
  };

  /** Requeues a run that no slot became free for, in its old place. */
  const pass = (run: RunRow) => {
    makeWait();
    slots.release(run.id);
    return releaseRun(app, run, run.dueAt);
  };

  const makeWait = () => {
    isClear = false;
    waited++;
  };

  /** Slots by organization, without those of a claim that isn't committed. */
  const heldSlots = () => {
    const counts = new Map<string, number>();
    const hold = (organizationId: string) =>
      counts.set(organizationId, (counts.get(organizationId) ?? 0) + 1);
    for (const { id, organizationId } of underWay()) if (!slots.isResting(id)) hold(organizationId);
    for (const organizationId of reserved.values()) hold(organizationId);
    return counts;
  };

  const isAtShare = (organizationId: string) => {
    const ofClaim = claimedOf.filter((id) => id === organizationId).length;
    return (heldSlots().get(organizationId) ?? 0) + ofClaim >= mostOfOne(concurrency);
  };

  /** Starts a run whose transaction is committed. */
  const begin = (run: RunRow) => {
    start(run);
    if (draining) jobs.get(run.id)?.control.abort(new Ended("stopped"));
  };

  app.memory.of(HANDOVER).reserve = ({ id, organizationId }) => {
    if (draining || last?.limited.has(organizationId)) return null;
    if (!isClear || last === null || (last.isShared && isAtShare(organizationId)) || slots.room() <= 0) {
      makeWait();
      return null;
    }
    reserved.set(id, organizationId);
    return {
      start(run) {
        reserved.delete(id);
        begin(run);
      },
      release() {
        reserved.delete(id);
        slots.admit();
        mayClaim(organizationId);
      },
    };
  };

  const watchOf = (most: number): ClaimWatch => ({
    begun() {
      [claiming, claimedOf, isClear] = [most, [], false];
    },
    claimed(claim) {
      last = claim;
      claimedOf = claim.runs.filter(({ status }) => status === "running").map((run) => run.organizationId);
      claiming = claimedOf.length;
      isClear = claim.isAll;
      waitedBefore = waited;
    },
    committed({ runs }) {
      [claiming, claimedOf] = [0, []];
      for (const run of runs) if (run.status === "running") begin(run);
    },
  });

  /** If a run that is decided immediately can't be saved, all are claimed normally, and that one fails by itself. */
  const claim = (most: number) => {
    const room = {
      slots: most,
      of: concurrency,
      ahead: ahead(),
      heldSlots,
      isolates: isolationMs() > 0,
      isQuiet: () => reserved.size === 0 && underWay().every(isSuspect),
    };
    const watch = watchOf(most);
    return claimRuns(app, room, completeDue, watch).catch((error: unknown) => {
      if (error instanceof AppError && error.retryable) throw error;
      app.log.report(error, { at: "decide runs at once" });
      watch.begun();
      return claimRuns(app, room, null, watch);
    });
  };

  /** The suspected run that runs alone, and for how much longer. Null if others may start. */
  const alone = async () => {
    for (const job of jobs.values()) {
      if (!isSuspect(job.run)) continue;
      job.aloneMs ??= isolationMs() / (1 + (await suspectsDue(app)));
      const leftMs = job.aloneMs - (app.clock.monotonic() - job.startedMs);
      if (leftMs > 0) return { done: job.done, leftMs };
    }
    return null;
  };

  return {
    name: "worker",
    async tick(signal) {
      const room = slots.room();
      if (draining || signal.aborted) return "idle";
      if (room <= 0) {
        isClear = false;
        const full = new AbortController();
        freed = () => full.abort();
        // the remaining and new runs are left to processes with free slots
        const leave = () => app.signals.notify(elsewhere(RUNS_TOPIC));
        leave();
        const unlisten = app.signals.listen(RUNS_TOPIC, leave);
        await app.clock.sleep(FULL_MS, AbortSignal.any([signal, full.signal]));
        unlisten();
        return "more";
      }
      const first = await alone();
      if (first) {
        const over = new AbortController();
        void first.done.then(() => over.abort());
        await app.clock.sleep(first.leftMs, AbortSignal.any([signal, over.signal]));
        return "more";
      }
      try {
        isClaiming = true;
        waitedBefore = waited;
        claiming = isClear ? Math.ceil(room / 2) : room; // the others are for runs that are stored as claimed
        last = await claim(claiming);
        isClear = last.isAll && waited === waitedBefore;
      } catch (error) {
        isClear = false;
        throw error;
      } finally {
        [isClaiming, claiming, claimedOf] = [false, 0, []];
        slots.admit();
      }
      return last.isAll ? "idle" : "more";
    },
    leasedRuns: underWay,
    drain() {
      draining = true;
    },
    async idle() {
      while (jobs.size + reserved.size > 0) {
        await Promise.all([...jobs.values()].map((job) => job.done));
        if (reserved.size > 0) await yieldNow(); // their transaction is about to end
      }
    },
    stop() {
      for (const { control } of jobs.values()) control.abort(new Ended("stopped"));
    },
    async abandon() {
      for (const run of underWay()) {
        app.log.write("warn", "run doesn't stop; requeued", { runId: run.id });
        await interruptRun(app, run).catch((error) => app.log.report(error, { runId: run.id })); // the next start resumes it
      }
    },
    async renew() {
      const checked = new Set(underWay());
      const { cancelled, lost } = await renewLeases(app, [...checked]);
      for (const id of cancelled) jobs.get(id)?.control.abort(new Ended("cancelled"));
      for (const id of lost) {
        const job = jobs.get(id);
        // an attempt that ended in the meantime holds no lease; the next one has its own and isn't lost
        if (job && checked.has(job.run)) job.control.abort(new Ended("lost"));
      }
      if (stranded.length === 0) return;
      const again = stranded;
      stranded = [];
      try {
        stranded.push(...(await rescue(app, again)));
      } catch (error) {
        stranded.push(...again); // for example while the disk is still full: nothing else would ever resume them
        throw error;
      }
    },
  };
}

const yieldNow = () => new Promise((resolve) => setImmediate(resolve));

/** How often a commit that conflicts with another on its dataset is recomputed before the run fails. */
const MAX_RACES = 5;

interface Means {
  control: AbortController;
  locks: DatasetLocks;
  endings: Endings;
  slots: Slots;
}

async function carryOut(app: App, run: RunRow, { control, locks, endings, slots }: Means): Promise<void> {
  const ctx = tracedContext(contextForRun(app, run), run);
  const startMs = app.clock.now().getTime();
  for (let race = 1; ; race++) {
    const { outcome, definition, isResolved, isItem, opened } = await execute(ctx, run, {
      control,
      locks,
      slots,
    });
    try {
      const gathered = opened
        ? await opened.leftover()
        : { progress: run.progress, isProgressNew: false, logs: [] };
      if (outcome === null)
        return await (control.signal.aborted ? interruptRun(app, run) : releaseRun(app, run, null));
      await endings.conclude(run, outcome, { definition, isResolved, ...gathered }, isItem);
      traceTry(app, run, startMs, outcome.status, "error" in outcome ? outcome.error.message : null);
      return;
    } catch (error) {
      if (!(error instanceof AppError && error.code === "dataset_changed") || race >= MAX_RACES) throw error;
    } finally {
      await opened?.dispose();
    }
  }
}
