import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { contextFor } from "../../src/context.ts";
import { loadTable } from "../support/lake.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import {
  ACTIONS,
  automationRunEnd,
  created,
  faultsOf,
  flowToEnd,
  makeAutomation,
  RUNS,
  runEnd,
  until,
} from "../support/work.ts";
import { connectFolder, startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
  const folder = await connectFolder(data.owner);
  const customers = Array.from({ length: 10 }, (_, i) =>
    JSON.stringify({ id: i, city: i % 2 ? "Bern" : "Chur" }),
  );
  const orders = Array.from({ length: 100 }, (_, i) =>
    JSON.stringify({ id: i, customer: i % 10, total: i * 1.5 }),
  );
  await data.upload(folder, "/customers.jsonl", customers.join("\n"));
  await data.upload(folder, "/orders.jsonl", orders.join("\n"));
  const extract = await data.extract(folder, {
    dataset: "shop",
    resources: [
      { name: "customers", spec: "customers.jsonl" },
      { name: "orders", spec: "orders.jsonl" },
    ],
  });
  await extract.result();
}, 120_000);
afterAll(async () => {
  await data[Symbol.asyncDispose]();
});

const FORMATS = ["csv", "jsonl", "parquet", "xlsx"];
const output = (dataset: string, more: object = {}) => ({ layer: "marts", dataset, ...more });

test("a join is written to a dataset, and further SQL over raw and marts sees it", async () => {
  const sql =
    "create temp table t as select city, sum(total) as total from raw.shop__orders o join raw.shop__customers c on c.id = o.customer group by city; select * from t where total > $least";
  const result = await data.transform({ sql, output: output("cities"), parameters: { least: 0 } });
  expect(result).toMatchObject({
    rows: 2,
    output: { layer: "marts", dataset: "cities", files: 1, bytes: expect.any(Number) },
    durationSeconds: expect.any(Number),
  });
  expect(result.columns.map((c: { name: string }) => c.name)).toEqual([
    "city",
    "total",
    "_dlt_id",
    "_dlt_load_id",
  ]);
  expect(await data.sums("marts", "cities")).toMatchObject({ rows: 2, files: 1, bytes: result.output.bytes });
  expect(
    await data.rows(
      "select m.city, count(*) n from marts.cities m join raw.shop__customers c using (city) group by all order by 1",
    ),
  ).toEqual([
    { city: "Bern", n: 5 },
    { city: "Chur", n: 5 },
  ]);
  const preview = await data.owner("GET", "/api/v1/datasets/marts/cities/preview");
  expect(preview.body.rows).toHaveLength(2);
});

deepTest("append, merge and replace do what they say, and the totals follow", async () => {
  const select = (n: number, more = "") => `select i as id, '${n}' as v${more} from range(${n}) t(i)`;
  await data.transform({ sql: select(5), output: output("w") });
  await data.transform({
    sql: select(3, ", 1 as extra"),
    output: output("w", { writeDisposition: "append" }),
  });
  expect(await data.sums("marts", "w")).toMatchObject({ rows: 8, files: 2 });
  await data.transform({ sql: select(4), output: output("w") });
  expect(await data.sums("marts", "w")).toMatchObject({ rows: 4, files: 1 });
  const merge = output("w", { writeDisposition: "merge", primaryKey: ["id"] });
  expect(await data.transform({ sql: select(6), output: merge })).toMatchObject({ rows: 6 });
  expect(await data.rows("select count(*) n, count(distinct id) ids, min(v) v from marts.w")).toEqual([
    { n: 6, ids: 6, v: "6" },
  ]);
  expect(await data.sums("marts", "w")).toMatchObject({ rows: 6, files: 1 });
  await data.transform({ sql: "select 1 as id where false", output: output("w") });
  expect(await data.sums("marts", "w")).toMatchObject({ rows: 0, files: 0, bytes: 0 });
  expect(await data.rows("select id from marts.w")).toEqual([]);
});

