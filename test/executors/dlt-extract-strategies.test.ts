import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { AppError } from "../../src/base/errors.ts";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { dltExtract } from "../../src/executors/dlt-extract.ts";
import { deepTest, scaled } from "../support/scale.ts";
import { csv, failure, openWorld, rows, type Source } from "./extract/world.ts";

const merge = (mergeStrategy: string, more: JsonObject = {}) => ({
  resources: [{ name: "o", primaryKey: ["id"], writeDisposition: "merge", mergeStrategy, ...more }],
});
const counts = (
  table:
    | { rows: number; inserted: number; updated: number; deleted: number; deduplicated: number }
    | undefined,
) => table && [table.rows, table.inserted, table.updated, table.deleted, table.deduplicated];

describe("merge strategies", () => {
  test("upsert keeps what the new row lacks, delete_insert doesn't", async () => {
    for (const [strategy, note] of [
      ["upsert", "kept"],
      ["delete_insert", null],
    ] as const) {
      await using world = openWorld();
      await world.run(merge(strategy), rows([{ id: 1, v: 1, note: "kept" }]));
      await world.run(merge(strategy), rows([{ id: 1, v: 2 }]));
      expect(await world.query("SELECT id, v, note FROM raw.shop__o")).toEqual([{ id: 1, v: 2, note }]);
    }
  });

  test("insert_only adds new keys and keeps the others, with what depends on them", async () => {
    await using world = openWorld();
    await world.run(merge("insert_only"), rows([{ id: 1, v: 1, l: [1] }]));
    const { result } = await world.run(
      merge("insert_only"),
      rows([
        { id: 1, v: 9, l: [9] },
        { id: 2, v: 2, l: [2] },
        { id: 2, v: 3, l: [3] },
      ]),
    );
    expect(counts(result.tables[0])).toEqual([1, 1, 0, 0, 2]);
    expect(await world.query("SELECT id, v FROM raw.shop__o ORDER BY id")).toEqual([
      { id: 1, v: 1 },
      { id: 2, v: 3 },
    ]);
    expect(await world.query("SELECT value FROM raw.shop__o__l ORDER BY 1")).toEqual([
      { value: 1 },
      { value: 3 },
    ]);
  });

  test("a strategy without a merge, and versions of a limited source, are rejected when saved", () => {
    const faults = (definition: JsonObject) =>
      dltExtract.check?.(definition as never).map((fault) => fault.path.join("."));
    expect(faults({ dataset: "shop", resources: [{ name: "o", mergeStrategy: "upsert" }] })).toEqual([
      "resources.0.mergeStrategy",
    ]);
    expect(faults({ dataset: "shop", maxRows: 5, ...merge("scd2") })).toEqual(["resources.0.mergeStrategy"]);
    expect(
      faults({ dataset: "shop", maxRows: 5, ...merge("scd2", { incremental: { cursorField: "at" } }) }),
    ).toEqual([]);
  });
});

