import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { SqlTable } from "../../src/sql/contract.ts";
import { failure, openTestSql } from "../support/sql.ts";

const duck = openTestSql();
let table: SqlTable;

beforeAll(async () => {
  table = await duck.table("raw", "numbers", "SELECT i AS id, i % 2 AS half FROM range(6) t(i)");
});
afterAll(() => duck[Symbol.asyncDispose]());

let made = 0;
const materialize = (sql: string, options = {}, parameters = {}) =>
  duck.sql.materialize({ tables: [table], sql, parameters }, join(duck.folder, `made-${++made}`), options);

/** Reads files unchanged, through a session. */
async function read(files: readonly { path: string }[], picked = "*") {
  const session = await duck.sql.session({ folders: [], files: files.map((f) => f.path) });
  const list = files.map((f) => `'${f.path}'`).join(", ");
  const rows = await session.run(
    `SELECT ${picked} FROM read_parquet([${list}], hive_partitioning = false) ORDER BY ALL`,
  );
  await session.close();
  return rows;
}

describe("materialize", () => {
  test("writes the rows and returns columns, counts and sizes", async () => {
    const { columns, files } = await materialize(
      "SELECT id, $label AS label FROM raw.numbers WHERE id > 3",
      {},
      { label: "it's" },
    );
    expect(columns.map((c) => `${c.name} ${c.dataType}`)).toEqual(["id BIGINT", "label VARCHAR"]);
    expect(files.map((f) => [f.rows, f.bytes])).toEqual([[2, Bun.file(files[0]?.path ?? "").size]]);
    expect(await read(files)).toEqual([
      { id: 4, label: "it's" },
      { id: 5, label: "it's" },
    ]);
  });

  test("writes no file without rows, and still returns the columns", async () => {
    const { columns, files } = await materialize("SELECT sum(id) AS total FROM raw.numbers HAVING false");
    expect([columns.map((c) => `${c.name} ${c.dataType}`), files]).toEqual([["total BIGINT"], []]);
  });

  test("keeps the sum of integers an integer, however large", async () => {
    const small = await materialize("SELECT sum(id) AS total FROM raw.numbers");
    expect(small.columns[0]?.dataType).toBe("BIGINT");
    expect(await read(small.files)).toEqual([{ total: 15 }]);
    const great = await materialize("SELECT 12345678901234567890123::HUGEINT AS total");
    expect(great.columns[0]?.dataType).toBe("DECIMAL(38,0)");
    expect(await read(great.files)).toEqual([{ total: "12345678901234567890123" }]);
  });

  test("adds columns that the SELECT lacks, and keeps those that it has", async () => {
    const stamp = [
      { name: "_dlt_id", sql: "'n' || row_number() OVER ()" },
      { name: "HALF", sql: "'never'" },
    ];
    const { columns, files } = await materialize("SELECT id, half FROM raw.numbers ORDER BY id LIMIT 2", {
      stamp,
    });
    expect(columns.map((c) => c.name)).toEqual(["id", "half", "_dlt_id"]);
    expect(await read(files)).toEqual([
      { id: 0, half: 0, _dlt_id: "n1" },
      { id: 1, half: 1, _dlt_id: "n2" },
    ]);
  });

  test("executes the SQL once if its IDs turn out to be none", async () => {
    const { columns, files, warnings } = await materialize(
      "CREATE TEMP SEQUENCE s; SELECT nextval('s') AS n, 'x' AS _dlt_id, '{\"a\":1}'::JSON AS j FROM range(2) -- x",
      { stamp: [{ name: "_dlt_id", sql: "'own' || row_number() OVER ()" }] },
    );
    expect(columns.map(({ name, dataType, source }) => `${name} ${dataType} ${source}`)).toEqual([
      "n BIGINT n",
      "_dlt_id_2 VARCHAR _dlt_id",
      "j JSON j",
      "_dlt_id VARCHAR undefined",
    ]);
    expect(warnings).toHaveLength(1);
    expect(await read(files)).toEqual(
      [1, 2].map((n) => ({ n, _dlt_id_2: "x", j: { a: 1 }, _dlt_id: `own${n}` })),
    );
  });

  test("splits files by value, which stays in the rows, and stops at a limit", async () => {
    const split = await materialize("FROM raw.numbers", { partitionBy: ["half"] });
    expect(split.files.map((f) => f.rows)).toEqual([3, 3]);
    expect(await read(split.files)).toHaveLength(6);
    expect(Object.keys((await read(split.files))[0] ?? {})).toEqual(["id", "half"]);
    const cut = await materialize("FROM raw.numbers", { limit: 4 });
    expect(cut.files.map((f) => f.rows)).toEqual([4]);
  });

  test("accepts scripts, pivots and duplicate column names", async () => {
    const script = await materialize(
      "CREATE TEMP TABLE t AS SELECT 1 AS a; INSERT INTO t VALUES (2); SELECT a, a, NULL AS n FROM t; -- x",
    );
    expect(script.columns.map((c) => `${c.name} ${c.dataType}`)).toEqual([
      "a INTEGER",
      "a_1 INTEGER",
      "n INTEGER",
    ]);
    const pivot = await materialize("PIVOT raw.numbers ON half USING sum(id);");
    expect(await read(pivot.files)).toEqual([{ "0": 6, "1": 9 }]);
    const types = await materialize(
      "SELECT 'a'::ENUM('a') AS e, INTERVAL 1 DAY AS i, '{}'::JSON AS j, {'x': 1} AS s",
    );
    expect(types.columns.map((c) => c.dataType)).toEqual([
      "VARCHAR",
      "VARCHAR",
      "JSON",
      'STRUCT("x" INTEGER)',
    ]);
  });

  test("gives no column a name that the statement gives to another, whatever the order of rows", async () => {
    const sql = `SELECT i AS v, i + 1 AS V, i + 2 AS "V_1", i AS v FROM range(1) t(i)`;
    const made = await materialize(sql);
    expect(made.columns.map(({ name, source }) => [name, source])).toEqual([
      ["v", "v"],
      ["V_2", "V"],
      ["V_1", "V_1"],
      ["v_3", "v"],
    ]);
    expect(made.warnings[0]).toBe('Column "V" is called V_2, because case doesn\'t distinguish columns.');
    const again = `SELECT 30 AS "V_1", 20 AS "V", 10 AS "v"`;
    const more = await materialize(again, { table: made.columns });
    expect(more.columns.map(({ name }) => name)).toEqual(["V_1", "V_2", "v"]);
    const unclear = materialize(`SELECT 20 AS "V", 30 AS "v_1"`, {
      table: [made.columns[0], made.columns[1]],
    });
    expect(await failure(unclear)).toMatchObject({
      code: "schema_contract_violation",
    });
  });

  test("keeps what Parquet would round or cut, also within lists and structs", async () => {
    const values = [
      "INTERVAL '0.123456 seconds'",
      "INTERVAL '-1 day'",
      "[9007199254740993::HUGEINT]",
      "{'a': 18446744073709551617::UHUGEINT, 'HUGEINT': 'INTERVAL'}",
      "{'at': '12:34:56+05:30'::TIMETZ, 'every': INTERVAL '1 microsecond', 'NULL': 1}",
      "18446744073709551617::UHUGEINT",
      "['a'::ENUM('a', 'NULL')]",
      "'NULL'::ENUM('1', 'NULL')",
    ];
    for (const some of [values, [...values, "170141183460469231731687303715884105727::HUGEINT"]]) {
      const stored = await materialize(`SELECT ${some.map((value, at) => `${value} AS v${at}`).join()}`);
      const texts = some.map((value, at) => `(${value})::VARCHAR AS v${at}`);
      const given = await materialize(`SELECT ${texts.join()}`);
      expect(await read(stored.files, "COLUMNS(*)::VARCHAR")).toEqual(await read(given.files));
    }
    const { code, message } = await failure(materialize("SELECT {'u': union_value(num := 2)} AS v"));
    expect(code).toBe("sql_error");
    expect(message).toContain('"v"');
  });

  test("reports an error in the rows without the surrounding COPY", async () => {
    const { code, message } = await failure(
      materialize("SELECT CAST('x' || id AS INTEGER) AS n FROM raw.numbers"),
    );
    expect(code).toBe("sql_error");
    expect(message).toContain("Could not convert string 'x0' to INT32");
    expect(message).not.toContain("COPY");
  });
});

