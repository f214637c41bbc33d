import { describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { deepTest } from "../support/scale.ts";
import { csv, failure, openWorld, rows } from "./extract/world.ts";

const one = { resources: [{ name: "o" }] };

/** The rejected records in a run's first artifact. */
function rejectsIn(artifacts: readonly object[] | undefined): { reason: string; text: string }[] {
  const [{ bytes }] = artifacts as [{ bytes: Uint8Array }];
  const lines = new TextDecoder().decode(bytes).trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}
const rejectedTexts = (artifacts: readonly object[] | undefined) =>
  rejectsIn(artifacts).map(({ text }) => text);
const own = (columns: Record<string, string>) =>
  Object.fromEntries(Object.entries(columns).filter(([name]) => !name.startsWith("_dlt_")));

describe("types of JSON", () => {
  const typed = async (...values: JsonObject[string][]) => {
    await using world = openWorld();
    await world.run(one, rows(values.map((v, i) => ({ i, v }))));
    const names = Object.keys(own(world.columns("o"))).filter((name) => name !== "i");
    const found =
      names.length > 0 ? await world.query(`SELECT ${names.join(", ")} FROM raw.shop__o ORDER BY i`) : [];
    return {
      columns: Object.fromEntries(names.map((name) => [name, world.columns("o")[name]])),
      found: found.map((row) => names.map((name) => row[name])),
    };
  };

  test.each<[string, JsonObject[string][], Record<string, string>, Json[][]]>([
    ["whole numbers", [1, 2], { v: "BIGINT" }, [[1], [2]]],
    ["whole numbers that turn into fractions", [1, 2.5], { v: "DOUBLE" }, [[1], [2.5]]],
    ["fractions with a whole number", [2.5, 1], { v: "DOUBLE" }, [[2.5], [1]]],
    ["a text after numbers", [1, "x"], { v: "JSON" }, [[1], ["x"]]],
    ["a number after texts", ["x", 1], { v: "JSON" }, [["x"], [1]]],
    ["a text that is a number after numbers", [1, "2", "02"], { v: "JSON" }, [[1], ["2"], ["02"]]],
    ["truth after numbers", [1, true], { v: "JSON" }, [[1], [true]]],
    [
      "instants",
      ["2026-01-01T00:00:00Z", null, "2026-01-01 02:00:00.123456+01:00"],
      { v: "TIMESTAMP WITH TIME ZONE" },
      [["2026-01-01T00:00:00.000Z"], [null], ["2026-01-01T01:00:00.123456Z"]],
    ],
    [
      "instants without a zone",
      ["2026-01-01T00:00:00", "2026-01-01 02:00"],
      { v: "TIMESTAMP" },
      [["2026-01-01T00:00:00.000"], ["2026-01-01T02:00:00.000"]],
    ],
    [
      "instants with a zone and without",
      ["2026-01-01T00:00:00Z", "2026-01-01T02:00:00"],
      { v: "VARCHAR" },
      [["2026-01-01T00:00:00Z"], ["2026-01-01T02:00:00"]],
    ],
    [
      "instants and another text",
      ["2026-01-01T00:00:00Z", "soon"],
      { v: "VARCHAR" },
      [["2026-01-01T00:00:00Z"], ["soon"]],
    ],
    ["a day that is none", ["2026-02-30T00:00:00Z"], { v: "VARCHAR" }, [["2026-02-30T00:00:00Z"]]],
    ["days alone", ["2026-01-01"], { v: "DATE" }, [["2026-01-01"]]],
    ["nothing but null", [null, null], {}, []],
    [
      "an object after a number",
      [1, { a: 2 }],
      { v: "BIGINT", v__a: "BIGINT" },
      [
        [1, null],
        [null, 2],
      ],
    ],
  ])("%s", async (_, values, columns, found) => {
    const seen = await typed(...values);
    expect(seen).toEqual({ columns, found });
  });

  test("a list after a number is a child table, and the number stays", async () => {
    await using world = openWorld();
    await world.run(one, rows([{ v: 1 }, { v: [2, "x", null] }]));
    expect(await world.query("SELECT v FROM raw.shop__o ORDER BY v")).toEqual([{ v: 1 }, { v: null }]);
    expect(await world.query("SELECT value, _dlt_list_idx AS i FROM raw.shop__o__v ORDER BY i")).toEqual([
      { value: 2, i: 0 },
      { value: "x", i: 1 },
      { value: null, i: 2 },
    ]);
  });

  test.each([0, 1, 3])(
    "twelve levels with maxTableNesting %d keep what is deeper as JSON",
    async (maxTableNesting) => {
      await using world = openWorld();
      let deep: JsonObject = { end: 1 };
      for (let level = 0; level < 12; level++) deep = level % 2 === 0 ? { l: [deep] } : { d: deep };
      await world.run({ ...one, maxTableNesting }, rows([{ id: 1, x: deep }]));
      expect(world.tables.length).toBeLessThanOrEqual(1 + maxTableNesting);
      const last = world.tables.at(-1);
      const column = last?.columns.find((each) => each.dataType === "JSON");
      const [kept] = await world.query(
        `SELECT CAST(${column?.name} AS VARCHAR) AS j FROM raw.shop__${last?.table}`,
      );
      expect(String(kept?.j)).toContain('"end":1');
    },
  );
});

describe("an existing table", () => {
  const grown = async (first: JsonObject[], second: JsonObject[], more: JsonObject = {}) => {
    const world = openWorld();
    await world.run(one, rows(first));
    const { result } = await world.run({ ...one, ...more }, rows(second));
    return { world, result, table: result.tables[0] };
  };

  test("gets new columns and variants, and reports each", async () => {
    const { world, table, result } = await grown(
      [{ id: 1, n: 1, t: "a" }],
      [
        { id: 2, n: 1.5, t: 2, id2: true },
        { id: "x", n: null },
      ],
    );
    await using _ = world;
    expect(table?.schemaChanges).toEqual([
      { table: "o", column: "id__v_text", change: "variant", from: "BIGINT", to: "VARCHAR" },
      { table: "o", column: "n__v_double", change: "variant", from: "BIGINT", to: "DOUBLE" },
      { table: "o", column: "id2", change: "added", from: null, to: "BOOLEAN" },
    ]);
    expect(result.warnings).toEqual([
      'o.id: 1 value went to id__v_text: no BIGINT ("x").',
      'o.n: 1 value went to n__v_double: no BIGINT ("1.5").',
      expect.stringContaining("append without a cursor"),
    ]);
    expect(
      await world.query("SELECT id, n__v_double, t, id__v_text, id2 FROM raw.shop__o ORDER BY id NULLS LAST"),
    ).toEqual([
      { id: 1, n__v_double: null, t: "a", id__v_text: null, id2: null },
      { id: 2, n__v_double: 1.5, t: "2", id__v_text: null, id2: true },
      { id: null, n__v_double: null, t: null, id__v_text: "x", id2: null },
    ]);
    const again = await world.run(one, rows([{ id: "y" }]));
    expect(again.result.tables[0]?.schemaChanges).toEqual([]);
    expect(
      await world.query("SELECT id__v_text FROM raw.shop__o WHERE id__v_text IS NOT NULL ORDER BY 1"),
    ).toEqual([{ id__v_text: "x" }, { id__v_text: "y" }]);
  });

  test("of timestamps accepts timestamps, and other texts in a variant", async () => {
    const { world, table } = await grown(
      [{ i: 0, v: "2026-01-01T00:00:00Z" }],
      [
        { i: 1, v: "soon" },
        { i: 2, v: "2026-01-02T00:00:00+01:00" },
      ],
    );
    await using _ = world;
    expect(table?.schemaChanges).toEqual([
      {
        table: "o",
        column: "v__v_text",
        change: "variant",
        from: "TIMESTAMP WITH TIME ZONE",
        to: "VARCHAR",
      },
    ]);
    expect(await world.query("SELECT v, v__v_text FROM raw.shop__o ORDER BY i")).toEqual([
      { v: "2026-01-01T00:00:00.000Z", v__v_text: null },
      { v: null, v__v_text: "soon" },
      { v: "2026-01-01T23:00:00.000Z", v__v_text: null },
    ]);
  });

  test("of texts stays a table of texts when only timestamps arrive", async () => {
    const { world, table } = await grown([{ v: "x" }], [{ v: "2026-01-01T00:00:00Z" }]);
    await using _ = world;
    expect(table?.schemaChanges).toEqual([]);
    expect(world.columns("o").v).toBe("VARCHAR");
  });

  test("keeps whole numbers that a double would change out of a fractional column", async () => {
    await using world = openWorld();
    await world.run(one, csv({ v: "DOUBLE" }, "0.5\n"));
    await world.run(one, csv({ v: "BIGINT" }, "9007199254740993\n4\n"));
    expect(own(world.columns("o"))).toEqual({ v: "DOUBLE", v__v_bigint: "BIGINT" });
    expect(await world.query("SELECT v, v__v_bigint FROM raw.shop__o ORDER BY v NULLS LAST")).toEqual([
      { v: 0.5, v__v_bigint: null },
      { v: 4, v__v_bigint: null },
      { v: null, v__v_bigint: "9007199254740993" },
    ]);
  });

  test.each<[string, string, string, string, Record<string, string>]>([
    ["INTEGER", "1", "BIGINT", "3000000000", { v: "BIGINT" }],
    ["INTEGER", "1", "BIGINT", "2", { v: "INTEGER" }],
    ["BIGINT", "1", "DECIMAL(10,2)", "1.50", { v: "BIGINT", v__v_decimal: "DECIMAL(10,2)" }],
    ["BIGINT", "1", "DECIMAL(10,2)", "2.00", { v: "BIGINT" }],
    [
      "DECIMAL(10,2)",
      "1.50",
      "DECIMAL(12,4)",
      "1.2345",
      { v: "DECIMAL(10,2)", v__v_decimal: "DECIMAL(12,4)" },
    ],
    ["DECIMAL(10,2)", "1.50", "DECIMAL(20,2)", "100000000000.00", { v: "DECIMAL(20,2)" }],
    ["DATE", "2026-01-01", "TIMESTAMP", "2026-01-01 10:00:00", { v: "DATE", v__v_timestamp: "TIMESTAMP" }],
    [
      "TIMESTAMPTZ",
      "2026-01-01 00:00:00+00",
      "TIMESTAMP",
      "2026-01-01 10:00:00",
      { v: "TIMESTAMP WITH TIME ZONE", v__v_timestamp: "TIMESTAMP" },
    ],
    ["TIMESTAMP", "2026-01-01 00:00:00", "TIMESTAMPTZ", "2026-01-01 10:00:00+00", { v: "TIMESTAMP" }],
    ["BOOLEAN", "true", "BIGINT", "2", { v: "BOOLEAN", v__v_bigint: "BIGINT" }],
    ["BIGINT", "1", "VARCHAR", "x", { v: "BIGINT", v__v_text: "VARCHAR" }],
    ["BIGINT", "1", "VARCHAR", "17", { v: "BIGINT" }],
    ["VARCHAR", "x", "BIGINT", "17", { v: "VARCHAR" }],
    ["JSON", '"{""a"":1}"', "BIGINT", "17", { v: "JSON" }],
  ])("of %s %s accepts %s %s", async (before, old, type, value, columns) => {
    await using world = openWorld();
    await world.run(one, csv({ v: before }, `${old}\n`));
    await world.run(one, csv({ v: type }, `${value}\n`));
    expect(own(world.columns("o"))).toEqual(columns);
    const [row] = await world.query(
      `SELECT ${Object.keys(columns)
        .map((name) => `count(${name})`)
        .join(" + ")} AS n FROM raw.shop__o`,
    );
    expect(row?.n).toBe(2);
  });
});

describe("the contract", () => {
  const load = async (
    contract: string,
    second: JsonObject[],
    first: JsonObject[] = [{ id: 1, l: [{ a: 1 }] }],
  ) => {
    const world = openWorld();
    await world.run({ ...one, schemaContract: contract }, rows(first)); // A new table always evolves.
    const work = world.run({ ...one, schemaContract: contract }, rows(second));
    return { world, work };
  };

  test.each<[string, JsonObject[], string | null, string]>([
    ["a new column", [{ id: 2, extra: 1 }], "extra", "o"],
    ["a fraction", [{ id: 2.5 }], "id__v_double", "o"],
    ["a value of another type", [{ id: "x" }], "id__v_text", "o"],
    ["a new column of a child table", [{ id: 2, l: [{ b: 1 }] }], "b", "o__l"],
    ["a new child table", [{ id: 2, m: [1] }], null, "o__m"],
  ])("freeze fails at %s and names it", async (_, second, column, table) => {
    const { world, work } = await load("freeze", second);
    await using __ = world;
    const error = await failure(work);
    expect(error).toMatchObject({ code: "schema_contract_violation", details: { table, column } });
    expect(world.tables[0]?.rows).toBe(1);
  });

  test("freeze accepts what matches, including null and nothing", async () => {
    const { world, work } = await load("freeze", [{ id: 2, extra: null, l: [] }]);
    await using _ = world;
    const warnings = [expect.stringContaining("append without a cursor")];
    expect((await work).result).toMatchObject({ rows: 1, warnings });
  });

  test("discard_row rejects mismatching rows, with everything that depends on them", async () => {
    const { world, work } = await load("discard_row", [
      { id: 2, extra: 1, l: [{ a: 2 }] },
      { id: 3, l: [{ a: 3 }, { a: 4, b: 1 }] },
      { id: 4.5 },
      { id: "x" },
      { id: 5, m: [1, 2] },
    ]);
    await using _ = world;
    const { result } = await work;
    expect(result.tables.map((t) => [t.table, t.rowsRead, t.rows, t.rejected])).toEqual([
      ["o", 5, 2, 3],
      ["o__l", 3, 1, 2],
    ]);
    expect(own(world.columns("o"))).toEqual({ id: "BIGINT" });
    expect(await world.query("SELECT id FROM raw.shop__o ORDER BY id")).toEqual([
      { id: 1 },
      { id: 3 },
      { id: 5 },
    ]);
    expect(result.warnings.join()).toContain("o__m");
  });

  test("discard_row rejects what depends on a rejected child row", async () => {
    const deep = (l: JsonObject[]) => [{ id: 1, l }];
    const { world, work } = await load(
      "discard_row",
      deep([
        { a: 2, b: 1, m: [{ x: 2 }] },
        { a: 3, m: [{ x: 3 }] },
      ]),
      deep([{ a: 1, m: [{ x: 1 }] }]),
    );
    await using _ = world;
    const { result } = await work;
    expect(result.tables.map((t) => [t.table, t.rowsRead, t.rows, t.rejected])).toEqual([
      ["o", 1, 1, 0],
      ["o__l", 2, 1, 1],
      ["o__l__m", 2, 1, 1],
    ]);
    expect(await world.query("SELECT x FROM raw.shop__o__l__m ORDER BY x")).toEqual([{ x: 1 }, { x: 3 }]);
  });

  test("discard_value drops mismatching values and keeps the rows", async () => {
    const { world, work } = await load("discard_value", [
      { id: 2, extra: 1, l: [{ a: 2, b: 1 }] },
      { id: 4.5 },
      { id: "x" },
    ]);
    await using _ = world;
    const { result } = await work;
    expect(result.tables[0]).toMatchObject({ rowsRead: 3, rows: 3, rejected: 0, schemaChanges: [] });
    expect(own(world.columns("o"))).toEqual({ id: "BIGINT" });
    expect(own(world.columns("o__l"))).toEqual({ a: "BIGINT" });
    expect(await world.query("SELECT id FROM raw.shop__o ORDER BY id NULLS LAST")).toEqual([
      { id: 1 },
      { id: 2 },
      { id: null },
      { id: null },
    ]);
    expect(result.warnings).toHaveLength(5);
  });

  test.each([
    ["discard_row", "rejected with the row"],
    ["discard_value", "discarded"],
  ])("%s warns with table, column, count and examples", async (contract, what) => {
    const { world, work } = await load(contract, [{ id: "x" }, { id: 2, extra: "o'k" }, { id: "y" }]);
    await using _ = world;
    const { warnings } = (await work).result;
    expect(warnings).toContain(`o.id: 2 values ${what}: schemaContract allows no other type ("x", "y").`);
    expect(warnings).toContain(`o.extra: 1 value ${what}: schemaContract allows no new column ("o'k").`);
  });

  test("keeps the rejected rows as an artifact with the reason", async () => {
    const { world, work } = await load("discard_row", [
      { id: 2, extra: "more" },
      { id: "x", l: [{ a: 2 }] },
      { id: 3, l: [{ a: "z" }] },
    ]);
    await using _ = world;
    const { artifacts } = (await work).done;
    expect(artifacts?.[0]?.title).toBe("Rejected records of o");
    const kept = rejectsIn(artifacts).map(({ reason, text }) => [reason, JSON.parse(text)]);
    expect(kept).toEqual([
      ["o.id: schemaContract allows no other type", { id: "x", extra: null }],
      ["o.extra: schemaContract allows no new column", { id: 2, extra: "more" }],
      ["o__l.a: schemaContract allows no other type", { a: "z" }],
    ]);
  });

  test("keeps rejected rows with all digits, and rows of tables that it doesn't allow", async () => {
    await using world = openWorld();
    const types = { id: "VARCHAR", d: "DECIMAL(38,10)", e: "DECIMAL(5,5)", f: "DOUBLE" };
    await world.run(one, csv({ id: "INTEGER" }, "1\n"));
    const long = "1234567890123456789012345678.1234567891";
    const { done } = await world.run(
      { ...one, schemaContract: "discard_row" },
      csv(types, `x,${long},-0.5,NaN\n`),
    );
    expect(rejectedTexts(done.artifacts)).toEqual([`{"id":"x","d":${long},"e":-0.50000,"f":"nan"}`]);
    const child = await load("discard_row", [{ id: 2, m: [{ a: 1 }], n: [{}] }]);
    await using _ = child.world;
    expect(rejectedTexts((await child.work).done.artifacts).sort()).toEqual(['{"a":1}', "{}"]);
  });

  test("keeps at most 4 MiB of rejected rows, and counts all", async () => {
    const big = Array.from({ length: 500 }, (_, id) => ({ id: `x${id}`, text: "z".repeat(20_000) }));
    const { world, work } = await load("discard_row", big);
    await using _ = world;
    const { result, done } = await work;
    expect(result.tables[0]).toMatchObject({ rowsRead: 500, rows: 0, rejected: 500 });
    expect(rejectedTexts(done.artifacts)).toHaveLength(419);
  });

  test.each(["a new table", "a table with a column for them"])(
    "covers values that don't fit, in %s",
    async (where) => {
      const typed = { resources: [{ name: "o", columns: [{ name: "v", type: "bigint" }] }] };
      const misfits = [
        { id: 1, v: 10 },
        { id: 2, v: "abc" },
      ];
      const land = async (schemaContract: string) => {
        const world = openWorld();
        if (where !== "a new table") await world.run(typed, rows(misfits));
        return { world, work: world.run({ ...typed, schemaContract }, rows(misfits)) };
      };
      const frozen = await land("freeze");
      await using _ = frozen.world;
      expect(await failure(frozen.work)).toMatchObject({ code: "schema_contract_violation" });
      const byRow = await land("discard_row");
      await using __ = byRow.world;
      expect((await byRow.work).result.tables[0]).toMatchObject({ rowsRead: 2, rows: 1, rejected: 1 });
      const byValue = await land("discard_value");
      await using ___ = byValue.world;
      const { result } = await byValue.work;
      expect(result.tables[0]).toMatchObject({ rows: 2, rejected: 0 });
      expect(result.warnings.join()).toContain("o.v: ");
      const texts = where === "a new table" ? [] : ["abc"];
      const found = await byValue.world.query("SELECT * FROM raw.shop__o");
      expect(found.flatMap(({ v__v_text }) => v__v_text ?? [])).toEqual(texts);
    },
  );

  test("applies to typed sources too", async () => {
    await using world = openWorld();
    await world.run(one, csv({ id: "INTEGER" }, "1\n"));
    const error = await failure(
      world.run({ ...one, schemaContract: "freeze" }, csv({ id: "INTEGER", x: "VARCHAR" }, "2,a\n")),
    );
    expect(error.details).toMatchObject({ table: "o", column: "x", change: "added" });
    const { result } = await world.run(
      { ...one, schemaContract: "discard_row" },
      csv({ id: "INTEGER", x: "VARCHAR" }, "2,a\n3,\n"),
    );
    expect(result.tables[0]).toMatchObject({ rowsRead: 2, rows: 1, rejected: 1 });
  });

  test("checks only new rows, not those of earlier loads", async () => {
    await using world = openWorld();
    const definition = { resources: [{ name: "o", incremental: { cursorField: "at" } }] };
    await world.run(definition, rows([{ at: 1 }]));
    const { result } = await world.run(
      { ...definition, schemaContract: "freeze" },
      rows([{ at: 0, extra: 1 }, { at: 2 }]),
    );
    expect(result).toMatchObject({ rows: 1, warnings: [] });
  });
});

describe("names", () => {
  test("that collide get a number, reserved ones too, and a warning", async () => {
    await using world = openWorld();
    const { result } = await world.run(
      one,
      rows([
        {
          ID: 1,
          id: 2,
          _dlt_id: "theirs",
          "": 4,
          "Order Total ($)": 5,
          'a"b; drop table': 6,
          名前: 7,
          Größe: 8,
          a_: 9,
        },
      ]),
    );
    expect(own(world.columns("o"))).toEqual({
      id_2: "BIGINT",
      id: "BIGINT",
      unnamed: "BIGINT",
      order_total: "BIGINT",
      a_b_drop_table: "BIGINT",
      名前: "BIGINT",
      größe: "BIGINT",
      ax: "BIGINT",
    });
    expect(await world.query("SELECT id, id_2, _dlt_id_2 FROM raw.shop__o")).toEqual([
      { id: 2, id_2: 1, _dlt_id_2: "theirs" },
    ]);
    expect(result.warnings).toHaveLength(2);
  });

  test("keep letters of every script, and tables have them in ASCII", async () => {
    await using world = openWorld();
    await world.run(
      { resources: [{ name: "Aufträge 漢" }] },
      rows([{ é: 1, "e\u0301": 2, "Straße Nr": 3, Лист: [4] }]),
    );
    expect(world.tables.map((each) => each.table)).toEqual([
      "auftrage_u6f22",
      "auftrage_u6f22__u43bu438u441u442",
    ]);
    expect(own(world.columns("auftrage_u6f22"))).toEqual({ é: "BIGINT", é_2: "BIGINT", straße_nr: "BIGINT" });
  });

  test("of typed columns are normalized in the same way", async () => {
    await using world = openWorld();
    const { result } = await world.run(
      one,
      csv(
        { 'a"b; drop table': "INTEGER", _dlt_load_id: "INTEGER", "A B": "INTEGER", a_b: "INTEGER" },
        "1,2,3,4\n",
      ),
    );
    expect(await world.query("SELECT a_b_drop_table, _dlt_load_id_2, a_b, a_b_2 FROM raw.shop__o")).toEqual([
      { a_b_drop_table: 1, _dlt_load_id_2: 2, a_b: 3, a_b_2: 4 },
    ]);
    expect(result.warnings).toHaveLength(2);
  });

  test("of a child table avoid a table that something else created", async () => {
    await using world = openWorld();
    const columns = [{ name: "x", dataType: "BIGINT", nullable: true }];
    world.tables.push({
      layer: "raw",
      dataset: "shop",
      table: "o__l",
      columns,
      files: [],
      rows: 0,
      bytes: 0,
      version: 1,
    });
    const { result } = await world.run(one, rows([{ l: [1] }]));
    expect(result.tables.map((t) => t.table)).toEqual(["o", "o__l_2"]);
    expect(result.warnings.join()).toContain("o__l is taken");
    await world.run({ resources: [{ name: "o", writeDisposition: "replace" }] }, rows([{ l: [2] }]));
    expect(world.tables.map((table) => [table.table, table.rows])).toEqual([
      ["o__l", 0],
      ["o", 1],
      ["o__l_2", 1],
    ]);
  });

  deepTest(
    "may be ten thousand in one row",
    async () => {
      await using world = openWorld();
      const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`c${i}`, i]));
      const { result } = await world.run(one, rows([wide, { c0: 1, late: 2 }]));
      expect(result.rows).toBe(2);
      expect(world.tables[0]?.columns).toHaveLength(10_003);
      expect(await world.query("SELECT c9999, late FROM raw.shop__o ORDER BY late NULLS FIRST")).toEqual([
        { c9999: 9999, late: null },
        { c9999: null, late: 2 },
      ]);
    },
    120_000,
  );
});

