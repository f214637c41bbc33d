import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { startApp } from "../support/app.ts";
import { connect, localFiles } from "../support/connections.ts";
import { hasMariadb, startMariadb, type TestMariadb } from "../support/mariadb.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { deepTest } from "../support/scale.ts";
import { ACTIONS, faultsOf, makeAction, runToEnd } from "../support/work.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
let pg: TestPostgres;
let connectionId = "";
let actions = 0;

beforeAll(async () => {
  weir = await startApp();
  pg = await startPostgres();
  const { host, port, user, password, database } = pg;
  const body = {
    name: "Shop",
    provider: "postgres",
    config: { host, port, database },
    credentials: { user, password },
  };
  connectionId = (await connect(weir.owner, body)).id;
}, 120_000);
afterAll(async () => {
  await pg[Symbol.asyncDispose]();
  await weir[Symbol.asyncDispose]();
});

const actionOf = (resources: JsonObject[], more: JsonObject = {}, connection = connectionId) => ({
  kind: "dlt_extract",
  name: `Load ${++actions}`,
  connectionId: connection,
  definition: { dataset: `d${actions}`, resources, ...more },
});

/** Creates an extract, runs it, and returns how it ended. */
async function load(resources: JsonObject[], more: JsonObject = {}, connection = connectionId) {
  const action = await makeAction(weir.owner, actionOf(resources, more, connection));
  const dataset: string = action.definition.dataset;
  const again = () => runToEnd(weir.owner, action.id);
  return { ...(await again()), id: action.id as string, dataset, again };
}

type Loaded = { result: { tables: { table: string; rows: number }[]; warnings: string[] } };
const rowsOf = ({ result }: Loaded) =>
  Object.fromEntries(result.tables.map(({ table, rows }) => [table, rows]));

/** Returns the error when creating the action. */
async function refusal(resources: JsonObject[], connection = connectionId): Promise<string[]> {
  const answer = await weir.owner("POST", ACTIONS, actionOf(resources, {}, connection));
  expect(answer.status).toBe(422);
  return answer.body.detail.map(
    ({ loc, msg }: { loc: string[]; msg: string }) => `${loc.slice(2).join(".")}: ${msg}`,
  );
}

/** A separate PostgreSQL schema for each test. */
const schema = (name: string, sql: string) =>
  pg.sql.unsafe(`create schema ${name}; set search_path to ${name}; ${sql}; reset search_path`);

