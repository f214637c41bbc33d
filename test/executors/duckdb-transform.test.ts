import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { read } from "../../src/base/shape.ts";
import type { Done, RunContext } from "../../src/executors/contract.ts";
import { duckdbTransform } from "../../src/executors/duckdb-transform.ts";
import type { LakeTable } from "../../src/lake/contract.ts";
import { openFolderLake } from "../../src/lake/folder.ts";
import { writeRows } from "../../src/lake/merge.ts";
import { sqlTables } from "../../src/lake/views.ts";
import { deepTest } from "../support/scale.ts";
import { column, failure, openTestSql } from "../support/sql.ts";

const duck = openTestSql();
const lake = openFolderLake(join(duck.folder, "lake"));
let source: LakeTable;

beforeAll(async () => {
  const made = await duck.parquet("SELECT i AS id, i % 2 AS half FROM range(6) t(i)");
  const at = { organizationId: "org", layer: "raw", dataset: "shop", table: "orders", loadId: "l0" };
  const file = await lake.add(at, made);
  source = { ...at, columns: made.columns, files: [file], rows: 6, bytes: made.bytes, version: 1 };
});
afterAll(() => duck[Symbol.asyncDispose]());

/** One organization's tables: what runs see, and what completing a run does to them. */
function openOrganization(...more: LakeTable[]) {
  const tables: LakeTable[] = [source, ...more];
  const lines: string[] = [];
  let runs = 0;

  const commit = ({ load }: Done) => {
    for (const change of load?.tables ?? []) {
      const { layer, dataset } = load ?? { layer: "", dataset: "" };
      const at = tables.findIndex(
        (t) => t.layer === layer && t.dataset === dataset && t.table === change.table,
      );
      const before = tables[at];
      if (change.remove !== "all") expect(change.baseVersion).toBe(before?.version ?? null);
      const kept =
        change.remove === "all" ? [] : (before?.files ?? []).filter((f) => !change.remove.includes(f.id));
      const files = [...kept, ...change.add];
      const rows = files.reduce((sum, f) => sum + f.rows, 0);
      const bytes = files.reduce((sum, f) => sum + f.bytes, 0);
      const version = (before?.version ?? 0) + 1;
      const after = {
        layer,
        dataset,
        table: change.table,
        columns: change.columns,
        files,
        rows,
        bytes,
        version,
      };
      tables.splice(at < 0 ? tables.length : at, at < 0 ? 0 : 1, after);
    }
  };

  return {
    tables,
    /** The log lines of the runs, in order. */
    lines,
    /** Executes, and completes the run unless `complete` is false. */
    async run(definition: JsonObject, options: { complete?: boolean } = {}): Promise<Done> {
      const checked = read(duckdbTransform.definition, definition, []);
      expect(checked.faults).toEqual([]);
      const work = await lake.workFolder(`run-${++runs}`);
      const ctx = {
        run: { id: `run-${runs}`, organizationId: "org", attempt: 1, startedAt: "2026-01-01T00:00:00.000Z" },
        signal: new AbortController().signal,
        clock: systemClock,
        sql: duck.sql,
        lake: {
          tables: async () => tables,
          localPath: lake.localPath,
          add: (at, file) => lake.add({ organizationId: "org", ...at }, file),
          lock: async () => undefined,
        },
        workFolder: async () => work.path,
        progress: () => undefined,
        log: (level, message) => void lines.push(`${level} ${message}`),
      } as Pick<RunContext, "run" | "signal" | "clock" | "sql" | "workFolder" | "progress" | "log"> & {
        lake: Partial<RunContext["lake"]>;
      };
      const done = await duckdbTransform.execute(ctx as RunContext, checked.value as JsonObject);
      await work.dispose();
      if (options.complete !== false) commit(done);
      return done;
    },
    async rows(sql: string) {
      return duck.rows(sql, await sqlTables(lake, tables));
    },
  };
}

const output = (more: JsonObject = {}) => ({ layer: "marts", dataset: "halves", ...more });
const HALVES = "SELECT half, count(*) AS n FROM raw.shop__orders GROUP BY half";

