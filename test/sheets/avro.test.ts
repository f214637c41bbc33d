import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateRawSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { avroByHand, avroOf, sized, twosComplement, zigzag } from "../support/avro.ts";
import { scaled } from "../support/scale.ts";
import { readTables } from "../support/sheets.ts";

const read = async (bytes: Uint8Array) => {
  const [table] = await readTables(bytes, { format: "avro" });
  if (!table) throw new Error("There is no table.");
  return { ...table, types: Object.fromEntries(table.columns.map(({ name, type }) => [name, type])) };
};
const record = (fields: Readonly<Record<string, unknown>>) => ({
  type: "record",
  name: "row",
  fields: Object.entries(fields).map(([name, type]) => ({ name, type })),
});
/** One row of one column for each of the byte arrays. */
const column = (type: unknown, values: readonly Uint8Array[]) =>
  avroByHand(record({ c: type }), [{ rows: values.length, body: Buffer.concat(values) }]);
const int64 = (...values: (number | bigint)[]) => values.map((value) => zigzag(value));

describe("values", () => {
  test("of each primitive type arrive exactly", async () => {
    const schema = record({
      ...{ flag: "boolean", small: "int", big: "long", single: "float", wide: "double", text: "string" },
      ...{ bytes: "bytes", four: { type: "fixed", name: "four", size: 4 } },
      ...{ color: { type: "enum", name: "color", symbols: ["RED", "BLUE"] }, nothing: "null" },
    });
    const row = { four: Buffer.from("00ff10ab", "hex"), nothing: null };
    const rows = [
      { ...row, flag: true, small: -(2 ** 31), big: 2n ** 63n - 1n, single: Math.fround(0.1), wide: 5e-324 },
      { ...row, flag: false, small: 0, big: -(2n ** 63n), single: -0, wide: Number.NaN },
      { ...row, flag: false, small: 2 ** 31 - 1, big: 9007199254740993n, single: 1.5, wide: -Infinity },
    ].map((row, at) => ({
      ...row,
      text: ['é "quoted",\r\n', "", "01234"][at],
      bytes: Buffer.from(["", "00ff", "22"][at] ?? "", "hex"),
      color: ["BLUE", "RED", "RED"][at],
    }));
    const table = await read(await avroOf(schema, rows, "deflate"));
    expect(table.types).toEqual({
      ...{
        flag: "BOOLEAN",
        small: "INTEGER",
        big: "BIGINT",
        single: "FLOAT",
        wide: "DOUBLE",
        text: "VARCHAR",
      },
      ...{ bytes: "BLOB", four: "BLOB", color: "VARCHAR", nothing: "VARCHAR" },
    });
    expect(table).toMatchObject({ name: null, rows: 3, odd: [] });
    expect(table.values).toEqual([
      [
        "true",
        "-2147483648",
        "9223372036854775807",
        "0.10000000149011612",
        "5e-324",
        'é "quoted",\r\n',
        "",
        "00ff10ab",
        "BLUE",
        null,
      ],
      ["false", "0", "-9223372036854775808", "-0", "NaN", "", "00ff", "00ff10ab", "RED", null],
      ["false", "2147483647", "9007199254740993", "1.5", "-Infinity", "01234", "22", "00ff10ab", "RED", null],
    ]);
  });

  test.each<[string, unknown, readonly Uint8Array[], string, (string | null)[]]>([
    [
      "decimals",
      { type: "bytes", logicalType: "decimal", precision: 20, scale: 3 },
      [...[0n, -1n, -128n, 12345678901234567891n].map((value) => sized(twosComplement(value, 9))), sized("")],
      "DECIMAL(20,3)",
      ["0.000", "-0.001", "-0.128", "12345678901234567.891", "0.000"],
    ],
    [
      "decimals of more than 38 digits",
      { type: "fixed", name: "f", size: 17, logicalType: "decimal", precision: 39 },
      [twosComplement(10n ** 38n, 17)],
      "VARCHAR",
      ["100000000000000000000000000000000000000"],
    ],
    [
      "what calls itself a decimal and can be none",
      { type: "bytes", logicalType: "decimal", precision: 2, scale: 3 },
      [sized(Buffer.from("01", "hex"))],
      "BLOB",
      ["01"],
    ],
    [
      "days",
      { type: "int", logicalType: "date" },
      int64(0, -719162, 2145042905),
      "DATE",
      ["1970-01-01", "0001-01-01", "5874897-12-31"],
    ],
    [
      "milliseconds of a day",
      { type: "int", logicalType: "time-millis" },
      int64(0, 86_399_999),
      "TIME",
      ["00:00:00", "23:59:59.999"],
    ],
    [
      "microseconds of a day",
      { type: "long", logicalType: "time-micros" },
      int64(1, 86_399_999_999),
      "TIME",
      ["00:00:00.000001", "23:59:59.999999"],
    ],
    [
      "instants in milliseconds",
      { type: "long", logicalType: "timestamp-millis" },
      int64(-1, 1_706_695_200_123, 253_402_300_799_999),
      "TIMESTAMPTZ",
      ["1969-12-31T23:59:59.999Z", "2024-01-31T10:00:00.123Z", "9999-12-31T23:59:59.999Z"],
    ],
    [
      "instants in microseconds",
      { type: "long", logicalType: "timestamp-micros" },
      int64(-1, 1_706_695_200_000_001n, -62_135_596_800_000_000n, 9_223_371_244_800_000_000n - 1n),
      "TIMESTAMPTZ",
      [
        "1969-12-31T23:59:59.999999Z",
        "2024-01-31T10:00:00.000001Z",
        "0001-01-01T00:00:00Z",
        "294246-12-31T23:59:59.999999Z",
      ],
    ],
    [
      "instants in whole microseconds, though they could tell nanoseconds",
      { type: "long", logicalType: "timestamp-nanos" },
      int64(1_706_695_200_000_001_000n, -1000),
      "TIMESTAMPTZ",
      ["2024-01-31T10:00:00.000001Z", "1969-12-31T23:59:59.999999Z"],
    ],
    [
      "instants in nanoseconds, which no timestamp holds",
      { type: "long", logicalType: "timestamp-nanos" },
      int64(1_706_695_200_000_001_000n, 1),
      "VARCHAR",
      ["2024-01-31T10:00:00.000001Z", "1970-01-01T00:00:00.000000001Z"],
    ],
    [
      "local times",
      { type: "long", logicalType: "local-timestamp-millis" },
      int64(1_706_695_200_100),
      "TIMESTAMP",
      ["2024-01-31T10:00:00.100"],
    ],
    [
      "local times in microseconds",
      ["null", { type: "long", logicalType: "local-timestamp-micros" }],
      [Buffer.concat([zigzag(1), zigzag(1)]), zigzag(0)],
      "TIMESTAMP",
      ["1970-01-01T00:00:00.000001", null],
    ],
    [
      "UUIDs as texts",
      { type: "string", logicalType: "uuid" },
      [sized("01900000-0000-7000-8000-00000000ABCD")],
      "UUID",
      ["01900000-0000-7000-8000-00000000ABCD"],
    ],
    [
      "UUIDs as bytes",
      { type: "fixed", name: "u", size: 16, logicalType: "uuid" },
      [Buffer.from("0190000000007000800000000000abcd", "hex")],
      "UUID",
      ["01900000-0000-7000-8000-00000000abcd"],
    ],
    [
      "durations",
      { type: "fixed", name: "d", size: 12, logicalType: "duration" },
      [Buffer.from("0e0000000300000005dc0000", "hex"), Buffer.alloc(12)],
      "VARCHAR",
      ["P14M3DT56.325S", "P0M0DT0S"],
    ],
    ["an unknown logical type", { type: "long", logicalType: "price" }, int64(7), "BIGINT", ["7"]],
  ])("%s", async (_, type, bytes, sqlType, values) => {
    const table = await read(column(type, bytes));
    expect(table.types.c).toBe(sqlType);
    expect(table.values.map(([value]) => value)).toEqual(values as string[]);
    expect(table.odd).toEqual([]);
  });

  test("that the lake can't hold are NULL, and reported", async () => {
    const schema = record({
      day: { type: "int", logicalType: "date" },
      instant: { type: "long", logicalType: "timestamp-micros" },
      clock: { type: "int", logicalType: "time-millis" },
      amount: { type: "bytes", logicalType: "decimal", precision: 2, scale: 1 },
      id: { type: "string", logicalType: "uuid" },
      text: "string",
    });
    const row = (day: number, instant: bigint, clock: number, amount: number, id: string, text: string) =>
      Buffer.concat([
        ...[zigzag(day), zigzag(instant), zigzag(clock), sized(Buffer.from([amount])), sized(id)],
        sized(Buffer.from(text, "latin1")),
      ]);
    const body = Buffer.concat([
      row(-719_163, -62_135_596_800_000_001n, 86_400_000, 100, "x", "\xff"),
      row(2_145_042_906, 9_223_371_244_800_000_000n, -1, -100, "", "a\xffb"),
    ]);
    const table = await read(avroByHand(schema, [{ rows: 2, body }]));
    expect(table.values).toEqual([Array(6).fill(null), Array(6).fill(null)]);
    expect(table.odd).toEqual(
      [
        ["day", "dates outside the years 1 to 5874897 became NULL", ["-719163", "2145042906"]],
        [
          "instant",
          "timestamps outside the years 1 to 294246 became NULL",
          ["-62135596800000001", "9223371244800000000"],
        ],
        ["clock", "times beyond a day became NULL", ["86400", "-1"]],
        ["amount", "decimals of more than 2 digits became NULL", ["10.0", "-10.0"]],
        ["id", "texts that aren't UUIDs became NULL", ["x", ""]],
        ["text", "texts that aren't UTF-8 became NULL", ["ff", "61ff62"]],
      ].map(([column, reason, examples]) => ({ column, reason, examples, count: 2 })) as never,
    );
  });

  test("that are nested are JSON with all of their digits", async () => {
    const schema = record({
      list: { type: "array", items: "long" },
      map: {
        type: "map",
        values: ["null", { type: "bytes", logicalType: "decimal", precision: 30, scale: 2 }],
      },
      inner: {
        ...record({
          a: "double",
          at: { type: "long", logicalType: "timestamp-millis" },
          kind: { type: "enum", name: "space.kind", symbols: ["X"] },
        }),
        name: "inner",
      },
      either: ["null", "boolean", "string"],
      onlyNull: ["null"],
      sure: ["string"],
    });
    const decimal = sized(twosComplement(123456789012345678901234567890n, 13));
    const body = Buffer.concat([
      // A block of two items with its byte count, then one of one item.
      ...[zigzag(-2), zigzag(11), zigzag(2n ** 63n - 1n), zigzag(1), zigzag(1), zigzag(-5), zigzag(0)],
      ...[zigzag(2), sized('k"'), zigzag(1), decimal, sized(""), zigzag(0), zigzag(0)],
      ...[Buffer.from(Float64Array.of(Number.POSITIVE_INFINITY).buffer), zigzag(0), zigzag(0)],
      ...[zigzag(2), sized("text"), zigzag(0), zigzag(0), sized("x")],
    ]);
    const table = await read(avroByHand(schema, [{ rows: 1, body }]));
    expect(table.types).toEqual({
      ...{ list: "JSON", map: "JSON", inner: "JSON", either: "JSON", onlyNull: "VARCHAR", sure: "VARCHAR" },
    });
    expect(table.values).toEqual([
      [
        "[9223372036854775807,1,-5]",
        '{"k\\"":1234567890123456789012345678.90,"":null}',
        '{"a":"Infinity","at":"1970-01-01T00:00:00Z","kind":"X"}',
        '"text"',
        null,
        "x",
      ],
    ]);
    expect(table.odd).toEqual([
      {
        column: "inner",
        reason: "NaN and infinities became texts within JSON",
        count: 1,
        examples: ["Infinity"],
      },
    ]);
  });

  test("of recursive types, and files without records", async () => {
    const schema = record({ next: ["null", "row"], value: "int" });
    const body = Buffer.concat([zigzag(1), zigzag(1), zigzag(0), zigzag(3), zigzag(2), zigzag(1)]);
    const chain = await read(avroByHand(schema, [{ rows: 1, body }]));
    expect(chain.values).toEqual([['{"next":{"next":null,"value":3},"value":2}', "1"]]);
    const longs = await read(avroByHand("long", [{ rows: 2, body: Buffer.concat(int64(1, 2)) }]));
    expect([longs.types, longs.values]).toEqual([{ value: "BIGINT" }, [["1"], ["2"]]]);
    expect(await read(avroByHand(record({ a: "int" }), []))).toMatchObject({
      rows: 0,
      types: { a: "INTEGER" },
    });
  });

  test("of any table by another writer are returned", async () => {
    const row = fc.record({
      big: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      wide: fc.double(),
      text: fc.option(fc.string({ unit: "binary" })),
      bytes: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      list: fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { maxLength: 3 }),
    });
    const schema = record({
      ...{ big: "long", wide: "double", text: ["string", "null"], bytes: "bytes" },
      list: { type: "array", items: "long" },
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 50, maxLength: 300 }),
        fc.boolean(),
        async (rows, isPacked) => {
          const table = await read(await avroOf(schema, rows, isPacked ? "deflate" : "null"));
          expect(table.values).toEqual(
            rows.map(({ big, wide, text, bytes, list }) => [
              ...[String(big), Object.is(wide, -0) ? "-0" : String(wide), text, bytes.toString("hex")],
              `[${list.join(",")}]`,
            ]),
          );
        },
      ),
      { numRuns: scaled(4, 36), seed: 20_26 },
    );
  });
});