test("what late rows change is changed in the files of early rows", async () => {
  await using world = openWorld();
  const pad = "x".repeat(300_000);
  const page = (from: number, more: JsonObject) =>
    Array.from({ length: 30 }, (_, i) => ({
      id: from + i,
      at: "2026-01-01T00:00:00Z",
      pad,
      l: [{ a: from }],
      ...more,
    }));
  const early = await world.run({ resources: [{ name: "p" }] }, rows(page(0, {}), page(30, {})));
  expect(early.result.tables[0]).toMatchObject({ rows: 60, files: 2 });
  expect(world.columns("p").at).toBe("TIMESTAMP WITH TIME ZONE");

  const late = rows(
    page(0, {}),
    page(30, { id: 0.5, late: true }),
    page(60, { at: "soon", l: [{ a: 1, b: 2 }] }),
  );
  const { result } = await world.run(one, late);
  expect(result.tables.map((t) => [t.table, t.rowsRead, t.rows])).toEqual([
    ["o", 90, 90],
    ["o__l", 90, 90],
  ]);
  expect(own(world.columns("o"))).toEqual({ id: "DOUBLE", at: "VARCHAR", pad: "VARCHAR", late: "BOOLEAN" });
  expect(
    await world.query(
      "SELECT count(*) AS n, count(DISTINCT _dlt_id) AS ids, sum(id) AS sum, count(late) AS late, count(*) FILTER (\"at\" = 'soon') AS soon, min(length(pad)) AS pad FROM raw.shop__o",
    ),
  ).toEqual([{ n: 90, ids: 90, sum: 435 + 15 + 2235, late: 30, soon: 30, pad: 300_000 }]);
  const mixed = rows(page(0, {}), page(30, { id: "x" }));
  await world.run({ resources: [{ name: "m" }] }, mixed);
  expect(world.columns("m").id).toBe("JSON");
  expect(await world.query("SELECT count(*) FILTER (id = '\"x\"') AS texts FROM raw.shop__m")).toEqual([
    { texts: 30 },
  ]);
  for (const table of world.tables) {
    const columns = table.columns.map((column) => column.name).toSorted();
    for (const file of table.files) {
      const shown = await world.query(
        `DESCRIBE SELECT * FROM read_parquet('${await world.lake.localPath(file)}')`,
      );
      expect(shown.map((row) => String(row.column_name)).toSorted()).toEqual(columns);
    }
  }
}, 120_000);

test("long texts, unusual characters and empty texts arrive unchanged", async () => {
  await using world = openWorld();
  const texts = [
    "x".repeat(3_000_000),
    "",
    '"',
    "a\r\nb\n",
    "\u0000",
    "😀é",
    "NULL",
    "\\N",
    " pad ",
    "a,b",
    "'",
    "\\.",
  ];
  await world.run(one, rows(texts.map((v, i) => ({ i, v }))));
  const found = await world.query("SELECT v FROM raw.shop__o ORDER BY i");
  expect(found.map((row) => row.v)).toEqual(texts);
});