describe("duckdb_transform without output", () => {
  test("stores the rows as a json artifact, at most maxRows of them", async () => {
    const organization = openOrganization();
    const done = await organization.run({
      sql: "SELECT id FROM raw.shop__orders ORDER BY id",
      maxRows: 2,
    });
    const columns = [{ name: "id", dataType: "BIGINT", nullable: true }];
    expect(done.artifacts).toEqual([
      { title: "Rows", kind: "json", data: { columns, rows: [{ id: 0 }, { id: 1 }], truncated: true } },
    ]);
    expect(done.result).toEqual({
      rows: 2,
      items: [{ id: 0 }, { id: 1 }],
      columns,
      output: null,
      warnings: ["Only the first 2 rows were kept."],
      durationSeconds: expect.any(Number),
    });
    expect(organization.lines).toEqual(["warn Only the first 2 rows were kept."]);
    expect(done.load).toBeUndefined();
  });

  test("binds parameters as values, whatever they contain", async () => {
    const hostile = "'; DROP TABLE raw.shop__orders; --";
    const done = await openOrganization().run({
      sql: "SELECT $weir_1 AS x, $n + 1 AS n",
      parameters: { weir_1: hostile, n: 2 },
    });
    expect(done.artifacts?.[0]).toMatchObject({ data: { rows: [{ x: hostile, n: 3 }] } });
  });
});

