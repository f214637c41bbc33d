import { hasMariadb, startMariadb } from "../../test/support/mariadb.ts";
import { startPostgres } from "../../test/support/postgres.ts";

export const DATABASES = ["postgres", "mysql"] as const;
export type DatabaseName = (typeof DATABASES)[number];

/** A real database that flows read from and write to. It keeps running when Weir is killed. */
export interface OpenDatabase {
  provider: DatabaseName;
  config: object;
  credentials: object;
  put(sql: string): Promise<unknown>;
  rows(sql: string): Promise<(string | null)[][]>;
  stop(): Promise<void>;
}

/** Starts the named ones, except MariaDB if it isn't installed. */
export const openDatabases = (names: readonly DatabaseName[]): Promise<OpenDatabase[]> =>
  Promise.all(
    names.flatMap((name) => {
      if (name === "postgres") return openPostgres();
      return hasMariadb ? openMariadb() : [];
    }),
  );

async function openPostgres(): Promise<OpenDatabase> {
  const pg = await startPostgres();
  const { host, port, database, user, password } = pg;
  return {
    provider: "postgres",
    config: { host, port, database },
    credentials: { user, password },
    put: (sql) => pg.sql.unsafe(sql),
    rows: async (sql) =>
      (await pg.sql.unsafe(sql).values()).map((row) =>
        [...row].map((value) => (value === null ? null : String(value))),
      ),
    stop: () => pg[Symbol.asyncDispose](),
  };
}

async function openMariadb(): Promise<OpenDatabase> {
  const db = await startMariadb();
  const stop = async () => db[Symbol.asyncDispose]();
  process.once("exit", stop); // Its process ends immediately.
  await db.run("CREATE USER writer@'%' IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO writer@'%'");
  return {
    provider: "mysql",
    config: db.config,
    credentials: { user: "writer", password: "secret" },
    put: db.run,
    rows: async (sql) => ((await db.run(sql))[0] as (string | null)[][][]).at(-1) ?? [],
    stop: () => {
      process.off("exit", stop);
      return stop();
    },
  };
}
