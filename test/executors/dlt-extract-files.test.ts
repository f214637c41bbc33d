import { afterAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { deepTest, someOf } from "../support/scale.ts";
import { openTestSql } from "../support/sql.ts";
import { failure, folderOf, openWorld, type World } from "./extract/world.ts";

const duck = openTestSql();
afterAll(() => duck[Symbol.asyncDispose]());

const load = (world: World, spec: string, files: Record<string, string | Uint8Array>, more = {}) =>
  world.run({ resources: [{ name: "t", spec, ...more }] }, folderOf(world, files));

describe("CSV files", () => {
  test("report a type for a column that they don't have", async () => {
    await using world = openWorld({ sql: duck.sql });
    const columns = [
      { name: "Full Name", type: "text" },
      { name: "nope", type: "integer" },
    ];
    const { result } = await load(world, "in/a.csv", { "in/a.csv": "id,Full Name\n1,7\n" }, { columns });
    expect(result.warnings).toEqual(['No row of t has a value in the column "nope".']);
    expect(await world.query("SELECT id, full_name FROM raw.shop__t")).toEqual([{ id: 1, full_name: "7" }]);
  });

  test("too large to be staged have an ID for each row, on all threads, and keep every value", async () => {
    await using four = openTestSql({ threads: 4 });
    await using world = openWorld({ sql: four.sql });
    const rows = 150_000;
    const lines = Array.from({ length: rows }, (_, n) => `${n},${String(n).padStart(60, "x")}\n`);
    const { result } = await load(world, "in/*", {
      "in/a.csv": `id,token\n${lines.join("")}`,
      "in/b.csv": `id,token\n${rows},last\n`,
    });
    expect(result.tables[0]).toMatchObject({ rowsRead: rows + 1, rows: rows + 1 });
    expect(
      await world.query(
        `SELECT count(*)::INT AS n, count(DISTINCT _dlt_id)::INT AS ids, count(DISTINCT id)::INT AS values, count(*) FILTER (token = lpad(id::VARCHAR, 60, 'x'))::INT AS whole FROM raw.shop__t`,
      ),
    ).toEqual([{ n: rows + 1, ids: rows + 1, values: rows + 1, whole: rows }]);
  });

  test("of one pattern are loaded together, with their own types, in DuckDB's own process", async () => {
    await using world = openWorld({ sql: duck.sql });
    const { result } = await load(world, "in/*", {
      "in/a.csv": 'id,Full Name,at\n1,"Ada\nL, ""x""",2026-01-01 10:00:00\n2,,\n',
      "in/b.csv": "id;extra\n3;true\n",
      "in/c.csv.gz": gzipSync("id\n4\n"),
      "in/empty.csv": "",
      "in/header.csv": "id,Full Name\n",
    });
    expect(result.tables[0]).toMatchObject({ rowsRead: 4, rows: 4 });
    expect(await world.query('SELECT id, full_name, "at", extra FROM raw.shop__t ORDER BY id')).toEqual([
      { id: 1, full_name: 'Ada\nL, "x"', at: "2026-01-01T10:00:00.000", extra: null },
      { id: 2, full_name: null, at: null, extra: null },
      { id: 3, full_name: null, at: null, extra: true },
      { id: 4, full_name: null, at: null, extra: null },
    ]);
  });

  test.each(
    someOf(1, [
      ["small", 1],
      ["large", 1_000_000],
    ]),
  )(
    "of one pattern keep all values if a later file adds columns, changes a type or omits columns: %s",
    async (_, size) => {
      await using world = openWorld({ sql: duck.sql });
      const pad = "x".repeat(size);
      const first = Array.from({ length: 9 }, (_, at) => `${at},${at},${pad},\n`).join("");
      const adding = {
        "a.csv": `id,n,gone,late\n${first}`,
        "b.csv": "id,n,more,late\n10,3,2026-01-01,0.5\n",
      };
      const { result } = await load(world, "*", adding);
      expect(result.tables[0]).toMatchObject({ rowsRead: 10, rows: 10 });
      expect(world.columns("t")).toMatchObject({
        n: "BIGINT",
        gone: "VARCHAR",
        late: "DECIMAL(38,1)",
        more: "DATE",
      });
      const texts =
        "SELECT id, CAST(n AS VARCHAR) AS n, length(gone) AS gone, CAST(more AS VARCHAR) AS more, CAST(late AS VARCHAR) AS late FROM raw.shop__t";
      const last = `${texts} WHERE id IN (8, 10) ORDER BY id`;
      expect(await world.query(last)).toEqual([
        { id: 8, n: "8", gone: size, more: null, late: null },
        { id: 10, n: "3", gone: null, more: "2026-01-01", late: "0.5" },
      ]);
      expect(await world.query("SELECT count(DISTINCT _dlt_id) AS n FROM raw.shop__t")).toEqual([{ n: 10 }]);

      await using other = openWorld({ sql: duck.sql });
      await load(other, "*", { ...adding, "c.csv": "id,n\n11,many\n" });
      expect(await other.query(`${texts} WHERE id > 7 ORDER BY id`)).toEqual([
        { id: 8, n: "8", gone: size, more: null, late: null },
        { id: 10, n: "3", gone: null, more: "2026-01-01", late: "0.5" },
        { id: 11, n: "many", gone: null, more: null, late: null },
      ]);
    },
  );

  test.each(
    someOf(1, [
      ["small", 1],
      ["large", 1_000_000],
    ]),
  )(
    "count rejected records and continue row numbers if later files only add columns: %s",
    async (_, size) => {
      await using world = openWorld({ sql: duck.sql });
      const pad = "x".repeat(size);
      const rows = Array.from({ length: 9 }, (_, at) => `${at},${pad}\n`).join("");
      const files = { "a.csv": `id,n\n${rows}2,2,2\n`, "b.csv": "id,n,more\n30,3,true\n4\n" };
      const { result } = await load(world, "*", files, { file: { onBadRow: "reject" } });
      expect(result.tables[0]).toMatchObject({ rowsRead: 12, rows: 10, rejected: 2 });
      expect(
        await world.query("SELECT id, length(n) AS n, more FROM raw.shop__t WHERE id >= 8 ORDER BY id"),
      ).toEqual([
        { id: 8, n: size, more: null },
        { id: 30, n: 1, more: true },
      ]);
      expect(await world.query("SELECT count(DISTINCT _dlt_id) AS n FROM raw.shop__t")).toEqual([{ n: 10 }]);
    },
  );

  deepTest.each(
    someOf(1, [
      ["small", 1],
      ["large", 1_000_000],
    ]),
  )("leave JSON texts next to them unchanged: %s", async (_, size) => {
    const pad = "x".repeat(size);
    for (const text of ["007", "0x10", "1.6", "1e2", " 5", "2026-1-2", "abc"]) {
      await using world = openWorld({ sql: duck.sql });
      const rows = Array.from({ length: 9 }, () => `3,${pad}\n`).join("");
      await load(world, "*", {
        "a.csv": `id,z\n${rows}`,
        "b.jsonl": `${JSON.stringify({ id: text, k: [1] })}\n`,
      });
      expect(await world.query("SELECT id FROM raw.shop__t WHERE z IS NULL")).toEqual([{ id: text }]);
    }
    await using world = openWorld({ sql: duck.sql });
    const files = { "a.csv": "id\n3\n", "b.jsonl": '{"id":"0012"}\n', "c.csv": "id\nx\n" };
    await load(world, "*", files);
    expect(await world.query("SELECT id FROM raw.shop__t ORDER BY id")).toEqual([
      { id: "0012" },
      { id: "3" },
      { id: "x" },
    ]);
  });

  test("that are empty in a column drop none of the texts that JSON has in it", async () => {
    await using world = openWorld({ sql: duck.sql });
    const files = { "a.csv": "id,k\n1,\n", "b.jsonl": '{"id":2,"k":"x"}\n', "c.csv": "id,k\n3,5\n" };
    await load(world, "*", files);
    expect(
      await world.query("SELECT id, CAST(k AS VARCHAR) AS k FROM raw.shop__t WHERE id > 1 ORDER BY id"),
    ).toEqual([
      { id: 2, k: expect.stringMatching(/^"?x"?$/) },
      { id: 3, k: "5" },
    ]);
  });

  test("that are many and small share the table's files", async () => {
    await using world = openWorld({ sql: duck.sql });
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`${at}.csv`, `id\n${at}\n`]));
    await load(world, "*", files);
    expect(await world.query("SELECT count(*) AS n FROM raw.shop__t")).toEqual([{ n: 40 }]);
    expect(world.fileCount("t")).toBe(1);
  });

  test("keep decimals of any width and sign to the last digit", async () => {
    await using world = openWorld({ sql: duck.sql });
    const texts = [
      "0.12345678901234567",
      "-0.5",
      "-12.00000000000000001",
      "10",
      "999999999999999999999.1",
      "0.0",
    ];
    await load(world, "a.csv", { "a.csv": `id,x\n${texts.map((text, at) => `${at},${text}`).join("\n")}\n` });
    const rows = await world.query(
      "SELECT rtrim(rtrim(CAST(x AS VARCHAR), '0'), '.') AS x FROM raw.shop__t ORDER BY id",
    );
    expect(world.columns("t").x).toBe("DECIMAL(38,17)");
    expect(rows.map(({ x }) => x)).toEqual([...texts.slice(0, 5), "0"]);
  });

  test("whose later rows have another type than the first are read as texts", async () => {
    await using world = openWorld();
    const lines = Array.from({ length: 30_000 }, (_, i) => `${i},${i === 29_999 ? "many" : i}`);
    await load(world, "a.csv", { "a.csv": `id,n\n${lines.join("\n")}\n` });
    const [row] = await world.query("SELECT count(*) AS n, max(n) AS most FROM raw.shop__t");
    expect(row).toEqual({ n: 30_000, most: "many" });
  });

  test("keep whole numbers that a double would change, as texts if they are longer than any number", async () => {
    await using world = openWorld();
    await load(world, "a.csv", {
      "a.csv": `id,n,x\n1,9007199254740993,0.14285714285714285\n2,${"123".repeat(10)},1e3\n`,
    });
    const values = "SELECT CAST(n AS VARCHAR) AS n, CAST(x AS DOUBLE) AS x FROM raw.shop__t ORDER BY id";
    expect(await world.query(values)).toEqual([
      { n: "9007199254740993", x: 0.14285714285714285 },
      { n: "123".repeat(10), x: 1000 },
    ]);
    await using other = openWorld();
    await load(other, "a.csv", { "a.csv": "x\n0.14285714285714285\n1\n-1e-05\n" });
    expect(other.columns("t").x).toBe("DOUBLE");
    expect(await other.query("SELECT sum(x) AS x FROM raw.shop__t")).toEqual([
      { x: 0.14285714285714285 + 1 - 1e-5 },
    ]);
  });

  test("with a missing quote, in Latin-1, or cut short are rejected by name, without internals", async () => {
    for (const [name, content, word] of [
      ["quote.csv", 'id,name\n1,"a\n2,b\n', "a quote is never closed"],
      ["ragged.csv", "id,name\n1,a\n2,b,c,d\n", "columns of the first one"],
      ["latin.csv", Buffer.from("id,name\n1,Caf\u00e9\n", "latin1"), "utf-8"],
      ["cut.parquet", new TextEncoder().encode("PAR1 and then nothing"), "parquet"],
    ] as const) {
      await using world = openWorld({ sql: duck.sql });
      const error = await failure(load(world, name, { [name]: content }));
      expect([name, error.code, error.message]).toEqual([name, "upstream", expect.stringContaining(word)]);
      expect(error.message).toContain(name);
      expect(error.message).not.toMatch(/possible (fix|solution)|stage-|resource-0/i);
    }
  }, 120_000);

  test("with three header lines lose none of them: the first names the columns", async () => {
    await using world = openWorld();
    const { result } = await load(world, "a.csv", { "a.csv": "Report,,\nfrom,to,\nid,name,amount\n1,a,2\n" });
    expect(result.tables[0]).toMatchObject({ rowsRead: 3, rows: 3 });
    expect(
      await world.query("SELECT report, column_2, column_3 FROM raw.shop__t WHERE report = '1'"),
    ).toEqual([{ report: "1", column_2: "a", column_3: "2" }]);
  });

  test("may contain the years 0 and 9999", async () => {
    await using world = openWorld();
    await load(world, "*", {
      "a.csv": "id,day\n1,0000-01-01\n2,9999-12-31\n",
      "b.jsonl": '{"id":3,"at":"0000-01-01T00:00:00Z"}\n{"id":4,"at":"9999-12-31T23:59:59.999999Z"}\n',
    });
    const texts = 'SELECT id, CAST(day AS VARCHAR) AS day, "at" FROM raw.shop__t ORDER BY id';
    expect(await world.query(texts)).toEqual([
      { id: 1, day: "0000-01-01", at: null },
      { id: 2, day: "9999-12-31", at: null },
      { id: 3, day: null, at: "0000-01-01T00:00:00Z" },
      { id: 4, day: null, at: "9999-12-31T23:59:59.999999Z" },
    ]);
  });

  test("lose no row to what looks like a preamble, a comment or another quote", async () => {
    await using world = openWorld();
    await load(world, "*.csv", { "a.csv": "title\n#1\n'2\n", "b.csv": `title\n${"x".repeat(3_000_000)}\n` });
    expect(await world.query("SELECT left(title, 2) AS t FROM raw.shop__t ORDER BY 1")).toEqual(
      ["#1", "'2", "xx"].map((t) => ({ t })),
    );
  });

  test("without content load nothing, and say so", async () => {
    await using world = openWorld();
    const { result, done } = await load(world, "a.csv", { "a.csv": "" });
    expect(result).toMatchObject({
      rows: 0,
      warnings: ["a.csv has no bytes, and no rows came of it. Was it written to its end?"],
    });
    expect(done.load?.tables).toEqual([]);
  });

  test("loaded by a cursor add only what is new, although they are read again", async () => {
    await using world = openWorld();
    const more = { incremental: { cursorField: "at" } };
    await load(world, "*.csv", { "a.csv": "id,at\n1,2026-01-01\n2,2026-01-02\n" }, more);
    const { result } = await load(world, "*.csv", { "b.csv": "id,at\n3,2026-01-02\n4,2026-01-03\n" }, more);
    expect(result.tables[0]).toMatchObject({ rowsRead: 3, rows: 2, deduplicated: 1 });
    expect(await world.query("SELECT id FROM raw.shop__t ORDER BY id")).toEqual(
      [1, 2, 3, 4].map((id) => ({ id })),
    );
  });

  test("that aren't CSV fail by name", async () => {
    await using world = openWorld();
    const error = await failure(load(world, "a.parquet", { "a.parquet": "not parquet" }));
    expect(error).toMatchObject({ code: "upstream", details: { file: "a.parquet" } });
    expect(error.message).toContain("a.parquet can't be read as parquet");
  });
});

