import { type Client, createClient } from "@libsql/client/http";
import { type Clock, systemClock } from "../base/clock.ts";
import { trustingFetch } from "../base/egress-trust.ts";
import { AppError } from "../base/errors.ts";
import { isStoreAway, StoreError } from "./faults.ts";
import { waitUntilUnused } from "./in-use.ts";
import { LeftStatements } from "./left-statements.ts";
import {
  drizzleOver,
  RemoteTransaction,
  refuseChange,
  type Statement,
  sent,
  translated,
  within,
} from "./libsql.ts";
import { type MigrationTarget, migrate } from "./migrate.ts";
import type { ReadDb, RemoteStoreOptions, Store, WriteDb } from "./store.ts";
import {
  OptimisticFailure,
  type Transaction,
  TransactionLost,
  WriteQueue,
  type Writer,
} from "./write-queue.ts";
import { refuseUnknown } from "./writer.ts";

const GROUP_WRITES = 256;
/** Each statement is a round trip, and while the server holds this transaction, others wait. */
const GROUP_MS = 250;
const READ_LIMIT_MS = 30_000;

/**
 * Connects to a libSQL server and migrates its database as needed. Throws `unavailable` if the server doesn't
 * respond or rejects the token, or if a newer version created the database.
 */
export async function connectStore(options: RemoteStoreOptions): Promise<Store> {
  const { url, token, ca, clock = systemClock } = options;
  const client = clientOf(url, token, ca);
  const execute = (statement: Statement) => translated(within(client.execute(statement), READ_LIMIT_MS));
  try {
    const target = targetOf(client, execute, clock);
    await migrate(target, {
      migrations: options.migrations,
      clock,
      beforeFirst: () => waitUntilUnused(target, clock),
    });
  } catch (error) {
    client.close();
    throw error;
  }
  const writer: RemoteWriter = new RemoteWriter(client, clock, () => queue.check());
  const queue = new WriteQueue(writer, {
    clock,
    isAlone: false,
    runsAhead: false,
    groupSize: GROUP_WRITES,
    groupMs: GROUP_MS,
  });

  return {
    db: drizzleOver(async (statement) => {
      refuseChange(statement);
      return execute(statement);
    }),
    remote: true,
    write: (work) => queue.write(work),
    async backup() {
      throw new AppError("not_available", "Back up a libSQL server with its own tools.");
    },
    stats: async () => ({ databaseBytes: 0, walBytes: 0 }),
    async close() {
      await queue.close();
      client.close();
    },
  };
}

/** Read-only access to a libSQL server's database, without migrating it. */
export interface Glimpse {
  readonly db: ReadDb;
  /** Throws if the token is read-only or another transaction doesn't end. Changes nothing. */
  tryWrite(): Promise<void>;
  close(): Promise<void> | void;
}

/** Opens a database read-only. Throws `unavailable` if the URL isn't that of a libSQL server. */
export function glimpse({
  url,
  token,
  ca,
  clock = systemClock,
}: Omit<RemoteStoreOptions, "migrations">): Glimpse {
  const client = clientOf(url, token, ca);
  return {
    db: drizzleOver(async (statement) => {
      refuseChange(statement);
      return translated(within(client.execute(statement), READ_LIMIT_MS));
    }),
    async tryWrite() {
      const transaction = new RemoteTransaction(client, clock);
      try {
        await transaction.run(
          [],
          [{ sql: "UPDATE settings SET value = value WHERE key = 'weir doctor'", args: [] }],
        );
      } finally {
        await transaction.rollback();
      }
    },
    close: () => client.close(),
  };
}

function clientOf(url: string, token: string | undefined, ca: string | undefined): Client {
  try {
    return createClient({
      url,
      intMode: "number",
      ...(token === undefined ? {} : { authToken: token }),
      ...(ca === undefined ? {} : { fetch: trustingFetch(ca) }),
    });
  } catch (cause) {
    throw new AppError("unavailable", "The database URL is not a libSQL server URL.", { cause });
  }
}

/**
 * The queue's open transaction on the server. Statements that aren't awaited are sent with the next one that is, and
 * so are savepoints.
 */
