import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { SqlTable } from "../../src/sql/contract.ts";
import { PROGRAM } from "../support/program.ts";
import { deepTest } from "../support/scale.ts";
import { column, failure, openTestSql } from "../support/sql.ts";

const duck = openTestSql();
const tables: SqlTable[] = [];

beforeAll(async () => {
  tables.push(
    await duck.table(
      "raw",
      "shop__orders",
      "SELECT i AS id, i % 3 AS kind, i * 1.5 AS total FROM range(10) t(i)",
    ),
    {
      layer: "marts",
      name: "nothing_yet",
      columns: [column("id", "BIGINT"), column("label", "VARCHAR")],
      files: [],
    },
  );
});
afterAll(() => duck[Symbol.asyncDispose]());

describe("a query", () => {
  test("sees the organization's tables by layer and name", async () => {
    expect(
      await duck.rows("SELECT kind, count(*) AS n FROM raw.shop__orders GROUP BY kind ORDER BY kind", tables),
    ).toEqual([
      { kind: 0, n: 4 },
      { kind: 1, n: 3 },
      { kind: 2, n: 3 },
    ]);
  });

  test("sees a table without files as empty, with its columns", async () => {
    const { rows, columns } = await duck.sql.query({ tables, sql: "FROM marts.nothing_yet" }, 10);
    expect(rows).toEqual([]);
    expect(columns.map((c) => [c.name, c.dataType])).toEqual([
      ["id", "BIGINT"],
      ["label", "VARCHAR"],
    ]);
  });

  test("reads files that are older than the table's columns", async () => {
    const old = await duck.parquet("SELECT 1::INTEGER AS id");
    const young = await duck.parquet("SELECT 5000000000::BIGINT AS id, 'new' AS label");
    const grown = {
      layer: "raw",
      name: "grown",
      columns: [column("id", "BIGINT"), column("label", "VARCHAR"), column("later", "DOUBLE")],
      files: [old.path, young.path],
    };
    expect(await duck.rows("FROM raw.grown ORDER BY id", [grown])).toEqual([
      { id: 1, label: null, later: null },
      { id: 5_000_000_000, label: "new", later: null },
    ]);
  });

  test("stops at the limit and says that there were more", async () => {
    const cut = await duck.sql.query({ tables: [], sql: "FROM range(1000000000000)" }, 3);
    expect(cut.rows).toHaveLength(3);
    expect(cut.truncated).toBe(true);
    const whole = await duck.sql.query({ tables: [], sql: "FROM range(3)" }, 3);
    expect(whole.truncated).toBe(false);
  });

  test("returns values as JSON without losing any digit", async () => {
    const [row] =
      await duck.rows(`SELECT 9007199254740993 AS big, 9007199254740991 AS safe, 1.50::DECIMAL(10,2) AS money,
      TIMESTAMPTZ '2026-01-02 03:04:05.678+00' AS instant, TIMESTAMP '2026-01-02 03:04:05.000001' AS local,
      DATE '2026-01-02' AS day, [1, NULL] AS list, {'a': 1, 'b': ['x']} AS record, MAP {'k': 5} AS map,
      '{"z": [1, 1.10, 12345678901234567890, 0.1234567890123456789, 1e400, -0]}'::JSON AS doc, 'nan'::DOUBLE AS nan, true AS yes, NULL AS nothing, 'ab'::BLOB AS bytes, 1 AS "__proto__"`);
    expect(Object.entries(row ?? {})).toEqual([
      ["big", "9007199254740993"],
      ["safe", 9_007_199_254_740_991],
      ["money", "1.50"],
      ["instant", "2026-01-02T03:04:05.678Z"],
      ["local", "2026-01-02T03:04:05.000001"],
      ["day", "2026-01-02"],
      ["list", [1, null]],
      ["record", { a: 1, b: ["x"] }],
      ["map", { k: 5 }],
      ["doc", { z: [1, 1.1, "12345678901234567890", "0.1234567890123456789", "1e400", 0] }],
      ["nan", "NaN"],
      ["yes", true],
      ["nothing", null],
      ["bytes", "YWI="],
      ["__proto__", 1],
    ]);
  });

  test("returns every value of a record, even if its fields have no names", async () => {
    const [row] = await duck.rows(
      "SELECT row(1, 2) AS pair, [(1, 'a'), (2, NULL)] AS pairs, {'__proto__': 1, 'b': (3, 4)} AS record, (NULL::STRUCT(a INT)) AS nothing",
    );
    expect(JSON.stringify(row)).toBe(
      '{"pair":[1,2],"pairs":[[1,"a"],[2,null]],"record":{"__proto__":1,"b":[3,4]},"nothing":null}',
    );
  });

  test("returns infinite dates and fractions of nanoseconds exactly", async () => {
    const [row] = await duck.rows(`SELECT DATE 'infinity' AS later, DATE '-infinity' AS earlier,
      TIMESTAMP_NS '2024-01-01 00:00:00.123456789' AS nanos, TIMESTAMP_NS '1900-01-01 00:00:00.000000001' AS old,
      TIMESTAMP_NS '2024-01-01 00:00:00.000001' AS micros, TIMESTAMP_NS '2024-01-01 00:00:00' AS whole, [DATE 'infinity'] AS list`);
    expect(Object.entries(row ?? {})).toEqual([
      ["later", "infinity"],
      ["earlier", "-infinity"],
      ["nanos", "2024-01-01T00:00:00.123456789"],
      ["old", "1900-01-01T00:00:00.000000001"],
      ["micros", "2024-01-01T00:00:00.000001"],
      ["whole", "2024-01-01T00:00:00.000"],
      ["list", ["infinity"]],
    ]);
  });

  test("runs several statements, and returns the last one's rows", async () => {
    const text = `CREATE TEMP TABLE picked AS FROM raw.shop__orders WHERE id < 2; -- one; two
      INSERT INTO picked VALUES (99, 0, ';'::VARCHAR = 'x'); SELECT id FROM picked ORDER BY id; /* the end; */ `;
    expect(await duck.rows(text, tables)).toEqual([{ id: 0 }, { id: 1 }, { id: 99 }]);
    expect(await duck.rows("CREATE TABLE secret AS SELECT 1 AS secret; FROM secret")).toEqual([
      { secret: 1 },
    ]);
  });

  test.each([
    [[1, 2], "INTEGER[]", [1, 2]],
    [[5_000_000_000, null, 1], "BIGINT[]", [5_000_000_000, null, 1]],
    [["9007199254740993", 1], "BIGINT[]", ["9007199254740993", 1]],
    [[9007199254740996, null], "BIGINT[]", ["9007199254740996", null]],
    [[2 ** 63, 1], "HUGEINT[]", ["9223372036854775808", 1]],
    [[1, 1.5, null], "DOUBLE[]", [1, 1.5, null]],
    [[2 ** 64, 1], "DOUBLE[]", [2 ** 64, 1]],
    [["a", null], "VARCHAR[]", ["a", null]],
    [["9007199254740993", "9007199254740994"], "VARCHAR[]", ["9007199254740993", "9007199254740994"]],
    [[null, true], "BOOLEAN[]", [null, true]],
    [["18446744073709551616", 1], "VARCHAR", '["18446744073709551616",1]'],
    [[1, "a"], "VARCHAR", '[1,"a"]'],
    [[{ a: 1 }], "VARCHAR", '[{"a":1}]'],
  ])("binds the list %j as %s", async (list, type, value) => {
    expect(await duck.rows("SELECT typeof($list) AS type, $list AS value", [], { list })).toEqual([
      { type, value },
    ]);
  });

  test.each([9007199254740996, -9007199254740996, 2 ** 63])(
    "finds only the row whose id is %d",
    async (id) => {
      const ids = "SELECT unnest([$id::HUGEINT - 1, $id::HUGEINT, $id::HUGEINT + 1]) AS id";
      expect(await duck.rows(`SELECT id FROM (${ids}) WHERE id = $id`, [], { id })).toEqual([
        { id: String(BigInt(id)) },
      ]);
    },
  );

  test.each([["a\ud800b"], [["a", "\udc00"]]])("rejects half of a surrogate pair in %j", async (text) => {
    await expect(duck.rows("SELECT $text AS text", [], { text })).rejects.toThrow("half of a surrogate pair");
  });

  test("binds an empty list wherever SQL expects a list", async () => {
    const empty = { list: [] };
    const [row] = await duck.rows(
      "SELECT count(*) AS n, len($list) AS length FROM range(3) t(i) WHERE i IN (SELECT unnest($list))",
      [],
      empty,
    );
    expect(row).toEqual({ n: 0, length: 0 });
    expect(
      await duck.rows(
        "SELECT 'a' IN (SELECT unnest($list)) AS found, from_json($list, '[{\"id\": \"INTEGER\"}]') AS rows",
        [],
        empty,
      ),
    ).toEqual([{ found: false, rows: [] }]);
  });

  test("binds parameters by name and by position, whatever they contain", async () => {
    const hostile = "x'; DROP TABLE t; --";
    const rows = await duck.rows(
      "SELECT $text AS text, $list[2] AS item, $none AS nothing, $flag AS flag",
      [],
      {
        text: hostile,
        list: ["a", "b"],
        none: null,
        flag: false,
        unused: 1,
      },
    );
    expect(rows).toEqual([{ text: hostile, item: "b", nothing: null, flag: false }]);
    expect(await duck.rows("SELECT ? AS first, ? AS second", [], { "1": 0.5, "2": 7 })).toEqual([
      { first: 0.5, second: 7 },
    ]);
    expect(await duck.rows("SELECT $2 AS two, $1 AS one", [], { "1": "a", "2": "b" })).toEqual([
      { two: "b", one: "a" },
    ]);
  });

  test("names a missing parameter", async () => {
    const { code, message } = await failure(duck.rows("SELECT $shop", [], {}));
    expect([code, message]).toEqual(["sql_error", "The statement uses $shop, which isn't in parameters."]);
  });

  test("reports an error in DuckDB's words, without internal paths", async () => {
    const { code, message } = await failure(duck.rows("SELECT nope FROM raw.shop__orders", tables));
    expect(code).toBe("sql_error");
    expect(message).toContain('"nope" not found');
    const path = tables[0]?.files[0] ?? "";
    const shown = await failure(duck.rows(`SELECT error('see ${path}') FROM raw.shop__orders`, tables));
    expect(shown.message).not.toContain(duck.folder);
  });

  test("reports a file that was deleted in the meantime as retryable", async () => {
    const gone = {
      layer: "raw",
      name: "gone",
      columns: [column("id", "BIGINT")],
      files: [join(duck.folder, "no.parquet")],
    };
    const error = await duck.rows("FROM raw.gone", [gone]).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "dataset_changed", retryable: true });
  });

  test("lists all tables for SQL that queries them", async () => {
    const rows = await duck.rows(
      "SELECT table_name AS name FROM information_schema.tables ORDER BY 1",
      tables,
    );
    expect(rows).toEqual([{ name: "nothing_yet" }, { name: "shop__orders" }]);
  });
});

