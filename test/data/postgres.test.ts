import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { deepTest } from "../support/scale.ts";
import { ACTIONS, created } from "../support/work.ts";
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

test("an append adds rows, and the result and list show the right totals", async () => {
  await pg.sql.unsafe("create table plain as select i as id, 'n' || i as name from generate_series(1, 10) i");
  const extract = await data.extract(shop, { dataset: "appended", resources: [{ name: "plain" }] });
  const result = await extract.result();
  expect(Object.keys(result).sort()).toEqual(
    ["loadId", "mode", "tables", "rows", "bytes", "durationSeconds", "warnings"].sort(),
  );
  expect(result).toMatchObject({ mode: "initial", rows: 10, warnings: [] });
  const [table] = result.tables;
  expect(table).toEqual({
    table: "plain",
    rowsRead: 10,
    rows: 10,
    inserted: 10,
    updated: 0,
    deleted: 0,
    deduplicated: 0,
    rejected: 0,
    bytes: expect.any(Number),
    files: 1,
    cursor: null,
    schemaChanges: [],
  });
  expect(await data.sums("raw", "appended", "plain")).toMatchObject({
    rows: 10,
    files: 1,
    bytes: table.bytes,
  });

  const second = await extract.result();
  expect(second).toMatchObject({ mode: "incremental", rows: 10 });
  expect(await data.sums("raw", "appended", "plain")).toMatchObject({
    rows: 20,
    files: 2,
    bytes: result.bytes + second.bytes,
  });
  expect(
    await data.rows(
      "select count(*) n, count(distinct _dlt_id) ids, count(distinct _dlt_load_id) loads from raw.appended__plain",
    ),
  ).toEqual([{ n: 20, ids: 20, loads: 2 }]);
  const preview = await data.owner("GET", "/api/v1/datasets/raw/appended/preview?table=plain&limit=3");
  expect(preview.body.rows).toHaveLength(3);
  expect(preview.body.columns.map((column: { name: string }) => column.name)).toEqual([
    "id",
    "name",
    "_dlt_id",
    "_dlt_load_id",
  ]);
});

deepTest("an incremental append loads each row once, those at the boundary too", async () => {
  await pg.sql.unsafe(
    "create table ticks (id int, at timestamptz); insert into ticks values (1, '2026-01-01 10:00Z'), (2, '2026-01-01 10:00Z'), (3, '2026-01-01 11:00:00.123456Z')",
  );
  const extract = await data.extract(shop, {
    dataset: "ticks",
    resources: [{ name: "ticks", primaryKey: ["id"], incremental: { cursorField: "at" } }],
  });
  const first = await extract.result();
  expect(first).toMatchObject({ mode: "initial", rows: 3 });
  expect(first.tables[0].cursor).toEqual({ start: null, end: "2026-01-01T11:00:00.123456Z" });

  await pg.sql.unsafe(
    "insert into ticks values (4, '2026-01-01 11:00:00.123456Z'), (5, '2026-01-01 12:00Z'), (6, '2026-01-01 09:00Z')",
  );
  const second = await extract.result();
  expect(second.mode).toBe("incremental");
  expect(second.tables[0]).toMatchObject({
    rowsRead: 3,
    rows: 2,
    deduplicated: 1,
    cursor: { start: "2026-01-01T11:00:00.123456Z", end: "2026-01-01T12:00:00Z" },
  });
  expect(await extract.result()).toMatchObject({ rows: 0 });
  expect(await data.rows("select id from raw.ticks order by id")).toEqual(
    [1, 2, 3, 4, 5].map((id) => ({ id })),
  );
  const state = (await extract.state()).ticks;
  expect(state).toMatchObject({ cursorField: "at", lastValue: "2026-01-01T12:00:00Z" });

  const reset = await extract.reset({ resources: ["ticks"], initialValue: "2026-01-01T09:30:00Z" });
  expect(reset.status).toBe(200);
  const third = await extract.result();
  expect(third.tables[0]).toMatchObject({ rows: 5, cursor: { start: "2026-01-01T09:30:00Z" } });
  expect((await extract.reset({ resources: ["nothing"] })).status).toBeLessThan(500);
  expect((await extract.reset({})).status).toBe(200);
  expect(await extract.state()).toEqual({});
  expect(await extract.result()).toMatchObject({ mode: "initial", rows: 6 });
});

