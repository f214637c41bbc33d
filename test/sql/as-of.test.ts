import { describe, expect, test } from "bun:test";
import { takeAsOf } from "../../src/sql/as-of.ts";
import { tokensOf } from "../../src/sql/tokens.ts";
import { deepTest } from "../support/scale.ts";
import { openTestSql } from "../support/sql.ts";

const A = "'01900000-0000-7000-8000-00000000000a'";
const ID = A.slice(1, -1);

describe("tokensOf", () => {
  test("parses texts, names, comments and dollars like DuckDB", () => {
    const sql = `SELECT 'it''s', E'\\'x', $$a 'b$$, $t$ $$ $t$, "a""b", x1 /* 'a /* b */ c' */ -- 'd\n, $p, $1, 1.5e3, é`;
    expect(tokensOf(sql).map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      "word SELECT",
      "text 'it''s'",
      "other ,",
      "text E'\\'x'",
      "other ,",
      "text $$a 'b$$",
      "other ,",
      "text $t$ $$ $t$",
      "other ,",
      'quoted "a""b"',
      "other ,",
      "word x1",
      "other ,",
      "parameter $p",
      "other ,",
      "parameter $1",
      "other ,",
      "other 1.5e3",
      "other ,",
      "word é",
    ]);
  });

  test("treats the same characters as whitespace as DuckDB", () => {
    const texts = (sql: string) => tokensOf(sql).map(({ text }) => text);
    expect(texts("CREATE\u00a0SECRET\u200b$a\u2060x\u3000\ufeffé")).toEqual([
      "CREATE",
      "SECRET",
      "$a",
      "x",
      "é",
    ]);
    expect(texts("a\u2028b \u1680c")).toEqual(["a\u2028b", "\u1680c"]);
  });

  test("loses no character, whatever the text, and is fast", () => {
    for (const sql of ["'open", '"open', "/* open", "$$ open", "$t$ x $t", "\0\u2028'", "--", "''''"]) {
      const tokens = tokensOf(sql);
      for (const { text, start, end } of tokens) expect(sql.slice(start, end)).toBe(text);
    }
    expect(tokensOf("/*".repeat(500_000))).toEqual([]);
    expect(tokensOf("$a".repeat(100_000)).length).toBeGreaterThan(0);
    for (const long of [
      `'${"a''".repeat(300_000)}'`,
      `"${"a".repeat(1_000_000)}"`,
      `e'${"\\'".repeat(300_000)}'`,
    ])
      expect(tokensOf(long).map(({ text }) => text.length)).toEqual([long.length]);
    const words = "as ".repeat(300_000);
    expect(takeAsOf(words).sql).toBe(words);
    expect(takeAsOf(`${words}of`).past).toEqual([]);
  });
});

describe("AS OF", () => {
  test.each([
    [`FROM raw.orders AS OF ${A}`, 'FROM "raw"."past 1" AS "orders"'],
    [
      `SELECT * FROM raw.orders as of ${A} WHERE id = 1`,
      'SELECT * FROM "raw"."past 1" AS "orders" WHERE id = 1',
    ],
    [`FROM raw.orders AS OF ${A} o JOIN x USING (id)`, 'FROM "raw"."past 1" o JOIN x USING (id)'],
    [`FROM raw.orders AS OF ${A} AS o`, 'FROM "raw"."past 1" AS o'],
    [`FROM "raw" . "orders" /* c */ AS -- d\n OF ${A};`, 'FROM "raw"."past 1" AS "orders";'],
    [`FROM (raw.a AS OF ${A}), raw.b`, 'FROM ("raw"."past 1" AS "a"), raw.b'],
    [`FROM raw.a AS OF ${A} a, raw.a AS OF ${A} b`, 'FROM "raw"."past 1" a, "raw"."past 1" b'],
    [`FROM raw.a AS OF ${A} ASOF JOIN b`, 'FROM "raw"."past 1" AS "a" ASOF JOIN b'],
    [`FROM raw.a AS OF $load`, 'FROM "raw"."past 1" AS "a"'],
  ])("%s", (sql, expected) => {
    const taken = takeAsOf(sql, { Load: ID });
    expect(taken.sql).toBe(expected);
    expect(taken.past).toHaveLength(1);
    expect(taken.past[0]).toMatchObject({ layer: "raw", loadId: ID, view: "past 1" });
  });

  test.each([
    "SELECT 'raw.orders AS OF ''x'''",
    `SELECT 1 -- FROM raw.orders AS OF ${A}`,
    `SELECT $$ raw.orders AS OF ${A} $$`,
    "SELECT as_of FROM raw.orders AS of",
  ])("leaves %s unchanged", (sql) => {
    expect(takeAsOf(sql)).toEqual({ sql, past: [] });
  });

  test.each([
    [`FROM orders AS OF ${A}`, "AS OF must follow a table with its layer, such as raw.orders."],
    [`FROM read_csv('x') AS OF ${A}`, "AS OF must follow a table with its layer, such as raw.orders."],
    ["FROM raw.orders AS OF $no", "AS OF uses $no, which must be the ID of a load, as text."],
  ])("rejects %s", (sql, message) => {
    expect(() => takeAsOf(sql)).toThrow(message);
  });

  deepTest("the result is SQL that DuckDB accepts", async () => {
    await using duck = openTestSql();
    const table = await duck.table("raw", "past 1", "SELECT 7 AS id");
    const { sql } = takeAsOf(`SELECT orders.id FROM raw.orders AS OF ${A} ORDER BY orders.id`);
    expect(await duck.rows(sql, [table])).toEqual([{ id: 7 }]);
  });
});