describe("JSON files", () => {
  test("with lines or with one list become rows and child tables", async () => {
    await using world = openWorld();
    const { result } = await load(world, "*.json*", {
      "a.jsonl": '{"id":1,"tags":["x"]}\r\n\n{"id":2,"n":12345678901234567890}\n',
      "b.json": ' [ {"id":3,"s":"]}, \\" ["} ,\n{"id":4,"tags":["y","z"]} ]\n',
      "c.json": '{"id":5}\n{"id":6}',
      "d.json": '\ufeff{"id":7}',
      "e.jsonl": "",
      "f.json": "[]",
    });
    expect(result.tables.map((t) => [t.table, t.rowsRead, t.rows])).toEqual([
      ["t", 7, 7],
      ["t__tags", 3, 3],
    ]);
    expect(
      await world.query(
        "SELECT id, s, CAST(n AS VARCHAR) AS n FROM raw.shop__t WHERE id IN (2, 3) ORDER BY id",
      ),
    ).toEqual([
      { id: 2, s: null, n: "12345678901234567890" },
      { id: 3, s: ']}, " [', n: null },
    ]);
  });

  test("report the values of a duplicate key in an object", async () => {
    const first = '{"id":0,"n":{"k":[{"v":0}]},"s":"\\":"}';
    const rows = ['{"id":1,"id":2,"n":{"k":[{"v":3,"v":4}]}}', '{"id": 5, "\\u0069d" : 6}', '{"id":7}'];
    const told = [
      't.id: 2 values gave way to a later one of the same key in its object ("1", "5").',
      't.n.k.v: 1 value gave way to a later one of the same key in its object ("3").',
    ];
    const all = [first, ...rows];
    for (const [name, text] of [
      ["a.jsonl", all.join("\n")],
      ["a.json", `[${all.join(", ")}]`],
      ["a.json", all.join("\n")],
    ] as const) {
      await using world = openWorld();
      const { result } = await load(world, name, { [name]: text });
      expect(result.warnings).toEqual(told);
      expect(await world.query("SELECT id FROM raw.shop__t ORDER BY id")).toEqual(
        [0, 2, 6, 7].map((id) => ({ id })),
      );
    }
  });

  test("keep whole numbers of any length", async () => {
    await using world = openWorld();
    const numbers = [
      "9007199254740993",
      "-9223372036854775808",
      "12345678901234567890123456789012345678",
      `1${"0".repeat(60)}`,
    ];
    await load(world, "a.jsonl", {
      "a.jsonl": numbers.map((n, i) => `{"i":${i},"n":${n},"deep":{"a":{"b":{"c":[${n}]}}}}`).join("\n"),
    });
    const columns = Object.keys(world.columns("t")).filter((name) => name === "n" || name.startsWith("n__v"));
    const found = await world.query(
      `SELECT COALESCE(${columns.map((c) => `CAST(${c} AS VARCHAR)`).join(", ")}) AS n, CAST(deep__a__b__c AS VARCHAR) AS d FROM raw.shop__t ORDER BY i`,
    );
    expect(found).toEqual(numbers.map((n) => ({ n, d: `[${n}]` })));
  });

  test.each([
    ["a.jsonl", '{"a":1}\n{"a":\n', "Line 2 of a.jsonl"],
    ["a.json", '[{"a":1},{"a":]', "Value 2 of a.json"],
    ["a.json", '[{"a":1}', "Value 1 of a.json"],
    ["a.json", "nonsense", "Value 1 of a.json"],
  ])("that are invalid fail and say where: %s %s", async (name, content, where) => {
    await using world = openWorld();
    const error = await failure(load(world, name, { [name]: content }));
    expect(error.code).toBe("upstream");
    expect(error.message).toContain(where);
    expect(world.tables).toEqual([]);
  });

  test("may contain scalars and lists as rows", async () => {
    await using world = openWorld();
    await load(world, "a.jsonl", { "a.jsonl": '1\n[{"a":2},{"a":3}]\nnull\n"x"\n' });
    expect(
      await world.query(
        "SELECT CAST(value AS VARCHAR) AS value, a FROM raw.shop__t ORDER BY a NULLS LAST, 1 DESC NULLS LAST",
      ),
    ).toEqual([
      { value: null, a: 2 },
      { value: null, a: 3 },
      { value: "1", a: null },
      { value: '"x"', a: null },
      { value: null, a: null },
    ]);
  });

  test("load only the requested columns, and those that the load needs", async () => {
    await using world = openWorld();
    await load(
      world,
      "a.jsonl",
      { "a.jsonl": '{"a":1,"b":2,"c":{"d":3},"at":4,"id":5}\n' },
      { columns: ["a", "c"], primaryKey: ["id"], incremental: { cursorField: "at" } },
    );
    expect(Object.keys(world.columns("t")).filter((name) => !name.startsWith("_dlt"))).toEqual([
      "a",
      "c__d",
      "at",
      "id",
    ]);
  });
});

