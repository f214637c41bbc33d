import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { avroOf } from "../support/avro.ts";
import { deepTest } from "../support/scale.ts";
import { workbookOf } from "../support/workbook.ts";
import { connectFolder, startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
});
afterAll(() => data[Symbol.asyncDispose]());

const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
const number = (value: string, style = 0) => `<c s="${style}"><v>${value}</v></c>`;
const row = (...cells: string[]) => `<row>${cells.join("")}</row>`;

test("each sheet of a workbook is a table with the types of its cells, and one can be selected", async () => {
  const folder = await connectFolder(data.owner, "/sheets");
  const book = workbookOf({
    formats: [14],
    sheets: {
      Orders: [
        row(text("Number"), text("Paid"), text("Day"), text("Code")),
        row(number("1"), number("12.34"), number("45322", 1), text("007")),
        row(number("2"), '<c t="e"><v>#N/A</v></c>', number("45323", 1), text("8")),
      ].join(""),
      "Ümsatz 2026": row(text("a")) + row(number("0.30000000000000004")),
    },
  });
  await data.upload(folder, "/in/shop.xlsx", book);
  const extract = await data.extract(folder, { dataset: "book", resources: [{ spec: "in/shop.xlsx" }] });
  const result = await extract.result();
  expect(result).toMatchObject({ rows: 3, tables: [{ table: "shop" }, { table: "shop_umsatz_2026" }] });
  expect(result.warnings).toEqual([
    expect.stringMatching(/^shop\.Paid: 1 value became NULL: error values \("B3: #N\/A"\)\.$/),
  ]);
  expect(await data.rows('select number, paid, "day", code from raw.book__shop order by number')).toEqual([
    { number: 1, paid: "12.34", day: "2024-01-31", code: "007" },
    { number: 2, paid: null, day: "2024-02-01", code: "8" },
  ]);
  expect(await data.rows("select cast(a as varchar) as a from raw.book__shop_umsatz_2026")).toEqual([
    { a: "0.30000000000000004" },
  ]);
  const one = await extract.run({
    dataset: "one",
    resources: [{ name: "one", spec: "in/shop.xlsx", file: { sheet: "Ümsatz 2026", header: false } }],
  });
  expect(one).toMatchObject({ status: "completed", result: { tables: [{ table: "one", rows: 2 }] } });
});

deepTest("columns with duplicate, missing or reserved names all arrive, even far to the right", async () => {
  const folder = await connectFolder(data.owner, "/heads");
  const at = (place: string, value: string) => `<c r="${place}" t="inlineStr"><is><t>${value}</t></is></c>`;
  const heads = ["A", "C", "D", "E", "AB"].map((place, index) =>
    at(`${place}1`, ["Name", "Name", "name", "column_2", "Name_2"][index] ?? ""),
  );
  const cells = ["A", "B", "C", "D", "E", "AB", "AC"].map((place) => at(`${place}2`, `in ${place}`));
  const book = workbookOf({ sheets: { s: row(...heads) + row(...cells) } });
  await data.upload(folder, "/in/heads.xlsx", book);
  const extract = await data.extract(folder, { dataset: "heads", resources: [{ spec: "in/heads.xlsx" }] });
  const { warnings } = await extract.result();
  const [found = {}] = await data.rows("select * from raw.heads");
  const values = Object.entries(found).filter(([name, value]) => !name.startsWith("_dlt") && value !== null);
  expect(Object.fromEntries(values)).toEqual({
    name: "in A",
    column_2: "in B",
    name_2: "in C",
    name_3: "in D",
    column_2_2: "in E",
    name_2_2: "in AB",
    column_29: "in AC",
  });
  expect(warnings).toEqual([
    'Several columns of heads are called "Name"; one is Name_2 here.',
    '"name" of heads is called name_3, because name is taken.',
    'Several columns of heads are called "column_2"; one is column_2_2 here.',
    'Several columns of heads are called "Name_2"; one is Name_2_2 here.',
  ]);
});

test("an Avro file keeps its types, including whole numbers beyond 2^53 and decimals", async () => {
  const folder = await connectFolder(data.owner, "/avro");
  const fields = [
    { name: "id", type: "long" },
    { name: "raw", type: "bytes" },
    { name: "tags", type: { type: "array", items: "string" } },
  ];
  const rows = [{ id: 9_223_372_036_854_775_807n, raw: Buffer.from([0, 255]), tags: ["a"] }];
  await data.upload(folder, "/in/a.avro", await avroOf({ type: "record", name: "r", fields }, rows));
  const extract = await data.extract(folder, {
    dataset: "avro",
    resources: [{ name: "a", spec: "in/a.avro" }],
  });
  expect(await extract.result()).toMatchObject({ rows: 1, warnings: [] });
  expect(await data.rows("select id, hex(raw) as raw, tags from raw.avro__a")).toEqual([
    { id: "9223372036854775807", raw: "00FF", tags: ["a"] },
  ]);
});