describe("a wildcard over PostgreSQL", () => {
  test("loads every table and view of its schema, and later tables with the next run", async () => {
    await schema(
      "every",
      `create table orders as select 1 as id; create table "Odd Name" as select 1 as id union select 2;
       create view recent as select 1 as id; create materialized view sums as select 1 as id;
       create table csv as select 1 as id;
       create table days (day date) partition by range (day);
       create table days_2026 partition of days for values from ('2026-01-01') to ('2027-01-01');
       insert into days values ('2026-05-05')`,
    );
    const first = await load([{ spec: "every.*", writeDisposition: "replace" }]);
    expect(first).toMatchObject({ status: "completed", result: { warnings: [] } });
    expect(rowsOf(first)).toEqual({ csv: 1, days: 1, odd_name: 2, orders: 1, recent: 1, sums: 1 });
    await pg.sql.unsafe("create table every.later as select 1 as id; drop materialized view every.sums");
    expect(rowsOf(await first.again())).toEqual({
      csv: 1,
      days: 1,
      later: 1,
      odd_name: 2,
      orders: 1,
      recent: 1,
    });
  });

  test("matches names by its pattern, except those that exclude names or matches", async () => {
    await schema(
      "fit",
      ["order_a", "order_b", "order_b_old", "order_tmp1", "order_tmp2", "reorder_x", "order", "Order_Up"]
        .map((name) => `create table "${name}" as select 1 as id`)
        .join("; "),
    );
    const run = await load([
      {
        spec: "fit.order_*",
        exclude: ["fit.order_b", "order_tmp*", "ORDER_*_OLD"],
        writeDisposition: "replace",
      },
      { spec: "fit.re*r_x", writeDisposition: "replace" },
    ]);
    expect(rowsOf(run)).toEqual({ order_a: 1, reorder_x: 1 });
    expect(rowsOf(await load([{ spec: "Fit.*_Up" }]))).toEqual({ order_up: 1 });
  });

  deepTest("reports an exclude that matches nothing", async () => {
    await schema("typo", "create table users as select 1 as id");
    const run = await load([{ spec: "typo.*", exclude: ["typo.uesrs"] }]);
    expect(run.result.warnings).toEqual(['typo.*: exclude "typo.uesrs" matches no table.']);
  });

  deepTest("leaves a table that is also named itself to that resource", async () => {
    await schema(
      "two",
      `create table orders as select i as id from generate_series(1, 5) i; create table lines as select 1 as id;
       create table "Users" as select 1 as id`,
    );
    const run = await load([
      { spec: "two.*", where: "id < 10" },
      { spec: "Two.Orders", name: "kept", where: "id > 3" },
      { spec: 'two."Users"', name: "people" },
    ]);
    expect(rowsOf(run)).toEqual({ lines: 1, kept: 2, people: 1 });
  });

  deepTest("assigns a table of two wildcards to the first of them", async () => {
    await schema("twice", "create table event_a as select 1 as id; create table other as select 1 as id");
    const run = await load([{ spec: "twice.event_*", where: "id > 1" }, { spec: "twice.*" }]);
    expect(rowsOf(run)).toEqual({ event_a: 0, other: 1 });
  });

  test("merges each table by its own key, and keeps a cursor for each", async () => {
    await schema(
      "keyed",
      `create table pairs (b int, a int, note text, at int, primary key (b, a)); create table plain (id int primary key, note text, at int);
       insert into pairs values (1, 1, 'x', 1), (1, 2, 'y', 2); insert into plain values (1, 'x', 1)`,
    );
    const run = await load([
      { spec: "keyed.*", writeDisposition: "merge", incremental: { cursorField: "at" } },
    ]);
    expect(rowsOf(run)).toEqual({ pairs: 2, plain: 1 });
    await pg.sql.unsafe(
      "update keyed.pairs set note = 'z', at = 3 where a = 2; insert into keyed.plain values (2, 'y', 3)",
    );
    const { result } = await run.again();
    expect(result.tables).toMatchObject([
      { table: "pairs", inserted: 0, updated: 1 },
      { table: "plain", inserted: 1, updated: 0 },
    ]);
    const state = await weir.owner("GET", `${ACTIONS}/${run.id}/state`);
    expect(state.body.resources).toMatchObject({
      "keyed.pairs": { lastValue: 3 },
      "keyed.plain": { lastValue: 3 },
    });
  });

  deepTest("fails if a merge or deletes find tables without a key", async () => {
    await schema(
      "keyless",
      "create table a (id int primary key); create table b (id int); create view c as select 1",
    );
    const run = await load([{ spec: "keyless.*", writeDisposition: "merge" }]);
    expect(run).toMatchObject({
      status: "failed",
      error: {
        code: "definition_invalid",
        message:
          "A merge needs a primary key, and these tables of keyless.* have none: keyless.b, keyless.c. Leave them out with exclude, or add them as resources of their own.",
      },
    });
    expect((await load([{ spec: "keyless.*", exclude: ["b", "c"], deletes: "hard" }])).status).toBe(
      "completed",
    );
  });

  test("fails if nothing matches, or nothing is left", async () => {
    await schema("lonely", "create table a as select 1 as id");
    const messageOf = async (resource: JsonObject) => (await load([resource])).error.message;
    expect(await messageOf({ spec: "nowhere.*" })).toBe(
      "nowhere.* matches no table or view that this user may read. Nothing was loaded.",
    );
    expect(await messageOf({ spec: "lonely.b*" })).toStartWith("lonely.b* matches no table");
    expect(await messageOf({ spec: "lonely.*", exclude: ["*"] })).toBe(
      "lonely.* excludes all of its tables. Nothing was loaded.",
    );
    expect(await messageOf({ spec: "pg_catalog.*" })).toStartWith("pg_catalog.* matches no table");
    expect(await messageOf({ spec: "information_schema.*" })).toStartWith(
      "information_schema.* matches no table",
    );
  });

  test("never lets two tables become one", async () => {
    await schema("same", 'create table orders as select 1 as id; create table "Orders" as select 2 as id');
    const run = await load([{ spec: "same.*" }]);
    expect(run).toMatchObject({
      status: "failed",
      error: {
        message:
          "same.Orders and same.orders would both be the table orders. Leave one out with exclude, or add it as a resource with a name of its own.",
      },
    });
    const named = await load([{ spec: "same.*" }, { spec: "same.Orders", name: "old_orders" }]);
    expect(rowsOf(named)).toEqual({ orders: 1, old_orders: 1 });
    expect((await load([{ spec: "same.*", exclude: ["Orders"] }])).status).toBe("completed");
  });

  test("expands to at most 1,000 resources", async () => {
    await schema(
      "many",
      "do $$ begin for i in 1..1001 loop execute format('create table many.t%s ()', i); end loop; end $$",
    );
    const run = await load([{ spec: "many.*" }]);
    expect(run.error).toMatchObject({
      code: "definition_invalid",
      message:
        "The wildcards make 1,001 resources, and an extract takes at most 1,000. Leave tables out with exclude, or spread them over several extracts.",
    });
  }, 120_000);

  test("is rejected with options for a single table", async () => {
    expect(
      await refusal([{ spec: "public.*", name: "a", columns: ["b"], file: {}, exclude: ["a.b.c", "ok_*"] }]),
    ).toEqual([
      "resources.0.name: A wildcard takes no name, which is of one table. Add that table as a resource of its own.",
      "resources.0.columns: A wildcard takes no columns, which is of one table. Add that table as a resource of its own.",
      "resources.0.file: A wildcard takes no file, which is of one table. Add that table as a resource of its own.",
      'resources.0.exclude.0: Invalid table or pattern "a.b.c". Use public.orders, public.order_* or order_*, with odd names in double quotes.',
    ]);
    for (const spec of ["*", "order_*", "*.*", "*.orders", "a.b.*"])
      expect(await refusal([{ spec }])).toEqual([
        "resources.0.spec: A wildcard goes in the name of the table, after a schema: public.* or public.order_*.",
      ]);
    expect(await refusal([{ name: "public.*" }])).toEqual([
      "resources.0.name: Use wildcards in spec, not in name.",
    ]);
    expect(await refusal([{ spec: "public.orders", exclude: ["a"] }])).toEqual([
      "resources.0.exclude: exclude needs a spec with a wildcard, such as public.*.",
    ]);
    const action = await makeAction(weir.owner, actionOf([{ spec: "public.orders" }]));
    const definition = { dataset: "shop", resources: [{ spec: "*" }] };
    expect(faultsOf(await weir.owner("PATCH", `${ACTIONS}/${action.id}`, { definition }))).toHaveLength(1);
    const step = { key: "load", kind: "dlt_extract", connectionId, definition };
    const automation = { name: "Load", triggerType: "manual", config: { steps: [step] } };
    const answer = await weir.owner("POST", "/api/v1/automations", automation);
    expect(answer.body.detail[0].loc.join(".")).toBe("body.config.steps.0.definition.resources.0.spec");
  });
});