describe("a condition over files", () => {
  const csv =
    "id,Ship To,amount,day\n1,DE,10.5,2026-01-01\n2,FR,20,2026-01-02\n3,DE,30,2026-01-03\n4,,40,2026-01-04\n";
  const ids = async (world: World) =>
    (await world.query("SELECT id FROM raw.shop__t ORDER BY id")).map(({ id }) => id);

  test("passes the rows for which it is true, with the table's columns and values", async () => {
    await using world = openWorld({ sql: duck.sql });
    const where = "ship_to = $country AND (amount > $least OR day < '2026-01-02') -- and no more";
    const { result } = await load(
      world,
      "a.csv",
      { "a.csv": csv },
      { where, parameters: { country: "DE", least: 20 } },
    );
    expect(result.tables[0]).toMatchObject({
      rowsRead: 2,
      rows: 2,
      inserted: 2,
      rejected: 0,
      deduplicated: 0,
    });
    expect(await ids(world)).toEqual([1, 3]);
  });

  test("excludes rows from maxRows, cursors, merges and lists in the rows", async () => {
    await using world = openWorld({ sql: duck.sql });
    const lines = [
      { id: 1, kind: "a", at: "2026-01-01", tags: ["x"] },
      { id: 2, kind: "b", at: "2026-01-02", tags: ["y", "z"] },
      { id: 3, kind: "a", at: "2026-01-03", tags: ["w"] },
      { id: 4, kind: "b", at: "2026-01-09", tags: [] },
    ];
    const files = { "a.jsonl": lines.map((line) => JSON.stringify(line)).join("\n") };
    const resource = {
      name: "t",
      spec: "a.jsonl",
      where: "kind = 'a'",
      writeDisposition: "merge",
      primaryKey: ["id"],
      incremental: { cursorField: "at" },
    };
    const { result } = await world.run({ resources: [resource] }, folderOf(world, files));
    expect(result.tables[0]).toMatchObject({
      rowsRead: 2,
      rows: 2,
      cursor: { start: null, end: "2026-01-03" },
    });
    expect(await ids(world)).toEqual([1, 3]);
    expect(await world.query("SELECT value FROM raw.shop__t__tags ORDER BY 1")).toEqual([
      { value: "w" },
      { value: "x" },
    ]);

    await using other = openWorld({ sql: duck.sql });
    const cut = await other.run(
      { resources: [{ name: "t", spec: "a.jsonl", where: "kind = 'b'" }], maxRows: 1 },
      folderOf(other, files),
    );
    expect(cut.result.tables[0]).toMatchObject({ rowsRead: 1, rows: 1 });
    expect(await ids(other)).toEqual([2]);
  });

  test("that is true for no row leaves an empty load, and freeze ignores excluded rows", async () => {
    await using world = openWorld({ sql: duck.sql });
    await load(world, "a.jsonl", { "a.jsonl": '{"id":1}' });
    const files = { "a.jsonl": '{"id":2}\n{"id":3,"extra":"e"}' };
    const frozen = await world.run(
      { resources: [{ name: "t", spec: "a.jsonl", where: "id = 2" }], schemaContract: "freeze" },
      folderOf(world, files),
    );
    expect(frozen.result.tables[0]).toMatchObject({ rows: 1, schemaChanges: [] });
    const none = await load(world, "a.jsonl", files, { where: "id > 9" });
    expect(none.result.tables[0]).toMatchObject({ rowsRead: 0, rows: 0 });
    expect(await ids(world)).toEqual([1, 2]);
  });

  test("has the time limit of a tenant's statement", async () => {
    await using hurried = openTestSql({ timeoutMs: 1_000 });
    await using world = openWorld({ sql: hurried.sql });
    const where =
      "list_sum(list_transform(range(id * 3000000), a -> list_sum(list_transform(range(1000), b -> (a * b) % 7)))) > 0";
    const error = await failure(load(world, "a.csv", { "a.csv": csv }, { where }));
    expect<string>(error.code).toBe("sql_timeout");
  });

  test.each([
    ["true); DROP TABLE weir_dropped; --", "definition_invalid"],
    ["true) OR (true", "definition_invalid"],
    ["(true", "definition_invalid"],
    [" -- nothing", "definition_invalid"],
    ["id IN (SELECT 1)", "definition_invalid"],
    ["id IN (FROM range(3))", "definition_invalid"],
    ["id IN (\n/* a */ from range(3))", "definition_invalid"],
    ["FROM range(1)", "definition_invalid"],
    ["VALUES (true)", "definition_invalid"],
    ["id IN (VALUES (1) UNION ALL FROM range(3))", "definition_invalid"],
    ["id IN (DESC weir_dropped)", "definition_invalid"],
    ["id IN (SELECT\u00a01)", "definition_invalid"],
    ["id IN (\u200bFROM range(3))", "definition_invalid"],
    ["nobody = 1", "sql_error"],
    ["id =", "sql_error"],
    ["id = $1", "definition_invalid"],
  ])("that is invalid fails the run: %s", async (where, code) => {
    await using world = openWorld({ sql: duck.sql });
    const error = await failure(load(world, "a.csv", { "a.csv": csv }, { where }));
    expect<string>(error.code).toBe(code);
    expect(error.message).toContain(where.includes("$1") ? "$1" : "`where` of t");
  });
});

