import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import type { JsonObject } from "../../../src/base/json.ts";
import { localFiles } from "../../../src/providers/local-files/local-files.ts";
import { link } from "../../support/link.ts";
import { deepTest, scaled, someOf } from "../../support/scale.ts";
import { failure, openWorld, type World } from "./world.ts";

/** Loads files of a folder into the table t. */
function load(world: World, spec: string, files: Record<string, string | Uint8Array>, more: JsonObject = {}) {
  const filesFolder = join(world.folder, "files");
  mkdirSync(filesFolder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(filesFolder, name), content);
  return world.run(
    { resources: [{ name: "t", spec, ...more }] },
    { provider: localFiles, link: link({}, {}, { filesFolder }) },
  );
}

const valuesOf = async (world: World, name = "v") =>
  (await world.query(`SELECT CAST(${name} AS VARCHAR) AS v FROM raw.shop__t ORDER BY i`)).map(({ v }) => v);
const typeOf = (world: World) => world.columns("t").v;
const csvOf = (values: readonly string[]) => `i,v\n${values.map((v, i) => `${i},${v}\n`).join("")}`;

describe("a CSV column", () => {
  test.each<[string, string[], string]>([
    ["truth values", ["true", "false"], "BOOLEAN"],
    ["whole numbers", ["1", "-9223372036854775808"], "BIGINT"],
    ["longer whole numbers", ["1", "92233720368547758080"], "DECIMAL(38,0)"],
    ["amounts", ["12.34", "1.5", "7"], "DECIMAL(38,2)"],
    ["amounts of all digits", ["123456789012345678901234567890123456.78"], "DECIMAL(38,2)"],
    ["fractions beyond all decimals", ["0.5", `0.${"1".repeat(39)}`], "VARCHAR"],
    ["floats", ["1e-05", "2.5", "1e+22"], "DOUBLE"],
    ["floats and whole numbers", ["1e-05", "1", "-2.0"], "DOUBLE"],
    ["floats and nan", ["1e-05", "nan"], "VARCHAR"],
    ["floats and infinity", ["1e-05", "-inf"], "VARCHAR"],
    ["floats and a negative zero", ["1e-05", "-0.0"], "VARCHAR"],
    ["floats and a leading zero", ["1e-05", "01.5"], "VARCHAR"],
    ["days", ["2026-01-31", "0001-01-01"], "DATE"],
    ["instants", ["2026-01-31 10:00:00", "2026-01-31T10:00:00.123456"], "TIMESTAMP"],
    [
      "instants with a zone",
      ["2026-01-31T10:00:00Z", "2026-01-31 10:00:00+05:30"],
      "TIMESTAMP WITH TIME ZONE",
    ],
    ["zones here and there", ["2026-01-31T10:00:00Z", "2026-01-31T10:00:00"], "VARCHAR"],
    ["leading zeros", ["1", "01234"], "VARCHAR"],
    ["hexadecimal numbers", ["1", "0x1F"], "VARCHAR"],
    ["negative zeros", ["1", "-0"], "VARCHAR"],
    ["negative zeros of a fraction", ["1.5", "-0.0"], "VARCHAR"],
    ["yes and no", ["yes", "no"], "VARCHAR"],
    ["days of an order that nobody knows", ["01/02/2026"], "VARCHAR"],
    ["infinite days", ["2026-01-01", "infinity"], "VARCHAR"],
    ["inf", ["inf"], "VARCHAR"],
    ["nan among numbers", ["1.5", "nan"], "VARCHAR"],
    ["seven digits of a second", ["2026-01-31 10:00:00.1234567"], "VARCHAR"],
    ["thousands", ['"1,000"'], "VARCHAR"],
    ["days that there are none of", ["2026-02-30"], "VARCHAR"],
  ])("of %s has the type that holds them all", async (_, values, type) => {
    await using world = openWorld();
    const { result } = await load(world, "a.csv", { "a.csv": csvOf(values) });
    expect([typeOf(world), result.warnings]).toEqual([type, []]);
  });

  // A type that the first rows suggest is disproved by any later one.
  test.each(someOf(1, [2_100, 20_481, 60_000]))(
    "keeps what only row %d has, whatever came before",
    async (late) => {
      for (const [early, odd] of [
        ["1", "1.5"],
        ["1", "01234"],
        ["1.5", "1.23456"],
        ["true", "yes"],
        ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00"],
      ] as const) {
        await using world = openWorld();
        const values = Array.from({ length: late + 1 }, (__, i) => (i === late ? odd : early));
        await load(world, "a.csv", { "a.csv": csvOf(values) });
        const [row] = await world.query(`SELECT CAST(v AS VARCHAR) AS v FROM raw.shop__t WHERE i = ${late}`);
        expect([early, row?.v]).toEqual([early, odd]);
      }
    },
  );

  test("that is empty at first, or in a whole file, has the type of later values", async () => {
    const empty = Array.from({ length: 3_000 }, () => "");
    for (const [type, ...later] of [
      ["BIGINT", "1", "2"],
      ["DECIMAL(38,1)", "1.5", ""],
      ["VARCHAR", "", "a"],
    ] as const) {
      await using late = openWorld();
      await load(late, "a.csv", { "a.csv": csvOf([...empty, ...later]) });
      await using next = openWorld();
      await load(next, "*.csv", {
        "a.csv": csvOf(["", ""]),
        "b.csv": csvOf([...later]),
        "c.csv": csvOf([""]),
      });
      expect([typeOf(late), typeOf(next)]).toEqual([type, type]);
      expect((await valuesOf(late)).slice(3_000)).toEqual(later.map((value) => value || null));
    }
  });

  test("of JSON with half a surrogate pair loses it, and reports it", async () => {
    await using world = openWorld();
    const lines = '{"i":1,"v":"a\\ud800"}\n{"i":2,"v":"\\ud83d\\ude42"}\n';
    const { result } = await load(world, "a.jsonl", { "a.jsonl": lines });
    expect(await valuesOf(world)).toEqual(["a\ufffd", "🙂"]);
    expect(result.warnings).toEqual([
      't.v: 1 value lost half of a surrogate pair, which is not a character ("a\ufffd").',
    ]);
  });

  test("has one type across all files, and in any order of rows", async () => {
    const value = fc.constantFrom(
      "1",
      "01",
      "1.5",
      "2.25",
      "true",
      "2026-01-01",
      "2026-01-01 10:00:00",
      "x",
      "",
      "1e5",
      "-0",
      "99999999999999999999",
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(value, { minLength: 1, maxLength: 6 }),
        fc.array(value, { minLength: 1, maxLength: 6 }),
        async (one, two) => {
          const types: (string | undefined)[] = [];
          for (const [first, second] of [
            [one, two],
            [two.toReversed(), one.toReversed()],
          ] as const) {
            await using world = openWorld();
            const later = csvOf([...first.map(() => ""), ...second])
              .split("\n")
              .slice(first.length + 1)
              .join("\n");
            await load(world, "*.csv", { "a.csv": csvOf(first), "b.csv": `i,v\n${later}` });
            types.push(typeOf(world));
            const found = await valuesOf(world);
            const given = [...first, ...second].map((v) => (v === "" ? null : v));
            const isNumber = /^(DECIMAL|DOUBLE)/.test(typeOf(world) ?? "");
            const plain = (v: unknown) => (v === null || !isNumber ? v : Number(v));
            expect(found.map(plain)).toEqual(given.map(plain));
          }
          expect(types[0]).toBe(types[1]);
        },
      ),
      { numRuns: scaled(3, 75), seed: 20_26 },
    );
  }, 120_000);

  test("that the table already has keeps its type, and mismatches are reported", async () => {
    await using world = openWorld();
    await load(world, "a.csv", { "a.csv": "i,v\n1,10\n" });
    const { result } = await load(world, "b.csv", { "b.csv": "i,v\n2,20\n3,2.5\n4,3.5\n" });
    expect(result.warnings).toContain('t.v: 2 values went to v__v_decimal: no BIGINT ("2.5", "3.5").');
    expect(await world.query("SELECT v, v__v_decimal AS d FROM raw.shop__t ORDER BY i")).toEqual([
      { v: 10, d: null },
      { v: 20, d: null },
      { v: null, d: "2.5" },
      { v: null, d: "3.5" },
    ]);
    await using texts = openWorld();
    await load(texts, "a.csv", { "a.csv": "i,v\n1,x\n" });
    await load(texts, "b.csv", { "b.csv": "i,v\n2,1.50\n3,1.5\n" });
    expect(await valuesOf(texts)).toEqual(["x", "1.50", "1.5"]);
  });

  test("of timestamps without a zone accepts those with a zone in UTC, and reports it", async () => {
    await using world = openWorld();
    await load(world, "a.csv", { "a.csv": "i,v\n1,2026-01-02 03:04:05\n" });
    const { result } = await load(world, "b.csv", { "b.csv": "i,v\n2,2026-01-02T03:04:05+05:00\n3,\n" });
    expect(result.warnings).toContain(
      't.v: 1 value went to UTC: the column has no zone ("2026-01-01 22:04:05").',
    );
    expect(await valuesOf(world)).toEqual(["2026-01-02 03:04:05", "2026-01-01 22:04:05", null]);
    const frozen = await failure(
      world.run(
        { resources: [{ name: "t", spec: "b.csv" }], schemaContract: "freeze" },
        { provider: localFiles, link: link({}, {}, { filesFolder: join(world.folder, "files") }) },
      ),
    );
    expect(frozen.code).toBe("schema_contract_violation");
  });

  test("has the type that the definition sets, and others are reported", async () => {
    await using world = openWorld();
    const columns = [
      { name: "v", type: "text" },
      { name: "d", type: "decimal(10,2)" },
    ];
    const { result } = await load(world, "a.csv", { "a.csv": "i,v,d\n1,10,1.5\n2,20,1.234\n" }, { columns });
    expect(world.columns("t")).toMatchObject({
      i: "BIGINT",
      v: "VARCHAR",
      d: "DECIMAL(10,2)",
      d__v_decimal: "DECIMAL(38,3)",
    });
    expect(result.warnings).toEqual(['t.d: 1 value went to d__v_decimal: no DECIMAL(10,2) ("1.234").']);
    expect(Object.keys(world.columns("t"))).not.toContain("v__v_text");
  });

  test("with the name of another is reported", async () => {
    await using world = openWorld();
    const { result } = await load(world, "*.csv", { "a.csv": "i,v,v\n1,2,3\n", "b.csv": "i,v,v\n2,3,4\n" });
    expect(result.warnings).toEqual(['Several columns of t are called "v"; one is v_2 here.']);
    expect(await valuesOf(world, "v_2")).toEqual(["3", "4"]);
  });

  test("that was removed at the source is reported", async () => {
    await using world = openWorld();
    await load(world, "a.csv", { "a.csv": "i,v\n1,10\n" });
    const { result } = await load(world, "b.csv", { "b.csv": "i\n2\n" });
    expect(result.warnings).toContain("t.v: the source no longer has this column. New rows have NULL there.");
  });
});

