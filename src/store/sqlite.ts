import type { SQLQueryBindings, Database as Sqlite, Statement } from "bun:sqlite";
import { type PreparedQuery, SQLiteBunSession } from "drizzle-orm/bun-sqlite";
import { BaseSQLiteDatabase } from "drizzle-orm/sqlite-core";
import { syncDialect } from "./dialect.ts";
import { storeFault } from "./faults.ts";
import { mapRows } from "./in-slices.ts";
import type { ReadDb } from "./store.ts";

const STATEMENTS_KEPT = 256;

/**
 * Drizzle over a reading connection of bun:sqlite. Each statement is compiled once and cached, and errors are
 * converted with `storeFault`. Typed as asynchronous: callers `await`, whatever the driver.
 */
export class Reader {
  readonly db: ReadDb;
  readonly #connection: Sqlite;
  readonly #kept = new Map<string, Kept>();

  constructor(connection: Sqlite) {
    this.#connection = connection;
    const client = { prepare: (sql: string) => this.prepare(sql) } as unknown as Sqlite; // the only methods that drizzle uses
    const session = new LocalSession(client, syncDialect, undefined);
    this.db = new BaseSQLiteDatabase("sync", syncDialect, session, undefined) as unknown as ReadDb;
  }

  prepare(sql: string): Kept {
    const statement = this.#kept.get(sql) ?? this.#make(sql);
    this.#kept.delete(sql);
    this.#kept.set(sql, statement); // most recently used last
    if (this.#kept.size > STATEMENTS_KEPT) {
      const [oldest = ""] = this.#kept.keys();
      this.#kept.delete(oldest); // not finalized: callers may still be using it
    }
    return statement;
  }

  /** Closes the connection. Open statements would keep the file open. */
  close(): void {
    for (const { finalize } of this.#kept.values()) finalize();
    this.#connection.close();
  }

  #make(sql: string): Kept {
    const statement = translated(() => this.#connection.prepare(sql))();
    return {
      run: translated((...args) => statement.run(...args)),
      all: translated((...args) => statement.all(...args)),
      values: translated((...args) => statement.values(...args)),
      finalize: () => statement.finalize(),
    };
  }
}

const translated =
  <A extends SQLQueryBindings[], R>(call: (...args: A) => R) =>
  (...args: A): R => {
    try {
      return call(...args);
    } catch (error) {
      throw storeFault(error);
    }
  };

type Kept = Pick<Statement, "run" | "all" | "values" | "finalize">;

type Session = SQLiteBunSession<Record<string, never>, Record<string, never>>;

/** Yields to other work while mapping many long rows. Callers await the result anyway. */
function inSlices(query: PreparedQuery): void {
  const { all } = query;
  const map = (values: unknown[][]) => all.call(Object.create(query, { values: { value: () => values } }));
  query.all = (values) => mapRows(query.values(values) as unknown[][], map as () => never[]) as never;
}

class LocalSession extends SQLiteBunSession<Record<string, never>, Record<string, never>> {
  /** drizzle 0.45 returns `db.get(sql)` on bun:sqlite as an array of values. Here it is an object, as on libSQL. */
  override prepareQuery(...args: Parameters<Session["prepareQuery"]>) {
    const query = super.prepareQuery(...args);
    if (args[1] !== undefined || args[4] !== undefined) inSlices(query);
    else {
      query.get = (values) => (query.all(values) as unknown[])[0] as ReturnType<typeof query.get>;
    }
    return query as PreparedQuery<never>;
  }
}