describe("a session", () => {
  test("keeps its state between statements, binds by position and continues after an error", async () => {
    const session = await duck.sql.session({ folders: [] });
    await session.run("CREATE TABLE t (a INTEGER, b VARCHAR)");
    await session.run("INSERT INTO t VALUES (?, ?), (2, NULL)", [1, "x'"]);
    expect((await failure(session.run("FROM nope"))).code).toBe("sql_error");
    expect(await session.run("FROM t ORDER BY a")).toEqual([
      { a: 1, b: "x'" },
      { a: 2, b: null },
    ]);
    await session.close();
  });

  test("reads and writes only in its folders, and changes no setting", async () => {
    const session = await duck.sql.session({ folders: [join(duck.folder, "open")], files: table.files });
    await Bun.$`mkdir ${join(duck.folder, "open")}`.quiet();
    expect(await session.run(`SELECT count(*) AS n FROM '${table.files[0]}'`)).toEqual([{ n: 6 }]);
    await session.run(`COPY (SELECT 1 AS a) TO '${duck.folder}/open/a.parquet'`);
    for (const sql of [
      `COPY (SELECT 1) TO '${duck.folder}/b.parquet'`,
      `COPY (SELECT 1) TO '${duck.folder}/open/../b.parquet'`,
      `COPY (SELECT 1) TO '${table.files[0]}'`,
      "SET threads = 8",
      "INSTALL httpfs",
    ]) {
      expect([sql, (await failure(session.run(sql))).code]).toEqual([sql, "sql_error"]);
    }
    await session.close();
  });

  test("ends when its signal aborts, and stays ended", async () => {
    const stop = new AbortController();
    const session = await duck.sql.session({ folders: [], signal: stop.signal });
    const long = failure(
      session.run("SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i)"),
    );
    await Bun.sleep(10);
    stop.abort();
    expect((await long).code).toBe("cancelled");
    expect((await failure(session.run("SELECT 1"))).code).toBe("cancelled");
    await session.close();
  });
});
