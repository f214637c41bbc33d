import type { Client, InValue, ResultSet, Transaction } from "@libsql/client/http";
import { type LibSQLPreparedQuery, LibSQLSession } from "drizzle-orm/libsql/session";
import { BaseSQLiteDatabase } from "drizzle-orm/sqlite-core";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { asyncDialect } from "./dialect.ts";
import { ConnectionLost, StoreError, storeFault } from "./faults.ts";
import type { Database, Merging, RunResult, SqlValue } from "./store.ts";
import { refuseUnknown } from "./writer.ts";

export interface Statement {
  sql: string;
  args: InValue[];
}

type Result = ResultSet & RunResult;

const REPLY_LIMIT_MS = 10_000;
/**
 * About 8 s in all, including pauses. Writers wait for each other on the server, which is busy while another program
 * locks its file.
 */
const BUSY_ATTEMPTS = 108;
const BUSY_PAUSE_MS = 5;
/** Short, so that a waiting process gets in between two transactions of a busy one. */
const MAX_BUSY_PAUSE_MS = 100;

/** A read-only statement on the handle. Nothing else would stop a write here. */
export function refuseChange({ sql }: Statement): void {
  if (/^[\s(]*(select|with|values|explain|pragma)\b/i.test(sql)) return;
  throw new StoreError("SQLITE_READONLY", "attempt to write a readonly database");
}

/** Takes a statement whose result nobody awaits. False if the statement needs a reply. */
export type Leave = (sql: string, values: readonly SqlValue[], merging: Merging | undefined) => boolean;

/** Drizzle over a function that runs one statement on a libSQL server. Throws the errors of `run` unwrapped. */
export function drizzleOver(
  run: (statement: Statement) => Promise<ResultSet>,
  leave: Leave = () => false,
): Database {
  const execute = async ({ sql, args }: Statement): Promise<Result> => {
    const result = await run(sent(sql, args));
    return Object.assign(result, { changes: result.rowsAffected });
  };
  const session = new RemoteSession({ execute } as unknown as Client, asyncDialect, undefined, {}, undefined);
  const drizzle = new BaseSQLiteDatabase("async", asyncDialect, session, undefined);
  const statement: Database["statement"] = (sql, merging) => (values) =>
    leave(sql, values, merging) ? undefined : execute({ sql, args: [...values] });
  return Object.assign(drizzle, { statement }) as unknown as Database;
}

export const sent = (sql: string, values: readonly unknown[]): Statement => ({
  sql,
  args: values.map((value) => toSent(value as InValue)),
});

/**
 * The client sends every number as a float, and SQLite then stores 1 as 1.0 unless a column type says otherwise. The
 * server rejects a whole request with an unpaired surrogate in it.
 */
const toSent = (value: InValue): InValue => {
  refuseUnknown(value);
  if (typeof value === "string") return value.toWellFormed();
  return Number.isSafeInteger(value) ? BigInt(value as number) : value;
};

type Session = LibSQLSession<Record<string, never>, Record<string, never>>;

class RemoteSession extends LibSQLSession<Record<string, never>, Record<string, never>> {
  override prepareQuery(...args: Parameters<Session["prepareQuery"]>) {
    const query = super.prepareQuery(...args) as LibSQLPreparedQuery<never>;
    // drizzle 0.45 wraps each error in one whose message contains the parameters, which must not leave the store
    Object.assign(query, {
      queryWithCache: (_sql: string, _args: unknown[], run: () => Promise<unknown>) => run(),
    });
    // and `db.get(sql)` throws if there is no row
    if (args[1] === undefined && args[4] === undefined) {
      query.get = async (values) => ((await query.all(values)) as unknown[])[0] as never;
    }
    return query;
  }
}

/** A write transaction on the server. It begins with the first statement. */
export class RemoteTransaction {
  readonly #client: Client;
  readonly #clock: Clock;
  #open: Transaction | null = null;
  #broken = false;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** True once it can no longer be committed. */
  get broken(): boolean {
    return this.#broken;
  }

  /**
   * Runs `before` and `statements` in one round trip, up to the first failure, and returns the results of
   * `statements`. One of `before` is expected to succeed. Waits for other writers: the server ends their
   * transactions after 5 s. Throws a `storeFault`.
   */
  async run(before: readonly Statement[], statements: readonly Statement[]): Promise<ResultSet[]> {
    const all = [...before, ...statements];
    try {
      const results = await (this.#open === null
        ? this.#begin(all)
        : within(this.#open.batch(all), REPLY_LIMIT_MS));
      return results.slice(before.length);
    } catch (error) {
      const fault = faultOf(error);
      const { statementIndex = -1 } = error as { statementIndex?: number };
      // A statement that SQLite rejects leaves the transaction intact. Any other failure may not: for a request that
      // is too long or a result that can't be read, the client doesn't report what happened to earlier statements.
      const whole =
        fault instanceof StoreError && statementIndex >= before.length && this.#open?.closed === false;
      if (!whole) this.#broken = true;
      throw fault;
    }
  }

  async #begin(all: Statement[]): Promise<ResultSet[]> {
    for (let attempt = 1; ; attempt++) {
      this.#open = await this.#client.transaction("write");
      try {
        return await within(this.#open.batch(all), REPLY_LIMIT_MS);
      } catch (error) {
        if (!isBusy(error) || attempt === BUSY_ATTEMPTS) throw error;
        this.#open.close();
        const pauseMs = Math.min(BUSY_PAUSE_MS * 2 ** attempt, MAX_BUSY_PAUSE_MS);
        await this.#clock.sleep(pauseMs * (0.5 + Math.random() / 2)); // jitter, to spread writers that wait for the same lock
      }
    }
  }

  async commit(): Promise<void> {
    if (this.#open !== null) await translated(within(this.#open.commit(), REPLY_LIMIT_MS));
  }

  /** Doesn't throw: if the server is unreachable, it drops the transaction when the stream expires. */
  async rollback(): Promise<void> {
    const open = this.#open;
    if (open === null) return;
    await within(open.rollback(), REPLY_LIMIT_MS).catch(() => open.close());
  }
}

const isBusy = (error: unknown) => String((error as { code?: unknown }).code).startsWith("SQLITE_BUSY");

/** Runs `work`. Throws `unavailable` if it takes longer than `limitMs`. */
export async function within<T>(work: Promise<T>, limitMs: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(unreachable(new Error("no response in time"))), limitMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs `work` and converts its errors with `storeFault`. */
export async function translated<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw faultOf(error);
  }
}

/** Errors of neither SQLite nor the protocol come from the network, except for values that can't be sent or read. */
function faultOf(error: unknown): unknown {
  const fault = storeFault(error);
  if (
    fault !== error ||
    error instanceof AppError ||
    error instanceof StoreError ||
    error instanceof RangeError
  )
    return fault;
  return unreachable(error);
}

const unreachable = (error: unknown) =>
  new AppError("unavailable", "The database server is unreachable. Try again later.", {
    retryable: true,
    cause: new ConnectionLost((error as Error).message),
  });
