import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { storeFault } from "./faults.ts";
import type { WriteDb } from "./store.ts";

/** The writing connection, as the lane drives it. */
export interface Writer {
  readonly db: WriteDb;
  begin(): Promise<void> | void;
  /** Marks the place that `rollbackTo` goes back to. */
  savepoint(): Promise<void> | void;
  release(): Promise<void> | void;
  rollbackTo(): Promise<void> | void;
  commit(): Promise<void> | void;
  /** Leaves no transaction open, whatever state the connection is in. Does not throw. */
  rollback(): Promise<void> | void;
  /** Why the transaction is gone although nobody asked for it; null while it is there. */
  readonly lost: unknown;
}

export interface LaneOptions {
  clock: Clock;
  /** At most so many works share a commit. */
  groupSize: number;
  /** A group takes in no further work once it has run so long, so that others get a turn at the thread. */
  groupMs: number;
  /** Runs after each commit; the next group waits for its promise. Must not throw. */
  afterCommit?: () => Promise<void> | undefined;
}

interface Turn {
  work(db: WriteDb, group: object): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

type Outcome = { turn: Turn; value: unknown } | { turn: Turn; error: unknown };

const WORK_LIMIT_MS = 10_000;
const WATCH_MS = 250;

/**
 * The one line in which all writes of this process stand. It takes what waits in one turn of the event
 * loop, runs each work in its savepoint, commits once and then settles them all.
 */
export class Lane {
  readonly #writer: Writer;
  readonly #options: LaneOptions;
  readonly #current = new AsyncLocalStorage<Turn>();
  #waiting: Turn[] = [];
  #running: Turn | null = null;
  #group: object = {};
  #startedMs = 0;
  #abandon: (error: unknown) => void = () => {};
  #idle: Promise<void> | null = null;
  #closed = false;

  constructor(writer: Writer, options: LaneOptions) {
    this.#writer = writer;
    this.#options = options;
  }

  write<T>(work: (db: WriteDb, group: object) => Promise<T>): Promise<T> {
    if (this.#closed)
      return Promise.reject(new AppError("unavailable", "The server is stopping.", { retryable: true }));
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#idle ??= this.#drive();
    });
  }

  /** Throws unless the caller stands inside the work whose turn it is. */
  check(): void {
    if (this.#running === null || this.#current.getStore() !== this.#running) {
      throw new AppError("internal", "A write came outside of its transaction.");
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#idle;
  }

  async #drive(): Promise<void> {
    const watch = setInterval(() => this.#expire(), WATCH_MS);
    try {
      await nextTurn(); // whoever writes in this turn of the loop shares the commit
      while (this.#waiting.length > 0) {
        await this.#runGroup(this.#waiting.splice(0, this.#options.groupSize));
        const pause = this.#options.afterCommit?.();
        if (pause) await pause;
        await nextTurn(); // those who were answered write again in the next turn, and share the next commit
      }
    } finally {
      clearInterval(watch);
      this.#idle = null;
    }
  }

  async #runGroup(group: Turn[]): Promise<void> {
    const writer = this.#writer;
    const { clock, groupMs } = this.#options;
    const outcomes: Outcome[] = [];
    let ran = 0;
    this.#group = {};
    try {
      await writer.begin();
      const endMs = clock.monotonic() + groupMs;
      for (const turn of group) {
        ran++;
        outcomes.push(await this.#perform(turn));
        if (writer.lost !== null) throw writer.lost;
        if (clock.monotonic() > endMs) break;
      }
      await writer.commit();
    } catch (error) {
      await writer.rollback();
      if (ran === 0) ran = group.length; // the transaction did not even begin
      const fault = storeFault(error);
      for (const turn of group.slice(0, ran)) turn.reject(fault);
      outcomes.length = 0;
    }
    this.#waiting.unshift(...group.slice(ran));
    for (const outcome of outcomes) {
      if ("error" in outcome) outcome.turn.reject(outcome.error);
      else outcome.turn.resolve(outcome.value);
    }
  }

  async #perform(turn: Turn): Promise<Outcome> {
    const writer = this.#writer;
    await writer.savepoint();
    let outcome: Outcome;
    try {
      outcome = { turn, value: await this.#inTime(turn) };
    } catch (error) {
      outcome = { turn, error: storeFault(error) };
    }
    if (writer.lost !== null) return outcome;
    if ("error" in outcome) await writer.rollbackTo();
    else await writer.release();
    return outcome;
  }

  /** What the work of `turn` comes to, or a rejection when it takes too long; either way its turn is over. */
  async #inTime(turn: Turn): Promise<unknown> {
    const late = Promise.withResolvers<never>();
    this.#running = turn;
    this.#startedMs = this.#options.clock.monotonic();
    this.#abandon = late.reject;
    try {
      return await Promise.race([
        this.#current.run(turn, async () => turn.work(this.#writer.db, this.#group)),
        late.promise,
      ]);
    } finally {
      this.#running = null;
    }
  }

  #expire(): void {
    if (this.#running === null || this.#options.clock.monotonic() - this.#startedMs < WORK_LIMIT_MS) return;
    this.#abandon(
      new AppError("internal", `A write took longer than ${WORK_LIMIT_MS / 1000} s and was undone.`),
    );
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
