import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import type { ExtractRequest } from "../../src/providers/contract.ts";
import { csv, failure, openWorld, rangedRows, rows, type Source } from "./extract/world.ts";

const by = (cursorField: string, more: JsonObject = {}, resource: JsonObject = {}) => ({
  resources: [{ name: "o", ...resource, incremental: { cursorField, ...more } }],
});

/** A source that also records its requests. */
function asked(source: Source): { requests: ExtractRequest[]; source: Source } {
  const requests: ExtractRequest[] = [];
  return {
    requests,
    source: (request) => {
      requests.push(request);
      return source(request);
    },
  };
}

describe("an incremental load", () => {
  test("by numbers in text compares them as numbers if columns says so, and otherwise warns", async () => {
    const early = rows([{ n: "9" }, { n: "10" }, { n: "-5" }]);
    const late = rows([{ n: "9" }, { n: "100" }, { n: "11.50" }, { n: "11" }]);
    await using typed = openWorld();
    const columns = [{ name: "n", type: "decimal(10,2)" }];
    const first = await typed.run(by("n", {}, { columns }), early);
    expect(first.result.warnings).toEqual([]);
    expect(first.result.tables[0]?.cursor).toEqual({ start: null, end: "10" });
    expect((await typed.run(by("n", {}, { columns }), late)).result).toMatchObject({ rows: 3, warnings: [] });
    expect((await typed.run(by("n", {}, { columns }), late)).result).toMatchObject({ rows: 0 });
    await using text = openWorld();
    expect((await text.run(by("n"), rows([{ n: "8" }, { n: "9" }]))).result.warnings).toEqual([]);
    const lost = expect.stringContaining("10 comes before 9");
    expect((await text.run(by("n"), rows([{ n: "10" }]))).result.warnings).toEqual([lost]);
    await using dates = openWorld();
    const dayFirst = expect.stringContaining("don't start with the year");
    expect((await dates.run(by("n"), rows([{ n: "31.12.2025" }]))).result.warnings).toEqual([dayFirst]);
  });

  test("loads rows at the boundary once", async () => {
    await using world = openWorld();
    const definition = by("at", {}, { primaryKey: ["id"] });
    const first = await world.run(
      definition,
      rows([
        { id: 1, at: 10 },
        { id: 2, at: 10 },
        { id: 3, at: 11 },
      ]),
    );
    expect(first.result).toMatchObject({ mode: "initial", rows: 3 });
    expect(first.result.tables[0]?.cursor).toEqual({ start: null, end: 11 });
    const second = await world.run(
      definition,
      rows([
        { id: 3, at: 11 },
        { id: 4, at: 11 },
        { id: 5, at: 12 },
      ]),
    );
    expect(second.result).toMatchObject({ mode: "incremental", rows: 2 });
    expect(second.result.tables[0]).toMatchObject({
      rowsRead: 3,
      rows: 2,
      deduplicated: 1,
      cursor: { start: 11, end: 12 },
    });
    const third = await world.run(definition, rows([{ id: 5, at: 12 }]));
    expect(third.result).toMatchObject({ mode: "incremental", rows: 0 });
    expect(third.result.tables[0]).toMatchObject({
      rowsRead: 1,
      deduplicated: 1,
      files: 0,
      cursor: { start: 12, end: 12 },
    });
    expect(third.done.load?.tables).toEqual([]);
    expect(await world.query("SELECT id FROM raw.shop__o ORDER BY id")).toEqual(
      [1, 2, 3, 4, 5].map((id) => ({ id })),
    );
  });

  test("keeps identical rows as often as the source has them", async () => {
    await using world = openWorld();
    const columns = { at: "INTEGER", v: "VARCHAR" };
    await world.run(by("at"), csv(columns, "1,x\n1,x\n"));
    await world.run(by("at"), csv(columns, "1,x\n1,x\n1,x\n1,y\n"));
    expect(await world.query("SELECT v, count(*) AS n FROM raw.shop__o GROUP BY v ORDER BY v")).toEqual([
      { v: "x", n: 3 },
      { v: "y", n: 1 },
    ]);
  });

  test("reports boundary rows that are loaded again since a column was removed or changed", async () => {
    await using world = openWorld();
    const [one, two, three] = [1, 2, 3].map((id) => ({ id, at: 10 }));
    await world.run(by("at"), rows([{ ...one, note: "a" }, { ...two }]));
    const again = await world.run(by("at"), rows([{ ...one }, { ...two }, { ...three }]));
    expect(again.result.tables[0]).toMatchObject({ rows: 2, deduplicated: 1 });
    const told = expect.stringContaining("1 row at the end of the cursor at may be loaded twice");
    expect(again.result.warnings).toContainEqual(told);
    const same = await world.run(by("at"), rows([{ ...one }, { ...two }, { ...three }, { id: 4, at: 11 }]));
    expect(same.result.tables[0]).toMatchObject({ rows: 1 });
    expect(same.result.warnings).not.toContainEqual(told);
  });

  test("begins at the initial value and then requests from the stored one", async () => {
    await using world = openWorld();
    const { requests, source } = asked(rows([{ at: 1 }, { at: 5 }, { at: 7 }]));
    const { result } = await world.run(by("at", { initialValue: 5 }), source);
    await world.run(by("at", { initialValue: 5 }), source);
    expect(requests.map((request) => request.range)).toEqual([
      { field: "at", from: 5, to: null },
      { field: "at", from: 7, to: null },
    ]);
    expect(result.tables[0]).toMatchObject({ rowsRead: 2, rows: 2, cursor: { start: 5, end: 7 } });
    expect(world.tables[0]?.rows).toBe(2);
  });

  test("goes back by the lag and loads late rows, and only those", async () => {
    await using world = openWorld();
    const definition = by("at", { lagSeconds: 3600 }, { primaryKey: ["id"] });
    const { requests, source } = asked(
      rows([
        { id: 1, at: "2026-01-01T10:00:00Z" },
        { id: 2, at: "2026-01-01T10:50:00.5Z" },
      ]),
    );
    await world.run(definition, source);
    const late = [
      { id: 3, at: "2026-01-01T10:20:00Z" },
      { id: 1, at: "2026-01-01T10:00:00Z" },
      { id: 2, at: "2026-01-01T10:50:00.5Z" },
      { id: 4, at: "2026-01-01T09:00:00Z" },
    ];
    const { result } = await world.run(definition, asked(rows(late)).source);
    expect(result.tables[0]).toMatchObject({ rowsRead: 3, rows: 1, deduplicated: 2 });
    await world.run(definition, (request) => {
      requests.push(request);
      return rows()(request) as never;
    });
    expect(requests.at(-1)?.range?.from).toBe("2026-01-01T09:50:00.5Z");
    expect(await world.query("SELECT id FROM raw.shop__o ORDER BY id")).toEqual([
      { id: 1 },
      { id: 2 },
      { id: 3 },
    ]);
  });

  test("backfills between two values and keeps the stored one", async () => {
    await using world = openWorld();
    await world.run(by("at"), rows([{ at: 10 }]));
    const { result, done } = await world.run(
      by("at", { initialValue: 2, endValue: 5 }),
      rows([{ at: 1 }, { at: 2 }, { at: 4 }, { at: 5 }, { at: 10 }]),
    );
    expect(result).toMatchObject({ mode: "backfill", rows: 2 });
    expect(result.tables[0]).toMatchObject({ rowsRead: 2, cursor: { start: 2, end: 4 } });
    expect(done.load?.cursors).toEqual({});
    expect(world.cursors.get("o")?.lastValue).toBe(10);
  });

  test("with maxRows loads the rows in cursor order and loses none", async () => {
    await using world = openWorld();
    const definition = { ...by("at", {}, { primaryKey: ["id"] }), maxRows: 2 };
    const source = rows([
      { id: 1, at: 9 },
      { id: 2, at: 1 },
      { id: 3, at: 5 },
      { id: 4, at: 5 },
      { id: 5, at: 5 },
    ]);
    const seen: unknown[] = [];
    for (let run = 0; run < 4; run++) {
      const { result } = await world.run(definition, source);
      seen.push([result.rows, result.tables[0]?.cursor?.end, result.warnings]);
    }
    const reached = [
      "o: maxRows (2) was reached, so the source may have more rows. The next run continues from there.",
    ];
    expect(seen).toEqual([
      [2, 5, reached],
      [2, 5, reached],
      [1, 9, []],
      [0, 9, []],
    ]);
    expect(await world.query("SELECT id FROM raw.shop__o ORDER BY id")).toEqual(
      [1, 2, 3, 4, 5].map((id) => ({ id })),
    );
  });

  test("without a cursor warns that maxRows was reached, and not of a limit that wasn't", async () => {
    await using world = openWorld();
    const load = async (maxRows: number) => {
      const definition = { resources: [{ name: "o", writeDisposition: "replace" }], maxRows };
      return (await world.run(definition, rows([{ id: 1 }, { id: 2 }, { id: 3 }]))).result.warnings;
    };
    expect(await load(2)).toEqual(["o: maxRows (2) was reached, so the source may have more rows."]);
    expect(await load(4)).toEqual([]);
  });

  test("requests room beyond the rows that it has seen from a source that sorts", async () => {
    await using world = openWorld();
    const all = [
      { id: 1, at: 5 },
      { id: 2, at: 5 },
      { id: 3, at: 5 },
    ];
    const { requests, source } = asked((request) =>
      rangedRows(all.slice(0, request.maxRows ?? undefined))(request),
    );
    for (let run = 0; run < 3; run++) await world.run({ ...by("at"), maxRows: 1 }, source);
    expect(requests.map((request) => request.maxRows)).toEqual([1, 2, 3]);
    expect(world.tables[0]?.rows).toBe(3);
  });

  test("follows a source whose schema changes, loading each row once", async () => {
    await using world = openWorld();
    const definition = {
      resources: [{ name: "t", primaryKey: ["id"], incremental: { cursorField: "at" } }],
    };
    await world.run(definition, rows([{ id: 1, at: 1, v: 1, gone: "x" }]));
    const { result } = await world.run(
      definition,
      rows([
        { id: 1, at: 1, v: 1 },
        { id: 2, at: 2, v: "many", more: true },
      ]),
    );
    expect(result.tables[0]?.schemaChanges.map(({ column, change }) => [column, change])).toEqual(
      expect.arrayContaining([
        ["v__v_text", "variant"],
        ["more", "added"],
      ]),
    );
    expect(await world.query("SELECT id, v, v__v_text, gone, more FROM raw.shop__t ORDER BY id")).toEqual([
      { id: 1, v: 1, v__v_text: null, gone: "x", more: null },
      { id: 2, v: null, v__v_text: "many", gone: null, more: true },
    ]);
  });

  test("starts again when the cursor field changes, and says so", async () => {
    await using world = openWorld();
    await world.run(by("a"), rows([{ a: 5, b: 1 }]));
    const { result } = await world.run(by("b"), rows([{ a: 6, b: 2 }]));
    expect(result.mode).toBe("initial");
    expect(result.warnings.join()).toContain("starts from the beginning");
    expect(world.cursors.get("o")).toMatchObject({ cursorField: "b", lastValue: 2 });
  });

  test("keeps the stored value when the source goes back behind it", async () => {
    await using world = openWorld();
    await world.run(by("at"), rangedRows([{ at: 5 }]));
    const { done } = await world.run(by("at"), () => rangedRows([{ at: 3 }])({ range: null } as never));
    expect(done.load?.cursors).toEqual({});
    expect(world.cursors.get("o")?.lastValue).toBe(5);
  });

  test("that replaces reads everything from the initial value on", async () => {
    await using world = openWorld();
    const definition = by("at", { initialValue: 2 }, { writeDisposition: "replace" });
    const { requests, source } = asked(rows([{ at: 1 }, { at: 2 }, { at: 3 }]));
    await world.run(definition, source);
    const { result } = await world.run(definition, source);
    expect(requests.map((request) => request.range?.from)).toEqual([2, 2]);
    expect(result).toMatchObject({ mode: "replace", rows: 2 });
    expect(world.tables[0]?.rows).toBe(2);
  });
});

