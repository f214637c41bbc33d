import { afterAll, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { deepTest, scaled } from "../support/scale.ts";
import { openTestSql } from "../support/sql.ts";
import { failure, openWorld, sourceOf, type World } from "./extract/world.ts";

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
  world.run({ resources: [resource], ...more }, sourceOf(pg));

deepTest(
  "a PostgreSQL table is loaded into several files, row by row",
  async () => {
    await using world = openWorld({ sql: duck.sql });
    await pg.sql.unsafe(`
    create table wide as select i as id, repeat(md5(i::text), 10) as text, case when i % 3 = 0 then null when i % 3 = 1 then '' else E'a"\\n,' || i end as odd,
      i * 1.5 as n, i % 2 = 0 as flag, timestamptz '2026-01-01 00:00:00.000001+00' + i * interval '1 second' as at, array[i, i] as list
    from generate_series(1::int8, 60000) i`);
    const resource = { name: "wide", primaryKey: ["id"], incremental: { cursorField: "at" } };
    const { result } = await run(world, resource);
    expect(result).toMatchObject({ mode: "initial", rows: 60_000, warnings: [] });
    expect(result.tables[0]?.files).toBeGreaterThan(1);
    expect(result.tables[0]?.cursor?.end).toBe("2026-01-01T16:40:00.000001Z");
    const sums =
      "count(*) AS n, sum(id) AS ids, count(DISTINCT md5(text)) AS texts, count(*) FILTER (WHERE odd = '') AS blank, count(odd) AS odd, sum(length(odd)) AS lengths";
    const [theirs] = await pg.sql.unsafe(`SELECT ${sums} FROM wide`);
    const [ours] = await world.query(
      `SELECT ${sums}, count(DISTINCT _dlt_id) AS all_ids FROM raw.shop__wide`,
    );
    expect(
      Object.fromEntries(Object.entries(ours ?? {}).map(([name, value]) => [name, Number(value)])),
    ).toEqual({
      ...Object.fromEntries(Object.entries(theirs ?? {}).map(([name, value]) => [name, Number(value)])),
      all_ids: 60_000,
    });

    await pg.sql.unsafe(
      "insert into wide select 60000 + id, text, odd, n, flag, timestamptz '2026-01-01 16:40:00.000001+00' + (id - 1) * interval '1 second', list from wide where id <= 3",
    );
    const second = await run(world, resource);
    expect(second.result.tables[0]).toMatchObject({ rowsRead: 4, rows: 3, deduplicated: 1 });
    const third = await run(world, resource);
    expect(third.result).toMatchObject({ mode: "incremental", rows: 0 });
  },
  120_000,
);

test("PostgreSQL rows are merged by key, with a condition and selected columns", async () => {
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

test("a cursor that the table lacks fails by name, and a hostile column's name is only a name", async () => {
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

test.each([
  ["weather", "create type weather as enum ('bad', 'good', 'best')"],
  ["interval", ""],
  ["timetz", ""],
  ["inet", ""],
  ["bytea", ""],
  ["jsonb", ""],
  ["integer[]", ""],
])(
  "a cursor of %s is rejected, since its order isn't that of what arrives",
  async (type, before) => {
    await using world = openWorld({ sql: duck.sql });
    await pg.sql.unsafe(`${before}; create table orderless (id int, at ${type})`);
    const error = await failure(run(world, { name: "orderless", incremental: { cursorField: "at" } }));
    await pg.sql.unsafe("drop table orderless");
    expect(error.code).toBe("definition_invalid");
    expect(error.message).toMatch(/^The column "at" is .+, which has no order that a cursor could follow\.$/);
  },
  120_000,
);

test("custom types arrive as text, whatever built-in type shares their name", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe(`
    create type "constructor" as enum ('a'); create type public.date as enum ('soon'); create type public.json as enum ('b');
    create table named (id int, c "constructor", d public.date, j public.json, ds public.date[], js public.json[]);
    insert into named values (1, 'a', 'soon', 'b', '{soon}', '{b}')`);
  await run(world, { name: "named" });
  expect(await world.query("SELECT c, d, j, ds, js FROM raw.shop__named")).toEqual([
    { c: "a", d: "soon", j: "b", ds: ["soon"], js: ["b"] },
  ]);
  const columns = world.tables[0]?.columns.slice(1, 6).map(({ dataType }) => dataType);
  expect(columns).toEqual(["VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR[]", "VARCHAR[]"]);
}, 120_000);

test("lists keep the type of their elements, and irregular ones stay JSON", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe(String.raw`
    create type mood as enum ('sad', 'glad'); create type pair as (a int, b text);
    create domain price as numeric(8,2); create domain numbers as int[];
    create table lists (id int, i int[], n numeric(38,10)[], free numeric[], f8 float8[], b bool[], t text[], c char(3)[], m mood[],
      u uuid[], by bytea[], d date[], tz timestamptz[], iv interval[], ip inet[], j jsonb[], p pair[], prices price[],
      over numbers, x xid8[], deep int[], texts text[], days date[], nan numeric(10,2)[], bounds int[]);
    insert into lists values (1, '{1,null,-3}', '{1234567890123456789012345678.0123456789}', '{1.10,1e-30,NaN}', '{0.1,NaN,-Infinity,5e-324}',
      '{t,f,null}', '{"a,b","c\"d\\",null,""}', '{a}', '{glad}', '{018f0000-0000-7000-8000-000000000001}', '{"\\x00ff","\\x"}',
      '{0001-01-01}', '{"2026-01-01 00:00:00.000001+02"}', '{"1 day"}', '{::1}', array['{"a": 1.0}'::jsonb], array[row(1, 'z')::pair],
      '{1.50}', '{1,2}', '{18446744073709551615}', '{{1,2},{3,4}}', '{{a,b}}', '{infinity,2026-01-01}', '{1.5,NaN}', '[2:3]={7,8}'),
     (2, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}');
    insert into lists (id) values (3)`);
  const { result } = await run(world, { name: "lists" });
  expect(result.warnings).toEqual([
    'lists.bounds: 1 value came without the bounds: a list begins at 1 ("[2:3]={7,8}").',
  ]);
  const types = Object.fromEntries(world.tables[0]?.columns.map((each) => [each.name, each.dataType]) ?? []);
  const [one, two, three] = await world.query(
    "SELECT columns(*)::VARCHAR FROM (SELECT * EXCLUDE (_dlt_id, _dlt_load_id) FROM raw.shop__lists) ORDER BY id",
  );
  const shown = Object.entries(one ?? {}).map(([name, value]) => [name, types[name], value]);
  expect(shown).toEqual([
    ["id", "INTEGER", "1"],
    ["i", "INTEGER[]", "[1, NULL, -3]"],
    ["n", "DECIMAL(38,10)[]", "[1234567890123456789012345678.0123456789]"],
    ["free", "VARCHAR[]", "[1.10, 0.000000000000000000000000000001, NaN]"],
    ["f8", "DOUBLE[]", "[0.1, nan, -inf, 5e-324]"],
    ["b", "BOOLEAN[]", "[true, false, NULL]"],
    ["t", "VARCHAR[]", "['a,b', 'c\"d\\\\', NULL, '']"],
    ["c", "VARCHAR[]", "['a  ']"],
    ["m", "VARCHAR[]", "[glad]"],
    ["u", "UUID[]", "[018f0000-0000-7000-8000-000000000001]"],
    ["by", "BLOB[]", "[\\x00\\xFF, '']"],
    ["d", "DATE[]", "[0001-01-01]"],
    ["tz", "TIMESTAMP WITH TIME ZONE[]", "['2025-12-31 22:00:00.000001+00']"],
    ["iv", "VARCHAR[]", "[1 day]"],
    ["ip", "VARCHAR[]", "['::1']"],
    ["j", "JSON", '[{"a": 1.0}]'],
    ["p", "JSON", '[{"a":1,"b":"z"}]'],
    ["prices", "DECIMAL(8,2)[]", "[1.50]"],
    ["over", "INTEGER[]", "[1, 2]"],
    ["x", "DECIMAL(20,0)[]", "[18446744073709551615]"],
    ["deep", "JSON", "[[1,2],[3,4]]"],
    ["texts", "JSON", '[["a","b"]]'],
    ["days", "JSON", '["infinity","2026-01-01"]'],
    ["nan", "JSON", '["1.50","NaN"]'],
    ["bounds", "INTEGER[]", "[7, 8]"],
  ]);
  expect(new Set(Object.values(two ?? {}))).toEqual(new Set(["2", "[]"]));
  expect(new Set(Object.values(three ?? {}))).toEqual(new Set(["3", null]));
}, 120_000);

test("values that no column can hold are reported as text, and kept if the definition wants text", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe(`
    create table strange (id int, "{" date, at timestamptz, t time, price numeric(10,2), free numeric, by bytea, wide numeric(50,20));
    insert into strange values (1, 'infinity', '-infinity', '24:00', 'NaN', 'NaN', '', 123456789012345678901234567.5),
      (2, '5874897-12-31', '2026-01-01 00:00:00.000001Z', '23:59:59.999999', 1.50, 0.1000000000000000055511151231257827, '\\x00ff', null),
      (3, '0044-03-15 BC', '0044-03-15 BC', null, null, 12345678901234567890.5, null, 1)`);
  const { result } = await run(world, { name: "strange" });
  expect(result.warnings.toSorted()).toEqual([
    'strange.at: 2 values became NULL: no date that Parquet holds ("-infinity", "0044-03-15 00:00:00+00 BC").',
    'strange.free: 1 value became NULL: no number that a decimal holds ("NaN").',
    'strange.price: 1 value became NULL: no number that a decimal holds ("NaN").',
    'strange.t: 1 value became NULL: no time of day that Parquet holds ("24:00:00").',
    'strange.{: 2 values became NULL: no date that Parquet holds ("infinity", "0044-03-15 BC").',
  ]);
  const read = (table: string) =>
    world.query(
      `SELECT columns(*)::VARCHAR FROM (SELECT * EXCLUDE (_dlt_id, _dlt_load_id) FROM raw.shop__${table}) ORDER BY id`,
    );
  const rows = await read("strange");
  expect(rows.map((row) => Object.values(row))).toEqual([
    ["1", null, null, null, null, null, "", "123456789012345678901234567.5"],
    [
      "2",
      "5874897-12-31",
      "2026-01-01 00:00:00.000001+00",
      "23:59:59.999999",
      "1.50",
      "0.1000000000000000055511151231257827",
      "\\x00\\xFF",
      null,
    ],
    ["3", null, null, null, null, "12345678901234567890.5", null, "1.0"],
  ]);
  const columns = ["{", "at", "free"].map((name) => ({ name, type: "text" }));
  expect((await run(world, { name: "texts", spec: "strange", columns })).result.warnings).not.toContainEqual(
    expect.stringContaining("texts.at"),
  );
  expect((await read("texts")).map((row) => [row.at, row.free])).toEqual([
    ["-infinity", "NaN"],
    ["2026-01-01 00:00:00.000001+00", "0.1000000000000000055511151231257827"],
    ["0044-03-15 00:00:00+00 BC", "12345678901234567890.5"],
  ]);
  const frozen = await failure(run(world, { name: "strange" }, { schemaContract: "freeze" }));
  expect(frozen.code).toBe("schema_contract_violation");
}, 120_000);

test("a table without columns has its rows", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe("create table nothing (); insert into nothing select from generate_series(1, 3)");
  expect((await run(world, { name: "nothing" })).result).toMatchObject({ rows: 3, warnings: [] });
  expect(await world.query("SELECT count(DISTINCT _dlt_id)::INT AS n FROM raw.shop__nothing")).toEqual([
    { n: 3 },
  ]);
}, 120_000);

deepTest(
  "a cursor of texts, blanks, long numbers or infinite times loads each row once, whatever the collation",
  async () => {
    await using world = openWorld({ sql: duck.sql });
    await pg.sql.unsafe(`
    create table ordered (id int, code text collate "en-x-icu", fixed char(3), n numeric, at timestamptz);
    insert into ordered values (1, 'a', 'a', 12345678901234567890.1, '2026-01-01 00:00:00.000001Z'), (2, 'B', 'b', 12345678901234567890.25, '2026-01-01 00:00:00.000002Z'),
      (3, 'b', 'b', 9, 'infinity'), (4, 'A', 'c', -7.5, '-infinity'), (5, 'ä', 'c', 1e-30, null)`);
    for (const cursorField of ["code", "fixed", "n", "at"]) {
      const resource = {
        name: `by_${cursorField}`,
        spec: "ordered",
        primaryKey: ["id"],
        incremental: { cursorField },
      };
      // Rows without a cursor come first, and by themselves don't show where to continue.
      const maxRows = cursorField === "at" ? 4 : 2;
      for (let load = 0; load < 3; load++) await run(world, resource, { maxRows });
      expect((await run(world, resource)).result.rows).toBe(0);
      expect(await world.query(`SELECT id FROM raw.shop__by_${cursorField} ORDER BY id`)).toEqual(
        [1, 2, 3, 4, 5].map((id) => ({ id })),
      );
    }
    expect(world.cursors.get("by_n")?.lastValue).toBe("12345678901234567890.25");
    expect(world.cursors.get("by_at")?.lastValue).toBe("2026-01-01T00:00:00.000002Z");
  },
  120_000,
);

deepTest(
  "a merge by numbers of any length finds the row of an equal number",
  async () => {
    await using world = openWorld({ sql: duck.sql });
    await pg.sql.unsafe(`create table ledger (no numeric, part text, sum int, primary key (no, part));
    insert into ledger values (1.0, 'a', 1), (1.5, 'a', 1), (12345678901234567890123456789012345678.5, 'a', 1), (1, 'A', 1)`);
    const resource = { name: "ledger", primaryKey: ["no", "part"], writeDisposition: "merge" };
    expect((await run(world, resource)).result.tables[0]).toMatchObject({ inserted: 4 });
    await pg.sql.unsafe(
      "update ledger set no = 1.00, sum = 2 where no = 1 and part = 'a'; update ledger set sum = 2 where no > 2",
    );
    expect((await run(world, resource)).result.tables[0]).toMatchObject({ inserted: 0, updated: 4 });
    expect(await world.query("SELECT no, part, sum FROM raw.shop__ledger ORDER BY no, part")).toEqual([
      { no: "1", part: "A", sum: 1 },
      { no: "1", part: "a", sum: 2 },
      { no: "1.5", part: "a", sum: 1 },
      { no: "12345678901234567890123456789012345678.5", part: "a", sum: 2 },
    ]);
  },
  120_000,
);

deepTest(
  "rows that were deleted at the source are marked and unmarked, or removed, and only their files are rewritten",
  async () => {
    await using world = openWorld({ sql: duck.sql });
    await pg.sql.unsafe(
      "create table stock (shop text, no numeric, rev int, note text); insert into stock select 's' || i % 2, i + 0.5, i, 'n' from generate_series(1, 10) i; insert into stock values (null, 1, 0, 'no key')",
    );
    const key = { spec: "stock", primaryKey: ["shop", "no"], incremental: { cursorField: "rev" } };
    const soft = { ...key, name: "soft", writeDisposition: "merge", deletes: "soft" };
    const hard = { ...key, name: "hard", deletes: "hard" };
    for (const resource of [soft, hard]) {
      expect((await run(world, resource)).result.tables[0]).toMatchObject({ inserted: 11, deleted: 0 });
    }
    await pg.sql.unsafe(
      "delete from stock where rev in (3, 4); insert into stock values ('s1', 99, 11, 'late')",
    );
    const later = () => world.tables.map(({ files }) => files.map(({ id }) => id));
    const [, hardFiles] = later();
    expect((await run(world, soft)).result.tables[0]).toMatchObject({ inserted: 1, deleted: 2 });
    expect((await run(world, hard)).result.tables[0]).toMatchObject({ inserted: 1, deleted: 2 });
    expect(later()[1]).not.toContain(hardFiles?.[0]);
    const marks =
      "SELECT rev FROM raw.shop__soft WHERE \"_dlt_deleted_at\" = '2026-01-01T00:00:00Z' ORDER BY rev";
    expect(await world.query(marks)).toEqual([{ rev: 3 }, { rev: 4 }]);
    expect(
      await world.query(
        "SELECT count(*)::INT AS n, count(*) FILTER (rev IN (3, 4))::INT AS gone FROM raw.shop__hard",
      ),
    ).toEqual([{ n: 10, gone: 0 }]);

    const before = later();
    expect((await run(world, soft)).result.tables[0]).toMatchObject({ rows: 0, deleted: 0 });
    expect((await run(world, hard)).result.tables[0]).toMatchObject({ rows: 0, deleted: 0 });
    expect(later()).toEqual(before);
    await pg.sql.unsafe("insert into stock values ('s1', 3.50, 3, 'again')");
    expect((await run(world, soft)).result.tables[0]).toMatchObject({ rows: 0, deleted: 0 });
    expect(await world.query(marks)).toEqual([{ rev: 4 }]);
    expect((await run(world, { ...soft, deletes: "ignore" })).result.warnings).toEqual([]);
    expect(await world.query(marks)).toEqual([{ rev: 4 }]);
  },
  120_000,
);

deepTest(
  "keys are checked after rows of any size",
  async () => {
    await using world = openWorld({ sql: duck.sql });
    await pg.sql.unsafe("create table sized (id int, note text)");
    const resource = { name: "sized", primaryKey: ["id"], writeDisposition: "merge", deletes: "hard" };
    // About as many bytes as a stream buffers before its source has to wait.
    for (let rows = 1_300; rows < 1_330; rows += scaled(6, 1)) {
      await pg.sql.unsafe(
        `truncate sized; insert into sized select i, repeat('x', 45) from generate_series(1000, ${999 + rows}) i`,
      );
      expect((await run(world, resource)).result.tables[0]).toMatchObject({ deleted: 0 });
    }
  },
  120_000,
);

deepTest(
  "too many deletes load nothing, and say how many",
  async () => {
    await using world = openWorld({ sql: duck.sql });
    await pg.sql.unsafe("create table few (id int); insert into few select generate_series(1, 10)");
    const resource = { name: "few", primaryKey: ["id"], writeDisposition: "merge", deletes: "hard" };
    await run(world, resource);
    await pg.sql.unsafe("delete from few where id > 4");
    const many = await failure(run(world, resource));
    expect(many).toMatchObject({
      code: "too_many_deletes",
      details: { deleted: 6, rows: 10, maxDelete: 50 },
    });
    expect(many.message).toContain("6 of the 10 rows of few");
    await pg.sql.unsafe("delete from few");
    const all = await failure(run(world, { ...resource, maxDelete: 100 }));
    expect(all).toMatchObject({ code: "too_many_deletes", details: { deleted: 10, rows: 10 } });
    await pg.sql.unsafe("insert into few values (1), (2), (3), (4)");
    expect((await run(world, { ...resource, maxDelete: 60 })).result.tables[0]).toMatchObject({ deleted: 6 });
    expect(await world.query("SELECT count(*)::INT AS n FROM raw.shop__few")).toEqual([{ n: 4 }]);
    const faults: JsonObject[] = [
      { primaryKey: [], writeDisposition: "append" },
      { writeDisposition: "replace" },
      { incremental: { cursorField: "id", initialValue: 1, endValue: 2 } },
      { mergeStrategy: "scd2" },
    ];
    for (const fault of faults) {
      const refused = await failure(run(world, { ...resource, ...fault }));
      expect(refused).toMatchObject({ code: "definition_invalid" });
      expect(refused.message).toStartWith("resources.0.deletes: ");
    }
  },
  120_000,
);

test("a JSON key is rejected, since equal ones may have different texts", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe(
    `create table json_keys as select '{"a": 1}'::jsonb as id, 1 as v union all select '{"a": 1.0}'::jsonb, 2`,
  );
  const refused = await failure(
    run(world, { name: "json_keys", writeDisposition: "merge", primaryKey: ["id"] }),
  );
  expect([refused.code, refused.message]).toEqual([
    "definition_invalid",
    expect.stringContaining('The primary key "id" of json_keys is JSON'),
  ]);
});

