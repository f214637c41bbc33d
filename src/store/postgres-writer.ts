import { randomBytes } from "node:crypto";
import { AppError } from "../base/errors.ts";
import { drizzleOver, type ResultForm } from "./drizzle-over.ts";
import { StoreError } from "./faults.ts";
import { LeftStatements } from "./left-statements.ts";
import { checkValues, isLockTimeout, isLost, isRejected, type PostgresClient } from "./postgres-driver.ts";
import type { Merging, WriteDb } from "./store.ts";
import { OptimisticFailure, type Transaction, TransactionLost, type Writer } from "./write-queue.ts";

/**
 * Advisory lock that each write transaction holds until it ends, so that only one of all processes writes at a time.
 */
const WRITER_LOCK = "7301";
const BEGIN = `BEGIN READ WRITE; SELECT pg_advisory_xact_lock(${WRITER_LOCK})`;
/** COMMIT outside a transaction succeeds with a warning. A savepoint there fails. */
const COMMIT = "SAVEPOINT whole; COMMIT";
/**
 * If a process hangs between two messages of one statement, PostgreSQL doesn't consider it idle. It would hold the
 * lock until the statement timeout.
 */
const DISCONNECT_HOLDER = `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
  WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objid = ${WRITER_LOCK}
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND a.wait_event = 'ClientRead' AND a.state_change < clock_timestamp() - interval '5 s'`;
/**
 * Marks a transaction as this writer's. Its ID alone isn't enough: if the server crashes before anything of the
 * transaction is on its disk, it gives the ID to another one.
 */
const MARK = `INSERT INTO last_commits (writer, id) VALUES (?, pg_current_xact_id())
  ON CONFLICT (writer) DO UPDATE SET id = excluded.id, at = now() RETURNING id::text`;
/** The ID of a transaction that the server doesn't know: a crash lost it. */
const IN_THE_FUTURE = "22023";
/** How long to check for the outcome of a commit. */
const STATUS_ATTEMPTS = 20;
const STATUS_PAUSE_MS = 250;

/**
 * The single writing connection of this process. Statements are sent immediately. Only awaited results cost a round
 * trip.
 */
export class PostgresWriter implements Writer {
  readonly db: WriteDb;
  readonly #client: PostgresClient;
  readonly #reader: PostgresClient;
  readonly #id = randomBytes(12).toString("base64url");
  #current: PostgresTransaction | null = null;

  /** `reader` provides other connections, to check whether a commit succeeded. */
  constructor(client: PostgresClient, reader: PostgresClient, check: () => void) {
    this.#client = client;
    this.#reader = reader;
    const current = (): PostgresTransaction => {
      check();
      if (this.#current === null) throw new AppError("internal", "A write was made outside its transaction.");
      return this.#current;
    };
    this.db = drizzleOver({
      run: (sql, how, values) => current().perform(sql, how, values),
      leave: (sql, values, merging) => current().leave(sql, values, merging),
    });
  }

  begin(isOptimistic: boolean): Transaction {
    this.#current = new PostgresTransaction(this.#client, this.#reader, this.#id, isOptimistic);
    return this.#current;
  }
}

class PostgresTransaction implements Transaction {
  readonly #client: PostgresClient;
  readonly #reader: PostgresClient;
  readonly #writer: string;
  readonly #isOptimistic: boolean;
  #isOpen = false;
  #hasChanges = false;
  /** Whether the current work has changed something. */
  #isWorkChanging = false;
  /** The server's transaction ID, or null until it is known. */
  #id: string | null = null;
  #lost: unknown = null;
  /** The first failure of a statement that wasn't awaited. */
  #failure: unknown = null;
  #sent: Promise<unknown>[] = [];
  readonly #left = new LeftStatements();
  /** Why the server rejected the beginning, so that nothing was saved. */
  #rejection: unknown = null;
  /** The previous statement, if the transaction isn't optimistic. */
  #turn: Promise<void> = Promise.resolve();

  constructor(client: PostgresClient, reader: PostgresClient, writer: string, isOptimistic: boolean) {
    this.#client = client;
    this.#reader = reader;
    this.#writer = writer;
    this.#isOptimistic = isOptimistic;
  }

  get lost(): unknown {
    return this.#lost;
  }

  savepoint(): void {
    this.#isWorkChanging = false;
  }

  release(): void {
    // a savepoint for each work would be two more statements
  }