const query = async (sql: string) => (await weir.owner("POST", "/api/v1/query", { sql })).body.rows;

describe("many tables of PostgreSQL", () => {
  deepTest(
    "are loaded over one connection, each in its own transaction",
    async () => {
      const who = "select pg_backend_pid() as pid, now()::text as began";
      await schema(
        "chain",
        `create view a as ${who}; create view c as ${who};
       create table b as select i as id, repeat(md5(i::text), 10) as text from generate_series(1, 60000) i`,
      );
      const run = await load([{ spec: "chain.*" }]);
      expect(rowsOf(run)).toEqual({ a: 1, b: 60_000, c: 1 });
      const [row] = await query(
        `SELECT a.pid = c.pid AS same_connection, a.began = c.began AS same_transaction FROM raw.${run.dataset}__a a, raw.${run.dataset}__c c`,
      );
      expect(row).toEqual({ same_connection: true, same_transaction: false });
    },
    120_000,
  );
});

describe("a source without tables", () => {
  test("rejects a wildcard, and accepts a glob of files", async () => {
    const files = (await connect(weir.owner, localFiles("Files"))).id;
    expect(await refusal([{ spec: "public.*", exclude: ["a"] }], files)).toEqual([
      "resources.0.exclude: Only connections of PostgreSQL and MySQL take exclude, together with a spec such as public.*.",
    ]);
    await makeAction(weir.owner, actionOf([{ spec: "orders.*", name: "orders" }], {}, files));
    const shop = await connect(weir.owner, {
      name: "Store",
      provider: "shopify",
      config: { shopDomain: "a.myshopify.com" },
      credentials: { accessToken: "t" },
    });
    for (const spec of ["*", "shopify.*"])
      expect(await refusal([{ spec }], shop.id)).toEqual([
        "resources.0.spec: Only connections of PostgreSQL and MySQL take wildcards. Name each resource.",
      ]);
  });
});

