import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mysqlUser, startMysql, type TestMysql } from "../peers/mysql.ts";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let db: TestMysql;
beforeAll(async () => {
  [data, db] = await Promise.all([startData(), startMysql()]);
});
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

test("a database is connected, verified, browsed, read incrementally, and queried", async () => {
  const columns = {
    id: "bigint(20) unsigned not null",
    name: "varchar(50)",
    paid: "decimal(12,2)",
    changed_at: "timestamp",
    extra: "json",
  };
  db.table("shop", "orders", columns, [
    [1, "Ann", "10.10", "2026-01-01 00:00:00", '{"a":[1,2]}'],
    [2, 'Bob "B", \n', "20.20", "2026-01-02 00:00:00", null],
    [3, "", null, "2026-01-02 00:00:00", null],
  ]);
  const made = await connect(data.owner, {
    name: "MySQL",
    provider: "mysql",
    config: db.config,
    credentials: mysqlUser,
  });
  const at = `${CONNECTIONS}/${made.id}`;
  expect((await data.owner("POST", `${at}/verify`)).body).toMatchObject({
    status: "active",
    verificationError: null,
  });
  expect((await data.owner("GET", `${at}/schema/tables`)).body.tables).toEqual([
    { schema: "shop", table: "orders", spec: "shop.orders" },
  ]);
  const shown = (await data.owner("GET", `${at}/schema/columns?schema=shop&table=orders`)).body;
  expect(shown.columns[2]).toEqual({ name: "paid", dataType: "decimal(12,2)", nullable: true });

  const extract = await data.extract(made.id, {
    dataset: "mysql_shop",
    resources: [
      {
        name: "orders",
        spec: "shop.orders",
        primaryKey: ["id"],
        writeDisposition: "merge",
        incremental: { cursorField: "changed_at" },
      },
    ],
  });
  expect(await extract.result()).toMatchObject({ mode: "initial", rows: 3, warnings: [] });
  db.change("UPDATE shop.orders SET name = 'Ben', changed_at = '2026-01-03 00:00:00' WHERE id = 2");
  db.change("INSERT INTO shop.orders VALUES (18446744073709551, 'Big', '0.01', '2026-01-02 00:00:00', NULL)");
  const [second] = (await extract.result()).tables;
  expect(second).toMatchObject({ rowsRead: 3, deduplicated: 1, inserted: 1, updated: 1 });
  expect(
    await data.rows(
      "select id::varchar as id, name, paid::varchar as paid, changed_at::varchar as at from raw.mysql_shop__orders order by 1",
    ),
  ).toEqual([
    { id: "1", name: "Ann", paid: "10.10", at: "2026-01-01 00:00:00+00" },
    { id: "18446744073709551", name: "Big", paid: "0.01", at: "2026-01-02 00:00:00+00" },
    { id: "2", name: "Ben", paid: "20.20", at: "2026-01-03 00:00:00+00" },
    { id: "3", name: "", paid: null, at: "2026-01-02 00:00:00+00" },
  ]);
});

test("a wrong password and a wrong condition are reported, and an interrupted stream leaves nothing", async () => {
  db.table("shop", "lines", { id: "int not null" }, [[1], [2], [3]]);
  const body = { provider: "mysql", config: db.config, credentials: mysqlUser };
  const wrong = await connect(data.owner, {
    ...body,
    name: "Wrong",
    credentials: { user: "reader", password: "x" },
  });
  expect((await data.owner("POST", `${CONNECTIONS}/${wrong.id}/verify`)).body).toMatchObject({
    status: "error",
    verificationError: `127.0.0.1:${db.port} rejected the password of the user "***".`,
  });
  const { id } = await connect(data.owner, { ...body, name: "Right" });
  const extract = await data.extract(id, {
    dataset: "lines",
    resources: [{ name: "lines", where: "id > $least", parameters: { least: 1 } }],
  });
  db.state.cutAfter = 1;
  expect(await extract.run()).toMatchObject({
    status: "failed",
    error: { code: "upstream", retryable: true },
  });
  expect(await data.sums("raw", "lines")).toBeNull();
  db.state.cutAfter = Number.POSITIVE_INFINITY;
  expect(await extract.result()).toMatchObject({ rows: 2 });
  expect(await extract.run({ resources: [{ name: "lines", where: "nope = 1" }] })).toMatchObject({
    status: "failed",
    error: { code: "definition_invalid", retryable: false },
  });
});