describe("a cursor", () => {
  test("that no row has fails the load by name", async () => {
    await using world = openWorld();
    const error = await failure(world.run(by("updated"), rows([{ id: 1 }])));
    expect(error).toMatchObject({
      code: "cursor_field_missing",
      details: { resource: "o", field: "updated" },
    });
    const typed = await failure(world.run(by("updated"), csv({ id: "BIGINT" }, "1\n")));
    expect(typed.code).toBe("cursor_field_missing");
  });

  test("without a value in any row fails the load, for typed sources too, so that nothing is loaded twice", async () => {
    await using world = openWorld();
    const source = csv({ id: "BIGINT", at: "TIMESTAMP" }, "1,\n2,\n");
    const merged = { primaryKey: ["id"], writeDisposition: "merge" };
    for (const merge of [{}, merged] as JsonObject[]) {
      const error = await failure(world.run(by("at", {}, merge), source));
      expect(error).toMatchObject({
        code: "cursor_field_missing",
        details: { resource: "o", field: "at" },
        message: expect.stringContaining("has a value"),
      });
    }
    expect(world.tables).toEqual([]);
    const none = await world.run(by("at"), csv({ id: "BIGINT", at: "TIMESTAMP" }, ""));
    expect(none.result.rows).toBe(0);
  });

  test("that an append lacks is reported once the rows are duplicated", async () => {
    await using world = openWorld();
    const run = (more = {}) =>
      world.run({ resources: [{ name: "o", ...more }] }, rows([{ id: 1 }, { id: 2 }]));
    expect((await run()).result.warnings).toEqual([]);
    expect((await run()).result.warnings).toEqual([
      "append without a cursor: the 2 rows of this load of o were added to the 2 loaded before.",
    ]);
    expect((await run({ writeDisposition: "replace" })).result.warnings).toEqual([]);
  });

  test("that some rows lack is reported: they are loaded the first time and not later", async () => {
    await using world = openWorld();
    const first = await world.run(by("at"), rows([{ id: 1, at: 1 }, { id: 2 }]));
    expect(first.result.rows).toBe(2);
    expect(first.result.warnings.join()).toContain("1 rows have no value in the cursor at");
    const second = await world.run(
      by("at"),
      rows([{ id: 1, at: 1 }, { id: 2 }, { id: 3 }, { id: 4, at: 2 }]),
    );
    expect(second.result.rows).toBe(1);
    expect(second.result.warnings.join()).toContain(
      "2 rows have no value in the cursor at and were left out",
    );
  });

  test("ahead of all clocks is reported, since nothing before it is found anymore", async () => {
    const told = (end: string) =>
      `The cursor at of o is at ${end}, which is in the future, so rows before it aren't found. Correct that row at the source, and reset the action's state.`;
    for (const [source, end] of [
      [
        rows([
          { id: 1, at: "2025-01-01T00:00:00Z" },
          { id: 2, at: "9999-12-31T00:00:00Z" },
        ]),
        "9999-12-31T00:00:00Z",
      ],
      [csv({ id: "BIGINT", at: "TIMESTAMP" }, "1,2026-01-02 00:00:01\n"), "2026-01-02T00:00:01"],
    ] as const) {
      await using world = openWorld();
      expect((await world.run(by("at"), source)).result.warnings).toEqual([told(end)]);
      expect((await world.run(by("at"), source)).result.warnings).toEqual([told(end)]);
    }
    await using world = openWorld();
    const soon = rows([{ id: 1, at: "2026-01-01T23:59:59Z" }]);
    expect((await world.run(by("at"), soon)).result.warnings).toEqual([]);
  });

  test.each<[string, string, string, unknown]>([
    ["BIGINT", "9007199254740993", "9007199254740994", "9007199254740994"],
    ["BIGINT", "7", "8", 8],
    ["TIMESTAMP", "2026-01-01 00:00:00.000001", "2026-01-01 00:00:00.000002", "2026-01-01T00:00:00.000002"],
    ["TIMESTAMPTZ", "2026-01-01 00:00:00+00", "2026-01-01 00:00:00.5+00", "2026-01-01T00:00:00.5Z"],
    ["DATE", "2026-01-01", "2026-01-02", "2026-01-02"],
    ["DECIMAL(38,10)", "1.0000000001", "1.0000000002", "1.0000000002"],
    ["DOUBLE", "0.1", "0.30000000000000004", 0.30000000000000004],
    ["VARCHAR", "a9", "b1", "b1"],
    [
      "UUID",
      "00000000-0000-0000-0000-000000000001",
      "00000000-0000-0000-0000-000000000002",
      "00000000-0000-0000-0000-000000000002",
    ],
  ])("of %s is kept exactly", async (type, less, more, kept) => {
    await using world = openWorld();
    const columns = { id: "INTEGER", at: type };
    const { result } = await world.run(by("at"), csv(columns, `1,${more}\n2,${less}\n`));
    expect(result.tables[0]?.cursor?.end).toEqual(kept as never);
    const second = await world.run(
      by("at"),
      csv(columns, `1,${more}\n2,${less}\n3,${more}\n`, { ranged: false }),
    );
    expect(second.result.tables[0]).toMatchObject({ rowsRead: 2, rows: 1, deduplicated: 1 });
    expect(second.result.tables[0]?.cursor).toEqual({ start: kept, end: kept } as never);
  });

  test("of texts with offsets is compared as times and kept as the source wrote it", async () => {
    await using world = openWorld();
    const { result } = await world.run(
      by("meta.at"),
      rows([{ meta: { at: "2026-01-01T12:00:00+02:00" } }, { meta: { at: "2026-01-01T11:00:00Z" } }]),
    );
    expect(result.tables[0]?.cursor?.end).toBe("2026-01-01T11:00:00Z");
    const second = await world.run(
      by("meta.at"),
      rows([{ meta: { at: "2026-01-01T12:30:00+02:00" } }, { meta: { at: "2026-01-01T09:30:00-02:00" } }]),
    );
    expect(second.result.tables[0]).toMatchObject({
      rowsRead: 1,
      rows: 1,
      cursor: { end: "2026-01-01T09:30:00-02:00" },
    });
  });

  test("whose stored value no longer matches the source's type fails the load", async () => {
    await using world = openWorld();
    await world.run(by("at"), rows([{ at: "2026-01-01T00:00:00Z" }]));
    const error = await failure(world.run(by("at"), rows([{ at: 5 }])));
    expect(error.code).toBe("definition_invalid");
    expect(error.message).toContain("2026-01-01T00:00:00Z");
    const mixed = await failure(
      world.run(
        { resources: [{ name: "p", incremental: { cursorField: "at" } }] },
        rows([{ at: 5 }, { at: "x" }]),
      ),
    );
    expect(mixed.message).toContain("several types");
  });

  test("with more rows at its end than are remembered says so", async () => {
    await using world = openWorld();
    const text = Array.from({ length: 10_001 }, (_, id) => `${id},1\n`).join("");
    const { result } = await world.run(
      by("at"),
      csv({ id: "INTEGER", at: "INTEGER" }, text, { piece: 65_536 }),
    );
    expect(result.warnings.join()).toContain("More than 10000 rows");
    expect(world.cursors.get("o")?.boundary).toHaveLength(10_000);
  });

  test("isn't moved by a load that isn't committed", async () => {
    await using world = openWorld();
    await world.run(by("at"), rows([{ at: 1 }]), { commit: false });
    const { result } = await world.run(by("at"), rows([{ at: 1 }]));
    expect(result).toMatchObject({ mode: "initial", rows: 1 });
  });
});