test("a lag reads its window again, and loads only what was missing", async () => {
  await pg.sql.unsafe(
    "create table late (id int, at timestamp); insert into late values (1, '2026-01-01 10:00'), (2, '2026-01-01 10:30')",
  );
  const extract = await data.extract(shop, {
    dataset: "late",
    resources: [{ name: "late", primaryKey: ["id"], incremental: { cursorField: "at", lagSeconds: 3600 } }],
  });
  await extract.result();
  await pg.sql.unsafe("insert into late values (3, '2026-01-01 10:10'), (4, '2026-01-01 09:00')");
  const second = await extract.result();
  expect(second.tables[0]).toMatchObject({ rowsRead: 3, rows: 1, deduplicated: 2 });
  expect(await data.rows("select id from raw.late order by id")).toEqual([1, 2, 3].map((id) => ({ id })));
});

deepTest("a merge replaces by key, counts what it did, and a backfill keeps the cursor", async () => {
  await pg.sql.unsafe(
    "create table goods (id int primary key, name text, rev int); insert into goods select i, 'a' || i, i from generate_series(1, 50) i",
  );
  const extract = await data.extract(shop, {
    dataset: "goods",
    resources: [
      { name: "goods", primaryKey: ["id"], writeDisposition: "merge", incremental: { cursorField: "rev" } },
    ],
  });
  const first = await extract.result();
  expect(first.tables[0]).toMatchObject({ inserted: 50, updated: 0, cursor: { start: null, end: 50 } });
  await pg.sql.unsafe(
    "update goods set name = 'new', rev = 51 where id <= 3; insert into goods values (99, 'x', 52)",
  );
  const second = await extract.result();
  expect(second.tables[0]).toMatchObject({
    rowsRead: 5,
    inserted: 1,
    updated: 3,
    deduplicated: 1,
    deleted: 0,
    rows: 4,
  });
  expect(await data.sums("raw", "goods")).toMatchObject({ rows: 51, files: 1 });
  expect(
    await data.rows(
      "select count(*) n, count(distinct id) ids, count(*) filter (name = 'new') news from raw.goods",
    ),
  ).toEqual([{ n: 51, ids: 51, news: 3 }]);

  await pg.sql.unsafe("update goods set name = 'old again' where id in (10, 20)");
  const incremental = { cursorField: "rev", initialValue: 10, endValue: 20 };
  const backfill = await extract.result({
    resources: [{ name: "goods", primaryKey: ["id"], writeDisposition: "merge", incremental }],
  });
  expect(backfill).toMatchObject({ mode: "backfill" });
  expect(backfill.tables[0]).toMatchObject({
    rowsRead: 10,
    updated: 10,
    inserted: 0,
    cursor: { start: 10, end: 19 },
  });
  expect((await extract.state()).goods).toMatchObject({ lastValue: 52, loadId: second.loadId });
  expect(await data.rows("select id from raw.goods where name = 'old again'")).toEqual([{ id: 10 }]);
});

test("a replace replaces all old rows with the new ones, even if there are none", async () => {
  await pg.sql.unsafe("create table swap as select i as id from generate_series(1, 5) i");
  const extract = await data.extract(shop, {
    dataset: "swap",
    resources: [{ name: "swap", writeDisposition: "replace" }],
  });
  expect(await extract.result()).toMatchObject({ mode: "replace", rows: 5 });
  await pg.sql.unsafe("delete from swap where id > 2");
  const second = await extract.result();
  expect(second.tables[0]).toMatchObject({ rows: 2, inserted: 2, deleted: 5, files: 1 });
  expect(await data.sums("raw", "swap")).toMatchObject({ rows: 2, files: 1, bytes: second.bytes });
  await pg.sql.unsafe("delete from swap");
  expect(await extract.result()).toMatchObject({ rows: 0, bytes: 0 });
  expect(await data.sums("raw", "swap")).toMatchObject({ rows: 0, files: 0, bytes: 0 });
  expect(await data.rows("select * from raw.swap")).toEqual([]);
});

test("a type for a column that the table doesn't have is reported", async () => {
  await pg.sql.unsafe('create table typed as select 1 as id, 2.5 as "Amount"');
  const columns = ["id", "Amount", "nope"].map((name) => ({ name, type: "text" }));
  const extract = await data.extract(shop, { dataset: "typed", resources: [{ name: "typed", columns }] });
  expect((await extract.result()).warnings).toEqual(['No row of typed has a value in the column "nope".']);
  expect(await data.rows("SELECT id, amount FROM raw.typed")).toEqual([{ id: "1", amount: "2.5" }]);
});