test("partitions produce files with one value each", async () => {
  const result = await data.transform({
    sql: "select * exclude (_dlt_id, _dlt_load_id) from raw.shop__customers",
    output: output("parts", { partitionBy: ["city"] }),
  });
  expect(result.output.files).toBe(2);
  expect(await data.rows("select city, count(*) n from marts.parts group by 1 order by 1")).toEqual([
    { city: "Bern", n: 5 },
    { city: "Chur", n: 5 },
  ]);
});

test("rows without a partition's value are kept, merged, counted and exported, whatever other values there are", async () => {
  const texts = ["NULL", "null", "", "__HIVE_DEFAULT_PARTITION__", "..", "a/b=c"];
  const values = [null, null, ...texts].map((text) => (text === null ? "NULL" : `'${text}'`));
  const sql = (from = 0) =>
    `SELECT i - 1 AS id, ([${values}])[i] AS p, ${from} AS v FROM range(1, ${values.length + 1}) t(i) WHERE i > ${from}`;
  const into = output("nulls", { partitionBy: ["p"] });
  const total =
    "SELECT count(*) AS n, count(DISTINCT id) AS ids, count(*) FILTER (p IS NULL) AS none, sum(v) AS v";
  const counted = (table = "marts.nulls") => data.rows(`${total} FROM ${table}`);
  expect(await data.transform({ sql: sql(), output: into })).toMatchObject({ rows: 8, output: { files: 7 } });
  expect(await counted()).toEqual([{ n: 8, ids: 8, none: 2, v: 0 }]);
  expect(await data.sums("marts", "nulls")).toMatchObject({ rows: 8, files: 7 });
  const merge = { ...into, writeDisposition: "merge", primaryKey: ["id"] };
  const rows = `${sql(1)} UNION ALL SELECT 8, NULL, 1`;
  expect(await data.transform({ sql: rows, output: merge })).toMatchObject({ rows: 8 });
  expect(await counted()).toEqual([{ n: 9, ids: 9, none: 3, v: 8 }]);
  expect((await data.rows("SELECT p FROM marts.nulls WHERE id < 8 ORDER BY id")).map(({ p }) => p)).toEqual([
    null,
    null,
    ...texts,
  ]);

  const folder = await connectFolder(data.owner, "nulls");
  const copy = async (source: object, destination: object) =>
    expect((await data.end("file_sync", { source, destination })).result).toMatchObject({ failed: [] });
  await copy({ connectionId: "lake", path: "/marts/nulls" }, { connectionId: folder, path: "/out" });
  await copy(
    { connectionId: folder, path: "/out/nulls" },
    { connectionId: "lake", path: "/raw/nulls/nulls" },
  );
  expect(await counted("raw.nulls")).toEqual([{ n: 9, ids: 9, none: 3, v: 8 }]);
  const extract = await data.extract(folder, {
    dataset: "read",
    resources: [{ name: "t", spec: "out/**/*.parquet" }],
  });
  expect(await extract.result()).toMatchObject({ rows: 9 });
  expect(await counted("raw.read__t")).toEqual([{ n: 9, ids: 9, none: 3, v: 8 }]);
});

test("templates in SQL are values, whatever they contain", async () => {
  const attacks = [
    "Bern' or '1'='1",
    "'; drop table raw.shop__orders; --",
    'x"); select 1; --',
    "{{input.other}}",
  ];
  for (const word of attacks) {
    const flow = await makeAutomation(data.owner, {
      action: {
        kind: "duckdb_transform",
        definition: {
          sql: "select {{input.word}} as word, count(*) as n from raw.shop__customers where city = {{input.word}} or city like '{{input.word}}%'",
          output: output("attacks"),
        },
      },
    });
    const run = await flowToEnd(data.owner, flow.id, { input: { word, other: "Bern" } });
    expect([word, run.status, run.error]).toEqual([word, "completed", null]);
    expect(await data.rows("select word, n from marts.attacks")).toEqual([{ word, n: 0 }]);
  }
  expect(await data.rows("select count(*) n from raw.shop__orders")).toEqual([{ n: 100 }]);
});

