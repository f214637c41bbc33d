import type { SQLQueryBindings } from "bun:sqlite";
import { AppError } from "../base/errors.ts";
import { drizzleOver } from "./drizzle-over.ts";
import { storeFault } from "./faults.ts";
import type { StoreOptions, WriteDb } from "./store.ts";
import { sqliteError, Thread, type Workers } from "./thread.ts";
import { OptimisticFailure, type Transaction, type Writer } from "./write-queue.ts";
import type { How, StatementCall, WriterReply, WriterRequest } from "./writer.worker.ts";

const STATEMENTS_KEPT = 256;

const BEGIN = "BEGIN IMMEDIATE";
const COMMIT = "COMMIT";
const ROLLBACK = "ROLLBACK";
const SAVEPOINT = "SAVEPOINT work";
const RELEASE = "RELEASE work";
const ROLLBACK_TO = "ROLLBACK TO work";
const CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)";

/**
 * The writing connection of a local file, which has its own thread. Statements whose results nobody awaits are
 * buffered and sent with the next awaited one, or with the commit. A work with only inserts thus costs this thread
 * neither their time nor a wait.
 */
export class ThreadWriter implements Writer {
  readonly db: WriteDb;
  readonly #channel: WriterChannel;
  readonly #options: CommitOptions;
  #current: ThreadTransaction | null = null;

  constructor(options: CommitOptions & Pick<StoreOptions, "path" | "workers">, check: () => void) {
    this.#channel = new WriterChannel(options.path, options.workers);
    this.#options = options;
    const current = (): ThreadTransaction => {
      check();
      if (this.#current === null) throw new AppError("internal", "A write was made outside its transaction.");
      return this.#current;
    };
    this.db = drizzleOver({
      run: (sql, how, values) => current().perform(sql, how, values),
      leave: (sql, values) => current().leave(sql, values),
    });
  }

  begin(isOptimistic: boolean): Transaction {
    this.#current = new ThreadTransaction(this.#channel, isOptimistic, this.#options);
    return this.#current;
  }

  /** Moves what it can of the WAL. Must be called while no transaction is open. */
  async checkpoint(): Promise<void> {
    await this.#channel.ask([this.#channel.call(CHECKPOINT)]);
  }

  close(): Promise<void> {
    return this.#channel.close();
  }
}

type CommitOptions = Pick<StoreOptions, "beforeCommit" | "syncMs">;

class ThreadTransaction implements Transaction {
  readonly #channel: WriterChannel;
  readonly #isOptimistic: boolean;
  readonly #options: CommitOptions;
  /** Statements not sent to the thread yet. */
  #calls: StatementCall[];
  /** Where the current work begins in them. */
  #workStart = 0;
  /** True once the thread has set the savepoint of the current work. */
  #hasSavepoint = false;
  /** True from when the thread is sent the transaction until its end. */
  #isOpen = false;
  #lost: unknown = null;

  constructor(channel: WriterChannel, isOptimistic: boolean, options: CommitOptions) {
    this.#channel = channel;
    this.#isOptimistic = isOptimistic;
    this.#options = options;
    this.#calls = [channel.call(BEGIN)];
  }

  get lost(): unknown {
    return this.#lost;
  }

  savepoint(): void {
    this.#workStart = this.#calls.length;
    this.#hasSavepoint = false;
  }

