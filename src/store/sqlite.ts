import { type SQLQueryBindings, Database as Sqlite, type Statement } from "bun:sqlite";
import { chmodSync, closeSync, openSync, statSync } from "node:fs";
import { type PreparedQuery, SQLiteBunSession } from "drizzle-orm/bun-sqlite";
import { BaseSQLiteDatabase, SQLiteSyncDialect } from "drizzle-orm/sqlite-core";
import { AppError } from "../base/errors.ts";
import { storeFault } from "./faults.ts";
import type { Database } from "./store.ts";

/**
 * The first SQLite that cannot lose a commit when one connection checkpoints while another restarts the WAL
 * (https://sqlite.org/wal.html#walresetbug).
 */
const MIN_SQLITE = "3.51.3";
/** How long a statement waits for another process, blocking the thread. */
const BUSY_TIMEOUT_MS = 2_000;
/** A WAL that one large transaction has blown up is cut back to this when it begins anew. */
const MAX_WAL_BYTES = 64 << 20;
const STATEMENTS_KEPT = 256;

/** Opens the file for writing, and makes it, readable by its owner alone, when there is none. */
export const openWriter = (path: string): Sqlite =>
  opening(() => {
    closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600); // the -wal and -shm files take over the mode of the file
    const connection = new Sqlite(path, { readwrite: true, create: false });
    refuseOld(connection);
    // only heard by a file without pages, so before WAL; on any other it is a write, which a full disk refuses
    if (statSync(path).size === 0) connection.run("PRAGMA auto_vacuum = INCREMENTAL");
    connection.run("PRAGMA journal_mode = WAL");
    connection.run("PRAGMA synchronous = FULL");
    connection.run("PRAGMA foreign_keys = ON");
    connection.run("PRAGMA recursive_triggers = ON"); // else INSERT OR REPLACE passes by the DELETE triggers
    connection.run("PRAGMA wal_autocheckpoint = 0");
    connection.run(`PRAGMA journal_size_limit = ${MAX_WAL_BYTES}`);
    connection.run("PRAGMA cache_size = -8000");
    common(connection);
    return connection;
  });

/** Opens a file that a writer has opened before. */
export const openReader = (path: string): Sqlite =>
  opening(() => {
    const connection = new Sqlite(path, { readonly: true });
    connection.run("PRAGMA query_only = ON");
    connection.run("PRAGMA cache_size = -4000");
    common(connection);
    return connection;
  });

function common(connection: Sqlite): void {
  connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  connection.run("PRAGMA temp_store = MEMORY");
}

/** Throws `unavailable` with the system's reason, which the operator can act on. */
function opening(work: () => Sqlite): Sqlite {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const fault = storeFault(error);
    if (fault instanceof AppError && fault.code === "disk_full") throw fault;
    const reason = error instanceof Error ? error.message : String(error);
    throw new AppError("unavailable", `The database file cannot be opened: ${reason}.`, { cause: fault });
  }
}

function refuseOld(connection: Sqlite): void {
  const { version } = connection.query("SELECT sqlite_version() AS version").get() as { version: string };
  if (Bun.semver.order(version, MIN_SQLITE) >= 0) return;
  connection.close();
  throw new AppError(
    "unavailable",
    `This system's SQLite ${version} can lose data. Weir needs ${MIN_SQLITE} or newer, which its own executable carries.`,
  );
}

export interface Guard {
  /** Throws when no statement may run now. */
  check(): void;
  /** A statement has failed. */
  failed(error: unknown): void;
}

/**
 * Drizzle over one connection of bun:sqlite. Each statement is compiled once and kept, and an error is a
 * `storeFault`. Typed as asynchronous: callers `await`, and so do not see which driver it is.
 */
export class Handle {
  readonly db: Database;
  readonly #connection: Sqlite;
  readonly #guard: Guard | undefined;
  readonly #kept = new Map<string, Kept>();

  constructor(connection: Sqlite, guard?: Guard) {
    this.#connection = connection;
    this.#guard = guard;
    const dialect = new SQLiteSyncDialect({ casing: "snake_case" });
    const client = { prepare: (sql: string) => this.prepare(sql) } as unknown as Sqlite; // all that drizzle asks of it
    const session = new LocalSession(client, dialect, undefined);
    const drizzle = new BaseSQLiteDatabase("sync", dialect, session, undefined);
    const statement: Database["statement"] = (sql) => {
      const kept = this.prepare(sql);
      return (values) => kept.run(...values);
    };
    this.db = Object.assign(drizzle, { statement }) as unknown as Database;
  }

  prepare(sql: string): Kept {
    const statement = this.#kept.get(sql) ?? this.#make(sql);
    this.#kept.delete(sql);
    this.#kept.set(sql, statement); // the last used stand last
    if (this.#kept.size > STATEMENTS_KEPT) {
      const [oldest = ""] = this.#kept.keys();
      this.#kept.delete(oldest); // not finalized: whoever holds it may go on using it
    }
    return statement;
  }

  /** Closes the connection; statements that were left would keep the file open. */
  close(): void {
    for (const { finalize } of this.#kept.values()) finalize();
    this.#connection.close();
  }

  #make(sql: string): Kept {
    const statement = this.#around(() => this.#connection.prepare(sql))();
    const guarded = <A extends SQLQueryBindings[], R>(call: (...args: A) => R) => {
      const around = this.#around(call);
      return (...args: A): R => {
        this.#guard?.check();
        return around(...args);
      };
    };
    return {
      run: guarded((...args) => statement.run(...args)),
      all: guarded((...args) => statement.all(...args)),
      values: guarded((...args) => statement.values(...args)),
      finalize: () => statement.finalize(),
    };
  }

  #around =
    <A extends SQLQueryBindings[], R>(call: (...args: A) => R) =>
    (...args: A): R => {
      try {
        return call(...args);
      } catch (error) {
        this.#guard?.failed(error);
        throw storeFault(error);
      }
    };
}

type Kept = Pick<Statement, "run" | "all" | "values" | "finalize">;

type Session = SQLiteBunSession<Record<string, never>, Record<string, never>>;

class LocalSession extends SQLiteBunSession<Record<string, never>, Record<string, never>> {
  /** drizzle 0.45 gives `db.get(sql)` on bun:sqlite as an array of values; here it is an object, as on libSQL. */
  override prepareQuery(...args: Parameters<Session["prepareQuery"]>) {
    const query = super.prepareQuery(...args);
    if (args[1] === undefined && args[4] === undefined) {
      query.get = (values) => (query.all(values) as unknown[])[0] as ReturnType<typeof query.get>;
    }
    return query as PreparedQuery<never>;
  }
}
