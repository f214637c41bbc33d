/**
 * Where the database of each app of a test is. `WEIR_TEST_STORE=postgres` runs any test file on PostgreSQL:
 * one database per data directory, copied from a migrated one. A test that sets its database's location keeps it.
 */
const databases = new Map<string, string>();

export const isOnPostgres = process.env.WEIR_TEST_STORE === "postgres";

/** Loaded with the test file, since the server is stopped after all of its tests. */
const postgresStore = isOnPostgres ? await import("./postgres-store.ts") : null;
postgresStore?.stopPostgresAfterAll();

/** The setting for an app's database there. None if it is in the data directory. */
export async function storeEnv(
  dataFolder: string,
  env: Record<string, string>,
): Promise<Record<string, string>> {
  if (env.WEIR_DATABASE_URL !== undefined) return {};
  const url = databases.get(dataFolder) ?? (await newDatabase());
  if (url === null) return {};
  databases.set(dataFolder, url);
  return { WEIR_DATABASE_URL: url };
}

/** The URL of an app's database. Null if it is in the data directory. */
export const databaseUrlOf = (dataFolder: string): string | null => databases.get(dataFolder) ?? null;

/** The URL of a new migrated database. Null if the tests don't run on PostgreSQL. */
export async function newDatabase(): Promise<string | null> {
  return postgresStore === null ? null : (await postgresStore.makeMigrated()).url;
}
