import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import type { JsonObject } from "../../../src/base/json.ts";
import { asciiName, Names, normaliseName } from "../../../src/executors/extract/naming.ts";
import { cutRecords, FilePool } from "../../../src/executors/extract/records.ts";
import { deepTest, scaled } from "../../support/scale.ts";
import { csv, openWorld, rangedRows, rows } from "./world.ts";

const RUNS = { numRuns: scaled(4, 36), seed: 20_26 };

describe("for any JSON", () => {
  const scalar = fc.oneof(
    fc.integer({ min: -5, max: 5 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: "grapheme", maxLength: 6 }),
    fc.constantFrom(
      "",
      '"',
      "a,b",
      "1",
      "007",
      "2026-01-01T00:00:00Z",
      "2026-02-30T00:00:00Z",
      "\r\n",
      "\\N",
      "NULL",
    ),
    fc.boolean(),
    fc.constant(null),
  );
  const key = fc.constantFrom("a", "A", "b c", "_dlt_id", "", "__proto__", "a__b", "Ä", "value", "list");
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(key, tie("value"), { maxKeys: 3 }),
    ),
  }));
  const row = fc.dictionary(key, value, { maxKeys: 4 }) as fc.Arbitrary<JsonObject>;

  test("every row that is read is written once, and every child has its parent", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(row, { maxLength: 4 }), { maxLength: 3 }),
        fc.integer({ min: 0, max: 3 }),
        async (pages, maxTableNesting) => {
          await using world = openWorld();
          const { result } = await world.run({ resources: [{ name: "t" }], maxTableNesting }, rows(...pages));
          const again = await world.run({ resources: [{ name: "t" }], maxTableNesting }, rows(...pages));
          const count = pages.flat().length;
          expect([result.tables[0]?.rowsRead, result.tables[0]?.rows, again.result.tables[0]?.rows]).toEqual([
            count,
            count,
            count,
          ]);
          for (const table of world.tables) {
            const [counted] = await world.query(
              `SELECT count(*) AS n, count(DISTINCT _dlt_id) AS ids FROM raw."shop__${table.table}"`,
            );
            expect([counted?.n, counted?.ids]).toEqual([table.rows, table.rows]);
            if (table.table === "t") continue;
            const [orphans] = await world.query(
              `SELECT count(*) AS n FROM raw."shop__${table.table}" WHERE _dlt_root_id NOT IN (SELECT _dlt_id FROM raw.shop__t)`,
            );
            expect(orphans?.n).toBe(0);
          }
        },
      ),
      RUNS,
    );
  }, 120_000);

  test("scalars are returned as they were loaded, in the column or its variants", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(scalar, { minLength: 1, maxLength: 8 }), async (values) => {
        await using world = openWorld();
        await world.run({ resources: [{ name: "t" }] }, rows(values.map((v, i) => ({ i, v }) as JsonObject)));
        const columns = Object.keys(world.columns("t")).filter((name) => name.startsWith("v"));
        const isJson = world.columns("t").v === "JSON";
        const texts = columns.map((name) => (isJson ? `${name} ->> '$'` : `CAST(${name} AS VARCHAR)`));
        const found = await world.query(
          `SELECT ${texts.length > 0 ? `COALESCE(${texts.join(", ")})` : "NULL"} AS v FROM raw.shop__t ORDER BY i`,
        );
        const same = (given: unknown, got: unknown) =>
          given === null
            ? got === null
            : typeof given === "number"
              ? Number(got) === given
              : String(given) === got || // A text of a number may have become the number.
                (/^[1-9]$/.test(String(given)) && Number(got) === Number(given)) ||
                new Date(`${got}Z`).getTime() === new Date(String(given)).getTime();
        expect(
          found.map((each, at) => [values[at], each.v, same(values[at], each.v)]).filter(([, , ok]) => !ok),
        ).toEqual([]);
      }),
      RUNS,
    );
  }, 120_000);
});

test("a merge leaves what a map of the keys would contain", async () => {
  const load = fc.array(
    fc.record({
      id: fc.integer({ min: 1, max: 4 }),
      v: fc.integer({ min: 0, max: 9 }),
      l: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 2 }),
    }),
    { maxLength: 5 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(load, { minLength: 1, maxLength: 4 }), async (loads) => {
      await using world = openWorld();
      const model = new Map<number, { v: number; l: number[] }>();
      for (const given of loads) {
        const before = new Set(model.keys());
        const { result } = await world.run(
          { resources: [{ name: "t", primaryKey: ["id"], writeDisposition: "merge" }] },
          rows(given),
        );
        for (const { id, v, l } of given) model.set(id, { v, l });
        const ids = new Set(given.map((each) => each.id));
        expect(result.tables[0]).toMatchObject({
          rowsRead: given.length,
          rows: ids.size,
          inserted: [...ids].filter((id) => !before.has(id)).length,
          updated: [...ids].filter((id) => before.has(id)).length,
        });
      }
      if (model.size === 0) return;
      const sorted = [...model].toSorted(([a], [b]) => a - b);
      expect(await world.query("SELECT id, v FROM raw.shop__t ORDER BY id")).toEqual(
        sorted.map(([id, { v }]) => ({ id, v })),
      );
      if (!world.tables.some((table) => table.table === "t__l")) return;
      expect(
        await world.query(
          "SELECT t.id, c.value FROM raw.shop__t__l c JOIN raw.shop__t t ON c._dlt_parent_id = t._dlt_id ORDER BY t.id, c._dlt_list_idx",
        ),
      ).toEqual(sorted.flatMap(([id, { l }]) => l.map((value) => ({ id, value }))));
      expect(world.tables.find((table) => table.table === "t__l")?.rows).toBe(
        sorted.flatMap(([, { l }]) => l).length,
      );
    }),
    RUNS,
  );
}, 120_000);