describe("scd2", () => {
  const versions =
    "SELECT id, v, _dlt_valid_from IS NOT NULL AS since, _dlt_valid_to IS NULL AS holds FROM raw.shop__o ORDER BY id, _dlt_valid_to NULLS LAST, v";

  test("keeps every version of a row and ends deleted ones", async () => {
    await using world = openWorld();
    const first = await world.run(
      merge("scd2"),
      rows([
        { id: 1, v: "a" },
        { id: 2, v: "b" },
        { id: 3, v: "c" },
      ]),
    );
    expect(counts(first.result.tables[0])).toEqual([3, 3, 0, 0, 0]);
    const second = await world.run(
      merge("scd2"),
      rows([
        { id: 1, v: "a" },
        { id: 2, v: "B" },
        { id: 4, v: "d" },
      ]),
    );
    expect(counts(second.result.tables[0])).toEqual([2, 1, 1, 1, 1]);
    expect(await world.query(versions)).toEqual([
      { id: 1, v: "a", since: true, holds: true },
      { id: 2, v: "b", since: true, holds: false },
      { id: 2, v: "B", since: true, holds: true },
      { id: 3, v: "c", since: true, holds: false },
      { id: 4, v: "d", since: true, holds: true },
    ]);
    const third = await world.run(merge("scd2"), rows([]));
    expect(counts(third.result.tables[0])).toEqual([0, 0, 0, 3, 0]);
    expect(await world.query("SELECT count(*) AS n FROM raw.shop__o WHERE _dlt_valid_to IS NULL")).toEqual([
      { n: 0 },
    ]);
    await world.run(merge("scd2"), rows([{ id: 3, v: "c" }]));
    expect(await world.query("SELECT count(*) AS n FROM raw.shop__o WHERE id = 3")).toEqual([{ n: 2 }]);
  });

  test("of an incremental source ends only rows that arrived again", async () => {
    await using world = openWorld();
    const definition = merge("scd2", { incremental: { cursorField: "at" } });
    await world.run(
      definition,
      rows([
        { id: 1, at: 1 },
        { id: 2, at: 1 },
      ]),
    );
    const { result } = await world.run(definition, rows([{ id: 2, at: 2 }]));
    expect(counts(result.tables[0])).toEqual([1, 0, 1, 0, 0]);
    expect(
      await world.query(`SELECT id, "at" FROM raw.shop__o WHERE _dlt_valid_to IS NULL ORDER BY id`),
    ).toEqual([
      { id: 1, at: 1 },
      { id: 2, at: 2 },
    ]);
  });

  test("treats a change in a list as a new version, and each version has its own list", async () => {
    await using world = openWorld();
    await world.run(
      merge("scd2"),
      rows([
        { id: 1, l: [1, 2] },
        { id: 2, l: [5] },
      ]),
    );
    await world.run(
      merge("scd2"),
      rows([
        { id: 1, l: [1, 3] },
        { id: 2, l: [5] },
      ]),
    );
    const held = (holds: boolean) =>
      world.query(
        `SELECT o.id, l.value FROM raw.shop__o o JOIN raw.shop__o__l l ON l._dlt_parent_id = o._dlt_id WHERE (o._dlt_valid_to IS NULL) = ${holds} ORDER BY 1, 2`,
      );
    expect(await held(true)).toEqual([
      { id: 1, value: 1 },
      { id: 1, value: 3 },
      { id: 2, value: 5 },
    ]);
    expect(await held(false)).toEqual([
      { id: 1, value: 1 },
      { id: 1, value: 2 },
    ]);
  });

  test("doesn't treat an unrequested column as a change", async () => {
    await using world = openWorld();
    const definition = merge("scd2", { columns: ["v"] });
    await world.run(definition, rows([{ id: 1, v: 1, seen: 1 }]));
    const { result } = await world.run(definition, rows([{ id: 1, v: 1, seen: 2 }]));
    expect(counts(result.tables[0])).toEqual([0, 0, 0, 0, 1]);
  });

  test("renames a source's column with the name of one of its own", async () => {
    await using world = openWorld();
    await world.run(merge("scd2"), rows([{ id: 1, _dlt_valid_to: "x" }]));
    expect(
      await world.query("SELECT _dlt_valid_to_2 AS theirs, _dlt_valid_to AS ours FROM raw.shop__o"),
    ).toEqual([{ theirs: "x", ours: null }]);
  });

  test("isn't merged over by another strategy", async () => {
    await using world = openWorld();
    await world.run(merge("scd2"), rows([{ id: 1 }]));
    expect((await failure(world.run(merge("upsert"), rows([{ id: 1 }])))).message).toContain(
      "keeps every version",
    );
  });

  deepTest(
    "of any sequence of sources contains exactly the last one, and loses no version",
    async () => {
      const table = fc.uniqueArray(
        fc.record({ id: fc.integer({ min: 1, max: 5 }), v: fc.option(fc.integer({ min: 0, max: 2 })) }),
        {
          selector: (row) => row.id,
          maxLength: 5,
        },
      );
      await fc.assert(
        fc.asyncProperty(
          fc.array(table, { minLength: 1, maxLength: 5 }),
          fc.boolean(),
          async (states, isTyped) => {
            await using world = openWorld();
            const text = (state: { id: number; v: number | null }[]) =>
              state.map(({ id, v }) => `${id},${v ?? ""}\n`).join("");
            const source = (state: (typeof states)[number]): Source =>
              isTyped ? csv({ id: "BIGINT", v: "BIGINT" }, text(state)) : rows(state);
            let made = 0;
            let before = new Map<number, number | null>();
            for (const state of states) {
              await world.run(merge("scd2"), source(state));
              made += state.filter(({ id, v }) => !before.has(id) || before.get(id) !== v).length;
              before = new Map(state.map(({ id, v }) => [id, v]));
              if (world.tables.length === 0) continue;
              const has = world.columns("o").v !== undefined;
              const held = await world.query(
                `SELECT id, ${has ? "v" : "NULL AS v"} FROM raw.shop__o WHERE _dlt_valid_to IS NULL ORDER BY id`,
              );
              expect(held).toEqual([...state].sort((a, b) => a.id - b.id));
              const [all] = await world.query("SELECT count(*) AS n FROM raw.shop__o");
              expect(all?.n).toBe(made);
            }
          },
        ),
        { numRuns: scaled(4, 36), seed: 20_26 },
      );
    },
    120_000,
  );
});

