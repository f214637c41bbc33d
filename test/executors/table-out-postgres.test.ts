import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { connectFolder, connectPostgres, startData } from "../data/place.ts";
import { DECISIONS, openDecision } from "../support/decisions.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { deepTest } from "../support/scale.ts";
import { ACTIONS } from "../support/work.ts";

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

test("append creates a missing table and adds rows", async () => {
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

test("rows that a trigger of the table leaves out are reported", async () => {
  await pg.sql.unsafe(
    `create table t (id int); create function skip() returns trigger language plpgsql as $$ begin if new.id = 2 then return null; end if; return new; end $$;
    create trigger skip before insert on t for each row execute function skip()`,
  );
  const sql = "select * from (values (1), (2), (3)) t(id)";
  expect(await write(sql, to("t", { writeDisposition: "append" }))).toMatchObject({
    output: { inserted: 2 },
    warnings: [
      "The database inserted 2 of 3 rows into public.t. A trigger or a rule may have left out the others, or stored them elsewhere.",
    ],
  });
});

test("replace replaces the rows and keeps grants, views and indexes", async () => {
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
    warnings: ["1 row had the key of a later one and was left out."],
  });
  expect(await fails("select null::int as id, 'x' as v", merge)).toMatchObject({
    code: "schema_contract_violation",
    message: expect.stringContaining('"id"'),
  });
});