test("a condition gets its values as parameters, and columns select what is loaded", async () => {
  await pg.sql.unsafe(
    "create table chosen as select i as id, 'n' || i as name, i % 2 = 0 as even, now() as at from generate_series(1, 9) i",
  );
  const extract = await data.extract(shop, {
    dataset: "chosen",
    resources: [
      {
        name: "chosen",
        columns: ["id", "name"],
        where: "id > $least and (name <> $name or even)",
        parameters: { least: 3, name: "n5' or '1'='1" },
      },
    ],
  });
  expect(await extract.result()).toMatchObject({ rows: 6 });
  const injected = await extract.result({
    resources: [{ name: "chosen", columns: ["id"], where: "name = $1", parameters: { 1: "' or true --" } }],
  });
  expect(injected).toMatchObject({ rows: 0 });
  const columns = (await data.sums("raw", "chosen")).columns.map((column: { name: string }) => column.name);
  expect(columns).toEqual(["id", "name", "_dlt_id", "_dlt_load_id"]);
  for (const where of [
    "id >",
    "true) to program 'id' --",
    "1=1; drop table chosen",
    "nosuch = 1",
    "id = $x",
  ]) {
    const run = await extract.run({ resources: [{ name: "chosen", where }] });
    expect([where, run.status, run.error?.code]).toEqual([where, "failed", "definition_invalid"]);
    expect(run.error.retryable).toBe(false);
  }
  expect(await pg.sql.unsafe("select count(*)::int as n from chosen")).toMatchObject([{ n: 9 }]);
});

test("numbers beyond doubles among a condition's parameters are exact, also in lists", async () => {
  await pg.sql.unsafe(
    "create table long_ids as select n, n::text as label from unnest(array[9007199254740992, 9007199254740993, 10000000000000001]) n",
  );
  const where = "(n = $one or n = any($list)) and to_json($one::numeric)::text <> $text and label > $text";
  const parameters = `{"one":9007199254740993,"list":[10000000000000001,1],"text":"0"}`;
  const definition = `{"dataset":"long_ids","resources":[{"name":"long_ids","where":"${where}","parameters":${parameters}}]}`;
  const body = `{"kind":"dlt_extract","name":"Long","connectionId":"${shop}","definition":${definition}}`;
  const action = created(await data.owner("POST", ACTIONS, body, { "content-type": "application/json" }));
  expect(action.definition.resources[0].parameters).toEqual({
    one: { $number: "9007199254740993" },
    list: [{ $number: "10000000000000001" }, 1],
    text: "0",
  });
  await data.good(created(await data.owner("POST", `${ACTIONS}/${action.id}/run`)).id);
  expect(await data.rows("select label from raw.long_ids order by n")).toEqual([
    { label: "9007199254740993" },
    { label: "10000000000000001" },
  ]);
});

deepTest(
  "names with quotes, spaces and other scripts are harmless, and empty tables have their columns",
  async () => {
    await pg.sql.unsafe(
      `create schema "my ""odd"" schema"; create table "my ""odd"" schema"."a""b; drop table x" ("Order Total ($)" int, "x""y" text, "größe" int, "select" int, "_dlt_id" text, "ORDER total" int)`,
    );
    await pg.sql.unsafe(
      `insert into "my ""odd"" schema"."a""b; drop table x" values (1, 'v', 3, 4, 'mine', 6)`,
    );
    const tables = await data.owner("GET", `/api/v1/connections/${shop}/schema/tables`);
    const odd = tables.body.tables.find((each: { table: string }) => each.table.startsWith('a"b'));
    expect(odd).toBeDefined();
    const extract = await data.extract(shop, {
      dataset: "odd",
      resources: [{ name: "odd", spec: odd.spec }],
    });
    const result = await extract.result();
    expect(result).toMatchObject({ rows: 1 });
    const [row] = await data.rows("select * from raw.odd");
    expect(row).toMatchObject({ order_total: 1, x_y: "v", select: 4 });
    expect(Object.values(row)).toEqual(expect.arrayContaining([1, "v", 3, 4, "mine", 6]));
    expect(row._dlt_id).not.toBe("mine");
    const named = await data.extract(shop, { dataset: "odd_two", resources: [{ spec: odd.spec }] });
    expect(await named.result()).toMatchObject({ rows: 1 });

    await pg.sql.unsafe("create table nothing (id int not null, at timestamptz)");
    const empty = await data.extract(shop, {
      dataset: "nothing",
      resources: [{ name: "nothing", incremental: { cursorField: "at" } }],
    });
    expect(await empty.result()).toMatchObject({ mode: "initial", rows: 0, warnings: [] });
    expect(await data.rows('select id, "at" from raw.nothing')).toEqual([]);
    expect(await data.sums("raw", "nothing")).toMatchObject({ rows: 0, files: 0 });
    await pg.sql.unsafe("insert into nothing values (1, null), (2, '2026-01-01Z')");
    const filled = await empty.result();
    expect(filled).toMatchObject({ rows: 2 });
    expect(filled.warnings).toHaveLength(1);
  },
);

