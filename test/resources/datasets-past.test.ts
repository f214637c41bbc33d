import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isNotNull, sql } from "drizzle-orm";
import { systemClock } from "../../src/base/clock.ts";
import { type Context, contextFor, write } from "../../src/context.ts";
import { compactor } from "../../src/engine/compactor.ts";
import { openLocks } from "../../src/engine/locks.ts";
import { sweeper } from "../../src/engine/sweeper.ts";
import type { TableChange } from "../../src/lake/contract.ts";
import { commitLoad } from "../../src/resources/datasets/commit.ts";
import { readPast } from "../../src/resources/datasets/past.ts";
import { lakeFiles } from "../../src/resources/datasets/table.ts";
import { readTables } from "../../src/resources/datasets/tables.ts";
import { migrations } from "../../src/store/migrations.ts";
import { openStore } from "../../src/store/store.ts";
import { startApp } from "../support/app.ts";
import { refusalOf } from "../support/refusal.ts";
import { deepTest } from "../support/scale.ts";

type Running = Awaited<ReturnType<typeof startApp>>;

const contextOf = (weir: Running): Context =>
  contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "member",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "test-chain",
  });

const MINUTE = 60 * 1000;

/** Loads into one server's tables. */
function loaderOf(weir: Running) {
  const ctx = contextOf(weir);
  return {
    /** Loads the rows of `select`, with a file for each value of `n` if there is one. Returns the load's ID. */
    async load(select: string, table = "orders", change: Partial<TableChange> = {}, dataset = "shop") {
      const loadId = ctx.ids.uuid();
      const work = await ctx.lake.workFolder(loadId);
      const options = / n\b/.test(select) ? { partitionBy: ["n"] } : {};
      const job = { tables: [], sql: select };
      const { files, columns } = await ctx.sql.materialize(job, `${work.path}/rows`, options);
      const at = { organizationId: ctx.organizationId, layer: "raw", dataset, table, loadId };
      const add = await Promise.all(files.map((file) => ctx.lake.add(at, file)));
      await work.dispose();
      const [before] = await readTables(ctx.db, { ...at });
      const whole = { table, columns, add, remove: [], baseVersion: before?.version ?? null, ...change };
      await write(ctx, (tx) =>
        commitLoad(tx, loadId, "", { loadId, layer: "raw", dataset, tables: [whole as TableChange] }),
      );
      return loadId;
    },
    ask: (sql: string, more: object = {}) => weir.owner("POST", "/api/v1/query", { sql, ...more }),
    async rows(sql: string) {
      const { status, text, body } = await weir.owner("POST", "/api/v1/query", { sql });
      if (status !== 200) throw new Error(text);
      return body.rows;
    },
    async sweep() {
      const loop = sweeper(weir.app);
      while ((await loop.tick(new AbortController().signal)) === "more");
    },
    async compact() {
      const loop = compactor(weir.app, openLocks());
      let rounds = 0;
      while ((await loop.tick(new AbortController().signal)) === "more") rounds++;
      return rounds;
    },
  };
}

let weir: Running;
let shop: ReturnType<typeof loaderOf>;
beforeAll(async () => {
  weir = await startApp({ engine: false });
  shop = loaderOf(weir);
});
afterAll(() => weir[Symbol.asyncDispose]());

test("AS OF shows a table as of each load: its rows and its columns", async () => {
  const first = await shop.load("SELECT 1 AS id");
  const second = await shop.load("SELECT 2 AS id");
  const third = await shop.load("SELECT 'new' AS name, 3.5 AS amount", "orders", { remove: "all" });
  const other = await shop.load("SELECT 1 AS x", "customers");
  const fourth = await shop.load("SELECT 'newer' AS name, 4.5 AS amount");
  const of = (load: string) => shop.rows(`SELECT * FROM raw.shop__orders AS OF '${load}' ORDER BY ALL`);
  expect(await of(first)).toEqual([{ id: 1 }]);
  expect(await of(second)).toEqual([{ id: 1 }, { id: 2 }]);
  expect(await of(third)).toEqual([{ name: "new", amount: "3.5" }]);
  expect(await of(other)).toEqual([{ name: "new", amount: "3.5" }]);
  expect(await of(fourth)).toHaveLength(2);
  expect(
    await shop.rows(
      `SELECT (SELECT count(*) FROM raw.shop__orders AS OF '${first}') AS a, count(*) AS b FROM raw.shop__orders`,
    ),
  ).toEqual([{ a: 1, b: 2 }]);
  const asked = await shop.ask("FROM raw.shop__orders AS OF $load", { parameters: { load: second } });
  expect(asked.body.rowCount).toBe(2);
});

