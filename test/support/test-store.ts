/**
 * Where the database of each app of a test is. `WEIR_TEST_STORE=postgres` runs any test file on PostgreSQL: a database
 * for each data directory, made from one that is migrated. A test that says where its database is keeps it.
 */
const databases = new Map<string, string>();

export const isOnPostgres = process.env.WEIR_TEST_STORE === "postgres";

/** Loaded with the test file, since the server is stopped after all of its tests. */
const postgresStore = isOnPostgres ? await import("./postgres-store.ts") : null;
postgresStore?.stopPostgresAfterAll();

/** The setting that puts the database of an app there; none where it is in its data directory. */
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

/** Where the database of an app is; null where it is in its data directory. */
export const databaseUrlOf = (dataFolder: string): string | null => databases.get(dataFolder) ?? null;

/** The URL of a new database that is migrated; null where the tests don't run on PostgreSQL. */
export async function newDatabase(): Promise<string | null> {
  return postgresStore === null ? null : (await postgresStore.makeMigrated()).url;
}
