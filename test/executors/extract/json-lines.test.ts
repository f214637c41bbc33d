import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../../src/base/json.ts";
import { cutList } from "../../../src/providers/api/json-list.ts";
import type { Extraction, JsonList } from "../../../src/providers/contract.ts";
import { deepTest, scaled } from "../../support/scale.ts";
import { failure, openWorld, type Source, type World } from "./world.ts";

const STREAM_BYTES = 64 * 1024;

/** One file whose bytes arrive in pieces. */
const fileOf =
  (format: "json" | "jsonl", bytes: Uint8Array): Source =>
  () => ({ kind: "files", ranged: false, files: oneFile(format, bytes) });

async function* oneFile(
  format: "json" | "jsonl",
  bytes: Uint8Array,
): (Extraction & { kind: "files" })["files"] {
  const open = async () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += STREAM_BYTES)
          controller.enqueue(bytes.slice(at, at + STREAM_BYTES));
        controller.close();
      },
    });
  yield { name: `a.${format}`, format, open } as never;
}

interface Loaded {
  tables: Record<string, { columns: Record<string, string>; rows: string[] }>;
  counts: unknown;
  warnings: string[];
}

async function loaded(world: World, source: Source, maxTableNesting: number): Promise<Loaded> {
  const { result } = await world.run({ resources: [{ name: "t" }], maxTableNesting }, source);
  const tables: Loaded["tables"] = {};
  for (const { table } of world.tables) {
    const rows = await world.query(
      `SELECT CAST(to_json(r) AS VARCHAR) AS row FROM raw."shop__${table}" r ORDER BY _dlt_id`,
    );
    tables[table] = { columns: world.columns(table), rows: rows.map(({ row }) => String(row)) };
  }
  const counts = result.tables.map(({ bytes, files, ...rest }) => rest);
  return { tables, counts, warnings: result.warnings };
}

/** Loads a JSONL file. */
async function ofLines(lines: string | Uint8Array, nesting = 3): Promise<Loaded> {
  await using world = openWorld();
  const bytes = typeof lines === "string" ? new TextEncoder().encode(lines) : lines;
  return loaded(world, fileOf("jsonl", bytes), nesting);
}

/** Loads the same rows one by one. */
async function ofList(texts: readonly string[], nesting = 3): Promise<Loaded> {
  await using world = openWorld();
  const bytes = new TextEncoder().encode(`[${texts.join(",")}]`);
  return loaded(world, fileOf("json", bytes), nesting);
}

/** Pages of an API that include the rows' text, if it can be used. */
async function* textsOf(pages: readonly string[]): AsyncGenerator<JsonObject[] | JsonList> {
  for (const page of pages) {
    const cut = await cutList(new TextEncoder().encode(page), ["data", "rows"]);
    yield cut?.list ?? [];
  }
}

/** Loads the same rows as items of an API's pages. */
async function ofPages(pages: readonly (readonly string[])[], nesting = 3, gap = ""): Promise<Loaded> {
  await using world = openWorld();
  const written = pages.map(
    (texts) => `{"data":${gap}{"rows":[${gap}${texts.join(`${gap},${gap}`)}${gap}]}}`,
  );
  const source: Source = () => ({
    kind: "rows",
    ranged: false,
    pages: {
      [Symbol.asyncIterator]: () => {
        throw new Error("The rows are to be taken from their text.");
      },
    },
    texts: textsOf(written),
  });
  return loaded(world, source, nesting);
}