test("values of folder names that no file has as a column are in the warnings", async () => {
  await using world = openWorld({ sql: duck.sql });
  const files = {
    "in/year=2026/Month=01/a.csv": "id,month\n1,1\n",
    "in/year=2027/Month=02/b.jsonl": '{"id":2,"month":2}\n',
    "in/a=b.csv": "id,month\n3,3\n",
  };
  const warning =
    'The values in folder names such as "year=2026" aren\'t loaded, and the files have no column year. To keep them, add the column to the files.';
  const all = await load(world, "in/**/*", files);
  expect([all.result.rows, all.result.warnings]).toEqual([3, [warning]]);
  const chosen = await load(world, "in/**/*", files, { columns: ["id"], writeDisposition: "replace" });
  expect(chosen.result.warnings).toEqual([]);
});

test("Parquet files keep their types, and nested ones become JSON", async () => {
  await using world = openWorld();
  const { path } = await duck.parquet(
    "SELECT 1 AS id, DATE '2026-01-01' AS d, [1, 2] AS l, {'a': 1} AS s, 170141183460469231731687303715884105727::VARCHAR AS big, 'x'::BLOB AS b, TIME '10:00:00' AS t, 1.25::DECIMAL(10,2) AS m",
  );
  const { result } = await load(world, "a.parquet", { "a.parquet": await Bun.file(path).bytes() });
  expect(result.rows).toBe(1);
  const { _dlt_id, _dlt_load_id, ...columns } = world.columns("t");
  expect(columns).toEqual({
    id: "INTEGER",
    d: "DATE",
    l: "INTEGER[]",
    s: "JSON",
    big: "VARCHAR",
    b: "BLOB",
    t: "TIME",
    m: "DECIMAL(10,2)",
  });
  expect(await world.fileTypes("t")).toEqual(world.columns("t"));
  expect(await world.query("SELECT l, s FROM raw.shop__t")).toEqual([{ l: [1, 2], s: { a: 1 } }]);
});