test("without output, the rows become an artifact; maxRows ends them, and says so", async () => {
  const sql = "select * exclude (_dlt_id, _dlt_load_id) from raw.shop__orders order by id";
  const run = await data.end("duckdb_transform", { sql, maxRows: 7 });
  expect(run).toMatchObject({ status: "completed", result: { rows: 7 } });
  expect(await data.logs(run.id)).toContain("Only the first 7 rows were kept.");
  const list = (await data.owner("GET", `/api/v1/artifacts?action_run_id=${run.id}`)).body;
  expect(list.artifacts).toHaveLength(1);
  const { body } = await data.owner("GET", `/api/v1/artifacts/${list.artifacts[0].id}/content`);
  expect([body.rows.length, body.truncated]).toEqual([7, true]);
  const whole = await data.transform({ sql, maxRows: 7, output: output("seven") });
  expect(whole.rows).toBe(7);
  expect(await data.sums("marts", "seven")).toMatchObject({ rows: 7 });
});

deepTest(
  "without output, the rows are the result, whatever their size, and continue to the next step",
  async () => {
    await using receiver = startReceiver(({ text }) => Response.json(JSON.parse(text)));
    const rows = (count: number, width: number) =>
      `select i as id, 9007199254740993 + i as big, repeat('x', ${width}) as text from range(${count}) t(i)`;
    for (const [count, width] of [
      [3, 5],
      [20_000, 50],
    ] as const) {
      const flow = await makeAutomation(data.owner, {
        steps: [
          { key: "rows", kind: "duckdb_transform", definition: { sql: rows(count, width) } },
          {
            key: "tell",
            kind: "http_request",
            dependsOn: ["rows"],
            definition: {
              method: "POST",
              url: receiver.url,
              body: {
                rows: "{{steps.rows.result.rows}}",
                size: "{{ size(steps.rows.result.items) }}",
                last: "{{ steps.rows.result.items.last() }}",
              },
              responseExtract: "@",
            },
          },
        ],
      });
      const run = await flowToEnd(data.owner, flow.id);
      expect([run.status, run.error]).toEqual(["completed", null]);
      const told = (await data.owner("GET", `/api/v1/action-runs/${run.steps[1].actionRunId}`)).body;
      expect(told.result.extracted).toMatchObject({ rows: count, size: count, last: { id: count - 1 } });
    }
    const large = await data.end("duckdb_transform", { sql: rows(90_000, 1_000) });
    expect(large).toMatchObject({ status: "failed", error: { code: "result_too_large" } });
  },
);

deepTest("rows are written to a file of the run, or of a connection, readable by every reader", async () => {
  const sql = "select id, total from raw.shop__orders order by id";
  const artifact = await data.end("duckdb_transform", {
    sql,
    output: { connectionId: "artifact", title: "Orders", format: "csv" },
  });
  expect(artifact).toMatchObject({ status: "completed", result: { rows: 100 } });
  const { artifactId, bytes } = artifact.result.output;
  const content = await data.owner("GET", `/api/v1/artifacts/${artifactId}/content`);
  expect(content.headers.get("content-disposition")).toContain('filename="Orders.csv"');
  expect(Buffer.byteLength(content.text)).toBe(bytes);
  expect(content.text.split("\n").slice(0, 3)).toEqual(["id,total", "0,0.0", "1,1.5"]);
  const folder = await connectFolder(data.owner, "out");
  for (const format of FORMATS) {
    const output = { connectionId: folder, path: `/daily/orders.${format}`, format };
    const run = await data.end("duckdb_transform", { sql, output, maxRows: 30 });
    expect(run.result).toMatchObject({
      rows: 30,
      output: { path: output.path },
      warnings: [expect.any(String)],
    });
  }
  const back = await data.extract(folder, {
    dataset: "back",
    resources: FORMATS.map((format) => ({
      name: format,
      spec: `daily/orders.${format}`,
    })),
  });
  await back.result();
  for (const format of FORMATS)
    expect(await data.rows(`select count(*) n, sum(total)::double s from raw.back__${format}`)).toEqual([
      { n: 30, s: 652.5 },
    ]);
  const refused = await data.owner("POST", "/api/v1/actions", {
    name: "x",
    kind: "duckdb_transform",
    definition: { sql, output: { connectionId: folder, format: "xls" } },
  });
  expect(refused.status).toBe(422);
  const climbing = { connectionId: folder, path: "/../out.csv", format: "csv" };
  const body = { name: "x", kind: "duckdb_transform", definition: { sql, output: climbing } };
  expect(faultsOf(await data.owner("POST", ACTIONS, body))).toEqual([
    "body.definition.output.path value_error",
  ]);
  const nameless = { sql, output: { ...climbing, path: "out/" } };
  expect(faultsOf(await data.owner("POST", ACTIONS, { ...body, definition: nameless }))).toEqual([
    "body.definition.output.path value_error",
  ]);
  nameless.output.path = "{{ ['out', ''].join('/') }}";
  expect((await data.end("duckdb_transform", nameless)).error.code).toBe("definition_invalid");
  climbing.path = "{{ ['', '..', 'out.csv'].join('/') }}";
  expect((await data.end("duckdb_transform", { sql, output: climbing })).error.code).toBe(
    "definition_invalid",
  );
  const short = { connectionId: folder, path: "a/b.csv", format: "csv" };
  expect((await data.end("duckdb_transform", { sql, output: short })).result.output.path).toBe("a/b.csv");
});

