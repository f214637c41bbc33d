import { Database } from "bun:sqlite";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { PostgresClient } from "../../src/store/postgres-driver.ts";
import { besideFile } from "../../test/support/beside.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { startRelay } from "../../test/support/relay.ts";
import { startSqld } from "../../test/support/sqld.ts";
import { type Installation, runWeir } from "./weir.ts";

/** Where Weir has its database, with the judge's queries. */
export interface Place {
  /** Whether the work of a dead process only continues after its lease has expired. */
  readonly isShared: boolean;
  /** Failures of the database while it is written to, by name. */
  readonly harms: Readonly<Record<string, () => Promise<unknown>>>;
  /** Returns the number that a query selects. */
  count(sql: string): Promise<number>;
  /** Returns the database as a file, after the server is stopped. */
  asFile(installation: Installation): Promise<string>;
  stop(): Promise<void>;
}

export function filePlace(path: string): Place {
  return {
    isShared: false,
    harms: {},
    async count(sql) {
      using db = new Database(path, { readonly: true });
      return Number(db.query(sql).values()[0]?.[0]);
    },
    asFile: async () => path,
    stop: async () => undefined,
  };
}

/** More connections than three processes and a recently killed one have. */
const CONNECTIONS = 40;
const EXHAUSTED_MS = 1_500;
const COMMIT_MS = 5_000;

/** A database that Weir connects to by URL. */
export interface ServerPlace extends Place {
  readonly url: string;
}

/** A real PostgreSQL that holds all of Weir's data. */
export async function postgresPlace(): Promise<ServerPlace> {
  const server = await startPostgres({ flags: ["-c", `max_connections=${CONNECTIONS}`] });
  const relay = await startRelay(server.port);
  const urlAt = (port: number) =>
    `postgres://${server.user}:${encodeURIComponent(server.password)}@127.0.0.1:${port}/${server.database}?sslmode=disable`;
  const own = new PostgresClient({ url: urlAt(server.port), max: 1 });
  const ask = async <T>(work: (client: PostgresClient) => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(own);
      } catch (error) {
        if (attempt === 100) throw error;
        await Bun.sleep(100);
      }
    }
  };
  const cut = () =>
    ask((client) =>
      client.simple(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
      ),
    );
  const crash = async () => {
    await server.crash();
    await own.reset();
  };
  const exhaust = async () => {
    const url = urlAt(server.port);
    const others = Array.from({ length: CONNECTIONS }, () =>
      postgres(url, { max: 1, onnotice: () => undefined }),
    );
    const taken = Promise.allSettled(others.map((other) => other`select 1`));
    await cut();
    await Promise.allSettled([taken, ...others.map((other) => other`select 1`)]);
    await Bun.sleep(EXHAUSTED_MS);
    await Promise.allSettled(others.map((other) => other.end({ timeout: 0 })));
  };
  return {
    isShared: true,
    url: urlAt(relay.port),
    harms: {
      "every connection is cut": cut,
      "the database dies and comes back": crash,
      ...commitHarms(relay),
      "others take all connections for a while": exhaust,
    },
    async count(sql) {
      const [row] = (await ask((client) => client.perform(sql, "values", []))) as unknown[][];
      return Number(row?.[0]);
    },
    async asFile(installation) {
      const target = join(mkdtempSync(join(installation.folder, "moved-")), "data");
      const moved = await runWeir(installation, ["move", "--from", urlAt(server.port), "--to", target]);
      if (moved.code !== 0) throw new Error(`weir move: ${moved.err}`);
      return join(target, "weir.db");
    },
    async stop() {
      await own.close();
      await relay[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A real libSQL server that holds all of Weir's data. */
export async function libsqlPlace(): Promise<ServerPlace> {
  const server = await startSqld();
  const relay = await startRelay(server.port);
  const crash = async () => {
    await server.kill();
    await server.start();
  };
  const lock = async () => {
    await using other = besideFile(server.file); // It waits outside this thread, which the relay needs.
    await other.run("BEGIN IMMEDIATE");
    await Bun.sleep(EXHAUSTED_MS);
  };
  return {
    ...filePlace(server.file),
    isShared: true,
    url: `http://127.0.0.1:${relay.port}`,
    harms: {
      "every connection is cut": () => soon(relay.at("requests", "cut")),
      "the database dies and comes back": crash,
      ...commitHarms(relay),
      "another program locks the database for a while": lock,
    },
    async stop() {
      await relay[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const commitHarms = (relay: Awaited<ReturnType<typeof startRelay>>) => ({
  "a commit goes through and its answer is lost": () => soon(relay.at("COMMIT", "cut after")),
  "a commit is lost": () => soon(relay.at("COMMIT", "cut")),
});

/** Resolves once it has happened, or after a while if nothing is written. */
const soon = (happening: Promise<void>): Promise<void> => Promise.race([happening, Bun.sleep(COMMIT_MS)]);

export const SERVERS = { postgres: postgresPlace, libsql: libsqlPlace };