  release(): void {
    if (this.#hasSavepoint) this.#calls.push(this.#channel.call(RELEASE));
  }

  rollbackTo(): void {
    if (this.#hasSavepoint) this.#calls = [this.#channel.call(ROLLBACK_TO), this.#channel.call(RELEASE)];
    else this.#calls.length = this.#workStart;
  }

  async commit(): Promise<void> {
    if (!this.#isOpen && this.#calls.length === 1) return; // no changes
    this.#options.beforeCommit?.();
    this.#calls.push(this.#channel.call(COMMIT));
    await this.#send(this.#options.syncMs);
  }

  async rollback(): Promise<void> {
    this.#calls = [];
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#channel.ask([this.#channel.call(ROLLBACK)]).catch(() => undefined); // a failed thread has no open transaction
  }

  /** Executes an awaited statement. Throws a `storeFault`. */
  async perform(sql: string, how: How, values: unknown[]): Promise<unknown> {
    if (this.#lost !== null) throw storeFault(this.#lost);
    const call = this.#channel.call(sql, how, values);
    if (!this.#hasSavepoint) {
      this.#calls.splice(this.#workStart, 0, this.#channel.call(SAVEPOINT));
      this.#hasSavepoint = true;
    }
    this.#calls.push(call);
    return this.#send();
  }

  /** A statement that is assumed to succeed. If it fails, the queue repeats its group one by one. */
  leave(sql: string, values: readonly unknown[]): Promise<unknown> | undefined {
    if (!this.#isOptimistic) return this.perform(sql, "run", [...values]);
    if (this.#lost !== null) throw storeFault(this.#lost);
    this.#calls.push(this.#channel.call(sql, "blind", values as unknown[]));
  }

  /** Returns the result of the last step. Earlier failures are in `lost`. */
  async #send(pauseMs?: number): Promise<unknown> {
    const calls = this.#calls;
    this.#calls = [];
    this.#isOpen = true;
    const { value, fault, inTransaction } = await this.#channel.ask(calls, pauseMs).catch((error) => {
      this.#isOpen = false;
      this.#lost ??= error;
      throw error;
    });
    this.#isOpen = inTransaction;
    if (fault === null) return value;
    const error = storeFault(
      fault.code === null ? new Error(fault.message) : sqliteError(fault.message, fault.code),
    );
    const isLast = fault.at === calls.length - 1;
    if (!isLast && calls[fault.at]?.[1] === "blind") this.#lost ??= new OptimisticFailure(error);
    // SQLite rolls back by itself after a full disk or a failed read; later statements would run outside the
    // transaction
    else if (!isLast || !inTransaction) this.#lost ??= error;
    throw this.#lost ?? error;
  }
}

/** Communication with the thread: statements by number, requests and replies as text. */
class WriterChannel {
  readonly #path: string;
  readonly #thread: Thread<string, string>;
  readonly #numbers = new Map<string, number>();
  #nextNumber = 1;
  #learn: WriterRequest["learn"] = [];
  #forget: number[] = [];

  constructor(path: string, workers?: Workers) {
    this.#path = path;
    const name = "writer";
    const make = () => new Worker(new URL("./writer.worker.ts", import.meta.url).href, { name, smol: true });
    this.#thread = new Thread(name, make, workers);
  }

  call(sql: string, how: How = "control", values: unknown[] = []): StatementCall {
    for (const value of values) refuseUnknown(value);
    return [this.#numberOf(sql), how, values as SQLQueryBindings[]];
  }

  /** Throws `internal` if the thread has failed. The next request starts another. */
  async ask(calls: StatementCall[], pauseMs?: number): Promise<WriterReply> {
    const request: WriterRequest = { learn: this.#learn, forget: this.#forget, calls, pauseMs };
    if (!this.#thread.isRunning) {
      request.open = this.#path;
      request.learn = [...this.#numbers].map(([sql, number]) => [number, sql]);
    }
    this.#learn = [];
    this.#forget = [];
    try {
      return JSON.parse(await this.#thread.ask(JSON.stringify(request))) as WriterReply;
    } catch (cause) {
      throw new AppError("internal", "The writer thread failed, and this wasn't saved.", { cause });
    }
  }

  close(): Promise<void> {
    const last: WriterRequest = { learn: [], forget: [], calls: [], close: true };
    return this.#thread.close(JSON.stringify(last));
  }

  #numberOf(sql: string): number {
    const known = this.#numbers.get(sql);
    const number = known ?? this.#nextNumber++;
    this.#numbers.delete(sql);
    this.#numbers.set(sql, number); // most recently used last
    if (known !== undefined) return known;
    this.#learn.push([number, sql]);
    if (this.#numbers.size > STATEMENTS_KEPT) {
      const [oldest] = this.#numbers;
      if (oldest) this.#numbers.delete(oldest[0]);
      if (oldest) this.#forget.push(oldest[1]);
    }
    return number;
  }
}

/** JSON can't represent these. */
export function refuseUnknown(value: unknown): void {
  const isKnown = typeof value === "object" ? value === null : typeof value !== "bigint";
  if (!isKnown || (typeof value === "number" && !Number.isFinite(value))) {
    throw new AppError("internal", "The store can't save a value of this type.");
  }
}