test("a file's path has to end as its compression does, when it is saved and when it is run", async () => {
  const folder = await connectFolder(data.owner, "packed");
  const output = (path: string, format: string, compression?: string) => ({
    sql: "SELECT 1 AS a, 2 AS b",
    output: { connectionId: folder, path, format, ...(compression ? { compression } : {}) },
  });
  const save = async (definition: object) => {
    const { status, body } = await data.owner("POST", ACTIONS, {
      name: "x",
      kind: "duckdb_transform",
      definition,
    });
    return status === 201
      ? null
      : body.detail.map(({ loc, msg }: { loc: string[]; msg: string }) => [loc.at(-1), msg]);
  };
  for (const [definition, message] of [
    [output("/e.csv", "csv", "zstd"), "With compression zstd, the path has to end in .zst."],
    [output("/e.csv.zst", "csv", "gzip"), "With compression gzip, the path has to end in .gz."],
    [
      output("/e.csv.GZ", "csv"),
      "The path ends in .GZ, but the file isn't compressed as a whole. Set compression, or remove it.",
    ],
    [
      output("/e.parquet.zst", "parquet", "zstd"),
      "The path ends in .zst, but the file isn't compressed as a whole. Remove it.",
    ],
  ] as const)
    expect(await save(definition)).toEqual([["path", message]]);
  expect(await save(output("/e.jsonl.zstd", "jsonl", "zstd"))).toBeNull();
  expect(await save(output("/e.parquet", "parquet", "gzip"))).toBeNull();
  const late = output("/{{ ['e', 'csv'].join('.') }}", "csv", "zstd");
  const failed = await data.end("duckdb_transform", late);
  expect([failed.error.code, failed.error.message]).toEqual([
    "definition_invalid",
    expect.stringContaining("With compression zstd"),
  ]);
  await data.transform(output("/e.csv.zst", "csv", "zstd"));
  const back = { sql: "FROM files.e", files: { e: { file: { connectionId: folder, path: "/e.csv.zst" } } } };
  expect((await data.transform(back)).items).toEqual([{ a: 1, b: 2 }]);
});

