import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deepTest } from "../support/scale.ts";
import { readTables } from "../support/sheets.ts";
import { escapeXml, workbookOf } from "../support/workbook.ts";

/** A column as a sheet: a header, then one cell per row; in `cells`, `A` is the cell's reference. */
const column = (cells: readonly string[]) =>
  [`<c t="inlineStr"><is><t>c</t></is></c>`, ...cells].map((cell) => `<row>${cell}</row>`).join("");

const number = (text: string | number, style = 0) => `<c s="${style}"><v>${text}</v></c>`;
const inline = (text: string) => `<c t="inlineStr"><is><t>${escapeXml(text)}</t></is></c>`;

async function readColumns(
  columns: Readonly<Record<string, readonly string[]>>,
  rest: Omit<Parameters<typeof workbookOf>[0], "sheets"> = {},
) {
  const sheets = Object.fromEntries(Object.entries(columns).map(([name, cells]) => [name, column(cells)]));
  const tables = await readTables(workbookOf({ sheets, ...rest }));
  return Object.fromEntries(
    tables.map(({ name, columns, values, odd }) => [
      name ?? "",
      {
        type: columns[0]?.type,
        values: values.map(([value]) => value),
        odd: odd.map(({ column: _, ...rest }) => rest),
      },
    ]),
  );
}

test("a number has the sheet's digits, and no exponent if a decimal holds it", async () => {
  const texts = ["0.1", "1.1000000000000001", "-0", "12345678901234567890", "0.10", "1E-05", "1.25E+3"];
  const { numbers, vast, words } = await readColumns({
    numbers: texts.map((text) => number(text)),
    vast: [number("1E+300"), number("1.0000000000000001E+300"), number("5E-324")],
    words: [number("1"), number("eleven")],
  });
  expect(numbers).toEqual({
    type: "number",
    values: [...texts.slice(0, 5), "0.00001", "1250"],
    odd: [],
  });
  expect(vast?.values).toEqual(["1e+300", "1.0000000000000001E+300", "5e-324"]);
  expect(words).toMatchObject({ type: "VARCHAR", values: ["1", "eleven"], odd: [{ count: 1 }] });
});

deepTest("a column of days is DATE, of days and times TIMESTAMP, of only times TIME", async () => {
  const formats = [14, "yyyy-mm-dd hh:mm", 20, 'h"h "mm', "[$-409]d\\-mmm\\-yy;@", 45];
  const found = await readColumns(
    {
      days: [number(45322, 1), number(1, 1), number(59, 1), number(61, 1), number(2958465, 5)],
      instants: [number("45322.416668090278", 2), number(45322, 1), number("45322.9999999999", 2)],
      times: [number(0, 3), number("0.5208333333333334", 4), number("0.000011574074074074073", 6)],
    },
    { formats },
  );
  expect(found.days).toEqual({
    type: "DATE",
    values: ["2024-01-31", "1900-01-01", "1900-02-28", "1900-03-01", "9999-12-31"],
    odd: [],
  });
  expect(found.instants).toEqual({
    type: "TIMESTAMP",
    values: ["2024-01-31T10:00:00.123", "2024-01-31T00:00:00", "2024-02-01T00:00:00"],
    odd: [],
  });
  expect(found.times).toEqual({ type: "TIME", values: ["00:00:00", "12:30:00", "00:00:01"], odd: [] });
});

test("a time finer than a millisecond is rounded, and reported unless the number is unambiguous", async () => {
  const at = ["45322.416668090278", "45322.41666809", "45322.4166680902", "45322.000000004"];
  const { c } = await readColumns(
    { c: at.map((value) => number(value, 1)) },
    { formats: ["yyyy-mm-dd hh:mm"] },
  );
  expect(c).toEqual({
    type: "TIMESTAMP",
    values: [...Array(3).fill("2024-01-31T10:00:00.123"), "2024-01-31T00:00:00"],
    odd: [
      {
        reason: "times finer than a millisecond became whole milliseconds",
        count: 2,
        examples: ["A3: 2024-01-31T10:00:00.123", "A5: 2024-01-31"],
      },
    ],
  });
});