deepTest(
  "a source that only grows is copied row by row, in any steps",
  async () => {
    // Each step adds rows at or after the greatest cursor so far, like a source's clock.
    const step = fc.array(
      fc.record({ ahead: fc.integer({ min: 0, max: 2 }), note: fc.constantFrom("x", "y") }),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 5 }),
        fc.constantFrom("keyed", "keyless"),
        fc.constantFrom(0, 1, 3),
        fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
        fc.boolean(),
        async (steps, kind, lagSeconds, maxRows, ranged) => {
          await using world = openWorld();
          const all: JsonObject[] = [];
          let now = 0;
          const definition = {
            resources: [
              {
                name: "t",
                ...(kind === "keyed" ? { primaryKey: ["id"] } : {}),
                incremental: { cursorField: "at", lagSeconds },
              },
            ],
            ...(maxRows === undefined ? {} : { maxRows }),
          };
          const load = async () =>
            (await world.run(definition, ranged ? rangedRows([...all]) : rows([...all]))).result.tables[0];
          for (const added of steps) {
            for (const { ahead, note } of added) {
              now += ahead;
              all.push({ ...(kind === "keyed" ? { id: all.length } : {}), at: now, note });
            }
            await load();
          }
          while (((await load())?.rows ?? 0) > 0);
          if (all.length === 0) return;
          const id = kind === "keyed" ? "id, " : "";
          const found = await world.query(`SELECT ${id}"at", note FROM raw.shop__t`);
          const sort = (list: JsonObject[]) => list.map((each) => JSON.stringify(each)).toSorted();
          expect(sort(found)).toEqual(sort(all));
        },
      ),
      RUNS,
    );
  },
  120_000,
);

deepTest(
  "CSV bytes are only split between records, however they arrive",
  async () => {
    await using world = openWorld();
    let folders = 0;
    const cell = fc.oneof(
      fc.constantFrom("", "1", '"a\nb"', '"x""y"', '"\n\n"', '"""\n"'),
      fc.string({ maxLength: 3 }).map((text) => `"${text.replaceAll('"', '""')}"`),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell), { maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        async (records, piece, chunkBytes, ends) => {
          const lines = records.map((cells) => cells.join(","));
          const text = lines.join("\n") + (ends && lines.length > 0 ? "\n" : "");
          const extraction = await csv({ a: "VARCHAR" }, text, { piece })({} as never);
          if (extraction.kind !== "csv") return;
          const folder = `${world.folder}/cut-${++folders}`;
          await Bun.write(`${folder}/.keep`, "");
          const pool = new FilePool(folder);
          let whole = "";
          let count = 0;
          for await (const file of cutRecords(extraction.bytes, pool, {
            maxRecords: null,
            signal: new AbortController().signal,
            chunkBytes,
          })) {
            const part = readFileSync(file.path, "utf8");
            expect(part.endsWith("\n")).toBe(true);
            expect((part.match(/"/g) ?? []).length % 2).toBe(0);
            expect(file.longest).toBeLessThanOrEqual(part.length * 3);
            whole += part;
            count += file.records;
            pool.give(file.path);
          }
          expect(whole).toBe(text === "" || text.endsWith("\n") ? text : `${text}\n`);
          expect(count).toBe(records.length);
        },
      ),
      { numRuns: 200, seed: 20_26 },
    );
  },
  120_000,
);

test("names are always valid in the lake, and no two columns share one", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary", maxLength: 150 })), (given) => {
      const names = new Names();
      const made = given.map((text) => names.take(normaliseName(text)));
      expect(new Set(made).size).toBe(given.length);
      for (const name of given.map(normaliseName)) {
        expect(name).toMatch(/^[\p{L}\p{M}_][\p{L}\p{M}\p{N}_]*$/u);
        expect(asciiName(name)).toMatch(/^[a-z_][a-z0-9_]*$/);
        expect(name).not.toContain("__");
        expect(name.length).toBeLessThanOrEqual(120);
        expect(normaliseName(name)).toBe(name);
      }
    }),
    { numRuns: 500, seed: 20_26 },
  );
});