describe("CSV in practice", () => {
  const world = async (content: string | Uint8Array, file: JsonObject = {}, name = "a.csv") => {
    const made = openWorld();
    const { result } = await load(made, name, { [name]: content }, { file });
    return { made, result };
  };

  test.each<[string, string | Uint8Array, JsonObject, string, (string | null)[]]>([
    [
      "in windows-1252",
      Buffer.from("i,v\n1,Caf\xe9 \x80\n", "latin1"),
      { encoding: "windows-1252" },
      "VARCHAR",
      ["Café €"],
    ],
    ["in UTF-16 with a mark", Buffer.from("\ufeffi,v\n1,漢字\n", "utf16le"), {}, "VARCHAR", ["漢字"]],
    ["with a mark of UTF-8", "\ufeffi,v\n1,x\n", {}, "VARCHAR", ["x"]],
    [
      "with lines that end in several ways",
      'i,v\r\n1,"a\r\nb"\n2,c\r3,d\r\n',
      {},
      "VARCHAR",
      ["a\r\nb", "c", "d"],
    ],
    [
      "with a delimiter and a quote of its own",
      "i|v\n1|'a|b'\n",
      { delimiter: "|", quote: "'" },
      "VARCHAR",
      ["a|b"],
    ],
    ["with no quotes", 'i,v\n1,"x\n', { quote: "" }, "VARCHAR", ['"x']],
    ["without a header", "1,x\n", { header: false }, "VARCHAR", ["x"]],
    [
      "with a heading and comments",
      "Report\n#c\ni,v\n1,x\n#d\n2,y\n",
      { skipRows: 1, comment: "#" },
      "VARCHAR",
      ["x", "y"],
    ],
    [
      "with the sign of comments within values",
      '\ufeff#c\r\nReport #\r\ni,v\r\n# it"s\r\n1,a #b\r\n#\r\n2,"c\r\n#d"\r\n3,#\r\n',
      { skipRows: 2, comment: "#" },
      "VARCHAR",
      ["a #b", "c\r\n#d", "#"],
    ],
    [
      "with the sign of comments within values, behind a mark",
      "\ufeff# one\ni,v\n1,a#\n",
      { comment: "#" },
      "VARCHAR",
      ["a#"],
    ],
    ["with texts for NULL", 'i,v\n1,NA\n2,""\n3,\n', { nullText: "NA" }, "VARCHAR", [null, "", null]],
    ["with empty quoted fields", 'i,v\n1,""\n2,x\n', {}, "VARCHAR", [null, "x"]],
    [
      "with decimal commas",
      "i;v\n1;1.234,50\n2;7\n",
      { decimal: ",", delimiter: ";" },
      "DECIMAL(38,2)",
      ["1234.50", "7.00"],
    ],
    ["with days of its own", "i,v\n1,31.01.2026\n", { dateFormat: "dd.MM.yyyy" }, "DATE", ["2026-01-31"]],
    [
      "with days that its format would write in another way",
      "i,v\n1,1.2.2026\n",
      { dateFormat: "%d.%m.%Y" },
      "VARCHAR",
      ["1.2.2026"],
    ],
    ["packed by Zstandard", zstdCompressSync("i,v\n1,5\n"), {}, "BIGINT", ["5"]],
  ])("%s", async (_, content, file, type, values) => {
    const { made } = await world(
      content,
      file,
      content instanceof Uint8Array && content[0] === 0x28 ? "a.csv.zst" : "a.csv",
    );
    await using all = made;
    const [i, v] = file.header === false ? ["column_1", "column_2"] : ["i", "v"];
    expect(all.columns("t")[v ?? ""]).toBe(type);
    const found = await all.query(`SELECT CAST(${v} AS VARCHAR) AS v FROM raw.shop__t ORDER BY ${i}`);
    expect(found.map((row) => row.v)).toEqual(values);
  });

  test.each([
    ["HH:mm:ss", "needs a year, a month and a day"],
    ["dd.MM.", "needs a year, a month and a day"],
    ["dd.MM.yyyy hh:mm", "Twelve hours (hh or %I) need a or %p"],
    ["%Y-%m-%d %H:%M:%S.%n", "Columns hold microseconds"],
    ["dd.QQ.yyyy", "Unknown date format"],
  ])("is rejected with the date format %s", async (dateFormat, told) => {
    await using world = openWorld();
    const refused = await failure(load(world, "a.csv", { "a.csv": "i,v\n1,x\n" }, { file: { dateFormat } }));
    expect([refused.code, refused.message]).toEqual(["definition_invalid", expect.stringContaining(told)]);
  });

  test.each([
    ["03.04.2026 10:00 +0200", "TIMESTAMP WITH TIME ZONE"],
    ["03.04.2026 10:00 +9900", "VARCHAR"],
    ["03.04.0000 10:00 +0200", "VARCHAR"],
  ])("with a zone in its own date format, %s is %s", async (value, type) => {
    await using world = openWorld();
    await load(
      world,
      "a.csv",
      { "a.csv": `i,v\n1,${value}\n` },
      { file: { dateFormat: "dd.MM.yyyy HH:mm xx" } },
    );
    expect(typeOf(world)).toBe(type);
  });

  test("is rejected if it is cut off within Zstandard", async () => {
    await using made = openWorld();
    const packed = zstdCompressSync(`i,v\n${"1,abcdefgh\n".repeat(10_000)}`);
    for (const length of [packed.length - 1, Math.floor(packed.length / 2), 6]) {
      const error = await failure(load(made, "a.csv.zst", { "a.csv.zst": packed.subarray(0, length) }));
      expect(error.message).toBe("The file a.csv.zst is not whole, or not Zstandard.");
    }
  });

  deepTest("keeps a last record that is longer than any buffer", async () => {
    await using made = openWorld();
    const long = "x".repeat(40 * 1024 * 1024);
    await load(made, "a.csv", { "a.csv": `i,v\n1,a\n2,"${long}"\n` });
    expect(await made.query("SELECT length(v) AS n FROM raw.shop__t ORDER BY i")).toEqual([
      { n: 1 },
      { n: long.length },
    ]);
  });

  test("continues without unreadable records, which are counted and kept", async () => {
    await using made = openWorld();
    const lines = [
      "i,v",
      "1,2",
      '"x"y,3',
      "4",
      "5,6,7",
      "8,9",
      ...Array.from({ length: 3_000 }, (_, i) => `${i + 10},1`),
      "late",
    ];
    const { result, done } = await load(
      made,
      "a.csv",
      { "a.csv": `${lines.join("\n")}\n` },
      { file: { onBadRow: "reject" } },
    );
    expect(result.tables[0]).toMatchObject({ rowsRead: 3_006, rows: 3_002, rejected: 4 });
    expect(result.warnings).toEqual([
      expect.stringMatching(/^4 records of a\.csv could not be read and were rejected \(line 3: /),
    ]);
    const [artifact] = done.artifacts ?? [];
    const kept =
      artifact?.kind === "file"
        ? new TextDecoder()
            .decode(artifact.bytes)
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line))
        : [];
    expect(kept.map(({ line, text }) => [line, text])).toEqual([
      [3, '"x"y,3'],
      [4, "4"],
      [5, "5,6,7"],
      [3_007, "late"],
    ]);
    await using strict = openWorld();
    expect((await failure(load(strict, "a.csv", { "a.csv": lines.join("\n") }))).message).toContain(
      "a.csv can't be read as csv: line 3",
    );
  });

  test("without bytes loads nothing, whereas empty Parquet and JSON are rejected", async () => {
    await using made = openWorld();
    expect((await load(made, "a.csv", { "a.csv": "" })).result.rows).toBe(0);
    for (const name of ["a.parquet", "a.json"])
      expect((await failure(load(made, name, { [name]: "" }))).message).toContain(`${name} has no bytes`);
  });
});