describe("duckdb_transform with output", () => {
  test("replaces the dataset, and gives each row an ID and its load", async () => {
    const organization = openOrganization();
    await organization.run({ sql: "SELECT 'gone' AS old", output: output() });
    const { result } = await organization.run({ sql: HALVES, output: output() });
    expect(result).toEqual({
      rows: 2,
      columns: expect.any(Array),
      output: { layer: "marts", dataset: "halves", files: 1, bytes: expect.any(Number) },
      durationSeconds: expect.any(Number),
    });
    expect(await organization.rows("FROM marts.halves ORDER BY half")).toEqual([
      { half: 0, n: 3, _dlt_id: expect.stringMatching(/^run-2-[12]$/), _dlt_load_id: "run-2" },
      { half: 1, n: 3, _dlt_id: expect.stringMatching(/^run-2-[12]$/), _dlt_load_id: "run-2" },
    ]);
    expect((await organization.rows("SELECT count(DISTINCT _dlt_id) AS n FROM marts.halves"))[0]).toEqual({
      n: 2,
    });
  });

  test("quotes the SELECT of an error without the one around it", async () => {
    const sql = "SELECT CAST(half || ' many' AS DECIMAL(10, 2)) AS amount FROM raw.shop__orders";
    const { message } = await failure(openOrganization().run({ sql, output: output({}) }));
    const [, line = "", caret = ""] = /LINE 1: (.+)\n( +)\^$/.exec(message) ?? [];
    expect(sql).toContain(line.replaceAll("...", ""));
    expect(line.slice(caret.length - "LINE 1: ".length)).toStartWith("CAST(");
  });

  test("writes nothing visible until the run completes", async () => {
    const organization = openOrganization();
    await organization.run(
      { sql: HALVES, output: output({ writeDisposition: "append" }) },
      { complete: false },
    );
    expect((await failure(organization.rows("FROM marts.halves"))).code).toBe("sql_error");
    await organization.run({ sql: HALVES, output: output({ writeDisposition: "append" }) });
    expect(await organization.rows("SELECT count(*) AS n FROM marts.halves")).toEqual([{ n: 2 }]);
  });

  test("appends, with new columns and wider types", async () => {
    const organization = openOrganization();
    const append = output({ writeDisposition: "append" });
    await organization.run({ sql: "SELECT 1::INTEGER AS id, 'a' AS label", output: append });
    await organization.run({ sql: "SELECT 5000000000::BIGINT AS id, 0.5::DOUBLE AS extra", output: append });
    expect(await organization.rows("SELECT id, label, extra FROM marts.halves ORDER BY id")).toEqual([
      { id: 1, label: "a", extra: null },
      { id: 5_000_000_000, label: null, extra: 0.5 },
    ]);
    const clash = await failure(organization.run({ sql: "SELECT true AS label", output: append }));
    expect(clash.code).toBe("schema_contract_violation");
    expect(clash.message).toContain(
      "Column label of marts.halves is VARCHAR, and the SELECT has it as BOOLEAN.",
    );
  });

  /** A table of an earlier version, with nested types and intervals as Parquet has them. */
  const oldTable = async (select: string, types: Record<string, string>): Promise<LakeTable> => {
    const at = { organizationId: "org", layer: "marts", dataset: "halves", table: "halves", loadId: "l1" };
    const session = await duck.sql.session({ folders: [duck.folder] });
    const [made] = await writeRows(session, select, join(duck.folder, `old-${++olds}`));
    await session.close();
    if (!made) throw new Error("The table has no rows.");
    const columns = Object.entries(types).map(([name, type]) => column(name, type));
    return { ...at, columns, files: [await lake.add(at, made)], rows: 1, bytes: made.bytes, version: 1 };
  };
  let olds = 0;
  const OLD = `INTERVAL '1 day' AS every, {'at': '12:34:56+00'::TIMETZ, 'n': 7::HUGEINT} AS one,
    ['12:34:56+00'::TIMETZ] AS times, [7::HUGEINT] AS whole, {'hash': 18446744073709551615::UBIGINT} AS keyed`;
  const OLD_TYPES = {
    id: "INTEGER",
    every: "INTERVAL",
    one: 'STRUCT("at" TIME WITH TIME ZONE, "n" DOUBLE)',
    times: "TIME WITH TIME ZONE[]",
    whole: "DOUBLE[]",
    keyed: 'STRUCT("hash" UBIGINT)',
  };
  const NEW = `INTERVAL '-1 microsecond' AS every, {'at': '12:34:56+05:30'::TIMETZ, 'n': 8::HUGEINT} AS one,
    ['12:34:56+05:30'::TIMETZ] AS times, [8::HUGEINT] AS whole, {'hash': 18446744073709551614::UBIGINT} AS keyed`;

  for (const writeDisposition of ["append", "merge"]) {
    test(`keeps every value exact on ${writeDisposition} to a table with Parquet's own types`, async () => {
      const organization = openOrganization(await oldTable(`SELECT 1 AS id, ${OLD}`, OLD_TYPES));
      const more: JsonObject = writeDisposition === "merge" ? { primaryKey: ["id"] } : {};
      await organization.run({
        sql: `SELECT 2 AS id, ${NEW}`,
        output: output({ writeDisposition, ...more }),
      });
      expect(
        await organization.rows(
          `SELECT every::VARCHAR AS every, one.at::VARCHAR AS at, one.n::BIGINT AS n, times::VARCHAR AS times,
            whole::BIGINT[] AS whole, keyed.hash::VARCHAR AS hash FROM marts.halves ORDER BY id`,
        ),
      ).toEqual([
        {
          every: "1 day",
          at: "12:34:56+00",
          n: 7,
          times: "['12:34:56+00']",
          whole: [7],
          hash: "18446744073709551615",
        },
        {
          every: "-00:00:00.000001",
          at: "12:34:56+05:30",
          n: 8,
          times: "['12:34:56+05:30']",
          whole: [8],
          hash: "18446744073709551614",
        },
      ]);
    });
  }

  test("rejects whole numbers that a table's doubles can't hold, and accepts them cast", async () => {
    const organization = openOrganization(
      await oldTable("SELECT [7::HUGEINT] AS whole", { whole: "DOUBLE[]" }),
    );
    const append = output({ writeDisposition: "append" });
    const clash = await failure(
      organization.run({ sql: "SELECT [9007199254740993::HUGEINT] AS whole", output: append }),
    );
    expect(clash.code).toBe("schema_contract_violation");
    expect(clash.message).toContain("Cast it");
    await organization.run({ sql: "SELECT [9007199254740993::HUGEINT]::DOUBLE[] AS whole", output: append });
    expect(await organization.rows("SELECT count(*) AS n FROM marts.halves")).toEqual([{ n: 2 }]);
  });

  test("appends sums to a table whose first ones were greater", async () => {
    const organization = openOrganization();
    const append = output({ writeDisposition: "append" });
    const great = "170141183460469231731687303715884105727";
    await organization.run({ sql: `SELECT ${great}::HUGEINT AS n, [${great}] AS list`, output: append });
    await organization.run({ sql: "SELECT 1::HUGEINT AS n, [1::HUGEINT] AS list", output: append });
    expect(
      await organization.rows("SELECT n::VARCHAR AS n, list::VARCHAR[] AS list FROM marts.halves ORDER BY 1"),
    ).toEqual([
      { n: "1", list: ["1"] },
      { n: great, list: [great] },
    ]);
  });

  test("stores a column with a large integer as text, and the sums next to it as numbers", async () => {
    const organization = openOrganization();
    await organization.run({
      sql: `SELECT 170141183460469231731687303715884105727::HUGEINT AS great, sum(id) AS small,
        12345678901234567890123::HUGEINT AS decimal FROM raw.shop__orders`,
      output: output(),
    });
    const table = organization.tables.find((t) => t.dataset === "halves");
    const types = table?.columns.map(({ name, dataType }) => [name, dataType]);
    expect(types?.slice(0, 3)).toEqual([
      ["great", "VARCHAR"],
      ["small", "BIGINT"],
      ["decimal", "DECIMAL(38,0)"],
    ]);
  });

  test("merges by primaryKey: rows with an existing key are replaced, files without one stay", async () => {
    const organization = openOrganization();
    const merge = output({ writeDisposition: "merge", primaryKey: ["id"] });
    await organization.run({
      sql: "SELECT id, 'first' AS v FROM raw.shop__orders WHERE id < 3",
      output: merge,
    });
    await organization.run({
      sql: "SELECT id, 'second' AS v FROM raw.shop__orders WHERE id > 3",
      output: merge,
    });
    const untouched = organization.tables.at(-1)?.files[0]?.path;
    const { result } = await organization.run({
      sql: "FROM (VALUES (4, 'third'), (9, 'third'), (9, 'fourth')) t(id, v)",
      output: merge,
    });
    const warnings = ["1 row had the key of a later one and was left out."];
    expect(result).toMatchObject({ rows: 3, warnings });
    expect(organization.lines.at(-1)).toBe("info marts.halves: 1 inserted, 1 updated, 1 deduplicated.");
    expect(await organization.rows("SELECT id, v FROM marts.halves ORDER BY id")).toEqual([
      { id: 0, v: "first" },
      { id: 1, v: "first" },
      { id: 2, v: "first" },
      { id: 4, v: "third" },
      { id: 5, v: "second" },
      { id: 9, v: "fourth" },
    ]);
    expect(organization.tables.at(-1)?.files.map((f) => f.path)).toContain(untouched ?? "");
  });

  test("accepts scripts, and stops at maxRows with a warning", async () => {
    const organization = openOrganization();
    const sql =
      "CREATE TEMP TABLE t AS FROM raw.shop__orders; DELETE FROM t WHERE half = 1; SELECT id FROM t ORDER BY id;";
    const { result } = await organization.run({ sql, output: output(), maxRows: 2 });
    expect(result).toMatchObject({ rows: 2 });
    const warning = "The rows end at maxRows (2). There may be more.";
    expect(organization.lines).toContain(`warn ${warning}`);
    expect(result?.warnings).toEqual([warning]);
    expect(await organization.rows("SELECT id FROM marts.halves")).toEqual([{ id: 0 }, { id: 2 }]);
  });

  test("replaces with no rows too", async () => {
    const organization = openOrganization();
    await organization.run({ sql: HALVES, output: output({ partitionBy: ["half"] }) });
    expect(organization.tables.at(-1)?.files).toHaveLength(2);
    await organization.run({ sql: `${HALVES} HAVING false`, output: output({ partitionBy: ["half"] }) });
    expect(await organization.rows("FROM marts.halves")).toEqual([]);
  });
});