test("values of all common types arrive unchanged", async () => {
  await pg.sql.unsafe(`
    create type mood as enum ('sad', 'happy');
    create table kinds (i2 int2, i4 int4, i8 int8, big numeric(38,0), n numeric(12,2), nn numeric, f4 float4, f8 float8, b bool, t text, vc varchar(5), c char(3),
      d date, tm time, ts timestamp, tz timestamptz, j json, jb jsonb, arr int[], tarr text[], by bytea, u uuid, m mood, iv interval, ip inet);
    insert into kinds values (32767, -2147483648, 9223372036854775807, 99999999999999999999999999999999999999, 12345.67, 1.5, 1.5, 0.1, true, E'a"b,\\n\\\\ü', 'abc', 'x',
      '2026-02-28', '12:34:56.789', '2026-01-01 00:00:00.000001', '2026-01-01 00:00:00+02', '{"a": 1}', '{"b": [1, {"c": null}]}', '{1,2,null}', '{"a,b","c\\"d"}', '\\xdeadbeef',
      '11111111-2222-3333-4444-555555555555', 'happy', '1 day 02:03:04', '10.0.0.1'),
      (null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null),
      (0, 0, -9223372036854775808, 0, -0.01, 0, 0, 'NaN', false, '', '', '', '0001-01-01', '00:00', '9999-12-31 23:59:59', '1970-01-01Z', 'null', '"text"', '{}', '{}', '', null, 'sad', '0', '::1');`);
  const extract = await data.extract(shop, { dataset: "kinds", resources: [{ name: "kinds" }] });
  expect(await extract.result()).toMatchObject({ rows: 3, warnings: [] });
  const [one] = await data.rows("select * exclude (_dlt_id, _dlt_load_id) from raw.kinds where i2 = 32767");
  expect(one).toMatchObject({
    i2: 32767,
    i4: -2147483648,
    i8: "9223372036854775807",
    big: "99999999999999999999999999999999999999",
    n: "12345.67",
    nn: "1.5",
    f4: 1.5,
    f8: 0.1,
    b: true,
    t: 'a"b,\n\\ü',
    vc: "abc",
    d: "2026-02-28",
    by: "3q2+7w==",
    u: "11111111-2222-3333-4444-555555555555",
    m: "happy",
    ip: "10.0.0.1",
  });
  const nulls = await data.rows("select * exclude (_dlt_id, _dlt_load_id) from raw.kinds where i2 is null");
  expect(new Set(Object.values(nulls[0]))).toEqual(new Set([null]));
  expect(
    await data.rows(
      "select sum(n)::varchar s, sum(arr[1]) a, max(jb->>'$.b[0]') j, max(tz) z from raw.kinds",
    ),
  ).toEqual([{ s: "12345.66", a: 1, j: "1", z: "2025-12-31T22:00:00.000Z" }]);
});

deepTest("a dry run shows and writes nothing; maxRows continues where it stopped", async () => {
  await pg.sql.unsafe("create table many as select i as id from generate_series(1, 1000) i");
  const extract = await data.extract(shop, {
    dataset: "many",
    resources: [{ name: "many", primaryKey: ["id"], incremental: { cursorField: "id" } }],
  });
  const dry = await extract.result({ dryRun: true });
  expect(dry.tables[0]).toMatchObject({ rows: 100 });
  expect(dry.tables[0].sample).toHaveLength(10);
  expect(dry.tables[0].columns[0]).toMatchObject({ name: "id", dataType: "INTEGER" });
  expect(await extract.state()).toEqual({});
  expect(await data.sums("raw", "many")).toBeNull();
  for (const n of [400, 800, 1000, 1000]) {
    await extract.result({ maxRows: 400 });
    expect(await data.rows("select count(*) n, max(id) top from raw.many")).toEqual([{ n, top: n }]);
  }
});

deepTest("values of many megabytes arrive completely", async () => {
  await pg.sql.unsafe(`create table large (id int, bytes bytea, words text);
    insert into large values (1, decode(repeat('00ff10', 13981013), 'hex'), null), (2, null, repeat('0123456789', 15000000)), (3, '', 'short')`);
  const extract = await data.extract(shop, { dataset: "large", resources: [{ name: "large" }] });
  expect(await extract.result()).toMatchObject({ rows: 3, warnings: [] });
  expect(
    await data.rows(
      "select id, octet_length(bytes)::int as bytes, md5(bytes) as sum, length(words)::int as words, md5(words) as word_sum from raw.large order by id",
    ),
  ).toEqual(
    (
      await pg.sql.unsafe(
        "select id, octet_length(bytes) as bytes, md5(bytes) as sum, length(words) as words, md5(words) as word_sum from large order by id",
      )
    ).map((row) => ({ ...row })),
  );
});