/** A kind of value, and JSON texts of such values. */
type Kind = fc.Arbitrary<string>;

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }).map((value) => JSON.stringify(value)),
  fc.constantFrom('""', '"\\u00e9\\ud83d\\ude00"', '"\\u0041\\/\\n"', '"a,b\\"c"', '"NULL"', '"2026-01-01"'),
);
const instant = fc.constantFrom(
  '"2026-01-01T00:00:00Z"',
  '"2024-02-29 23:59:59.123456+02:00"',
  '"0001-01-01T00:00:00"',
  '"9999-12-31T23:59:59.9Z"',
);
const integer = fc.oneof(
  fc.maxSafeInteger().map(String),
  fc.constantFrom("0", "-0", "1.0", "-2e3", "-0.0", "9007199254740991", "12.5e1"),
);
const double = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom("0.1", "5e-324", "1.7976931348623157e308", "0.30000000000000004", "1E-7"),
  fc.constantFrom(
    "0.14285714285714285",
    "-12345678901234.5712",
    "1.10000000000000008882",
    "99999999999999.96875",
  ),
);
const scalar = fc.constantFrom<Kind[]>(
  text,
  instant,
  integer,
  double,
  fc.oneof(integer, double),
  fc.boolean().map(String),
);
const key = fc.constantFrom(
  "a",
  "b c",
  "_dlt_id",
  "__proto__",
  "a__b",
  "Ä",
  "value",
  "list",
  "q\"'",
  "x.y",
  "Id",
  "id",
);
const orNull = (kind: Kind): Kind =>
  fc.oneof({ weight: 4, arbitrary: kind }, { weight: 1, arbitrary: fc.constant("null") });
const space = fc.constantFrom("", "", " ");

const object = (kinds: Record<string, Kind>): Kind =>
  fc.tuple(fc.record(kinds as Record<string, fc.Arbitrary<unknown>>, { requiredKeys: [] }), space).map(
    ([values, gap]) =>
      `{${Object.keys(values)
        .map((name) => `${JSON.stringify(name)}:${gap}${String(values[name])}`)
        .join(`,${gap}`)}}`,
  );
const list = (kind: Kind): Kind =>
  fc.array(orNull(kind), { maxLength: 3 }).map((items) => `[${items.join(",")}]`);
const { value: kind } = fc.letrec<{ value: Kind }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    { weight: 3, arbitrary: scalar },
    {
      weight: 1,
      arbitrary: fc
        .dictionary(key, tie("value"), { minKeys: 1, maxKeys: 4 })
        .map((kinds) => orNull(object(kinds))),
    },
    { weight: 1, arbitrary: tie("value").map((each) => orNull(list(each))) },
  ),
}));
/** Rows with the same shape, and a few with others. */
const alike = fc
  .dictionary(key, kind, { minKeys: 1, maxKeys: 5 })
  .chain((kinds) => fc.array(object(kinds), { minLength: 1, maxLength: 6 }));
const others = fc
  .dictionary(key, kind, { maxKeys: 3 })
  .chain((kinds) => fc.array(object(kinds), { maxLength: 2 }));