test("days count from 1904 if the workbook says so", async () => {
  const { c } = await readColumns({ c: [number(0, 1), number(43860, 1)] }, { formats: [14], is1904: true });
  expect(c).toEqual({ type: "DATE", values: ["1904-01-01", "2024-01-31"], odd: [] });
});

test("a day that only Excel has is NULL, and reported", async () => {
  const { c } = await readColumns({ c: [number(60, 1), number(61, 1), number(0, 1)] }, { formats: [14] });
  expect(c).toEqual({
    type: "DATE",
    values: [null, "1900-03-01", null],
    odd: [
      {
        reason: "days that only Excel has became NULL",
        count: 2,
        examples: ["A2: 1900-02-29", "A4: 1900-01-00"],
      },
    ],
  });
});

test("a number isn't a date if its format shows something else, or Excel has no such date", async () => {
  const formats = ["[h]:mm", '0.0" days"', "[Red]0.00", "0.00\\d", "General", "#,##0_d", 46, 14];
  const cells = formats.map((_, at) => number(`${at}.5`, at + 1)).slice(0, 7);
  const { others, outside } = await readColumns(
    { others: cells, outside: [number(-1, 8), number(2958466, 8)] },
    { formats },
  );
  expect(others).toEqual({ type: "number", values: cells.map((_, at) => `${at}.5`), odd: [] });
  expect(outside).toEqual({ type: "number", values: ["-1", "2958466"], odd: [] });
});

test("a column that mixes types is text, and converted values are reported with their cells", async () => {
  const found = await readColumns(
    {
      codes: [inline("01234"), number("1E3"), number("7"), number("8"), number("9")],
      dates: [number(45322, 1), number("45322.5", 1), number(5)],
      flags: [`<c t="b"><v>1</v></c>`, number("1"), `<c t="b"><v>0</v></c>`],
    },
    { formats: [14] },
  );
  const reason = (what: string) => `${what} became text because the column mixes types`;
  expect(found.codes).toEqual({
    type: "VARCHAR",
    values: ["01234", "1000", "7", "8", "9"],
    odd: [{ reason: reason("numbers"), count: 4, examples: ["A3: 1000", "A4: 7", "A5: 8"] }],
  });
  expect(found.dates).toEqual({
    type: "VARCHAR",
    values: ["2024-01-31", "2024-01-31T12:00:00", "5"],
    odd: [
      { reason: reason("dates"), count: 2, examples: ["A2: 2024-01-31", "A3: 2024-01-31T12:00:00"] },
      { reason: reason("numbers"), count: 1, examples: ["A4: 5"] },
    ],
  });
  expect(found.flags).toMatchObject({
    type: "VARCHAR",
    values: ["true", "1", "false"],
    odd: [{ count: 2 }, { count: 1 }],
  });
});

test("booleans, ISO 8601 dates and columns without a value have their types", async () => {
  const iso = (text: string) => `<c t="d"><v>${text}</v></c>`;
  const found = await readColumns({
    flags: [`<c t="b"><v>1</v></c>`, `<c t="b"><v>0</v></c>`],
    days: [iso("2024-01-31"), iso("2024-02-29T00:00:00")],
    instants: [iso("2024-01-31T10:00:00.123456"), iso("2024-01-31T10:00")],
    zoned: [iso("2024-01-31T10:00:00Z"), iso("2024-01-31T10:00:00+02:00")],
    wrong: [iso("2023-02-29"), iso("2024-01-31T25:00:00")],
    empty: [],
  });
  expect(found.flags).toEqual({ type: "BOOLEAN", values: ["true", "false"], odd: [] });
  expect(found.days).toEqual({ type: "DATE", values: ["2024-01-31", "2024-02-29"], odd: [] });
  expect(found.instants).toMatchObject({
    type: "TIMESTAMP",
    values: ["2024-01-31T10:00:00.123456", "2024-01-31T10:00:00"],
  });
  expect(found.zoned).toMatchObject({
    type: "TIMESTAMPTZ",
    values: ["2024-01-31T10:00:00Z", "2024-01-31T10:00:00+02:00"],
  });
  expect(found.wrong).toMatchObject({ type: "VARCHAR", values: ["2023-02-29", "2024-01-31T25:00:00"] });
  expect(found.empty).toEqual({ type: "VARCHAR", values: [], odd: [] });
});