describe("partitionBy", () => {
  const part = (more: JsonObject = {}) => output({ partitionBy: ["half"], ...more });
  const parts = (table: LakeTable | undefined) => table?.files.map(({ part, rows }) => [part, rows]).sort();

  test("can be the name of one column", async () => {
    const organization = openOrganization();
    const sql = "SELECT id, half FROM raw.shop__orders";
    await organization.run({ sql, output: part({ partitionBy: "half" }) });
    expect(parts(organization.tables.at(-1))).toEqual([
      ["half=0", 3],
      ["half=1", 3],
    ]);
  });

  deepTest("gives each value its own files, even if rows are merged", async () => {
    const organization = openOrganization();
    const sql = "SELECT id, half FROM raw.shop__orders";
    const merge = part({ writeDisposition: "merge", primaryKey: ["id"] });
    await organization.run({ sql, output: merge });
    expect(parts(organization.tables.at(-1))).toEqual([
      ["half=0", 3],
      ["half=1", 3],
    ]);
    await organization.run({ sql: `${sql} UNION ALL SELECT 7, 1 UNION ALL SELECT 8, 2`, output: merge });
    expect(parts(organization.tables.at(-1))).toEqual([
      ["half=0", 3],
      ["half=1", 4],
      ["half=2", 1],
    ]);
    expect(await organization.rows("SELECT count(*) AS n, sum(half) AS h FROM marts.halves")).toEqual([
      { n: 8, h: 6 },
    ]);
  });

  test("is rejected if it would create too many partitions", async () => {
    const sql = "SELECT i AS half FROM range(1001) t(i)";
    const { code, message } = await failure(openOrganization().run({ sql, output: part() }));
    expect([code, message]).toEqual([
      "definition_invalid",
      "partitionBy makes 1001 partitions; at most 1000 are allowed, so that reading stays fast.",
    ]);
  });
});

