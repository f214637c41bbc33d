import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { storeFault } from "./faults.ts";
import type { WriteDb } from "./store.ts";

/** The writing connection, as the queue drives it. */
export interface Writer {
  readonly db: WriteDb;
  /**
   * Begins the transaction that statements on `db` belong to from now on; the one before may still be on its way
   * to the disk, where the queue is told that it may be ahead. Optimistic: statements that nobody waits for are taken to
   * succeed, and `commit` throws `OptimisticFailure` where one did not.
   */
  begin(isOptimistic: boolean): Promise<Transaction> | Transaction;
}

export interface Transaction {
  /** Marks the place that `rollbackTo` goes back to. */
  savepoint(): Promise<void> | void;
  release(): Promise<void> | void;
  rollbackTo(): Promise<void> | void;
  commit(): Promise<void> | void;
  /** Leaves nothing of it open, whatever state the connection is in. Does not throw. */
  rollback(): Promise<void> | void;
  /** Why it is gone although nobody asked for it; null while it is there. */
  readonly lost: unknown;
}

/** A statement of the group failed that was taken to succeed: each of its works is to be done again, on its own. */
export class OptimisticFailure extends Error {
  override readonly name = "OptimisticFailure";
  constructor(cause: unknown) {
    super("A statement that wasn't awaited failed.", { cause });
  }
}

/** The server has lost the transaction, and nothing of it was saved: its works are to be done again, a few times. */
export class TransactionLost extends Error {
  override readonly name = "TransactionLost";
  constructor(cause: unknown) {
    super("The transaction was lost before it was committed.", { cause });
  }
}

export interface WriteQueueOptions {
  clock: Clock;
  /** True where nobody else writes: what is kept by `group` then holds from one transaction to the next. */
  isAlone: boolean;
  /** True where the works of a group run while the group before is being committed. */
  runsAhead: boolean;
  /** Maximum number of writes per group commit. */
  groupSize: number;
  /** Time slice of writes before other work gets a turn on the thread. */
  groupMs: number;
  /** Runs after each commit. The function it returns runs as soon as no write is in progress. Must not throw. */
  afterCommit?: () => (() => Promise<void>) | undefined;
}

interface PendingWrite {
  /** How often its transaction was lost, and when for the first time. */
  losses: number;
  lostAtMs?: number;
  /** True once it has failed after a change: it is done again in a transaction of its own. */
  isAlone?: boolean;
  work(db: WriteDb, group: object): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

type WriteResult = { write: PendingWrite; value: unknown } | { write: PendingWrite; error: unknown };

/** Works that share a transaction. */
interface Group {
  readonly transaction: Transaction;
  readonly isOptimistic: boolean;
  readonly writes: PendingWrite[];
  readonly results: WriteResult[];
}

/** A group on its way to the disk. */
interface Commit {
  readonly ended: Promise<void>;
  isEnded: boolean;
  /** Null where it went well. Otherwise nothing that came after it may stand, and these are to be done again. */
  again: readonly PendingWrite[] | null;
  /** Tells the works of a group that went well what they came to. */
  resolveAll(): void;
}

const WORK_LIMIT_MS = 10_000;
const WATCH_MS = 250;
/** A work whose transaction is lost is done again so often, within so long. */
const MAX_LOSSES = 3;
const LOST_FOR_MS = 10_000;
const LOST_PAUSE_MS = 200;

/**
 * All writes of this process, in order. It runs what waits, each work in its savepoint, while
 * the group before is being committed; then it commits those once, and resolves them all.
 */
export class WriteQueue {
  readonly #writer: Writer;
  readonly #options: WriteQueueOptions;
  readonly #current = new AsyncLocalStorage<PendingWrite>();
  #waiting: PendingWrite[] = [];
  #running: PendingWrite | null = null;
  #group: object = {};
  #startedMs = 0;
  /** Number of commits on their way. */
  #commits = 0;
  #abandon: (error: unknown) => void = () => {};
  #arrived: () => void = () => {};
  #idle: Promise<void> | null = null;
  #closed = false;