describe("the limits", () => {
  test("end a statement at its deadline", async () => {
    const endless = {
      tables: [],
      sql: "SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i)",
      timeoutMs: 400,
    };
    expect((await failure(duck.sql.query(endless, 1))).code).toBe("sql_timeout");
    const recursive = {
      tables: [],
      sql: "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM r",
      timeoutMs: 400,
    };
    expect((await failure(duck.sql.query(recursive, 1))).code).toBe("sql_timeout");
  });

  test("end a cancelled statement, even while it is queued", async () => {
    const stop = new AbortController();
    const endless = {
      tables: [],
      sql: "SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i)",
      signal: stop.signal,
    };
    const six = Array.from({ length: 6 }, () => failure(duck.sql.query(endless, 1)));
    await Bun.sleep(50);
    stop.abort();
    expect((await Promise.all(six)).map((e) => e.code)).toEqual(Array(6).fill("cancelled"));
    expect(await duck.rows("SELECT 1 AS a")).toEqual([{ a: 1 }]);
  });

  deepTest("end a statement that needs too much memory", async () => {
    const { code, message } = await failure(duck.rows("SELECT list(i) FROM range(200000000) t(i)"));
    expect(code).toBe("sql_memory");
    expect(message).toMatch(/^Out of Memory Error: [^\n]*$/);
  });
});