test("Parquet files with types that the lake lacks are written in types that it has", async () => {
  await using world = openWorld();
  const { path } = await duck.parquet(
    "SELECT 200::UTINYINT AS small, 18446744073709551615::UBIGINT AS large, TIMESTAMP_S '2026-01-01 10:00:00' AS at",
  );
  await load(world, "a.parquet", { "a.parquet": await Bun.file(path).bytes() });
  const types = world.columns("t");
  expect(types).toMatchObject({ small: "INTEGER", large: "DECIMAL(20,0)", at: "TIMESTAMP" });
  expect(await world.fileTypes("t")).toEqual(types);
});

test("a pattern may match files of several formats, whose rows are numbered consecutively", async () => {
  await using world = openWorld();
  const { result } = await load(world, "*", {
    "a.jsonl": '{"id":1,"l":[1]}\n',
    "b.csv": "id\n2\n3\n",
    "c.json": '[{"id":4,"l":[4]}]',
  });
  expect(result.tables.map((t) => [t.table, t.rows])).toEqual([
    ["t", 4],
    ["t__l", 2],
  ]);
  expect(
    await world.query(
      "SELECT t.id FROM raw.shop__t t JOIN raw.shop__t__l l ON l._dlt_parent_id = t._dlt_id AND l.value = t.id ORDER BY 1",
    ),
  ).toEqual([{ id: 1 }, { id: 4 }]);
  expect(await world.query("SELECT count(DISTINCT _dlt_id) AS n FROM raw.shop__t")).toEqual([{ n: 4 }]);
});

test("a column from one format is the same column for the others", async () => {
  await using world = openWorld();
  const { result } = await load(world, "*", {
    "a.csv": "id,n\n1,1\n",
    "b.jsonl": '{"id":2,"n":1.5,"N":"x"}\n',
  });
  expect(await world.query("SELECT id, n, n_2 FROM raw.shop__t ORDER BY id")).toEqual([
    { id: 1, n: 1, n_2: null },
    { id: 2, n: 1.5, n_2: "x" },
  ]);
  expect(result.warnings).toHaveLength(1);
});

test("maxRows ends within a file of any format", async () => {
  for (const name of ["a.csv", "a.jsonl"]) {
    await using world = openWorld();
    const files = { "a.csv": "id\n1\n2\n3\n", "a.jsonl": '{"id":1}\n{"id":2}\n{"id":3}\n' };
    const { result } = await world.run(
      { resources: [{ name: "t", spec: name }], maxRows: 2 },
      folderOf(world, files),
    );
    expect(result.tables[0]).toMatchObject({ rowsRead: 2, rows: 2 });
  }
});