describe.skipIf(!hasMariadb)("a wildcard over MariaDB", () => {
  let db: TestMariadb;
  let mysql = "";
  beforeAll(async () => {
    db = await startMariadb();
    const body = { name: "Maria", provider: "mysql", config: db.config, credentials: db.credentials };
    mysql = (await connect(weir.owner, body)).id;
  }, 120_000);
  afterAll(() => db[Symbol.asyncDispose]());

  deepTest("loads the tables and views of a database by their own keys", async () => {
    await db.run(`CREATE TABLE orders (b int, a int, note text, PRIMARY KEY (b, a)); INSERT INTO orders VALUES (1, 1, 'x'), (1, 2, 'y');
      CREATE TABLE items (id int PRIMARY KEY, note text); INSERT INTO items VALUES (1, 'x');
      CREATE TABLE \`Odd Name\` (id int); CREATE VIEW recent AS SELECT 1 AS id; CREATE SEQUENCE numbers`);
    const all = await load([{ spec: "shop.*" }], {}, mysql);
    expect(rowsOf(all)).toEqual({ items: 1, odd_name: 0, orders: 2, recent: 1 });
    const resource = { spec: "shop.*", exclude: ["recent", "Odd*"], writeDisposition: "merge" };
    const run = await load([resource, { spec: "items", name: "kept", where: "id > 1" }], {}, mysql);
    expect(rowsOf(run)).toEqual({ kept: 0, orders: 2 });
    await db.run("UPDATE orders SET note = 'z' WHERE a = 2");
    expect((await run.again()).result.tables[0]).toMatchObject({ table: "orders", updated: 2, inserted: 0 });
    await db.run(
      "CREATE VIEW who_a AS SELECT CONNECTION_ID() AS id; CREATE VIEW who_b AS SELECT CONNECTION_ID() AS id",
    );
    const { dataset } = await load([{ spec: "shop.who_*" }], {}, mysql);
    expect(
      await query(`SELECT a.id = b.id AS same FROM raw.${dataset}__who_a a, raw.${dataset}__who_b b`),
    ).toEqual([{ same: true }]);
    for (const spec of ["mysql.*", "sys.*", "information_schema.*", "shop.nothing_*"])
      expect((await load([{ spec }], {}, mysql)).error.message).toStartWith(`${spec} matches no table`);
  });
});