test("nested values are JSON in CSV, in a file and in a query's response", async () => {
  const sql = `SELECT [1, NULL] AS list, {'name': 'it''s, "so"', 'big': 9007199254740993, 'price': 1.5, 'rate': 0.25::DECIMAL(2,2)} AS thing,
    MAP {'k': 1} AS map, NULL::STRUCT(a INTEGER) AS none, 'a' AS text,
    ['nan'::DOUBLE, '-inf', 2.5] AS reals, {'NaN': 'NaN "NaN', 'x': ['inf'::FLOAT]} AS odd`;
  const lines = [
    "list,thing,map,none,text,reals,odd",
    '"[1,null]","{""name"":""it\'s, \\""so\\"""",""big"":9007199254740993,""price"":1.5,""rate"":0.25}","{""k"":1}",,a,"[""NaN"",""-Infinity"",2.5]","{""NaN"":""NaN \\""NaN"",""x"":[""Infinity""]}"',
    "",
  ];
  const asked = await data.owner("POST", "/api/v1/query?format=csv", { sql });
  expect(asked.text.split("\n")).toEqual(lines);
  const output = { connectionId: "artifact", title: "Nested", format: "csv" };
  const { result } = await data.end("duckdb_transform", { sql, output });
  const saved = await data.owner("GET", `/api/v1/artifacts/${result.output.artifactId}/content`);
  expect(saved.text.split("\n")).toEqual(lines);
});

test("names that differ only in case stay in a file, and are reported if a table can't have them", async () => {
  const sql = 'SELECT 1 AS v, 2 AS V, 3 AS "V_1"';
  const output = { connectionId: "artifact", title: "Twins", format: "csv" };
  const { result } = await data.end("duckdb_transform", { sql, output });
  const saved = await data.owner("GET", `/api/v1/artifacts/${result.output.artifactId}/content`);
  expect([saved.text, result.warnings]).toEqual(["v,V,V_1\n1,2,3\n", undefined]);
  const table = { layer: "marts", dataset: "twins", writeDisposition: "append" };
  const first = await data.transform({ sql, output: table });
  expect(first.warnings).toEqual(['Column "V" is called V_2, because case doesn\'t distinguish columns.']);
  await data.transform({ sql: 'SELECT 30 AS "V_1", 20 AS "V", 10 AS v', output: table });
  expect(await data.rows("SELECT v, V_2, V_1 FROM marts.twins ORDER BY v")).toEqual([
    { v: 1, V_2: 2, V_1: 3 },
    { v: 10, V_2: 20, V_1: 30 },
  ]);
});

test("integers of 39 digits are text in a Parquet file, and shorter ones decimals", async () => {
  const great = "170141183460469231731687303715884105727";
  const sql = `SELECT ${great}::HUGEINT AS great, -${great}::HUGEINT AS least, [${great}] AS list, 18446744073709551617 AS large`;
  const output = { connectionId: "artifact", title: "Great", format: "parquet" };
  const { result, error } = await data.end("duckdb_transform", { sql, output });
  expect(error).toBeNull();
  const path = `/api/v1/artifacts/${result.output.artifactId}/content`;
  const saved = await fetch(data.app.origin + path, {
    headers: { authorization: `Bearer ${data.app.token}` },
  });
  await data.owner("PUT", "/api/v1/datasets/raw/great/upload?format=parquet", await saved.bytes());
  expect(
    await data.rows(
      "SELECT great, least, list, large, typeof(great) AS a, typeof(large) AS b FROM raw.great",
    ),
  ).toEqual([
    {
      great,
      least: `-${great}`,
      list: [great],
      large: "18446744073709551617",
      a: "VARCHAR",
      b: "DECIMAL(38,0)",
    },
  ]);
});

test("wrong and hostile SQL fails with DuckDB's message and leaves nothing", async () => {
  for (const [sql, code] of [
    ["selec 1", "sql_error"],
    ["select nosuch from raw.shop__orders", "sql_error"],
    ["select * from raw.nothing", "sql_error"],
    ["copy (select 1) to '/tmp/weir-out.csv'; select 1", "sql_error"],
    ["select * from read_csv('/etc/passwd')", "sql_error"],
    ["create temp table t (i int)", "sql_error"],
    ["select getenv('HOME')", "sql_error"],
  ] as const) {
    const run = await data.end("duckdb_transform", { sql, output: output("wrong") });
    expect([sql, run.status, run.error?.code, run.error?.retryable]).toEqual([sql, "failed", code, false]);
    expect(run.error.message.length).toBeGreaterThan(20);
    const asked = await data.owner("POST", "/api/v1/query", { sql });
    expect([sql, asked.status, asked.body.detail?.[0]?.loc]).toEqual([sql, 422, ["body", "sql"]]);
  }
  expect(await data.sums("marts", "wrong")).toBeNull();
  const conflict = await data
    .end("duckdb_transform", {
      sql: "select 'text' as id, 1 as v",
      output: output("cities", { writeDisposition: "merge" }),
    })
    .catch((error: Error) => error.message);
  expect(conflict).toContain("422");
});

