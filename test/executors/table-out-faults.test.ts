import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { dataOf } from "../data/place.ts";
import { connect } from "../support/connections.ts";
import { hasMariadb, startMariadb } from "../support/mariadb.ts";
import { startPostgres } from "../support/postgres.ts";
import { startInstallation } from "../support/process.ts";
import { startRelay } from "../support/relay.ts";
import { deepTest, scaled, someOf } from "../support/scale.ts";
import { RUNS, runEnd } from "../support/work.ts";

setDefaultTimeout(180_000);

/** A database behind a relay, and what its owner does there. */
interface Destination {
  provider: string;
  config: { host: string; port: number; database: string };
  credentials: Record<string, string>;
  put(sql: string): Promise<unknown>;
  /** Each value as text. */
  rows(sql: string): Promise<(string | null)[][]>;
  /** Locks the table against writers until the returned function is called. */
  lock(table: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

async function openPostgres(): Promise<Destination> {
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
    async lock(table) {
      const locked = await pg.sql.reserve();
      await locked.unsafe(`begin; lock table ${table} in row exclusive mode`);
      return async () => {
        await locked.unsafe("commit");
        locked.release();
      };
    },
    close: () => pg[Symbol.asyncDispose](),
  };
}

async function openMariadb(): Promise<Destination> {
  const db = await startMariadb();
  await db.run("CREATE USER writer@'%' IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO writer@'%'");
  return {
    provider: "mysql",
    config: db.config,
    credentials: { user: "writer", password: "secret" },
    put: db.run,
    rows: async (sql) => ((await db.run(sql))[0] as (string | null)[][][]).at(-1) ?? [],
    async lock(table) {
      await db.run(`START TRANSACTION; SELECT * FROM ${table} FOR UPDATE`);
      return async () => void (await db.run("COMMIT"));
    },
    close: () => db[Symbol.asyncDispose](),
  };
}

const ROWS = scaled(8_000, 150_000);
const LAST = ROWS - 1;
const SQL = `select i as id, 'new ' || i as v from range(${ROWS}) t(i)`;
const SUMS = "select count(*), count(distinct id), count(case when v like 'new%' then 1 end) from t";

/** What each way does to a table of three rows, one of which the new ones lack. */
const WAYS = {
  append: { output: { inserted: ROWS, updated: 0, deleted: 0 }, sums: [ROWS + 3, ROWS + 1, ROWS] },
  replace: { output: { inserted: ROWS, updated: 0, deleted: 3 }, sums: [ROWS, ROWS, ROWS] },
  merge: { output: { inserted: ROWS - 2, updated: 2, deleted: 0 }, sums: [ROWS + 1, ROWS + 1, ROWS] },
} as const;
type Disposition = keyof typeof WAYS;
const texts = (sums: readonly number[]) => [sums.map(String)];
const BEFORE = texts([3, 3, 0]);

/** The statement, not the "READ COMMITTED" of another. */
const COMMITTED = "COMMIT\0";

const SYSTEMS: [name: string, open: () => Promise<Destination>, phases: Record<Disposition, string[]>][] = [
  [
    "PostgreSQL",
    openPostgres,
    {
      append: ["COPY ", `${LAST},"new ${LAST}"`, '_weir_loads" (load_id', COMMITTED],
      replace: ["CREATE TEMP", "DELETE FROM", "OVERRIDING", COMMITTED],
      merge: ["LOCK TABLE", "UPDATE", COMMITTED],
    },
  ],
];
if (hasMariadb)
  SYSTEMS.push([
    "MariaDB",
    openMariadb,
    {
      append: ["CREATE TEMPORARY", `(${LAST},`, "INSERT INTO `shop`.`t`", "COMMIT"],
      replace: ["DELETE FROM", "INSERT INTO `shop`.`t`", "INSERT INTO `shop`.`_weir_loads`", "COMMIT"],
      merge: ["UPDATE", "NOT EXISTS", "COMMIT"],
    },
  ]);

describe.each(someOf(1, SYSTEMS))("%s", (name, open, phases) => {
  let there: Destination;
  let relay: Awaited<ReturnType<typeof startRelay>>;
  let installation: Awaited<ReturnType<typeof startInstallation>>;
  let server: Awaited<ReturnType<typeof installation.serve>>;
  let connectionId: string;
  beforeAll(async () => {
    there = await open();
    relay = await startRelay(there.config.port);
    installation = await startInstallation();
    server = await installation.serve();
    const { provider, config, credentials } = there;
    const relayed = { ...config, port: relay.port };
    connectionId = (await connect(server.owner, { name: "Shop", provider, config: relayed, credentials })).id;
  }, 120_000);
  afterAll(async () => {
    await installation[Symbol.asyncDispose]();
    await relay[Symbol.asyncDispose]();
    await there.close();
  });

  const begin = async (writeDisposition: Disposition, more: object = {}) => {
    await there.put("drop table if exists t");
    const key = writeDisposition === "append" ? "" : " primary key";
    await there.put(`create table t (id bigint${key}, v varchar(40))`);
    await there.put("insert into t values (1, 'old'), (2, 'old'), (1000000, 'old')");
    return async () => {
      const output = { connectionId, table: "t", writeDisposition, primaryKey: ["id"] };
      const run = await dataOf(server.owner).begin("duckdb_transform", { sql: SQL, output, ...more });
      return run.id as string;
    };
  };
  const completed = async (id: string, way: Disposition) => {
    expect(await runEnd(server.owner, id)).toMatchObject({
      status: "completed",
      result: { rows: ROWS, output: { connectionId, table: "t", ...WAYS[way].output } },
    });
    expect(await there.rows(SUMS)).toEqual(texts(WAYS[way].sums));
    expect(await there.rows(`select count(*) from _weir_loads where load_id = '${id}'`)).toEqual([["1"]]);
  };

  for (const way of ["append", "replace", "merge"] as const) {
    const tried = (name === "PostgreSQL" ? way === "merge" : way === "append") ? test : deepTest;
    tried(
      `killed at any moment of ${way}, it leaves the table as it was, and goes on after the restart`,
      async () => {
        for (const word of phases[way]) {
          const start = await begin(way);
          const reached = relay.at(word, "hold");
          const id = await start();
          await reached;
          await server.end("SIGKILL");
          expect([word, ...(await there.rows(SUMS))]).toEqual([word, ...BEFORE]);
          server = await installation.serve();
          await completed(id, way);
        }
      },
    );
  }

  test("killed after its COMMIT succeeded, it finds that at the next attempt and writes nothing twice", async () => {
    const start = await begin("append");
    const reached = relay.at(phases.append.at(-1) ?? "", "cut after");
    const id = await start();
    await reached;
    await server.end("SIGKILL");
    server = await installation.serve();
    await completed(id, "append");
    expect(await dataOf(server.owner).logs(id)).toContainEqual(
      expect.stringContaining("has the rows of this run from an earlier try"),
    );
  });

  deepTest("if the response to its COMMIT is lost, it checks whether the rows exist", async () => {
    const start = await begin("append");
    const reached = relay.at(phases.append.at(-1) ?? "", "cut after");
    const id = await start();
    await reached;
    await completed(id, "append");
  });

  deepTest("a connection lost midway fails the attempt, and the next one writes everything", async () => {
    const start = await begin("merge", { retry: { maxAttempts: 2, backoffSeconds: [0] } });
    const reached = relay.at(`${LAST},`, "cut");
    const id = await start();
    await reached;
    await completed(id, "merge");
    expect((await server.owner("GET", `${RUNS}/${id}`)).body.retryCount).toBe(1);
  });

  deepTest("runs that find no table at the same time create one, and all write to it", async () => {
    await there.put("drop table if exists made");
    const longSql = `select {{run.id}} as run, n, n / 7.0 as part, 'text ' || n as word, date '2026-01-01' as day
      from (select count(*) as n from range(100000000) t(i) where i % 3 = 0)`;
    const output = { connectionId, table: "made" };
    const runs = await Promise.all(
      [1, 2, 3].map(() => dataOf(server.owner).begin("duckdb_transform", { sql: longSql, output })),
    );
    for (const { id } of runs)
      expect(await runEnd(server.owner, id)).toMatchObject({ status: "completed", error: null });
    expect(await there.rows("select count(*), count(distinct run) from made")).toEqual([["3", "3"]]);
  });

  deepTest(
    "it waits for someone else's lock, and a cancellation ends that and leaves the table unchanged",
    async () => {
      const start = await begin("replace");
      const unlock = await there.lock("t");
      const reached = relay.at(there.provider === "postgres" ? "LOCK TABLE" : "DELETE FROM", "pass");
      const first = await start();
      await reached;
      await server.owner("POST", `${RUNS}/${first}/cancel`);
      expect(await runEnd(server.owner, first)).toMatchObject({ status: "cancelled" });
      expect(await there.rows(SUMS)).toEqual(BEFORE);
      const again = relay.at(there.provider === "postgres" ? "LOCK TABLE" : "DELETE FROM", "pass");
      const second = await start();
      await again;
      expect((await server.owner("GET", `${RUNS}/${second}`)).body.status).toBe("running");
      await unlock();
      await completed(second, "replace");
    },
  );
});
