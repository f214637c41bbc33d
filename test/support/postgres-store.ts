import { afterAll } from "bun:test";
import { migrations } from "../../src/store/migrations.ts";
import { openRemoteStore } from "../../src/store/store.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";

/** One PostgreSQL for all stores of a test file, with a database for each. */
let shared: Promise<TestPostgres> | null = null;
let count = 0;
/** The name of a migrated database of that server. */
let migrated: Promise<string> | null = null;

/**
 * Every test file that uses the server calls this at its top: a module that files share would only do it for the first.
 */
export const stopPostgresAfterAll = () =>
  afterAll(async () => {
    const server = await shared;
    shared = null;
    migrated = null;
    await server?.[Symbol.asyncDispose]();
  });

export const sharedPostgres = (): Promise<TestPostgres> => {
  shared ??= startPostgres({ flags: ["-c", "max_connections=400"] });
  return shared;
};

/** Creates a database, as a copy of `template` if one is given. Returns its URL. */
export async function makeDatabase(template?: string): Promise<{ url: string; name: string }> {
  const server = await sharedPostgres();
  const name = `weir_${process.pid}_${count++}`;
  await server.sql.unsafe(
    `CREATE DATABASE ${name} ${template === undefined ? "" : `TEMPLATE ${template} STRATEGY FILE_COPY`}`,
  );
  return { name, url: urlOf(server, name) };
}

/** Creates a migrated database, as a copy of the first one: migrating takes a second of CPU time. */
export async function makeMigrated(): Promise<{ url: string; name: string }> {
  migrated ??= migrateOne();
  return makeDatabase(await migrated);
}

async function migrateOne(): Promise<string> {
  const { name, url } = await makeDatabase();
  const store = await openRemoteStore({ url, migrations });
  await store.close();
  return name;
}

export const urlOf = ({ host, port, user, password }: TestPostgres, database: string): string =>
  `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${database}`;

export async function dropDatabase(name: string): Promise<void> {
  const server = await sharedPostgres();
  await server.sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}