describe("tests of a transform", () => {
  const run = (tests: JsonObject[], more: JsonObject = {}) =>
    openOrganization().run({ sql: HALVES, output: output(), tests, ...more });

  test("that pass let the run continue", async () => {
    const tests: JsonObject[] = [
      { name: "no rows", sql: "FROM output WHERE n = 0" },
      { name: "one value", sql: "SELECT count(*) FROM output", expect: 2 },
      { name: "a decimal", sql: "SELECT 1.50::DECIMAL(9,2)", expect: 1.5 },
      { name: "nothing", sql: "SELECT NULL", expect: null },
      { name: "fields", sql: "SELECT half, n FROM output ORDER BY half", expect: { n: 3 } },
      {
        name: "rows",
        sql: "SELECT half, n FROM output ORDER BY half",
        expect: [
          { half: 0, n: 3 },
          { half: 1, n: 3 },
        ],
      },
      { name: "a parameter", sql: "SELECT $least + $own", expect: 5, parameters: { own: 3 } },
    ];
    const { result, load } = await run(tests, { parameters: { least: 2 } });
    expect(result.tests).toEqual(tests.map(({ name }) => ({ name: name as string, passed: true })));
    expect(load?.tables).toHaveLength(1);
  });

  test.each([
    [{ sql: "FROM output" }, /it should return no rows, but returned 2, the first \{"half":/],
    [{ sql: "SELECT 1", expect: 2 }, /it should return 2, but returned 1\./],
    [{ sql: "SELECT ''", expect: 0 }, /it should return 0, but returned ""\./],
    [{ sql: "SELECT 1 WHERE false", expect: 1 }, /it should return 1, but returned no rows\./],
    [
      { sql: "SELECT 1 AS a, 2 AS b", expect: { a: 1, b: 3 } },
      /it should return \{"a":1,"b":3\}, but returned \{"a":1,"b":2\}/,
    ],
    [{ sql: "SELECT 1 AS a", expect: [] }, /it should return \[\], but returned \[\{"a":1\}\]/],
  ])("that fail fail the run: %j", async (fails, message) => {
    const tests = [
      { name: "first", ...fails },
      { name: "fine", sql: "SELECT 1", expect: 1 },
      { name: "last", ...fails },
    ];
    const failed = await failure(run(tests as JsonObject[]));
    expect(failed.code).toBe("test_failed");
    expect(failed.message).toMatch(message);
    expect(failed.message).toMatch(
      /^The test "first" failed: .* Nothing was written\. These failed too: "last"\.$/,
    );
  });

  test("see the table as it will be, and none of it stays when they fail", async () => {
    const organization = openOrganization();
    const append = output({ writeDisposition: "append" });
    const tests = [{ name: "few", sql: "SELECT count(*) <= 2 FROM marts.halves", expect: true }];
    await organization.run({ sql: HALVES, output: append, tests });
    const again = organization.run({ sql: HALVES, output: append, tests });
    expect((await failure(again)).code).toBe("test_failed");
    expect(await organization.rows("SELECT count(*) AS n FROM marts.halves")).toEqual([{ n: 2 }]);
    const unique = [
      { name: "unique", sql: "SELECT half FROM marts.halves GROUP BY half HAVING count(*) > 1" },
    ];
    const merge = output({ writeDisposition: "merge", primaryKey: ["half"] });
    await organization.run({ sql: HALVES, output: merge, tests: unique });
    expect((await failure(organization.run({ sql: HALVES, output: append, tests: unique }))).code).toBe(
      "test_failed",
    );
  });

  test("are reported if they aren't SQL, and run without an output too", async () => {
    expect((await failure(run([{ name: "typo", sql: "SELEC 1" }]))).message).toMatch(
      /^The test "typo": Parser Error/,
    );
    const alone = openOrganization();
    const sql = "SELECT id FROM raw.shop__orders ORDER BY id DESC";
    const tests = [{ name: "six", sql: "SELECT count(*) FROM output", expect: 6 }];
    const { artifacts } = await alone.run({ sql, tests, maxRows: 2 });
    expect(artifacts?.[0]).toMatchObject({ data: { rows: [{ id: 5 }, { id: 4 }], truncated: true } });
    const failing = [{ name: "seven", sql: "SELECT count(*) FROM output", expect: 7 }];
    expect((await failure(alone.run({ sql, tests: failing }))).code).toBe("test_failed");
  });
});

test("explain returns the plan, runs nothing, and reveals no path", async () => {
  const organization = openOrganization();
  const sql =
    "CREATE TEMP TABLE t AS FROM raw.shop__orders; SELECT count(*) FROM t JOIN raw.shop__orders USING (id) WHERE id > $least";
  const { result, load } = await organization.run({
    sql,
    output: output(),
    explain: true,
    parameters: { least: 1 },
  });
  expect(result).toEqual({
    rows: 0,
    columns: [],
    output: null,
    plan: expect.stringContaining("JOIN"),
    durationSeconds: expect.any(Number),
  });
  expect(String(result.plan)).not.toContain(duck.folder);
  expect(load).toBeUndefined();
  expect(
    (await failure(organization.run({ sql: "SELECT nome FROM raw.shop__orders", explain: true }))).code,
  ).toBe("sql_error");
});

test("a definition is rejected for invalid dataset names, and for a merge without a key", () => {
  const check = (given: JsonObject) => duckdbTransform.check?.({ sql: "SELECT 1", output: given }) ?? [];
  expect(check(output({ writeDisposition: "merge" }))).toEqual([
    { path: ["output", "primaryKey"], message: "A merge needs a primaryKey." },
  ]);
  expect(check({ layer: "temp", dataset: "x" }).map((f) => f.path)).toEqual([["output", "layer"]]);
  expect(check({ layer: "raw", dataset: "{{payload.dataset}}" })).toEqual([]);
  const table = (name: string) =>
    check({
      connectionId: "01900000-0000-7000-8000-00000000abcd",
      table: name,
      writeDisposition: "append",
    }).map((f) => f.path);
  expect(["_weir_loads", 'public."_weir_loads"', "shop._WEIR_LOADS"].map(table)).toEqual(
    Array(3).fill([["output", "table"]]),
  );
  expect(table("public.my_weir_loads")).toEqual([]);
  const { faults } = read(
    duckdbTransform.definition,
    { sql: "SELECT 1", output: { layer: "Raw", dataset: "a-b" } },
    [],
  );
  expect(faults.map((f) => f.loc)).toEqual([
    ["output", "layer"],
    ["output", "dataset"],
  ]);
});