test("texts are read as displayed: rich, shared, escaped, as results of formulas", async () => {
  const shared = [
    "<si><t>shared</t></si>",
    '<si><r><t xml:space="preserve">rich </t></r><r><rPr><b/></rPr><t>text</t></r><rPh sb="0" eb="1"><t>spoken</t></rPh></si>',
    "<si><t>a &amp; b &#x1F600;<![CDATA[ <c>]]></t></si>",
    "<si/>",
  ];
  const cells = [
    ...shared.map((_, at) => `<c t="s"><v>${at}</v></c>`),
    '<c t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r><rPh sb="0" eb="1"><t>spoken</t></rPh></is></c>',
    '<c t="str"><f>A1&amp;"x"</f><v>result</v></c>',
    '<c t="str"><f>""</f><v></v></c>',
    inline('line_x000D_\nbreak, "quoted"'),
    inline("_x005F_x000D_ and _x12_"),
    inline("  \t spaces "),
    inline("half a_x000A_pair: _xD83D_"),
  ];
  const { c } = await readColumns({ c: cells }, { shared });
  expect(c).toEqual({
    type: "VARCHAR",
    values: [
      ...["shared", "rich text", "a & b 😀 <c>", "", "inline", "result", ""],
      ...['line\r\nbreak, "quoted"', "_x000D_ and _x12_", "  \t spaces ", "half a\npair: _xD83D_"],
    ],
    odd: [],
  });
});

test("errors and formulas without a stored value are NULL, and reported with their cells", async () => {
  const { c } = await readColumns({
    c: [
      '<c t="e"><f>1/0</f><v>#DIV/0!</v></c>',
      "<c><f>SUM(A1:A3)</f></c>",
      number(5),
      '<c t="e"><v>#N/A</v></c>',
      "<c><f>SUM(B1:B3)</f><v/></c>",
    ],
  });
  expect(c).toEqual({
    type: "number",
    values: [null, null, "5", null, null],
    odd: [
      { reason: "error values became NULL", count: 2, examples: ["A2: #DIV/0!", "A5: #N/A"] },
      {
        reason: "formulas without a stored value became NULL",
        count: 2,
        examples: ["A3: =SUM(A1:A3)", "A6: =SUM(B1:B3)"],
      },
    ],
  });
});

deepTest("more shared texts than fit in memory are each returned for their own cell", async () => {
  const texts = Array.from({ length: 3000 }, (_, at) => `${at} `.repeat(4000));
  texts[7] = "long ".repeat(40_000);
  const order = texts.map((_, at) => (at * 1009) % texts.length);
  const { c } = await readColumns(
    { c: order.map((at) => `<c t="s"><v>${at}</v></c>`) },
    { shared: texts.map((text) => `<si><t>${text}</t></si>`) },
  );
  expect(c?.values.length).toBe(texts.length);
  expect(order.filter((at, row) => c?.values[row] !== texts[at])).toEqual([]);
});

test("another program's workbook is read like those written by hand", async () => {
  // Written by openpyxl 3.1.5.
  const [data, more] = await readTables(readFileSync(join(import.meta.dir, "fixtures/openpyxl.xlsx")));
  expect(data).toMatchObject({
    name: "Data & co",
    rows: 3,
    columns: [
      { name: "id", type: "number" },
      { name: "name", type: "VARCHAR" },
      { name: "day", type: "DATE" },
      { name: "when", type: "TIMESTAMP" },
      { name: "amount", type: "number" },
      { name: "flag", type: "BOOLEAN" },
      { name: "clock", type: "TIME" },
      { name: "elapsed", type: "number" },
    ],
    values: [
      ["0", 'text "0"\nx', "2024-01-31", "2024-01-31T10:00:00.123", "0", "true", "10:00:00", "1.5"],
      ["1", 'text "1"\nx', "1900-01-05", "2024-01-31T10:00:01.123", "0.1", "false", "10:00:01", "1.5"],
      ["2", 'text "2"\nx', "2024-02-01", "2024-01-31T10:00:02.123", "0.2", "true", "10:00:02", "1.5"],
    ],
    odd: [],
  });
  expect(more).toMatchObject({ name: "Hidden", rows: 0, columns: [] });
});