  /** Works that throw after a change are rare. Their group is then repeated one by one. */
  async rollbackTo(): Promise<void> {
    if (!this.#isWorkChanging) return;
    if (this.#isOptimistic) this.#lost ??= new OptimisticFailure(new Error("A work failed after a change."));
    else await this.rollback(); // it is the only one
  }

  /** Executes an awaited statement. Statements sent together take one round trip. Throws a `storeFault`. */
  perform(sql: string, how: ResultForm, values: unknown[]): Promise<unknown> {
    if (this.#isOptimistic) return this.#perform(sql, how, values);
    const result = this.#turn.then(() => this.#perform(sql, how, values)); // each has its savepoint
    this.#turn = result.then(nothing, nothing);
    return result;
  }

  async #perform(sql: string, how: ResultForm, values: unknown[]): Promise<unknown> {
    if (this.#lost !== null) throw this.#lost;
    this.#open(isChange(sql));
    this.#sendLeft();
    // a rejected statement ends a PostgreSQL transaction, while in SQLite a work may continue after it
    if (!this.#isOptimistic) this.#control("SAVEPOINT statement");
    try {
      const result = await this.#client.perform(sql, how, values);
      if (this.#failure !== null) throw this.#failure;
      if (!this.#isOptimistic) this.#control("RELEASE statement");
      return result;
    } catch (error) {
      await Promise.all(this.#sent); // replies to all earlier statements are here
      throw this.#refused(error);
    }
  }

  #refused(error: unknown): unknown {
    const failure = this.#rejection ?? this.#failure; // what followed the rejection failed too
    if (failure !== null) this.#lost ??= lostBy(failure, this.#isOptimistic);
    else if (isLost(error) || isOutside(error)) this.#lost ??= new TransactionLost(error);
    else if (this.#isOptimistic) this.#lost ??= new OptimisticFailure(error);
    else this.#control("ROLLBACK TO statement; RELEASE statement");
    return this.#lost ?? error;
  }

  /** A statement that is assumed to succeed. If it fails, the queue repeats its group one by one. */
  leave(sql: string, values: readonly unknown[], merging?: Merging): Promise<unknown> | undefined {
    if (!this.#isOptimistic) return this.perform(sql, "run", [...values]);
    if (this.#lost !== null) throw this.#lost;
    checkValues(values);
    this.#open(true);
    this.#left.add(sql, values, merging);
  }

  #sendLeft(): void {
    for (const { sql, values } of this.#left.take()) this.#note(this.#client.perform(sql, "run", values));
  }

  async commit(): Promise<void> {
    if (!this.#isOpen) return;
    this.#sendLeft();
    const failed = await this.#client.simple(COMMIT).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    await Promise.all(this.#sent);
    if (failed === null) {
      this.#isOpen = false;
      return;
    }
    const { error } = failed;
    if (this.#rejection !== null) throw new TransactionLost(this.#rejection);
    if (this.#failure !== null && !isLost(this.#failure)) throw lostBy(this.#failure, this.#isOptimistic);
    if (!isLost(error) && !isOutside(error)) throw error;
    // it may only have committed if the server's reply was lost
    if (!this.#hasChanges || isOutside(error) || !(await this.#wasCommitted(error)))
      throw new TransactionLost(this.#failure ?? error);
    this.#isOpen = false;
  }

  /**
   * Asks the server whether a commit succeeded whose reply was lost. Throws `unavailable` if the server doesn't
   * know.
   */
  async #wasCommitted(error: unknown): Promise<boolean> {
    const id = this.#id;
    for (let attempt = 0; id !== null && attempt < STATUS_ATTEMPTS; attempt++) {
      const status = await this.#statusOf(id);
      if (status === "committed") return true;
      if (status === "aborted") return false;
      if (status !== "in progress") break;
      await new Promise((resolve) => setTimeout(resolve, STATUS_PAUSE_MS));
    }
    throw new AppError(
      "unavailable",
      "The connection to the database was lost during a commit. It is unknown whether this was saved.",
      { retryable: true, cause: error },
    );
  }

  async #statusOf(id: string): Promise<unknown> {
    try {
      const [row] = await this.#reader.simple(`SELECT pg_xact_status('${id}'::xid8) AS status`);
      if (row?.status !== "committed") return row?.status;
      const own = `SELECT FROM last_commits WHERE writer = '${this.#writer}' AND id = '${id}'`;
      return (await this.#reader.simple(own)).length > 0 ? "committed" : "aborted";
    } catch (error) {
      if (error instanceof StoreError && error.code === IN_THE_FUTURE) return "aborted";
      return "in progress"; // the server may be restarting
    }
  }

  async rollback(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#client.simple("ROLLBACK").catch(() => undefined); // a lost connection has no open transaction
    await Promise.all(this.#sent);
  }

  #open(isChange: boolean): void {
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#note(this.#client.simple(BEGIN).catch((error) => this.#notBegun(error)));
    }
    if (!isChange) return;
    this.#isWorkChanging = true;
    if (this.#hasChanges) return;
    this.#hasChanges = true;
    this.#note(
      this.#client.perform(MARK, "values", [this.#writer]).then((rows) => {
        [[this.#id]] = rows as [[string]];
      }),
    );
  }

  /** Repeats a transaction that didn't get the lock, after disconnecting the holder if it hangs. */
  async #notBegun(error: unknown): Promise<never> {
    if (isRejected(error)) this.#rejection = error;
    if (isLockTimeout(error)) await this.#reader.simple(DISCONNECT_HOLDER).catch(() => undefined); // its own timeout ends it
    throw error;
  }

  #control(sql: string): void {
    this.#note(this.#client.simple(sql));
  }

  /** A statement that isn't awaited. Its failure is reported by the next one that is. */
  #note(sent: Promise<unknown>): void {
    this.#sent.push(
      sent.catch((error) => {
        this.#failure ??= error;
      }),
    );
  }
}

const nothing = () => undefined;

const lostBy = (failure: unknown, isOptimistic: boolean): unknown => {
  if (isLost(failure) || isOutside(failure)) return new TransactionLost(failure);
  return isOptimistic ? new OptimisticFailure(failure) : failure;
};

/** The connection had no transaction for the statement: the previous one was lost. */
const isOutside = (error: unknown): boolean => error instanceof StoreError && OUTSIDE.test(error.code);
const OUTSIDE = /^25/;

const isChange = (sql: string): boolean => !/^[\s(]*select\b/i.test(sql);