const ENDLESS =
  "select count(*) as n from range(10000000000) a(i), range(1000) b(j) where hash(i * j) % 7 = 3";

deepTest("a long query ends when it is cancelled, and at its timeout", async () => {
  const run = await data.begin("duckdb_transform", { sql: ENDLESS, output: output("endless") });
  await until(data.owner, `${RUNS}/${run.id}`, ({ status }) => status === "running");
  await Bun.sleep(300);
  expect((await data.owner("POST", `${RUNS}/${run.id}/cancel`)).status).toBe(200);
  expect(await runEnd(data.owner, run.id)).toMatchObject({ status: "cancelled", displayStatus: "Cancelled" });
  const late = await data.end("duckdb_transform", {
    sql: ENDLESS,
    output: output("endless"),
    timeoutSeconds: 1,
  });
  expect(late).toMatchObject({ status: "failed", error: { code: "timeout", retryable: true } });
  expect(await data.sums("marts", "endless")).toBeNull();
});

deepTest("two concurrent runs on one dataset both take effect", async () => {
  const append = {
    sql: "select i as id from range(1000) t(i)",
    output: output("both", { writeDisposition: "append" }),
  };
  const action = (
    await data.owner("POST", ACTIONS, { kind: "duckdb_transform", name: "Both", definition: append })
  ).body;
  const runs = await Promise.all(
    Array.from({ length: 6 }, () => data.owner("POST", `${ACTIONS}/${action.id}/run`)),
  );
  for (const { body } of runs) await data.good(body.id);
  expect(await data.sums("marts", "both")).toMatchObject({ rows: 6000, files: 6 });
  expect(await data.rows("select count(*) n, count(distinct _dlt_id) ids from marts.both")).toEqual([
    { n: 6000, ids: 6000 },
  ]);
});

deepTest("a transform reads a table as of a load", async () => {
  const sql = "select n from (values (1), (2)) t(n) where n <= $most";
  const first = await data.begin("duckdb_transform", {
    sql,
    output: output("steps"),
    parameters: { most: 1 },
  });
  await data.good(first.id);
  await data.transform({ sql, output: output("steps"), parameters: { most: 2 } });
  const before = "select count(*) as n from marts.steps as of $load";
  await data.transform({ sql: before, output: output("before"), parameters: { load: first.id } });
  expect(await data.rows("select n from marts.before")).toEqual([{ n: 1 }]);
  const wrong = await data.end("duckdb_transform", { sql: "from marts.steps as of 'never'" });
  expect(wrong.error).toMatchObject({ code: "sql_error", message: 'Load "never" not found.' });
});

deepTest("a failed test fails the run, with its result, and leaves the dataset unchanged", async () => {
  const test = { name: "at most three", sql: "select count(*) from output where i > 2", expect: 0 };
  const definition = { sql: "select i from range(3) t(i)", output: output("checked"), tests: [test] };
  expect(await data.transform(definition)).toMatchObject({
    rows: 3,
    tests: [{ name: "at most three", passed: true }],
  });
  const failed = await data.end("duckdb_transform", { ...definition, sql: "select i from range(5) t(i)" });
  expect(failed.error).toMatchObject({
    code: "test_failed",
    retryable: false,
    message: 'The test "at most three" failed: it should return 0, but returned 2. Nothing was written.',
    details: { tests: [{ name: "at most three", message: "it should return 0, but returned 2." }] },
  });
  expect(await data.sums("marts", "checked")).toMatchObject({ rows: 3 });
});

