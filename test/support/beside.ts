import { Database } from "bun:sqlite";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { databaseUrlOf } from "./test-store.ts";

/**
 * A database next to the server that uses it, as an operator or an intruder sees it. The SQL is SQLite's in any case.
 */
export interface Beside extends AsyncDisposable {
  rows<T = Record<string, unknown>>(sql: string, ...values: Value[]): Promise<T[]>;
  run(sql: string, ...values: Value[]): Promise<void>;
}

type Value = string | number | null;
type Installation = { dataFolder: string };

const BUSY_ATTEMPTS = 1_000;

/** The database of an app: its file, or what the tests run on instead. */
export async function besideOf({ dataFolder }: Installation): Promise<Beside> {
  const url = databaseUrlOf(dataFolder);
  return url === null ? besideFile(join(dataFolder, "weir.db")) : await besidePostgres(url);
}

/**
 * The database of several servers:
 * the file of a libSQL server, read-only, or a database of PostgreSQL, which has no file.
 */
export const besideServer = async ({ url, file }: { url: string; file: string }): Promise<Beside> =>
  file === "" ? besidePostgres(url) : besideFile(file, { readonly: true });

export function besideFile(path: string, options?: { readonly: true }): Beside {
  const file = new Database(path, options);
  // A writer may wait for this very thread.
  const inTurn = async <T>(work: () => T): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return work();
      } catch (error) {
        const isBusy = String((error as { code?: unknown }).code).startsWith("SQLITE_BUSY");
        if (!isBusy || attempt === BUSY_ATTEMPTS) throw error;
        await Bun.sleep(10);
      }
    }
  };
  return {
    rows: <T>(sql: string, ...values: Value[]) => inTurn(() => file.query(sql).all(...values) as T[]),
    run: (sql, ...values) => inTurn(() => void file.run(sql, values)),
    async [Symbol.asyncDispose]() {
      file.close();
    },
  };
}

async function besidePostgres(url: string): Promise<Beside> {
  const { PostgresClient } = await import("../../src/store/postgres-driver.ts");
  const client = new PostgresClient({ url, max: 1 });
  await client.simple("SET default_transaction_read_only = off");
  return {
    rows: async <T>(sql: string, ...values: Value[]) => (await client.perform(sql, "all", values)) as T[],
    run: async (sql, ...values) => void (await client.perform(sql, "run", values)),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Each row of each table, with the table's name. */
export async function allRows(beside: Beside): Promise<string[]> {
  const tables = await beside.rows<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
  const found: string[] = [];
  for (const { name } of tables)
    for (const row of await beside.rows(`SELECT * FROM "${name}"`))
      found.push(`${name} ${JSON.stringify(row)}`);
  return found;
}

/** Returns whether the database contains a text anywhere, including deleted data in its file. */
export async function isStored(weir: Installation, text: string): Promise<boolean> {
  if (databaseUrlOf(weir.dataFolder) !== null) {
    await using beside = await besideOf(weir);
    return (await allRows(beside)).some((row) => row.includes(text));
  }
  const files = readdirSync(weir.dataFolder).filter((name) => name.startsWith("weir.db"));
  if (files.length === 0) throw new Error("The data directory has no database.");
  return files.some((name) => readFileSync(join(weir.dataFolder, name)).includes(text));
}
