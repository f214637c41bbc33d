import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { deepTest } from "../support/scale.ts";
import { connectPostgres, startData } from "./place.ts";

setDefaultTimeout(120_000);

let pg: TestPostgres;
let data: Awaited<ReturnType<typeof startData>>;
let shop: string;
beforeAll(async () => {
  [pg, data] = await Promise.all([startPostgres(), startData()]);
  shop = await connectPostgres(data.owner, pg);
}, 120_000);
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await pg[Symbol.asyncDispose]();
});

const typesOf = async (dataset: string) =>
  Object.fromEntries(
    (await data.sums("raw", dataset)).columns
      .filter(({ name }: { name: string }) => !name.startsWith("_dlt"))
      .map(({ name, dataType }: { name: string; dataType: string }) => [name, dataType]),
  );

test("new columns, wider types and mismatching types are accepted, and reported", async () => {
  await pg.sql.unsafe("create table grown (id int, n int, v int); insert into grown values (1, 1, 1)");
  const extract = await data.extract(shop, { dataset: "grown", resources: [{ name: "grown" }] });
  await extract.result();
  await pg.sql.unsafe(
    "alter table grown add extra text, alter n type bigint, alter v type text; update grown set id = 2, n = 5000000000, v = 'word', extra = 'e'",
  );
  const { tables } = await extract.result();
  expect(tables[0].schemaChanges).toEqual(
    expect.arrayContaining([
      { table: "grown", column: "n", change: "widened", from: "INTEGER", to: "BIGINT" },
      { table: "grown", column: "v__v_text", change: "variant", from: "INTEGER", to: "VARCHAR" },
      { table: "grown", column: "extra", change: "added", from: null, to: "VARCHAR" },
    ]),
  );
  expect(tables[0].schemaChanges).toHaveLength(3);
  expect(await typesOf("grown")).toEqual({
    id: "INTEGER",
    n: "BIGINT",
    v: "INTEGER",
    v__v_text: "VARCHAR",
    extra: "VARCHAR",
  });
  expect(await data.rows("select * exclude (_dlt_id, _dlt_load_id) from raw.grown order by id")).toEqual([
    { id: 1, n: 1, v: 1, v__v_text: null, extra: null },
    { id: 2, n: 5_000_000_000, v: null, v__v_text: "word", extra: "e" },
  ]);
  await pg.sql.unsafe("alter table grown drop extra");
  expect((await extract.result()).tables[0].schemaChanges).toEqual([]);
});

deepTest("a merge and a replace also add columns", async () => {
  await pg.sql.unsafe("create table merged (id int, n int); insert into merged values (1, 1), (2, 2)");
  const merge = await data.extract(shop, {
    dataset: "merged",
    resources: [{ name: "merged", writeDisposition: "merge", primaryKey: ["id"] }],
  });
  const replace = await data.extract(shop, {
    dataset: "replaced",
    resources: [{ name: "merged", writeDisposition: "replace" }],
  });
  await merge.result();
  await replace.result();
  await pg.sql.unsafe(
    "alter table merged add extra text, alter n type double precision; update merged set n = 1.5, extra = 'e' where id = 1; delete from merged where id = 2",
  );
  expect((await merge.result()).tables[0]).toMatchObject({ updated: 1, inserted: 0, deleted: 0 });
  expect(await data.rows("select id, n, n__v_double, extra from raw.merged order by id")).toEqual([
    { id: 1, n: null, n__v_double: 1.5, extra: "e" },
    { id: 2, n: 2, n__v_double: null, extra: null },
  ]);
  expect((await replace.result()).tables[0]?.schemaChanges).toContainEqual({
    table: "merged",
    column: "n",
    change: "widened",
    from: "INTEGER",
    to: "DOUBLE",
  });
  expect(await data.rows("select id, n, extra from raw.replaced__merged")).toEqual([
    { id: 1, n: 1.5, extra: "e" },
  ]);
});

deepTest("the contract freezes, discards rows, or discards values", async () => {
  await pg.sql.unsafe("create table bound (id int, v int); insert into bound values (1, 1)");
  const made = async (schemaContract: string, dataset: string) => {
    const extract = await data.extract(shop, { dataset, schemaContract, resources: [{ name: "bound" }] });
    await extract.result();
    return extract;
  };
  const [freeze, row, value] = await Promise.all([
    made("freeze", "frozen"),
    made("discard_row", "less_rows"),
    made("discard_value", "less_values"),
  ]);
  await pg.sql.unsafe(
    "alter table bound add extra text, alter v type text; insert into bound values (2, '2', null), (3, 'word', null), (4, '4', 'x')",
  );
  const failed = await freeze.run();
  expect(failed).toMatchObject({
    status: "failed",
    error: { code: "schema_contract_violation", retryable: false, details: { table: "bound" } },
  });
  expect(await data.sums("raw", "frozen", "bound")).toMatchObject({ rows: 1, files: 1 });

  const rows = await row.result();
  expect(rows.tables[0]).toMatchObject({ rowsRead: 4, rows: 2, rejected: 2 });
  expect(rows.warnings.length).toBeGreaterThan(0);
  expect(await data.rows("select id, v from raw.less_rows__bound order by id")).toEqual([
    { id: 1, v: 1 },
    { id: 1, v: 1 },
    { id: 2, v: 2 },
  ]);
  const values = await value.result();
  expect(values.tables[0]).toMatchObject({ rowsRead: 4, rows: 4, rejected: 0, schemaChanges: [] });
  expect(
    await data.rows("select * exclude (_dlt_id, _dlt_load_id) from raw.less_values__bound order by id"),
  ).toEqual([
    { id: 1, v: 1 },
    { id: 1, v: 1 },
    { id: 2, v: 2 },
    { id: 3, v: null },
    { id: 4, v: 4 },
  ]);
});