test("reports a process that doesn't start as an internal error, with its output for the log", async () => {
  await using broken = openTestSql({ self: [process.execPath, "-e", "throw new Error('no library')"] });
  const error = await broken.rows("SELECT 1").catch((e: unknown) => e);
  expect(error).toMatchObject({ code: "internal", cause: expect.stringContaining("no library") });
});

test("closing ends every process and removes what it used", async () => {
  await using other = openTestSql();
  const open = failure(
    other.sql.query(
      { tables: [], sql: "SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i)" },
      1,
    ),
  );
  await Bun.sleep(20);
  await other.sql.close();
  expect((await open).code).toBe("cancelled");
  expect(existsSync(other.scratch) ? readdirSync(other.scratch) : []).toEqual([]);
});

test("a child ends by itself when its parent is killed", async () => {
  await using other = openTestSql();
  const script = `import { openSql } from ${JSON.stringify(join(import.meta.dir, "../../src/sql/sql.ts"))};
    const sql = openSql(${JSON.stringify({ self: [...PROGRAM, "__sql"], folder: other.scratch, memory: "512MB", timeoutMs: 60000, cacheDir: other.folder })});
    const session = await sql.session({ folders: [] });
    process.stdout.write("ready");
    await session.run("SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i)");`;
  const parent = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  await parent.stdout.getReader().read();
  const children = childrenOf(parent.pid);
  expect(children.length).toBeGreaterThan(0);
  parent.kill("SIGKILL");
  await parent.exited;
  while (children.some((pid) => existsSync(`/proc/${pid}`) && !isZombie(pid))) await Bun.sleep(20);
});

const childrenOf = (pid: number): number[] =>
  readdirSync("/proc")
    .map(Number)
    .filter((each) => each > 0 && statOf(each)?.[3] === String(pid));

const isZombie = (pid: number) => statOf(pid)?.[2] === "Z";

function statOf(pid: number): string[] | null {
  const { stdout } = Bun.spawnSync(["cat", `/proc/${pid}/stat`], { stderr: "ignore" });
  const text = stdout.toString();
  return text === ""
    ? null
    : [text.slice(0, text.indexOf(" ")), "", ...text.slice(text.lastIndexOf(")") + 2).split(" ")];
}