deepTest("a value that a column would round, cut or fold is rejected, and nothing is written", async () => {
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

deepTest("names can contain anything, and case matters where a table's names have it", async () => {
  await pg.sql.unsafe('create schema "odd""; drop schema public; --"');
  const table = '"odd""; drop schema public; --"."t""); drop table x; --"';
  const sql = `select 1 as "a""b", 2 as "c') --"`;
  await write(sql, to(table));
  await write(sql, to(table, { writeDisposition: "merge", primaryKey: [`a"b`] }));
  expect(await rows(`select * from ${table}`)).toEqual([{ 'a"b': 1, "c') --": 2 }]);
  await pg.sql.unsafe('create table "Big" (id int)');
  await write("select 1 as ID", to("Big"));
  await write("select 2 as id", to("public.Big"));
  expect(await rows('select sum(id)::int n from "Big"')).toEqual([{ n: 3 }]);
});

test("a new table has exact types, and primaryKey as its primary key", async () => {
  const sql = `select 1::utinyint as a, 1::ubigint as b, 1.5::decimal(20,3) as c, 'x' as d, '{"a": 1.0}'::json as e, '\\x00'::blob as f,
    uuid() as g, date '2026-01-01' as h, time '01:02:03' as i, now()::timestamp as j, now() as k, [1, 2] as l, {'x': [1]} as m,
    [[1]] as n, 1.5::float as o, true as p, interval '-1 month 3 days -1 us' as q, 170141183460469231731687303715::hugeint as r`;
  await write(sql, to("kinds", { primaryKey: ["d", "a"] }));
  const types = await rows(
    "select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum) t from pg_attribute where attrelid = 'kinds'::regclass and attnum > 0",
  );
  expect(types).toEqual([
    {
      t: "a smallint, b numeric(20,0), c numeric(20,3), d text, e jsonb, f bytea, g uuid, h date, i time without time zone, j timestamp without time zone, k timestamp with time zone, l integer[], m jsonb, n jsonb, o real, p boolean, q text, r numeric(38,0)",
    },
  ]);
  expect(await rows("select q, r::text, m::text, l::text from kinds")).toEqual([
    {
      q: "-1 month 3 days -00:00:00.000001",
      r: "170141183460469231731687303715",
      m: '{"x": [1]}',
      l: "{1,2}",
    },
  ]);
  expect(
    await rows(
      "select pg_get_constraintdef(oid) d from pg_constraint where contype = 'p' and conrelid = 'kinds'::regclass",
    ),
  ).toEqual([{ d: "PRIMARY KEY (d, a)" }]);
});

test("texts arrive unchanged: empty, NULL, quoted, of several lines, and COPY's end marker", async () => {
  const values = ["", "\\.", "\\N", '"', "a,b\r\nc\rd\ne", "\u0001\u007f😀", "NULL", " x ", "'"];
  const list = values.map((_, at) => `(${at}, $v${at})`).join(", ");
  const parameters = Object.fromEntries(values.map((value, at) => [`v${at}`, value]));
  await data.transform({
    sql: `select * from (values ${list}, (99, null)) t(i, v)`,
    parameters,
    output: to("t"),
  });
  await data.transform({ sql: "select '\\.' as v", output: to("one") });
  const found = await rows("select v from t order by i");
  expect(found.map(({ v }) => v)).toEqual([...values, null]);
  expect(await rows("select v from one")).toEqual([{ v: "\\." }]);
  expect(await fails("select 'a' || chr(0) as v", to("one"))).toMatchObject({
    code: "schema_contract_violation",
  });
});

test("what the table's own rules reject is reported in the database's words, and leaves it unchanged", async () => {
  await pg.sql.unsafe(
    "create table t (id int primary key, v int check (v > 0), needed text not null); insert into t values (1, 1, 'x')",
  );
  for (const [sql, words] of [
    ["select 1 as id, 1 as v, 'y' as needed", "Key (id)=(1) already exists"],
    ["select 2 as id, 0 as v, 'y' as needed", "t_v_check"],
    ["select 2 as id, 1 as v", '"needed"'],
    ["select 5000000000 as id, 1 as v, 'y' as needed", '"id"'],
  ] as const) {
    const error = await fails(sql, to("t"));
    expect([error.code, error.message]).toEqual([
      "schema_contract_violation",
      expect.stringContaining(words),
    ]);
    expect(error.message).toStartWith("public.t refused the rows: ");
  }
  expect(await rows("select * from t")).toEqual([{ id: 1, v: 1, needed: "x" }]);
});

test("keys that the table considers equal are rejected, as is a replace that would affect other tables", async () => {
  await pg.sql.unsafe(
    `create collation loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
     create table t (name text collate loose, v int); create table parent (id int primary key);
     create table child (id int references parent on delete cascade)`,
  );
  const merge = { writeDisposition: "merge", primaryKey: ["name"] };
  expect(await fails("select unnest(['A', 'a']) as name, 1 as v", to("t", merge))).toMatchObject({
    code: "schema_contract_violation",
    message: expect.stringContaining("Several rows have one key in public.t: name = "),
  });
  expect(await fails("select 1 as id", to("parent", { writeDisposition: "replace" }))).toMatchObject({
    code: "definition_invalid",
    message: expect.stringContaining("child"),
  });
});

test("what is missing is named: the table, the schema, and each privilege", async () => {
  expect((await fails("select 1 as id", to("nowhere", { create: false }))).message).toBe(
    "There is no table public.nowhere. Create it, or set create to true.",
  );
  expect((await fails("select 1 as id", to("no.where"))).message).toContain('no schema "no"');
  await pg.sql.unsafe("create view seen as select 1 as id");
  expect((await fails("select 1 as id", to("seen"))).code).toBe("definition_invalid");
  await pg.sql.unsafe(
    "drop role if exists clerk; create role clerk login password 'secret'; create table t (id int); create table u (id int); grant usage on schema public to clerk; grant select, insert on t to clerk",
  );
  const clerk = await connectPostgres(data.owner, { ...pg, user: "clerk", password: "secret" });
  const as = (table: string, more: object = {}) => ({ connectionId: clerk, table, ...more });
  expect((await fails("select 1 as id", as("u"))).message).toBe(
    'The user "***" lacks the privilege INSERT on the table public.u.',
  );
  expect((await fails("select 1 as id", as("fresh"))).message).toBe(
    'The user "***" lacks the privilege CREATE on the schema public.',
  );
  expect((await fails("select 1 as id", as("t", { writeDisposition: "replace" }))).message).toContain(
    "DELETE",
  );
  expect((await fails("select 1 as id", as("t"))).message).toContain(
    "the privilege CREATE on the schema public",
  );
  await write("select 1 as id", to("t"));
  await pg.sql.unsafe("grant select, insert on _weir_loads to clerk");
  expect(await write("select 2 as id", as("t"))).toMatchObject({ output: { inserted: 1 } });
});

test("an invalid definition is rejected at its field, and a connection with approval asks first", async () => {
  const files = await connectFolder(data.owner);
  const action = (output: object) =>
    data.owner("POST", ACTIONS, {
      name: "T",
      kind: "duckdb_transform",
      definition: { sql: "select 1 as id", output },
    });
  const faults = [
    [{ connectionId: files, table: "t" }, "connectionId"],
    [to("t", { writeDisposition: "merge" }), "primaryKey"],
    [to("t", { writeDisposition: "upsert" }), "writeDisposition"],
  ] as const;
  for (const [output, field] of faults) {
    const { status, text } = await action(output);
    expect([status, text]).toEqual([422, expect.stringContaining(field)]);
  }
  const guarded = await connectPostgres(data.owner, pg, { approvalRequired: "writes" });
  const { id } = await data.begin("duckdb_transform", {
    sql: "select 1 as id",
    output: { connectionId: guarded, table: "t" },
  });
  const decision = await openDecision(data.app, id);
  expect(await rows("select to_regclass('public.t') as t")).toEqual([{ t: null }]);
  await data.owner("POST", `${DECISIONS}/${decision.id}/decide`, { decisionValue: "approved" });
  expect(await data.good(id)).toMatchObject({ output: { inserted: 1 } });
});