  constructor(writer: Writer, options: WriteQueueOptions) {
    this.#writer = writer;
    this.#options = options;
  }

  write<T>(work: (db: WriteDb, group: object) => Promise<T>): Promise<T> {
    if (this.#closed)
      return Promise.reject(new AppError("unavailable", "The server is stopping.", { retryable: true }));
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, losses: 0, resolve: resolve as (value: unknown) => void, reject });
      this.#arrived();
      this.#idle ??= this.#drive();
    });
  }

  /** Throws unless the caller stands inside the work whose turn it is. */
  check(): void {
    if (this.#running === null || this.#current.getStore() !== this.#running) {
      throw new AppError("internal", "A write was made outside its transaction.");
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#idle;
  }

  async #drive(): Promise<void> {
    const watch = setInterval(() => this.#expire(), WATCH_MS);
    let open: Group | null = null;
    let commit: Commit | null = null;
    let pause: (() => Promise<void>) | undefined;
    const { runsAhead } = this.#options;
    try {
      await yieldNow(); // whoever writes in this tick of the loop shares the commit
      while (this.#waiting.length > 0 || open || commit) {
        const ended: Commit | null = commit?.isEnded ? commit : null;
        if (ended) {
          commit = null;
          pause ??= this.#options.afterCommit?.();
        }
        if (ended?.again) {
          await this.#undo(open);
          const again = [...ended.again, ...(open?.writes ?? [])];
          open = null;
          if (ended.again.some(isKnownToFail)) this.#waiting.unshift(...again);
          else await this.#doAgain(again);
        }
        if (open && !commit) {
          commit = this.#commit(open); // before those of the one before are answered: that keeps this thread busy
          open = null;
        }
        ended?.resolveAll();
        if (pause && !commit) {
          await pause();
          pause = undefined;
        }
        const mayRun = !pause && this.#takesNext(open) && (runsAhead || !commit);
        if (mayRun && this.#waiting.length > 0) {
          open ??= await this.#begin(!this.#waiting[0]?.isAlone);
          await this.#runWorks(open);
          if (!commit) continue;
        }
        if (commit && !commit.isEnded && (this.#waiting.length === 0 || !mayRun)) {
          await Promise.race([commit.ended, mayRun ? this.#arrival() : commit.ended]);
        } else {
          await yieldNow();
        }
      }
    } finally {
      clearInterval(watch);
      this.#idle = null;
    }
  }

  #hasRoom(group: Group | null): boolean {
    return (
      group === null || (group.writes.length < this.#options.groupSize && group.transaction.lost === null)
    );
  }

  /** Whether the work that waits longest may join `group`; null is one that hasn't begun. */
  #takesNext(group: Group | null): boolean {
    if (!this.#hasRoom(group)) return false;
    const isApart = this.#waiting[0]?.isAlone || group?.isOptimistic === false;
    return !isApart || group === null || group.writes.length === 0;
  }

  /** Resolves the next time a write is queued. */
  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }

  async #begin(isOptimistic: boolean): Promise<Group> {
    if (!this.#options.isAlone) this.#group = {};
    return { transaction: await this.#writer.begin(isOptimistic), isOptimistic, writes: [], results: [] };
  }

  /** Runs works of those who wait, as long as the thread is ours. */
  async #runWorks(group: Group): Promise<void> {
    const { clock, groupMs } = this.#options;
    const endMs = clock.monotonic() + groupMs;
    while (this.#takesNext(group) && clock.monotonic() <= endMs) {
      const write = this.#waiting.shift();
      if (!write) return;
      group.writes.push(write);
      group.results.push(await this.#perform(write, group.transaction));
    }
  }

  #commit(group: Group): Commit {
    this.#commits++;
    const commit: Commit = {
      ended: this.#end(group).then((again) => {
        this.#commits--;
        commit.again = again;
        commit.isEnded = true;
      }),
      isEnded: false,
      again: null,
      resolveAll: () => commit.again === null && resolveAll(group),
    };
    return commit;
  }

  /**
   * Commits a group. Null when all went well; otherwise the works to do again, after those that nothing can
   * be done for were rejected.
   */
  async #end({ transaction, isOptimistic, writes }: Group): Promise<readonly PendingWrite[] | null> {
    try {
      if (transaction.lost !== null) throw transaction.lost;
      await transaction.commit();
      return null;
    } catch (error) {
      await transaction.rollback();
      this.#group = {};
      if (isOptimistic && error instanceof OptimisticFailure) return writes;
      if (error instanceof TransactionLost && this.#mayRepeat(writes)) return writes;
      const fault = storeFault(error instanceof TransactionLost ? error.cause : error);
      for (const write of writes) write.reject(fault);
      return [];
    }
  }

  /** Leaves nothing of a group that counted on what has failed. */
  async #undo(open: Group | null): Promise<void> {
    await open?.transaction.rollback();
    this.#group = {};
  }

  /** Does each in a transaction of its own, and takes nothing for granted. */
  async #doAgain(writes: readonly PendingWrite[]): Promise<void> {
    for (const write of writes) {
      let again: readonly PendingWrite[] | null;
      do {
        if (write.lostAtMs !== undefined) await this.#options.clock.sleep(LOST_PAUSE_MS * write.losses ** 2);
        const group = await this.#begin(false);
        group.writes.push(write);
        group.results.push(await this.#perform(write, group.transaction));
        again = await this.#end(group);
        if (again === null) resolveAll(group);
      } while (again !== null && again.length > 0);
    }
  }

  /** Whether works whose transaction was lost are done once more. */
  #mayRepeat(writes: readonly PendingWrite[]): boolean {
    const nowMs = this.#options.clock.monotonic();
    for (const write of writes) {
      write.lostAtMs ??= nowMs;
      write.losses++;
    }
    return writes.every(
      ({ losses, lostAtMs = nowMs }) => losses <= MAX_LOSSES && nowMs - lostAtMs <= LOST_FOR_MS,
    );
  }

  async #perform(write: PendingWrite, transaction: Transaction): Promise<WriteResult> {
    await transaction.savepoint();
    let result: WriteResult;
    try {
      result = { write, value: await this.#inTime(write) };
      if (transaction.lost === null) await transaction.release();
    } catch (error) {
      result = { write, error: storeFault(error) };
    }
    if ("error" in result && transaction.lost === null) {
      await transaction.rollbackTo();
      write.isAlone = transaction.lost !== null;
    }
    return result;
  }

  /** What the work of `write` comes to, or a rejection when it takes too long; either way it is over. */
  async #inTime(write: PendingWrite): Promise<unknown> {
    const late = Promise.withResolvers<never>();
    this.#running = write;
    this.#startedMs = this.#options.clock.monotonic();
    this.#abandon = late.reject;
    try {
      return await Promise.race([
        this.#current.run(write, async () => write.work(this.#writer.db, this.#group)),
        late.promise,
      ]);
    } finally {
      this.#running = null;
    }
  }

  #expire(): void {
    if (this.#commits > 0) this.#startedMs = this.#options.clock.monotonic(); // its statements may wait behind the commit
    if (this.#running === null || this.#options.clock.monotonic() - this.#startedMs < WORK_LIMIT_MS) return;
    this.#abandon(
      new AppError("internal", `A write took longer than ${WORK_LIMIT_MS / 1000} s and was rolled back.`),
    );
  }
}

/** Whether a work of a group is known as the one that failed, so that the others can share transactions again. */
const isKnownToFail = ({ isAlone, lostAtMs }: PendingWrite): boolean =>
  isAlone === true && lostAtMs === undefined;

function resolveAll({ results }: Group): void {
  for (const result of results) {
    if ("error" in result) result.write.reject(result.error);
    else result.write.resolve(result.value);
  }
}

const yieldNow = () => new Promise<void>((resolve) => setImmediate(resolve));