class RemoteWriter implements Writer, Transaction {
  readonly db: WriteDb;
  readonly #client: Client;
  readonly #clock: Clock;
  #transaction: RemoteTransaction | null = null;
  #isOptimistic = false;
  /** Whether the current work has changed something. */
  #isWorkChanging = false;
  /** Control statements not sent yet. */
  #pending: string[] = [];
  readonly #left = new LeftStatements();
  /** True once the savepoint of the current work was sent. */
  #marked = false;
  #lost: unknown = null;
  /** The previous statement: a stream accepts one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(client: Client, clock: Clock, check: () => void) {
    this.#client = client;
    this.#clock = clock;
    const run = (statement: Statement) => {
      check();
      const result = this.#turn.then(() => this.#execute(statement));
      this.#turn = result.catch(() => undefined); // the caller gets the error
      return result;
    };
    this.db = drizzleOver(run, (sql, values, merging) => {
      check();
      if (!this.#isOptimistic) return false;
      if (this.#lost !== null) throw this.#lost;
      for (const value of values) refuseUnknown(value);
      this.#isWorkChanging = true;
      this.#left.add(sql, values, merging);
      return true;
    });
  }

  /** Nothing is saved until the commit is sent. */
  get lost(): unknown {
    return isStoreAway(this.#lost) ? new TransactionLost(this.#lost) : this.#lost;
  }

  begin(isOptimistic: boolean): Transaction {
    this.#transaction = null;
    this.#isOptimistic = isOptimistic;
    this.#pending = [];
    this.#left.take();
    this.#lost = null;
    return this;
  }

  savepoint(): void {
    this.#isWorkChanging = false;
    if (this.#isOptimistic) return;
    this.#marked = false;
    this.#pending.push("SAVEPOINT work");
  }

  release(): void {
    if (this.#isOptimistic) return;
    if (this.#marked) this.#pending.push("RELEASE work");
    else this.#pending.pop();
  }

  /** Works that throw after a change are rare. Their group is then repeated one by one. */
  rollbackTo(): void {
    if (this.#isOptimistic) {
      if (this.#isWorkChanging)
        this.#lost ??= new OptimisticFailure(new Error("A work failed after a change."));
    } else if (this.#marked) this.#pending.push("ROLLBACK TO work", "RELEASE work");
    else this.#pending.pop();
  }

  async commit(): Promise<void> {
    try {
      const left = this.#takeLeft();
      if (left.length > 0 || this.#pending.includes("ROLLBACK TO work")) await this.#send(left, []);
      await this.#transaction?.commit();
    } catch (error) {
      throw this.lost ?? (wasOver(error) ? new TransactionLost(error) : error);
    }
    this.#transaction = null;
  }

  async rollback(): Promise<void> {
    await this.#transaction?.rollback();
    this.#transaction = null;
  }

  async #execute(statement: Statement) {
    if (this.#lost !== null) throw this.#lost;
    if (!/^[\s(]*select\b/i.test(statement.sql)) this.#isWorkChanging = true;
    const [result] = await this.#send(this.#takeLeft(), [statement]);
    if (!result) throw new AppError("internal", "The libSQL server returned no result for a statement.");
    return result;
  }

  #takeLeft(): Statement[] {
    return this.#left.take().map(({ sql, values }) => sent(sql, values));
  }

  async #send(left: readonly Statement[], statements: readonly Statement[]) {
    this.#transaction ??= new RemoteTransaction(this.#client, this.#clock);
    const control = this.#pending.map((sql) => ({ sql, args: [] }));
    this.#pending = [];
    this.#marked = true;
    try {
      return await this.#transaction.run([...control, ...left], statements);
    } catch (error) {
      const isRefused = left.length > 0 && error instanceof StoreError && error.code.startsWith("SQLITE_");
      // the group is repeated one by one: only the work whose request or result is too large must fail
      const isOfOne = isRefused || (this.#isOptimistic && error instanceof RangeError);
      if (this.#transaction?.broken) this.#lost ??= isOfOne ? new OptimisticFailure(error) : error;
      throw error;
    }
  }
}

/**
 * The server rejected the commit because it had ended the transaction. After any other error the data may have been
 * saved.
 */
const wasOver = (error: unknown): boolean =>
  error instanceof AppError &&
  error.cause instanceof StoreError &&
  ["TRANSACTION_TIMEOUT", "STREAM_EXPIRED"].includes(error.cause.code);

const targetOf = (
  client: Client,
  execute: (statement: Statement) => Promise<{ rows: ArrayLike<unknown>[] }>,
  clock: Clock,
): MigrationTarget => ({
  isLocal: false,
  async execute(sql, args = []) {
    await execute({ sql, args });
  },
  rows: async (sql) => (await execute({ sql, args: [] })).rows.map((row) => Array.from(row)),
  async transaction(work) {
    const transaction = new RemoteTransaction(client, clock);
    try {
      await work({
        execute: async (sql, args = []) => {
          await transaction.run([], [{ sql, args }]);
        },
        rows: async (sql) => {
          const [result] = await transaction.run([], [{ sql, args: [] }]);
          return (result?.rows ?? []).map((row) => Array.from(row as ArrayLike<unknown>));
        },
      });
      await transaction.commit();
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  },
});
