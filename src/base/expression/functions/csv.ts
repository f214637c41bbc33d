import Papa from "papaparse";
import { fieldsOf, toJson } from "../json.ts";
import { entriesOf, find, isList, isObject, type Value } from "../value.ts";
import { boolOf, type Definitions, fail, listOf, objectOf, type Tools, textOf } from "./contract.ts";

/** Longer ones are read and written in a child process. */
const MAX_CHARACTERS_HERE = 16 * 1024;
/** Prefixes that spreadsheets read as a formula. */
const FORMULA = /^[=+\-@\t\r]/;

interface Options {
  delimiter: string;
  header: boolean;
  columns: string[] | null;
  safe: boolean;
}

function optionsOf(value: Value | undefined): Options {
  const options = value === undefined ? new Map<Value, Value>() : objectOf(value);
  const known = ["delimiter", "header", "columns", "safe"];
  for (const [name] of entriesOf(options))
    if (!known.includes(String(name))) fail(`unknown option ${String(name)}. Use ${known.join(", ")}`);
  const option = (name: string) => find(options, name);
  const delimiter = textOf(option("delimiter") ?? ",");
  if ([...delimiter].length !== 1 || /["\r\n]/.test(delimiter)) fail("the delimiter must be one character");
  const columns = option("columns");
  return {
    delimiter,
    header: boolOf(option("header") ?? true),
    columns: columns === undefined ? null : listOf(columns).map((name) => textOf(name)),
    safe: boolOf(option("safe") ?? false),
  };
}

/** Lines may end in different ways. Empty ones aren't rows. */
function rowsOf(text: string, delimiter: string): string[][] {
  const separator = RegExp.escape(delimiter);
  const plain = new RegExp(`[^${separator}\\r\\n]*`, "uy");
  const blanks = `[${" \t".replace(delimiter, "")}]*`;
  const end = new RegExp(`${blanks}(${separator}|\\r\\n|\\r|\\n|$)`, "uy");
  const rows: string[][] = [];
  let row: string[] = [];
  let sign: string | undefined = delimiter;
  for (let at = 0; sign !== ""; at = end.lastIndex) {
    const isQuoted = text[at] === '"';
    plain.lastIndex = at;
    end.lastIndex = isQuoted ? quoteEnd(text, at) : at + (plain.exec(text)?.[0].length ?? 0);
    if (end.lastIndex === 0 && isQuoted) fail(`row ${rows.length + 1}: the quoted value isn't closed`);
    const value = text.slice(at, end.lastIndex);
    sign = end.exec(text)?.[1];
    if (sign === undefined) fail(`row ${rows.length + 1}: text follows the closing quote of a value`);
    const isEmptyLine = row.length === 0 && value === "" && sign !== delimiter;
    if (!isEmptyLine) row.push(isQuoted ? value.slice(1, -1).replaceAll('""', '"') : value);
    if (sign === delimiter || isEmptyLine) continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

/** Returns the position after the quoted value that starts at `from`, or 0 if it isn't closed. */
function quoteEnd(text: string, from: number): number {
  let quote = text.indexOf('"', from + 1);
  while (quote >= 0 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2);
  return quote + 1;
}

/** Returns rows as objects, with the first row as names. */
function objectsOf([names = [], ...rows]: string[][]): Value[] {
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) fail(`duplicate column ${JSON.stringify(twice)}`);
  return rows.map((row, index) => {
    if (row.length !== names.length)
      fail(`row ${index + 2} has ${row.length} values, but the header has ${names.length}`);
    return new Map<Value, Value>(names.map((name, column) => [name, row[column] ?? ""]));
  });
}

/** Returns all names, in order of first appearance. */
const columnsOf = (rows: readonly Value[]): string[] => [
  ...new Set(rows.flatMap((row) => (isObject(row) ? [...fieldsOf(row).keys()] : []))),
];

function cellOf(value: Value | undefined, safe: boolean, { budget }: Tools): string | null {
  const json = toJson(value ?? null, budget);
  const text = json === null ? "" : typeof json === "string" ? json : JSON.stringify(json);
  budget.make(text.length + 1);
  if (json === null) return null;
  return safe && typeof json === "string" && FORMULA.test(text) ? `'${text}` : text;
}

export const csvFunctions: Definitions = {
  "csv.parse": {
    takes: "text, options?",
    about:
      'Parses CSV into rows: objects with the names in the first row, or lists with `{"header": false}`. All values are text, and empty lines are skipped. Set another separator with `{"delimiter": ";"}`.',
    examples: [
      ['csv.parse("a,b\\n1,2")', '[{"a":"1","b":"2"}]'],
      ['csv.parse("1;2", {"delimiter": ";", "header": false})', '[["1","2"]]'],
    ],
    call([value, options], { budget }) {
      const text = textOf(value);
      const { delimiter, header } = optionsOf(options);
      if (text.length > MAX_CHARACTERS_HERE) budget.stepAside();
      budget.step(2 * text.length);
      budget.make(8 * text.length);
      const rows = rowsOf(text.replace(/^\uFEFF/, ""), delimiter);
      return header ? objectsOf(rows) : rows;
    },
  },
  "csv.text": {
    takes: "rows, options?",
    about:
      'Formats rows as CSV with a header: objects, with all their names or `{"columns": […]}`, or lists. Nested objects are JSON, null is empty, and an empty text is `""`, as is null in a single column. `{"safe": true}` quotes what spreadsheets would read as a formula. Other options: `{"header": false}` and `{"delimiter": ";"}`.',
    examples: [
      ['csv.text([{"a": 1, "b": "x,y"}])', '"a,b\\r\\n1,\\"x,y\\""'],
      ["csv.text([[1, 2], [3, null]])", '"1,2\\r\\n3,"'],
    ],
    call([value, settings], tools) {
      const rows = listOf(value);
      const { delimiter, header, columns, safe } = optionsOf(settings);
      const names = columns ?? columnsOf(rows);
      tools.budget.step(rows.length * (names.length + 1));
      const cells = rows.map((row) => {
        if (isList(row)) return row.map((cell) => cellOf(cell, safe, tools));
        const fields = fieldsOf(objectOf(row));
        return names.map((name) => cellOf(fields.get(name), safe, tools));
      });
      const head = header && names.length > 0 ? [names] : [];
      for (const row of cells) if (row.length === 1 && row[0] === null) row[0] = ""; // an empty line is no row
      const quotes = (cell: unknown) => cell === "";
      return Papa.unparse([...head, ...cells], { delimiter, newline: "\r\n", quotes });
    },
  },
};