describe("codecs", () => {
  const rows = Array.from({ length: 200 }, (_, at) => [
    String(2n ** 62n + BigInt(at)),
    at % 3 === 0 ? null : "repeated text ".repeat(at % 7) + String(at),
    `-${12345678901234567n - BigInt(at)}.891`,
    `2024-01-31T10:00:00.${String(at + 1).padStart(6, "0")}Z`,
  ]);

  // Written by fastavro 1.12.2 with cramjam.
  test.each(["deflate", "snappy"])("%s, by another program", async (codec) => {
    const table = await read(readFileSync(join(import.meta.dir, "fixtures", `${codec}.avro`)));
    expect(table.types).toEqual({ n: "BIGINT", t: "VARCHAR", d: "DECIMAL(20,3)", i: "TIMESTAMPTZ" });
    expect(table.values).toEqual(rows);
  });

  test("zstandard and deflate, by hand", async () => {
    const body = Buffer.concat(int64(1, 2, 3));
    for (const [codec, compress] of [
      ["zstandard", zstdCompressSync],
      ["deflate", deflateRawSync],
    ] as const) {
      const bytes = avroByHand("long", [{ rows: 3, body: compress(body) }], { "avro.codec": codec });
      expect((await read(bytes)).values).toEqual([["1"], ["2"], ["3"]]);
    }
  });
});
