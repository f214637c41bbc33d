import { sql } from "drizzle-orm";
import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { drizzleOver } from "./drizzle-over.ts";
import { StoreError } from "./faults.ts";
import { waitUntilUnused } from "./in-use.ts";
import { type MigrationTarget, migrate, type Runner } from "./migrate.ts";
import { migrations } from "./migrations.ts";
import { openChannel } from "./postgres-channel.ts";
import { isLost, lacksPrivilege, PostgresClient } from "./postgres-driver.ts";
import functions from "./postgres-functions.sql" with { type: "text" };
import { translateMigration } from "./postgres-migrations.ts";
import { PostgresWriter } from "./postgres-writer.ts";
import type { ReadDb, RemoteStoreOptions, Store } from "./store.ts";
import { WriteQueue } from "./write-queue.ts";

const READERS = 3;
/** For frequent statements: planning those of the worker took longer than running them. */
const STEADY_READERS = 3;
/** All are repeated one by one if one of them fails. */
const GROUP_WRITES = 60;
/** All other processes wait during this time. */
const GROUP_MS = 100;
const OLDEST = 16;
/** A read is repeated if its connection is lost. */
const READ_ATTEMPTS = 3;
const READ_PAUSE_MS = 100;
const MIGRATION_LOCK = "7300";

/** How long to wait for a server that restarts, or starts together with Weir. */
const CONNECT_MS = 5_000;
const CONNECT_PAUSE_MS = 500;

/**
 * Connects to a PostgreSQL database and migrates it as needed. Throws `unavailable` if the server doesn't respond for
 * some seconds, rejects the password or is too old, or if a newer version of Weir created the database.
 */
export async function connectPostgres(options: RemoteStoreOptions): Promise<Store> {
  const untilMs = performance.now() + CONNECT_MS;
  for (;;) {
    try {
      return await connectOnce(options);
    } catch (error) {
      // a server that never responds has used up this time already
      if (!isLost(error) || !(error as AppError).retryable || performance.now() > untilMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, CONNECT_PAUSE_MS));
    }
  }
}

async function connectOnce(options: RemoteStoreOptions): Promise<Store> {
  const { clock = systemClock } = options;
  const reading = new PostgresClient({ ...options, max: READERS });
  const steady = new PostgresClient({ ...options, max: STEADY_READERS, byIndex: true, plansOnce: true });
  let writing: PostgresClient | null = null;
  const close = async () => {
    await Promise.all([reading, steady, writing].map((client) => client?.close()));
  };
  try {
    const commitsToDisk = !(await check(reading)).waitsForDisk;
    writing = new PostgresClient({ ...options, max: 1, byIndex: true, commitsToDisk });
    await provideFunctions(writing);
    const target = targetOf(writing);
    await migrate(target, {
      migrations: options.migrations,
      clock,
      beforeFirst: () => waitUntilUnused(target, clock),
    });
    await forgetOldWriters(writing);
  } catch (error) {
    await close();
    throw error;
  }
  const writer: PostgresWriter = new PostgresWriter(writing, steady, () => queue.check());
  const queue = new WriteQueue(writer, {
    clock,
    isAlone: false,
    runsAhead: true,
    groupSize: GROUP_WRITES,
    groupMs: GROUP_MS,
  });

  const { channel, close: endChannel } = openChannel({ ...options, max: 1 }, steady);

  const db = readOver(reading, steady);
  return {
    db,
    remote: true,
    channel,
    write: (work) => queue.write(work),
    async backup() {
      throw new AppError(
        "not_available",
        "Back up a PostgreSQL database with its own tools, such as pg_dump.",
      );
    },
    async stats() {
      const [row] = await db.all<{ bytes: number }>(
        sql`select pg_database_size(current_database()) as "bytes"`,
      );
      return { databaseBytes: Number(row?.bytes), walBytes: 0 };
    },
    async close() {
      await queue.close();
      await endChannel();
      await close();
    },
  };
}

/** Opens a PostgreSQL database without migrating it. */
export function glimpsePostgres(options: Pick<RemoteStoreOptions, "url" | "token" | "ca">) {
  const client = new PostgresClient({ ...options, max: 1 });
  return {
    db: readOver(client),
    async tryWrite() {
      await check(client);
      await checkPrivileges(client);
      await client.simple(
        "BEGIN READ WRITE; UPDATE settings SET value = value WHERE key = 'weir doctor'; ROLLBACK",
      );
    },
    close: () => client.close(),
  };
}