test("a cursor that ends at NaN or infinity is reported, since nothing follows it", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe("create table beyond as select 0.1::float8 as at union all select 'NaN'::float8");
  const { result } = await run(world, { name: "beyond", incremental: { cursorField: "at" } });
  expect(result.warnings).toContainEqual(
    expect.stringContaining("The cursor at of beyond is at nan, and no value is greater"),
  );
});

test("rows whose cursor became NULL or has no order are counted each time, and not loaded", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe(`
    create table left_out (id int, c int, at timestamptz, day date, n numeric, price numeric(9,2), code text);
    insert into left_out values (1, 1, '2026-01-01', '2026-01-01', 1, 1, '1')`);
  const by = (cursorField: string, more: JsonObject = {}) =>
    run(world, {
      name: `by_${cursorField}`,
      spec: "left_out",
      columns: ["id", cursorField],
      incremental: { cursorField },
      where: "id < 100",
      ...more,
    });
  const text = { name: "n_as_text", columns: ["id", { name: "n", type: "text" }] };
  for (const field of ["c", "at", "day", "n", "price", "code"]) await by(field);
  await by("n", text);
  await pg.sql.unsafe(`
    insert into left_out values (2, null, null, null, null, null, null), (3, 2, '2026-01-02', '2026-01-02', 2, 2, '2'),
      (4, null, 'infinity', '-infinity', 'NaN', 'NaN', null), (5, 3, '-infinity', '0044-03-15 BC', 3, 3, '3'), (101, null, null, null, null, null, null)`);
  for (const [field, rows, count] of [
    ["c", 2, 2],
    ["at", 1, 3],
    ["day", 1, 3],
    ["n", 2, 2],
    ["price", 2, 2],
    ["code", 2, 2],
  ] as const) {
    const told = `${count} rows have no value in the cursor ${field} and were left out.`;
    expect((await by(field)).result).toMatchObject({ rows, warnings: [told] });
    expect((await by(field)).result).toMatchObject({ rows: 0, warnings: [told] });
  }
  expect((await by("n", text)).result).toMatchObject({
    rows: 2,
    warnings: ["2 rows have no value in the cursor n and were left out."],
  });
}, 120_000);

test("a merged row whose cursor becomes NULL keeps its values, and the run says that it was left out", async () => {
  await using world = openWorld({ sql: duck.sql });
  await pg.sql.unsafe("create table lapsed (id int, c int); insert into lapsed values (1, 1), (2, 1)");
  const resource = {
    name: "lapsed",
    primaryKey: ["id"],
    writeDisposition: "merge",
    incremental: { cursorField: "c" },
  };
  expect((await run(world, resource)).result.warnings).toEqual([]);
  await pg.sql.unsafe("update lapsed set c = null where id = 2");
  expect((await run(world, resource)).result.warnings).toEqual([
    "1 rows have no value in the cursor c and were left out.",
  ]);
  expect(await world.query("SELECT id, c FROM raw.shop__lapsed ORDER BY id")).toEqual([
    { id: 1, c: 1 },
    { id: 2, c: 1 },
  ]);
}, 120_000);
