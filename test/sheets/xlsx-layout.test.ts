import { describe, expect, test } from "bun:test";
import { readTables } from "../support/sheets.ts";
import { relations, sheetXml, workbookOf } from "../support/workbook.ts";

const at = (place: string, text: string) => `<c r="${place}" t="str"><v>${text}</v></c>`;
const row = (number: number, ...cells: string[]) => `<row r="${number}">${cells.join("")}</row>`;

describe("rows and columns", () => {
  const data = [
    row(1, at("A1", "Report")),
    row(3, at("B3", "name"), at("D3", " "), at("E3", "note")),
    row(4, at("A4", "a"), at("B4", "b"), '<c r="F4" s="1"/>'),
    row(5, '<c r="A5" s="1"/>'),
    row(7, at("B7", ""), at("G7", "g")),
    row(9, '<c r="C9" s="1"/><c r="H9" s="1"/>'),
  ].join("");
  const workbook = workbookOf({ sheets: { s: data } });

  test("columns without a name are named by position, and empty rows and columns at the end are left out", async () => {
    const [table] = await readTables(workbook, { skipRows: 2 });
    expect(table).toMatchObject({ rows: 2, odd: [] });
    expect(table?.columns.map(({ name }) => name)).toEqual([
      ...["column_1", "name", "column_3", "column_4", "note", "column_6", "column_7"],
    ]);
    expect(table?.values).toEqual([
      ["a", "b", null, null, null, null, null],
      [null, "", null, null, null, null, "g"],
    ]);
  });

  test("without a header, each row with a value is one", async () => {
    const [table] = await readTables(workbook, { header: false });
    expect(table?.columns.map(({ name }) => name)).toEqual([1, 2, 3, 4, 5, 6, 7].map((at) => `column_${at}`));
    expect(table?.values.map(([first, second]) => [first, second])).toEqual([
      ["Report", null],
      [null, "name"],
      ["a", "b"],
      [null, ""],
    ]);
  });

  test("skipped rows include those that the sheet omits", async () => {
    const [table] = await readTables(workbook, { skipRows: 4 });
    expect(table?.columns.map(({ name }) => name)).toEqual([
      ...[1, 2, 3, 4, 5, 6].map((at) => `column_${at}`),
      "g",
    ]);
    expect(table?.rows).toBe(0);
  });

  test("a row that only has lost its value stays a row", async () => {
    const [table] = await readTables(
      workbookOf({ sheets: { s: row(1, at("A1", "x")) + row(2, '<c r="A2" t="e"><v>#REF!</v></c>') } }),
    );
    expect(table).toMatchObject({ rows: 1, values: [[null]], odd: [{ column: "x", count: 1 }] });
  });

  test("omitted positions follow each other, and headers can be numbers, days and errors", async () => {
    const cells = '<c><v>2024</v></c><c s="1"><v>45322</v></c><c t="e"><v>#N/A</v></c><c t="b"><v>1</v></c>';
    const sheets = {
      s: `<row>${cells}</row><row><c><v>1</v></c><c r="D2"><v>4</v></c><c><v>5</v></c></row>`,
    };
    const [table] = await readTables(workbookOf({ sheets, formats: [14] }));
    expect(table?.columns.map(({ name }) => name)).toEqual([
      "2024",
      "2024-01-31",
      "column_3",
      "true",
      "column_5",
    ]);
    expect(table?.values).toEqual([["1", null, null, "4", "5"]]);
  });
});

describe("sheets", () => {
  const sheets = {
    First: row(1, at("A1", "a")) + row(2, at("A2", "1")),
    "Q & A": row(1, at("A1", "b")) + row(2, at("A2", "2")),
    Empty: "",
  };

  test("each sheet is a table, even an empty one, or a single one by name", async () => {
    const tables = await readTables(workbookOf({ sheets }));
    expect(tables.map(({ name, rows, columns }) => [name, rows, columns.length])).toEqual([
      ["First", 1, 1],
      ["Q & A", 1, 1],
      ["Empty", 0, 0],
    ]);
    const [only, ...others] = await readTables(workbookOf({ sheets }), { sheet: "Q & A" });
    expect([only?.name, only?.values, others]).toEqual(["Q & A", [["2"]], []]);
    await expect(readTables(workbookOf({ sheets }), { sheet: "q" })).rejects.toMatchObject({
      code: "upstream",
      message: "Sheet q not found. The workbook has: First, Q & A, Empty",
    });
  });

  test("the workbook says where its sheets are, in any namespace, with any name; charts aren't sheets", async () => {
    const strict = "http://purl.oclc.org/ooxml";
    const workbook = workbookOf({
      sheets: {},
      parts: [
        { name: "_rels/.rels", data: relations(["x", "officeDocument", "/Book/Main.xml"]) },
        {
          name: "book/main.xml",
          data: `<x:workbook xmlns:x="${strict}/spreadsheetml/main" xmlns:q="${strict}/officeDocument/relationships"><x:sheets>
            <x:sheet name="Hidden" sheetId="9" state="veryHidden" q:id="two"/><x:sheet name="Chart" sheetId="8" q:id="chart"/>
            <x:sheet name="Last" sheetId="1" q:id="one"/></x:sheets></x:workbook>`,
        },
        {
          name: "Book/_rels/Main.xml.rels",
          data: `<Relationships><Relationship Id="one" Type="${strict}/officeDocument/relationships/worksheet" Target="../zz/a.xml"/>
            <Relationship Id="two" Type="${strict}/officeDocument/relationships/worksheet" Target="/zz/b.xml"/>
            <Relationship Id="chart" Type="${strict}/officeDocument/relationships/chartsheet" Target="c.xml"/>
            <Relationship Id="out" Type="${strict}/officeDocument/relationships/worksheet" Target="http://a.example" TargetMode="External"/></Relationships>`,
        },
        {
          name: "zz/a.xml",
          data: Buffer.from(`\ufeff${sheetXml(sheets.First)}`.replace("UTF-8", "UTF-16"), "utf16le"),
        },
        {
          name: "zz\\b.xml",
          isStored: true,
          data: `<x:worksheet xmlns:x="m"><x:sheetData><x:row><x:c t="inlineStr"><x:is><x:t>h</x:t></x:is></x:c></x:row></x:sheetData>
            <x:extLst><x:row><x:c t="inlineStr"><x:is><x:t>no cell</x:t></x:is></x:c></x:row></x:extLst></x:worksheet>`,
        },
      ],
    });
    const tables = await readTables(workbook);
    expect(tables.map(({ name, columns, values }) => [name, columns[0]?.name, values])).toEqual([
      ["Hidden", "h", []],
      ["Last", "a", [["1"]]],
    ]);
  });
});
