import { AppError } from "../base/errors.ts";
import { drizzleOver, type ResultForm } from "./drizzle-over.ts";
import { StoreError } from "./faults.ts";
import { LeftStatements } from "./left-statements.ts";
import { checkValues, isLockTimeout, isLost, type PostgresClient } from "./postgres-driver.ts";
import type { Merging, WriteDb } from "./store.ts";
import { OptimisticFailure, type Transaction, TransactionLost, type Writer } from "./write-queue.ts";

/** Advisory lock that each transaction of work holds to its end: one writes at a time, in all processes together. */
const WRITER_LOCK = "7301";
const BEGIN = `BEGIN READ WRITE; SELECT pg_advisory_xact_lock(${WRITER_LOCK})`;
/** A COMMIT outside of a transaction succeeds with a warning; a savepoint there doesn't. */
const COMMIT = "SAVEPOINT whole; COMMIT";
/**
 * A process that stands still between two messages of one statement isn't idle to PostgreSQL, and would keep the lock
 * until the statement's own limit.
 */
const DISCONNECT_HOLDER = `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
  WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objid = ${WRITER_LOCK}
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND a.wait_event = 'ClientRead' AND a.state_change < clock_timestamp() - interval '5 s'`;
/** Outside of a transaction of work, on a new connection, there is none to ask after. */
const TRANSACTION_ID =
  "SELECT CASE current_setting('transaction_read_only') WHEN 'off' THEN pg_current_xact_id()::text END AS id";
/** How long a commit whose outcome is unknown is asked after. */
const STATUS_ATTEMPTS = 20;
const STATUS_PAUSE_MS = 250;

/** The one writing connection of this process. Statements are sent at once; only results that somebody awaits cost a round trip. */
export class PostgresWriter implements Writer {
  readonly db: WriteDb;
  readonly #client: PostgresClient;
  readonly #reader: PostgresClient;
  #current: PostgresTransaction | null = null;

  /** `reader` has other connections, on which it is asked whether a commit went through. */
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
    this.#current = new PostgresTransaction(this.#client, this.#reader, isOptimistic);
    return this.#current;
  }
}

class PostgresTransaction implements Transaction {
  readonly #client: PostgresClient;
  readonly #reader: PostgresClient;
  readonly #isOptimistic: boolean;
  #isOpen = false;
  #hasChanges = false;
  /** Whether the current work has changed something. */
  #isWorkChanging = false;
  /** The server's number of it; null until it has told. */
  #id: string | null = null;
  #lost: unknown = null;
  /** The first failure of what nobody waited for. */
  #failure: unknown = null;
  #sent: Promise<unknown>[] = [];
  readonly #left = new LeftStatements();
  /** It never began, since another transaction kept the lock for too long. */
  #hasNoLock = false;
  /** The previous statement, if the transaction isn't optimistic. */
  #turn: Promise<void> = Promise.resolve();

  constructor(client: PostgresClient, reader: PostgresClient, isOptimistic: boolean) {
    this.#client = client;
    this.#reader = reader;
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

  /** Works that throw after a change are rare: their group is done again, one by one. */
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
    // a refused statement ends a transaction of PostgreSQL, and in SQLite a work may go on after it
    if (!this.#isOptimistic) this.#control("SAVEPOINT statement");
    try {
      const result = await this.#client.perform(sql, how, values);
      if (this.#failure !== null) throw this.#failure;
      if (!this.#isOptimistic) this.#control("RELEASE statement");
      return result;
    } catch (error) {
      await Promise.all(this.#sent); // of what was sent before, all replies are here
      throw this.#refused(error);
    }
  }

  #refused(error: unknown): unknown {
    if (this.#failure !== null) this.#lost ??= lostBy(this.#failure, this.#isOptimistic);
    else if (isLost(error) || isOutside(error)) this.#lost ??= new TransactionLost(error);
    else if (this.#isOptimistic) this.#lost ??= new OptimisticFailure(error);
    else this.#control("ROLLBACK TO statement; RELEASE statement");
    return this.#lost ?? error;
  }

  /** A statement that is taken to succeed; where it does not, the queue does its group again, one by one. */
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
    if (this.#hasNoLock) throw new TransactionLost(error);
    if (this.#failure !== null && !isLost(this.#failure)) throw lostBy(this.#failure, this.#isOptimistic);
    if (!isLost(error) && !isOutside(error)) throw error;
    // only where nobody heard the server's answer it may have committed
    if (!this.#hasChanges || isOutside(error) || !(await this.#wasCommitted(error)))
      throw new TransactionLost(error);
    this.#isOpen = false;
  }

  /** Asks the server whether a commit went through whose answer was lost. Throws `unavailable` where it doesn't know. */
  async #wasCommitted(error: unknown): Promise<boolean> {
    const id = this.#id;
    for (let attempt = 0; id !== null && attempt < STATUS_ATTEMPTS; attempt++) {
      const rows = await this.#reader
        .simple(`SELECT pg_xact_status('${id}'::xid8) AS status`)
        .catch(() => [{ status: "in progress" }]); // it may be starting again
      const status = rows[0]?.status;
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

  async rollback(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#client.simple("ROLLBACK").catch(() => undefined); // a connection that is lost has none open
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
      this.#client.simple(TRANSACTION_ID).then(([row]) => {
        this.#id = typeof row?.id === "string" ? row.id : null;
      }),
    );
  }

  /** A transaction that didn't get the lock is repeated, after its holder was disconnected if it stands still. */
  async #notBegun(error: unknown): Promise<never> {
    this.#hasNoLock = isLockTimeout(error);
    if (this.#hasNoLock) await this.#reader.simple(DISCONNECT_HOLDER).catch(() => undefined); // its own limit ends it
    throw error;
  }

  #control(sql: string): void {
    this.#note(this.#client.simple(sql));
  }

  /** What nobody waits for: its failure shows at the next statement that somebody does. */
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

/** The statement came to a connection that had no transaction: the one before it was lost. */
const isOutside = (error: unknown): boolean => error instanceof StoreError && OUTSIDE.test(error.code);
const OUTSIDE = /^25/;

const isChange = (sql: string): boolean => !/^[\s(]*select\b/i.test(sql);
