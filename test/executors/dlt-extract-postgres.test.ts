import { afterAll, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { postgres } from "../../src/providers/postgres.ts";
import { link } from "../support/link.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { openTestSql } from "../support/sql.ts";
import { failure, openWorld, type World } from "./extract/world.ts";

const duck = openTestSql();
let pg: TestPostgres;
beforeAll(async () => {
  pg = await startPostgres();
});
afterAll(async () => {
  await pg[Symbol.asyncDispose]();
  await duck[Symbol.asyncDispose]();
});

const run = (world: World, resource: JsonObject, more: JsonObject = {}) =>
  world.run(
    { resources: [resource], ...more },
    {
      provider: postgres,
      link: link(
        { host: pg.host, port: pg.port, database: pg.database },
        { user: pg.user, password: pg.password },
      ),
    },
  );

test("a table of PostgreSQL goes over in several files, row for row", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe(`
    create table wide as select i as id, repeat(md5(i::text), 10) as text, case when i % 3 = 0 then null when i % 3 = 1 then '' else E'a"\\n,' || i end as odd,
      i * 1.5 as n, i % 2 = 0 as flag, timestamptz '2026-01-01 00:00:00.000001+00' + i * interval '1 second' as at, array[i, i] as list
    from generate_series(1::int8, 60000) i`);
  const { result } = await run(world, { name: "wide", incremental: { cursorField: "at" } });
  expect(result).toMatchObject({ mode: "initial", rows: 60_000, warnings: [] });
  expect(result.tables[0]?.files).toBeGreaterThan(1);
  expect(result.tables[0]?.cursor?.end).toBe("2026-01-01T16:40:00.000001Z");
  const sums =
    "count(*) AS n, sum(id) AS ids, count(DISTINCT md5(text)) AS texts, count(*) FILTER (WHERE odd = '') AS blank, count(odd) AS odd, sum(length(odd)) AS lengths";
  const [theirs] = await pg.sql.unsafe(`SELECT ${sums} FROM wide`);
  const [ours] = await world.query(`SELECT ${sums}, count(DISTINCT _dlt_id) AS all_ids FROM raw.shop__wide`);
  expect(
    Object.fromEntries(Object.entries(ours ?? {}).map(([name, value]) => [name, Number(value)])),
  ).toEqual({
    ...Object.fromEntries(Object.entries(theirs ?? {}).map(([name, value]) => [name, Number(value)])),
    all_ids: 60_000,
  });

  await pg.sql.unsafe(
    "insert into wide select 60000 + id, text, odd, n, flag, timestamptz '2026-01-01 16:40:00.000001+00' + (id - 1) * interval '1 second', list from wide where id <= 3",
  );
  const second = await run(world, { name: "wide", incremental: { cursorField: "at" } });
  expect(second.result.tables[0]).toMatchObject({ rowsRead: 4, rows: 3, deduplicated: 1 });
  const third = await run(world, { name: "wide", incremental: { cursorField: "at" } });
  expect(third.result).toMatchObject({ mode: "incremental", rows: 0 });
}, 120_000);

test("rows of PostgreSQL are merged by key, with a condition and chosen columns", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe(
    "create table people (id int primary key, name text, secret text, kind text); insert into people values (1, 'a', 's', 'x'), (2, 'b', 's', 'y'), (3, 'c', 's', 'x')",
  );
  const resource = {
    name: "people",
    primaryKey: ["id"],
    writeDisposition: "merge",
    columns: ["name"],
    where: "kind = $kind",
    parameters: { kind: "x" },
  };
  await run(world, resource);
  await pg.sql.unsafe(
    "update people set name = 'changed' where id = 3; insert into people values (4, 'd', 's', 'x')",
  );
  const { result } = await run(world, resource);
  expect(result.tables[0]).toMatchObject({ rowsRead: 3, rows: 3, inserted: 1, updated: 2 });
  expect(
    await world.query("SELECT * EXCLUDE (_dlt_id, _dlt_load_id) FROM raw.shop__people ORDER BY id"),
  ).toEqual([
    { name: "a", id: 1 },
    { name: "changed", id: 3 },
    { name: "d", id: 4 },
  ]);
}, 120_000);

test("a cursor that the table lacks fails by its name, and a hostile column's name is only a name", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe(
    `create table odd ("a""b; drop table" int, "_dlt_id" text); insert into odd values (1, 'x')`,
  );
  const error = await failure(run(world, { name: "odd", incremental: { cursorField: "at" } }));
  expect(error.code).toBe("cursor_field_missing");
  const { result } = await run(world, { name: "odd", spec: "public.odd" });
  expect(result.warnings).toHaveLength(1);
  expect(await world.query("SELECT a_b_drop_table, _dlt_id_2 FROM raw.shop__odd")).toEqual([
    { a_b_drop_table: 1, _dlt_id_2: "x" },
  ]);
}, 120_000);
