import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { storeFault } from "./faults.ts";
import type { WriteDb } from "./store.ts";

/** The writing connection, from the view of the queue. */
export interface Writer {
  readonly db: WriteDb;
  /**
   * Begins the transaction for the next statements on `db`. If the queue runs ahead, the previous one may still be
   * committing. Optimistic: statements that aren't awaited are assumed to succeed, and `commit` throws
   * `OptimisticFailure` if one didn't.
   */
  begin(isOptimistic: boolean): Promise<Transaction> | Transaction;
}

export interface Transaction {
  /** Sets the savepoint for `rollbackTo`. */
  savepoint(): Promise<void> | void;
  release(): Promise<void> | void;
  rollbackTo(): Promise<void> | void;
  commit(): Promise<void> | void;
  /** Ends the transaction, whatever the state of the connection. Doesn't throw. */
  rollback(): Promise<void> | void;
  /** Why the transaction was lost, or null while it is open. */
  readonly lost: unknown;
}

/** A statement of the group that was assumed to succeed has failed. Each of its works must run again on its own. */
export class OptimisticFailure extends Error {
  override readonly name = "OptimisticFailure";
  constructor(cause: unknown) {
    super("A statement that wasn't awaited failed.", { cause });
  }
}

/** The server lost the transaction, and nothing was saved. Its works must run again, up to a few times. */
export class TransactionLost extends Error {
  override readonly name = "TransactionLost";
  constructor(cause: unknown) {
    super("The transaction was lost before it was committed.", { cause });
  }
}

export interface WriteQueueOptions {
  clock: Clock;
  /** True if no other process writes. Data cached by `group` then stays valid across transactions. */
  isAlone: boolean;
  /** True if a group runs while the previous one is committing. */
  runsAhead: boolean;
  /** Maximum number of writes per group commit. */
  groupSize: number;
  /** Time slice of writes before other work gets a turn on the thread. */
  groupMs: number;
  /** Runs after each commit. The function it returns runs as soon as no write is in progress. Must not throw. */
  afterCommit?: () => (() => Promise<void>) | undefined;
}

interface PendingWrite {
  /** How often its transaction was lost, and when first. */
  losses: number;
  lostAtMs?: number;
  /** True if it failed after a change. It then runs again in its own transaction. */
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

/** A group that is being committed. */
interface Commit {
  readonly ended: Promise<void>;
  isEnded: boolean;
  /** Null if it succeeded. Otherwise later groups must be undone, and these works must run again. */
  again: readonly PendingWrite[] | null;
  /** Resolves the works of a successful group. */
  resolveAll(): void;
}

const WORK_LIMIT_MS = 10_000;
const WATCH_MS = 250;
/** Limits for repeating a work whose transaction was lost: number of attempts, and total time. */
const MAX_LOSSES = 3;
const LOST_FOR_MS = 10_000;
const LOST_PAUSE_MS = 200;

/**
 * All writes of this process, in order. It runs waiting works, each in its savepoint, while the previous group is
 * committing. Then it commits them together and resolves them all.
 */
export class WriteQueue {
  readonly #writer: Writer;
  readonly #options: WriteQueueOptions;
  readonly #current = new AsyncLocalStorage<PendingWrite>();
  #waiting: PendingWrite[] = [];
  #running: PendingWrite | null = null;
  #group: object = {};
  #startedMs = 0;
  /** Number of commits in progress. */
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

  /** Throws unless called from the current work. */
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
      await yieldNow(); // all writes of this event loop turn share the commit
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
          commit = this.#commit(open); // before the previous group is resolved, which keeps this thread busy
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

  /** Whether the oldest waiting work may join `group`, or start a group if null. */
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

  /** Runs waiting works for one time slice. */
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
   * Commits a group. Returns null on success, otherwise the works to run again, after rejecting those that can't be
   * repeated.
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

  /** Undoes a group that was based on a failed one. */
  async #undo(open: Group | null): Promise<void> {
    await open?.transaction.rollback();
    this.#group = {};
  }

  /** Runs each work in its own transaction, not optimistically. */
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

  /** Whether works whose transaction was lost may run again. */
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

  /** The result of a work, or a rejection if it takes too long. In both cases it has finished. */
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
    if (this.#commits > 0) this.#startedMs = this.#options.clock.monotonic(); // its statements may be waiting for the commit
    if (this.#running === null || this.#options.clock.monotonic() - this.#startedMs < WORK_LIMIT_MS) return;
    this.#abandon(
      new AppError("internal", `A write took longer than ${WORK_LIMIT_MS / 1000} s and was rolled back.`),
    );
  }
}

/** Whether a failed work of a group is identified, so that the others can share transactions again. */
const isKnownToFail = ({ isAlone, lostAtMs }: PendingWrite): boolean =>
  isAlone === true && lostAtMs === undefined;

function resolveAll({ results }: Group): void {
  for (const result of results) {
    if ("error" in result) result.write.reject(result.error);
    else result.write.resolve(result.value);
  }
}

const yieldNow = () => new Promise<void>((resolve) => setImmediate(resolve));