export const readOver = (reading: PostgresClient, steady = reading): ReadDb =>
  drizzleOver({
    run: async (sql, how, values, isKept) => {
      if (!/^[\s(]*(select|with|values|explain)\b/i.test(sql))
        throw new StoreError("SQLITE_READONLY", "attempt to write a readonly database");
      const client = isKept ? steady : reading;
      for (let attempt = 1; ; attempt++) {
        try {
          return await client.perform(sql, how, values);
        } catch (error) {
          if (!isLost(error) || attempt === READ_ATTEMPTS) throw error;
          await new Promise((resolve) => setTimeout(resolve, READ_PAUSE_MS * attempt));
        }
      }
    },
    leave: async () => {
      throw new StoreError("SQLITE_READONLY", "attempt to write a readonly database");
    },
  });

/** Weir's tables. The schema can have others, such as those of an extension. */
const ownTables = (): string[] => [
  "migrations",
  "last_commits",
  ...migrations.flatMap(({ sql }) => [...sql.matchAll(/CREATE TABLE (\w+)/g)].map(([, name = ""]) => name)),
];

/** Throws `unavailable` for a user that could not migrate the database. */
async function checkPrivileges(client: PostgresClient): Promise<void> {
  const [row] = await client.simple(`SELECT current_schema() AS schema,
    has_schema_privilege(current_schema(), 'CREATE') AS creates,
    (SELECT min(tablename) FROM pg_tables WHERE schemaname = current_schema()
      AND NOT pg_has_role(tableowner, 'USAGE') AND tablename IN ('${ownTables().join("', '")}')) AS other`);
  if (!row?.creates) throw lacksPrivilege(`it can't create tables in schema ${row?.schema}`);
  if (row.other !== null) throw lacksPrivilege(`it doesn't own table ${row.other}`);
}

/**
 * Returns whether the server's commits wait for its disk. Throws `unavailable` for an old server, and for a new database
 * with another encoding. One that is in use stays usable.
 */
async function check(client: PostgresClient): Promise<{ waitsForDisk: boolean }> {
  const [row] = await client.simple(
    `SELECT current_setting('server_version_num')::int / 10000 AS version,
      current_setting('synchronous_commit') AS waits, current_setting('server_encoding') AS encoding,
      to_regclass('migrations') IS NULL AS is_new`,
  );
  const version = Number(row?.version);
  if (version < OLDEST)
    throw new AppError(
      "unavailable",
      `The database server is PostgreSQL ${version}. Weir needs PostgreSQL ${OLDEST} or newer.`,
    );
  if (row?.is_new && row.encoding !== "UTF8")
    throw new AppError(
      "unavailable",
      `The database's encoding is ${row?.encoding}. Create it with ENCODING 'UTF8'.`,
    );
  return { waitsForDisk: row?.waits !== "off" };
}

/** Creates the functions that queries call, unless they exist in this version. */
async function provideFunctions(client: PostgresClient): Promise<void> {
  const hash = new Bun.CryptoHasher("sha256").update(functions).digest("hex").slice(0, 16);
  const mark = `COMMENT ON FUNCTION readable_json(text) IS 'Weir ${hash}'`;
  const [row] = await client.simple(
    "SELECT obj_description(to_regprocedure('readable_json(text)'), 'pg_proc') AS mark, quote_ident(current_schema()) AS schema",
  );
  if (row?.mark === `Weir ${hash}`) return;
  const text = functions.replaceAll("own.", `${row?.schema}.`);
  await client.simple(
    `BEGIN READ WRITE; SELECT pg_advisory_xact_lock(${MIGRATION_LOCK}); ${text}; ${mark}; COMMIT`,
  );
}

/** Deletes the marks of writers that have ended. */
const forgetOldWriters = (client: PostgresClient) =>
  client.simple("BEGIN READ WRITE; DELETE FROM last_commits WHERE at < now() - interval '7 days'; COMMIT");

const targetOf = (client: PostgresClient): MigrationTarget => {
  const rows: Runner["rows"] = async (text) => (await client.perform(text, "values", [])) as unknown[][];
  const unlimited = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0"; // an index over a large table
  const begin = `BEGIN READ WRITE; ${unlimited}; SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`;
  const transaction = async (work: (runner: Runner) => Promise<void>) => {
    try {
      await client.simple(begin);
      const isNew = (await rows("SELECT 1 FROM migrations LIMIT 1")).length === 0;
      const execute: Runner["execute"] = async (text, args = []) => {
        const translated = args.length > 0 ? null : translateMigration(text, isNew);
        if (args.length > 0) await client.perform(text, "run", args);
        else if (translated !== null) await client.simple(translated);
      };
      await work({ execute, rows });
      await client.simple("SAVEPOINT whole; COMMIT");
    } catch (error) {
      await client.simple("ROLLBACK").catch(() => undefined); // a lost connection has no open transaction
      throw error;
    }
  };
  return {
    isLocal: true,
    rows,
    async execute(text) {
      await client.patiently(() => client.simple(`${begin}; ${translateMigration(text, true)}; COMMIT`));
    },
    transaction: (work) => client.patiently(() => transaction(work)),
  };
};