describe("JSON lines", () => {
  test("become the same tables as a list of the same rows, whatever the rows", async () => {
    await fc.assert(
      fc.asyncProperty(alike, others, fc.integer({ min: 0, max: 4 }), async (same, odd, nesting) => {
        const texts = [...same, ...same, ...odd, ...same];
        expect(await ofLines(`${texts.join("\n")}\n`, nesting)).toEqual(await ofList(texts, nesting));
      }),
      { numRuns: scaled(4, 120), seed: 20_26 },
    );
  }, 120_000);

  test("become the same as items of an API's pages", async () => {
    const gap = fc.constantFrom("", " ", "\n", "\r\n\t");
    await fc.assert(
      fc.asyncProperty(
        alike,
        others,
        fc.integer({ min: 0, max: 4 }),
        gap,
        async (same, odd, nesting, gap) => {
          const pages = [same, [...odd, ...same], [...same, ...odd]];
          expect(await ofPages(pages, nesting, gap)).toEqual(await ofList(pages.flat(), nesting));
        },
      ),
      { numRuns: scaled(4, 120), seed: 20_26 },
    );
  }, 120_000);

  const order = (id: number, more = "") =>
    `{"id":${id},"at":"2026-01-01T00:00:${String(id % 60).padStart(2, "0")}Z","to":{"zip":"${id}"},"lines":[{"n":${id},"tags":["a","b"]}]${more}}`;
  const orders = Array.from({ length: 700 }, (_, id) => order(id));

  test("that look alike for long are split where the bytes were received", async () => {
    const got = await ofLines(orders.join("\n"));
    expect(got).toEqual(await ofList(orders));
    expect(got.tables.t__lines__tags?.rows).toHaveLength(1400);
  });

  deepTest(
    "with a duplicate key, broken text, a byte order mark or escapes in keys are parsed as JSON",
    async () => {
      for (const odd of [
        order(5, ',"id":6'),
        order(5, ',"to":{"zip":"1","zip":"2"}'),
        order(5, ',"at":"soon","at":"2026-01-01T00:00:00Z"'),
        order(5, ',"to2":{"zip":"\\ud800"}'),
        order(5, ',"to2":{"zip":"a\\u0000b"}'),
        order(5, ',"a\\\\b":1,"a\\\\\\\\b":2,"\\u0069d2":3'),
      ]) {
        const texts = [...orders, odd, ...orders, odd].map((each) => Buffer.from(each));
        const whole = (separator: string) =>
          Buffer.concat(texts.flatMap((each, at) => (at === 0 ? [each] : [Buffer.from(separator), each])));
        await using world = openWorld();
        const bytes = Buffer.concat([Buffer.from("["), whole(","), Buffer.from("]")]);
        expect(await ofLines(whole("\n"))).toEqual(await loaded(world, fileOf("json", bytes), 3));
      }
      expect(await ofLines(`\ufeff${orders.join("\n")}`)).toEqual(await ofList(orders));
    },
  );

  deepTest(
    "can be followed by surprises: new columns, other types, numbers past 2^53, lists for objects",
    async () => {
      for (const late of [
        ['{"id":5,"new":{"deep":true},"lines":[{"n":1.5,"tags":["c"]},null]}', '{"id":0.5,"to":null}'],
        ['{"lines":[[1,[2]],{"n":1},3]}'],
        ['{"id":"x","at":"soon","to":[1],"lines":{"n":1}}', '{"id":9007199254740993}', '{"id":1e999}'],
      ]) {
        const texts = [...orders, ...late, ...orders, ...late];
        expect(await ofLines(texts.join("\r\n"))).toEqual(await ofList(texts));
        expect(await ofPages([orders, [...late, ...orders, ...late]])).toEqual(await ofList(texts));
      }
      await using world = openWorld();
      const bytes = new TextEncoder().encode([...orders, '{"id":1e999}'].join("\n"));
      await world.run({ resources: [{ name: "t" }] }, fileOf("jsonl", bytes));
      expect(await world.query("SELECT id FROM raw.shop__t WHERE length(id) > 4")).toEqual([{ id: "1e999" }]);
    },
  );

  deepTest("can be one long list, as some programs write them", async () => {
    await using world = openWorld();
    const bytes = new TextEncoder().encode(`[${"1,".repeat(1_000_000)}1]`);
    const { result } = await world.run({ resources: [{ name: "t" }] }, fileOf("jsonl", bytes));
    expect(result.tables).toMatchObject([{ rowsRead: 1_000_001, rows: 1_000_001 }]);
  });

  test("in Latin-1 are rejected by the file's name, as a list is: two texts could become one", async () => {
    const latin = (text: string) => Buffer.from(text, "latin1");
    const rows = [...orders, order(5, ',"to2":"M\xfcller"')];
    await using world = openWorld();
    for (const load of [
      () => ofLines(latin(rows.join("\n"))),
      () => loaded(world, fileOf("json", latin(`[${rows.join(",")}]`)), 3),
    ]) {
      const { code, message } = await failure(load());
      expect([code, message]).toEqual(["upstream", expect.stringMatching(/^a\.jsonl? is no UTF-8/)]);
    }
  });

  test("are reported by number if one of them isn't JSON", async () => {
    for (const broken of [
      "{",
      '{"id":1,}',
      '{"id":NaN}',
      "{'id':1}",
      '{"id":01}',
      '{"id":1.}',
      '{"id":-}',
      '{"id":1e}',
      '{"id":tru}',
      '{"at":"a\tb"}',
      '{"at":"a\\x"}',
      '{"at":"a',
      '{"lines":[{"n":1},]}',
      '{"lines":[,]}',
      '{"id":1 "at":"a"}',
      `${order(1)} ${order(2)}`,
      `${order(1)}\ufeff`,
    ]) {
      const error = await failure(ofLines([...orders, "", broken, ...orders].join("\n")));
      expect([broken, error.message]).toEqual([broken, "Line 701 of a.jsonl is not valid JSON."]);
    }
    const error = await failure(ofPages([orders, ['{"id":NaN}', ...orders]]));
    expect(error.message).toBe("Row 701 of t is not valid JSON.");
  });
});