describe("numbers beyond doubles among the parameters of a definition", () => {
  const sql = "SELECT $m > $k AS more, typeof($m) AS m, typeof($d) AS d, $list[1] > $m AS first";
  const numbers =
    '"m":9007199254740993,"k":10000000000000001,"d":12345678901234567.89,"list":[9007199254740995,1]';
  const rows = [{ more: false, m: "BIGINT", d: "DECIMAL(19,2)", first: true }];
  const sometimes = `{"name":"t","sql":"SELECT 1 WHERE $x > $m","parameters":{"x":10000000000000001}}`;
  const definition = `{"sql":${JSON.stringify(sql)},"parameters":{${numbers}}}`;
  const json = { "content-type": "application/json" };
  const itemsOf = async (runId: string) => (await data.good(runId)).items;

  test("are the same numbers as in a query: in an action, its tests, and a run's overrides", async () => {
    const query = await data.owner("POST", "/api/v1/query", definition, json);
    expect(query.body.rows).toEqual(rows);
    const action = created(
      await data.owner(
        "POST",
        ACTIONS,
        `{"name":"N","kind":"duckdb_transform","definition":${definition}}`,
        json,
      ),
    );
    expect(action.definition.parameters).toEqual({
      m: { $number: "9007199254740993" },
      k: { $number: "10000000000000001" },
      d: { $number: "12345678901234567.89" },
      list: [{ $number: "9007199254740995" }, 1],
    });
    const run = async (body = "{}") =>
      runEnd(data.owner, created(await data.owner("POST", `${ACTIONS}/${action.id}/run`, body, json)).id);
    expect((await run()).result.items).toEqual(rows);
    const overrides = '{"definitionOverrides":{"parameters":{"m":10000000000000003}}}';
    expect((await run(overrides)).result.items).toEqual([{ ...rows[0], more: true, first: false }]);
    const tested = await run(`{"definitionOverrides":{"tests":[${sometimes}]}}`);
    expect(tested.error.code).toBe("test_failed");
    const again = await data.owner("PATCH", `${ACTIONS}/${action.id}`, `{"definition":${definition}}`, json);
    expect(again.body.updatedAt).toBe(action.updatedAt);
  });

  test("are exact in a step, also if they come from a template, and stay text elsewhere", async () => {
    const steps = `{"key":"a","kind":"duckdb_transform","definition":${definition}},
      {"key":"b","kind":"duckdb_transform","definition":{"sql":"SELECT $n > $m AS more, $t AS t","parameters":
        {"n":{"$number":"{{input.n}}"},"m":9007199254740993,"t":"9007199254740993"}}},
      {"key":"c","kind":"run_script","definition":{"source":"export default (input) => input",
        "input":{"definition":{"parameters":{"x":9007199254740993}}}}}`;
    const flow = created(
      await data.owner(
        "POST",
        "/api/v1/automations",
        `{"name":"F","triggerType":"manual","config":{"steps":[${steps}]}}`,
        json,
      ),
    );
    const started = created(
      await data.owner(
        "POST",
        `/api/v1/automations/${flow.id}/run`,
        '{"input":{"n":10000000000000001}}',
        json,
      ),
    );
    const run = await automationRunEnd(data.owner, started.id);
    expect([run.status, run.error]).toEqual(["completed", null]);
    const [a, b, c] = run.steps.map(({ actionRunId }: { actionRunId: string }) => actionRunId);
    expect(await itemsOf(a)).toEqual(rows);
    expect(await itemsOf(b)).toEqual([{ more: true, t: "9007199254740993" }]);
    expect((await data.good(c)).output).toEqual({ definition: { parameters: { x: "9007199254740993" } } });
  });

  test("may be null or short, and fail the run if they aren't numbers", async () => {
    const { items } = await data.transform({
      sql: "SELECT $n AS n, $short + 1 AS short",
      parameters: { n: { $number: null }, short: { $number: 2 } },
    });
    expect(items).toEqual([{ n: null, short: 3 }]);
    const run = await data.end("duckdb_transform", {
      sql: "SELECT $n AS n",
      parameters: { n: { $number: "many" } },
    });
    expect([run.error.code, run.error.message]).toEqual([
      "sql_error",
      expect.stringContaining('{"$number":"many"} isn\'t a number'),
    ]);
  });
});