test("a missing table is reported in DuckDB's words, with similar tables", async () => {
  await shop.load("SELECT 1 AS id", "invoices");
  const messageFor = async (sql: string) => (await shop.ask(sql)).body.detail[0].msg.split("\n")[0];
  expect(await messageFor("FROM invoices")).toBe(
    "Catalog Error: Table with name invoices does not exist! Did you mean raw.shop__invoices?",
  );
  expect(await messageFor("FROM rew.shop__invoice")).toBe(
    'Catalog Error: Table with name "rew.shop__invoice" does not exist because schema "rew" does not exist. Did you mean raw.shop__invoices?',
  );
  expect(await messageFor("FROM raw.quite_another_thing")).toMatch(
    /^Catalog Error: Table with name quite_another_thing does not exist! Tables are named layer\.dataset__table\. There are: raw\./,
  );
});

deepTest(
  "a missing table with a name of more than 200 characters is reported without a suggestion",
  async () => {
    const [dataset, table] = ["d".repeat(100), "t".repeat(100)];
    await shop.load("SELECT 1 AS id", table, {}, dataset);
    const { body } = await shop.ask(`FROM raw.${dataset}__${table}s`);
    expect(body.detail[0].msg).toStartWith(
      `Catalog Error: Table with name ${dataset}__${table}s does not exist! Tables are named`,
    );
  },
);

test("an unknown load, and a table created later, are reported at the SQL", async () => {
  const before = await shop.load("SELECT 1 AS id", "early");
  await shop.load("SELECT 1 AS id", "late");
  const told = async (sql: string) => {
    const { status, body } = await shop.ask(sql);
    return [
      status,
      ...(body.detail ?? []).map((d: { loc: string[]; msg: string; type: string }) => [d.loc, d.type, d.msg]),
    ];
  };
  expect(await told("FROM raw.shop__late AS OF 'nothing'")).toEqual([
    422,
    [["body", "sql"], "sql_error", 'Load "nothing" not found.'],
  ]);
  expect(await told(`FROM raw.shop__late AS OF '${before}'`)).toEqual([
    422,
    [
      ["body", "sql"],
      "sql_error",
      `Table raw.shop__late didn't exist as of load ${before}, or has been deleted since.`,
    ],
  ]);
  const { body: beta } = await weir.owner("POST", "/api/v1/organizations", { name: "Beta" });
  const foreign = await weir.owner(
    "POST",
    "/api/v1/query",
    { sql: `FROM raw.shop__early AS OF '${before}'` },
    { "x-organization-id": beta.id },
  );
  expect(foreign.status).toBe(422);
  expect(foreign.body.detail[0].msg).toBe(`Load "${before}" not found.`);
});

test("past states are kept for a day by default", async () => {
  const before = await shop.load("SELECT 1 AS id", "daily");
  await shop.load("SELECT 2 AS id", "daily", { remove: "all" });
  weir.clock.turn(20 * 60 * MINUTE);
  await shop.sweep();
  expect(await shop.rows(`FROM raw.shop__daily AS OF '${before}'`)).toEqual([{ id: 1 }]);
});

deepTest("compaction doesn't affect the past", async () => {
  const loads: string[] = [];
  for (const rows of [1, 10, 23])
    loads.push(await shop.load(`SELECT i AS n FROM range(${rows}) t(i)`, "many"));
  expect(await shop.compact()).toBeGreaterThan(0);
  const of = async (load: string) =>
    (await shop.rows(`SELECT count(*) AS n FROM raw.shop__many AS OF '${load}'`))[0].n;
  expect(await Promise.all(loads.map(of))).toEqual([1, 11, 34]);
});

deepTest("past states are deleted after their time, and the last one stays", async () => {
  await using own = await startApp({ engine: false, env: { WEIR_LAKE_HISTORY_DAYS: "0" } });
  const { load, ask, rows, sweep, compact } = loaderOf(own);
  const first = await load("SELECT 1 AS id");
  own.clock.turn(1000);
  const second = await load("SELECT 2 AS id", "orders", { remove: "all" });
  await load("SELECT i AS n FROM range(40) t(i)", "many");
  const last = await load("SELECT 40 AS n", "many");
  expect(await compact()).toBeGreaterThan(0);
  own.clock.turn(9 * MINUTE);
  await sweep();
  expect(await rows(`FROM raw.shop__orders AS OF '${first}'`)).toEqual([{ id: 1 }]);
  own.clock.turn(2 * MINUTE);
  await sweep();
  expect((await ask(`FROM raw.shop__orders AS OF '${first}'`)).body.detail[0].msg).toBe(
    `The state of raw.shop__orders as of load ${first} is no longer stored (WEIR_LAKE_HISTORY_DAYS).`,
  );
  expect(await rows(`FROM raw.shop__orders AS OF '${second}'`)).toEqual([{ id: 2 }]);
  expect(await rows(`SELECT count(*) AS n FROM raw.shop__many AS OF '${last}'`)).toEqual([{ n: 41 }]);
  const left = await Array.fromAsync(own.app.lake.list(new Date("2999-01-01T00:00:00Z")));
  expect(left.length).toBeLessThan(12);
});

