import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { connectPostgres, startData } from "../data/place.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";

setDefaultTimeout(120_000);

let pg: TestPostgres;
let data: Awaited<ReturnType<typeof startData>>;
let shop: string;
beforeAll(async () => {
  pg = await startPostgres();
  data = await startData();
  shop = await connectPostgres(data.owner, pg);
});
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await pg[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await pg.sql.unsafe("drop schema public cascade; create schema public");
});

const to = (table: string, more: object = {}) => ({ connectionId: shop, table, ...more });
const write = (sql: string, output: object) => data.transform({ sql, output });
const fails = async (sql: string, output: object) =>
  (await data.end("duckdb_transform", { sql, output })).error as { code: string; message: string };
const rows = async (sql: string) => [...(await pg.sql.unsafe(sql))] as Record<string, unknown>[];

test("append makes the table where it is missing and adds rows", async () => {
  const sql = "select i as id, 'row ' || i as name, i * 1.5 as price from range(3) t(i)";
  expect(await write(sql, to("public.orders"))).toMatchObject({
    rows: 3,
    output: { connectionId: shop, table: "public.orders", inserted: 3, updated: 0, deleted: 0 },
  });
  await write(sql, to("orders"));
  expect(await rows("select count(*)::int n, count(distinct id)::int ids, max(name) m from orders")).toEqual([
    { n: 6, ids: 3, m: "row 2" },
  ]);
  expect(await rows("select count(*)::int n, sum(inserted)::int i from _weir_loads")).toEqual([
    { n: 2, i: 6 },
  ]);
});

test("replace exchanges the rows and keeps grants, views and indexes", async () => {
  await pg.sql.unsafe(
    "create table t (id int primary key, v text default 'given'); insert into t values (1, 'old'), (2, 'old'); create view seen as select * from t; create index i on t (v)",
  );
  expect(await write("select 7 as id", to("t", { writeDisposition: "replace" }))).toMatchObject({
    rows: 1,
    output: { inserted: 1, updated: 0, deleted: 2 },
  });
  expect(await rows("select * from seen")).toEqual([{ id: 7, v: "given" }]);
});

test("merge updates what differs, adds what is new and counts nothing else", async () => {
  await pg.sql.unsafe(
    "create table t (id int, v text, keep int default 5); insert into t values (1, 'a'), (2, 'b')",
  );
  const merge = to("t", { writeDisposition: "merge", primaryKey: ["id"] });
  const sql = "select * from (values (1, 'a'), (2, 'changed'), (3, 'new')) t(id, v)";
  expect(await write(sql, merge)).toMatchObject({ rows: 3, output: { inserted: 1, updated: 1, deleted: 0 } });
  expect(await rows("select * from t order by id")).toEqual([
    { id: 1, v: "a", keep: 5 },
    { id: 2, v: "changed", keep: 5 },
    { id: 3, v: "new", keep: 5 },
  ]);
  expect(await write("select 1 as id, v from (values ('x'), ('y')) t(v)", merge)).toMatchObject({
    rows: 1,
    output: { inserted: 0, updated: 1 },
    warnings: ["1 rows had the key of a later one and were left out."],
  });
  expect(await fails("select null::int as id, 'x' as v", merge)).toMatchObject({
    code: "schema_contract_violation",
    message: expect.stringContaining('"id"'),
  });
});

test("a value that a column would round, cut or fold is refused, and nothing is written", async () => {
  await pg.sql.unsafe(
    `create table t (price numeric(10,2), word varchar(3), at timestamp(3), ratio real, small smallint,
       day date, whole int, sure int not null default 1, exact double precision, fixed char(3), name name)`,
  );
  const refusals: [sql: string, column: string][] = [
    ["1.005::decimal(10,3) as price", "price"],
    ["1.005::double as price", "price"],
    ["'abc ' as word", "word"],
    ["'abcd' as word", "word"],
    ["timestamp '2024-01-01 00:00:00.1234' as at", "at"],
    ["timestamptz '2024-01-01 00:00:00+00' as at", "at"],
    ["0.1::double as ratio", "ratio"],
    ["40000 as small", "small"],
    ["timestamp '2024-01-01 10:00:00' as day", "day"],
    ["1.5::double as whole", "whole"],
    ["'1' as whole", "whole"],
    ["null::int as sure", "sure"],
    ["9007199254740993::bigint as exact", "exact"],
    ["'abcd' as fixed", "fixed"],
    ["repeat('x', 64) as name", "name"],
    ["true as whole", "whole"],
    ["1 as missing", "missing"],
    ["date '2024-01-01' as at", "at"],
  ];
  for (const [sql, column] of refusals) {
    const error = await fails(`select ${sql}`, to("t"));
    expect([sql, error.code, error.message]).toEqual([
      sql,
      "schema_contract_violation",
      expect.stringContaining(`"${column}"`),
    ]);
  }
  expect(await rows("select * from t")).toEqual([]);
});