describe("options of a load", () => {
  test("a contract for tables, for columns and for types, each separately", async () => {
    const load = async (schemaContract: JsonObject, second: JsonObject) => {
      await using world = openWorld();
      const one = { resources: [{ name: "o" }], schemaContract };
      await world.run(one, rows([{ id: 1, v: 1 }]));
      try {
        const { result } = await world.run(one, rows([second]));
        return {
          rows: result.rows,
          columns: Object.keys(world.columns("o")).filter((name) => !name.startsWith("_")),
        };
      } catch (error) {
        return error instanceof AppError ? error.code : error;
      }
    };
    const frozen = { columns: "freeze" };
    expect(await load(frozen, { id: 2, v: 2, more: 1 })).toBe("schema_contract_violation");
    expect(await load(frozen, { id: 2, v: "x" })).toEqual({ rows: 1, columns: ["id", "v", "v__v_text"] });
    expect(await load({ dataType: "discard_value" }, { id: 2, v: "x", more: 1 })).toEqual({
      rows: 1,
      columns: ["id", "v", "more"],
    });
    expect(await load({ dataType: "discard_row" }, { id: 2, v: "x" })).toEqual({
      rows: 0,
      columns: ["id", "v"],
    });
    expect(await load({ tables: "freeze" }, { id: 2, v: 2, l: [1] })).toBe("schema_contract_violation");
    expect(await load({ tables: "freeze" }, { id: 2, v: 2, more: 1 })).toEqual({
      rows: 1,
      columns: ["id", "v", "more"],
    });
  });

  test.each([
    ["discard_value", [1, null, 3, null]],
    ["discard_row", [1, 3]],
  ])("replacing a table under %s keeps a column's values beside those that don't fit", async (mode, kept) => {
    await using world = openWorld();
    const one = {
      resources: [{ name: "o", writeDisposition: "replace" }],
      schemaContract: { dataType: mode },
    };
    const load = (values: Json[]) => world.run(one, rows(values.map((v, id) => ({ id, v }))));
    await load([1, 2]);
    const { warnings } = (await load([1, "x", 3, true])).result;
    expect(warnings).toEqual([
      expect.stringMatching(/^o\.v: 1 value .*"x"/),
      expect.stringMatching(/^o\.v: 1 value .*true/),
    ]);
    expect((await world.query("SELECT v FROM raw.shop__o ORDER BY id")).map(({ v }) => v)).toEqual(kept);
  });

  test("strictCounts fails if the source reports another number of rows than it returns", async () => {
    const short: Source = async (request) => ({ ...(await rows([{ id: 1 }])(request)), total: 2 }) as never;
    await using world = openWorld();
    const one = { resources: [{ name: "o" }] };
    expect((await world.run(one, short)).result.warnings[0]).toContain("source_count_mismatch");
    expect((await failure(world.run({ ...one, strictCounts: true }, short))).code).toBe("row_count_mismatch");
  });

  test("allowPartial continues without what can't be read, and says so", async () => {
    const source: Source = (request) => {
      if (request.spec === "orders") {
        throw new AppError("upstream", "No access.", { details: { missingScope: "read_orders" } });
      }
      return rows([{ id: 1 }])(request);
    };
    await using world = openWorld();
    const both = { resources: [{ name: "orders" }, { name: "o" }] };
    expect((await failure(world.run(both, source))).code).toBe("upstream");
    const { result } = await world.run({ ...both, allowPartial: true }, source);
    expect(result.warnings).toEqual(["orders was skipped: missing_scope: read_orders."]);
    expect(result.tables.map((table) => table.table)).toEqual(["o"]);
    const none = { resources: [{ name: "orders" }], allowPartial: true };
    expect((await failure(world.run(none, source))).message).toContain("none of the resources");
  });
});