deepTest("a deleted dataset has no past, even when it is created again", async () => {
  const before = await shop.load("SELECT 1 AS id", "gone", {}, "gone");
  await shop.load("SELECT 2 AS id", "gone", { remove: "all" }, "gone");
  expect(await shop.rows(`FROM raw.gone AS OF '${before}'`)).toEqual([{ id: 1 }]);
  expect((await weir.owner("DELETE", "/api/v1/datasets/raw/gone")).status).toBe(204);
  expect((await shop.ask(`FROM raw.gone AS OF '${before}'`)).status).toBe(422);
  const again = await shop.load("SELECT 3 AS id", "gone", {}, "gone");
  expect((await shop.ask(`FROM raw.gone AS OF '${before}'`)).body.detail[0].msg).toContain(
    "or has been deleted",
  );
  expect(await shop.rows(`FROM raw.gone AS OF '${again}'`)).toEqual([{ id: 3 }]);
});

test("a table has all columns that ever existed; loads that lack one have null in it", async () => {
  await shop.load("SELECT 1 AS id, 'a' AS old", "wide");
  const columns = [
    { name: "id", dataType: "BIGINT", nullable: true },
    { name: "old", dataType: "VARCHAR", nullable: true },
    { name: "fresh", dataType: "DOUBLE", nullable: true },
  ];
  await shop.load("SELECT 5000000000 AS id, 0.5::DOUBLE AS fresh", "wide", { columns });
  const { body } = await shop.ask("FROM raw.shop__wide ORDER BY id");
  expect(body.columns).toEqual(columns);
  expect(body.rows).toEqual([
    { id: 1, old: "a", fresh: null },
    { id: 5_000_000_000, old: null, fresh: 0.5 },
  ]);
});

deepTest(
  "past states that take more than a gigabyte in addition to the table are deleted early, oldest first",
  async () => {
    await using own = await startApp({ engine: false });
    const { load, ask, rows, sweep } = loaderOf(own);
    const loads: string[] = [];
    for (let n = 1; n <= 4; n++) loads.push(await load(`SELECT ${n} AS id`, "orders", { remove: "all" }));
    await own.app.store.write(async (db) => {
      await db
        .update(lakeFiles)
        .set({ bytes: 600 * 1024 ** 2 })
        .where(isNotNull(lakeFiles.removedAt));
    });
    await sweep();
    expect(await rows(`FROM raw.shop__orders AS OF '${loads[0]}'`)).toEqual([{ id: 1 }]);
    own.clock.turn(70 * MINUTE);
    await sweep();
    const told = await Promise.all(loads.map((id) => ask(`FROM raw.shop__orders AS OF '${id}'`)));
    expect(told.map(({ status }) => status)).toEqual([422, 422, 200, 200]);
    expect(await rows(`FROM raw.shop__orders AS OF '${loads[2]}'`)).toEqual([{ id: 3 }]);
  },
);

test("a store of an earlier version keeps its tables; its earlier past isn't available", async () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-history-"));
  const at = (name: string) => migrations.findIndex((migration) => migration.name === name);
  const options = {
    path: join(folder, "weir.db"),
    backupsFolder: join(folder, "backups"),
    clock: systemClock,
  };
  const old = await openStore({ ...options, migrations: migrations.slice(0, at("0015_lake_history")) });
  await old.write(async (db) => {
    for (const [load, path] of [
      ["b", "one"],
      ["a", "two"],
    ]) {
      await db.run(
        sql`insert into lake_loads values (${load}, 'o', 'raw', 'shop', 'run', ${`2026-01-0${load === "b" ? 1 : 2}`})`,
      );
      await db.run(sql`insert into lake_files (id, organization_id, layer, dataset, table_name, path, rows, bytes, load_id, created_at)
        values (${path}, 'o', 'raw', 'shop', 'orders', ${path}, 1, 10, ${load}, '2026')`);
    }
    await db.run(
      sql`insert into lake_tables values ('o', 'raw', 'shop', 'orders', '[{"name":"id"}]', 2, 20, 2, 2, '2026')`,
    );
  });
  await old.close();
  const store = await openStore({ ...options, migrations });
  const [table] = await readTables(store.db, { organizationId: "o" });
  expect(table).toMatchObject({ rows: 2, version: 2, columns: [{ name: "id" }] });
  expect(table?.files.map(({ id }) => id)).toEqual(["one", "two"]);
  const past = (loadId: string) => readPast(store.db, "o", { layer: "raw", name: "shop__orders", loadId });
  expect((await past("a")).files.map(({ id }) => id)).toEqual(["one", "two"]);
  expect(await refusalOf(past("b"))).toContain("is no longer stored");
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
