import { BaseSQLiteDatabase } from "drizzle-orm/sqlite-core";
import { type RemoteCallback, SQLiteRemoteSession } from "drizzle-orm/sqlite-proxy";
import { asyncDialect } from "./dialect.ts";
import type { Database, Merging } from "./store.ts";

/** The form of a statement's result: number of changed rows, rows as arrays, or rows as objects. */
export type ResultForm = "run" | "values" | "all";

/** What drizzle needs to run statements elsewhere: in a thread, or on a server. */
export interface Driver {
  /** `isKept`: the statement was built once and runs again and again. */
  run(sql: string, how: ResultForm, values: unknown[], isKept: boolean): Promise<unknown>;
  /** Runs a statement without waiting for its result, if the driver can. */
  leave(sql: string, values: readonly unknown[], merging?: Merging): Promise<unknown> | undefined;
}

export function drizzleOver({ run, leave }: Driver): Database {
  const session = new DriverSession(run);
  const drizzle = new BaseSQLiteDatabase("async", asyncDialect, session, undefined);
  const statement: Database["statement"] = (sql, merging) => (values) => leave(sql, values, merging);
  return Object.assign(drizzle, { statement }) as unknown as Database;
}

type Session = SQLiteRemoteSession<Record<string, never>, Record<string, never>>;

class DriverSession extends SQLiteRemoteSession<Record<string, never>, Record<string, never>> {
  readonly #run: Driver["run"];

  constructor(run: Driver["run"]) {
    super(async () => ({ rows: [] }), asyncDialect, undefined);
    this.#run = run;
  }

  override prepareQuery(...args: Parameters<Session["prepareQuery"]>) {
    return this.#query(args, true);
  }

  override prepareOneTimeQuery(...args: Parameters<Session["prepareQuery"]>) {
    return this.#query(args, false);
  }

  #query(args: Parameters<Session["prepareQuery"]>, isKept: boolean) {
    const query = super.prepareQuery(...args);
    const isRaw = args[1] === undefined && args[4] === undefined;
    const client: RemoteCallback = async (sql, values, method) => {
      if (method === "run") return (await this.#run(sql, "run", values, isKept)) as { rows: [] };
      const isNamed = isRaw && method !== "values";
      const rows = (await this.#run(sql, isNamed ? "all" : "values", values, isKept)) as unknown[];
      return { rows: (method === "get" ? rows[0] : rows) as never };
    };
    // drizzle 0.45 wraps each error in one whose message contains the parameters, which must not leave the store
    const queryWithCache = (_sql: string, _values: unknown[], ask: () => Promise<unknown>) => ask();
    return Object.assign(query, { client, queryWithCache }) as never;
  }
}