describe("a transform's rows", () => {
  const append = { layer: "marts", writeDisposition: "append" };
  const ids = async (dataset: string) =>
    (
      await data.rows(
        `SELECT count(*) AS n, count(DISTINCT _dlt_id) AS ids, any_value(typeof(_dlt_id)) AS type FROM marts.${dataset}`,
      )
    )[0];

  test("keep the IDs of the rows that they are made from, one to one", async () => {
    const { warnings, columns } = await data.transform({
      sql: "SELECT * FROM raw.shop__orders WHERE id < 5",
      output: output("passed"),
    });
    expect([
      warnings,
      columns.filter(({ name }: { name: string }) => name.startsWith("_dlt")).length,
    ]).toEqual([undefined, 2]);
    const same =
      "SELECT count(*) AS n FROM marts.passed JOIN raw.shop__orders USING (id, _dlt_id, _dlt_load_id)";
    expect(await data.rows(same)).toEqual([{ n: 5 }]);
  });

  test("replace a table whose IDs came from its data, as the error of an append advises", async () => {
    const { app, ids: own } = data.app;
    const actor = { type: "user", id: own.userId } as const;
    const of = { organizationId: own.organizationId, role: "owner", actor, correlationId: "old" } as const;
    const select = "SELECT n AS _dlt_id FROM range(3) t(n)";
    await loadTable(contextFor(app, of), { layer: "marts", dataset: "numbered", table: "numbered", select });
    expect(await ids("numbered")).toEqual({ n: 3, ids: 3, type: "BIGINT" });
    const more = { sql: "SELECT 9 AS n", output: { ...append, dataset: "numbered" } };
    const { error } = await data.end("duckdb_transform", more);
    expect([error.code, error.message]).toEqual([
      "schema_contract_violation",
      "Column _dlt_id of marts.numbered is BIGINT, from a load that took it from its data, and each row needs its own. Write the table once with replace, for example the rows of SELECT * FROM marts.numbered. Then rows can be added.",
    ]);
    await data.transform({ sql: "SELECT * FROM marts.numbered", output: output("numbered") });
    await data.transform(more);
    expect(await ids("numbered")).toEqual({ n: 4, ids: 4, type: "VARCHAR" });
    expect(await data.rows("SELECT _dlt_id_2 AS was FROM marts.numbered ORDER BY ALL")).toEqual(
      [0, 1, 2, null].map((was) => ({ was })),
    );
  });

  test("have IDs of their own if those of the SQL are no IDs, and can be appended again", async () => {
    for (const [dataset, sql, name] of [
      ["typed", "SELECT n AS _dlt_id, n FROM range(3) t(n)", "_dlt_id"],
      ["same", "SELECT 'x' AS _dlt_id, n FROM range(3) t(n)", "_dlt_id"],
      ["none", "SELECT NULL::VARCHAR AS _dlt_load_id, n FROM range(3) t(n)", "_dlt_load_id"],
      ["fanned", "SELECT o._dlt_id, n FROM raw.shop__orders o, range(3) t(n) WHERE o.id = 1", "_dlt_id"],
    ] as const) {
      for (const n of [3, 6]) {
        const { warnings } = await data.transform({ sql, output: { ...append, dataset } });
        expect(warnings).toEqual([
          `Column "${name}" is called ${name}_2, because each row has its own ${name}.`,
        ]);
        expect(await ids(dataset)).toEqual({ n, ids: n, type: "VARCHAR" });
      }
    }
    await data.transform({ sql: "SELECT 'y' AS _dlt_id, 9 AS n", output: { ...append, dataset: "same" } });
    const given = "SELECT _dlt_id_2 AS given, count(*) AS n FROM marts.same GROUP BY ALL ORDER BY ALL";
    expect(await data.rows(given)).toEqual([
      { given: "x", n: 6 },
      { given: "y", n: 1 },
    ]);
  });
});
