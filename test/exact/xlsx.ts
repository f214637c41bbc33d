import { instantFrom, instantText } from "./civil.ts";
import type { Written } from "./files-source.ts";
import type { SourceColumn, SourceTable } from "./table.ts";
import { zipOf } from "./zip.ts";

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";

/** Escapes what XML can't hold by its number, and texts that look like such an escape. */
const escaped = (text: string): string =>
  text
    .replace(/_(?=x[0-9A-Fa-f]{4}_)/g, "_x005F_")
    .replace(/(?![\t\n])\p{Cc}|[\ufffe\uffff]/gu, (c) => `_x${hex4(c)}_`)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
const hex4 = (c: string): string => c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");

/** A = 0, B = 1 … Z, AA. */
const letters = (at: number): string =>
  (at >= 26 ? letters(Math.floor(at / 26) - 1) : "") + String.fromCharCode(65 + (at % 26));

const CODES = [
  '"at" yyyy\\-mm\\-dd\\ hh:mm:ss.000',
  "[$-407]d. mmm yy;@",
  "[Red]0.00",
  '0 "days"',
  "[h]:mm",
  "mm:ss.0",
];
const FORMATS = [0, 14, 22, 20, 47, ...CODES.keys().map((at) => 164 + at)];
/** The index of a format in `FORMATS`, by the type of a column. */
const STYLES: Readonly<Record<string, number>> = {
  day: 1,
  instant: 2,
  clock: 3,
  "clock of seconds": 4,
  "instant of a code": 5,
  "day of a code": 6,
  "numbers in color": 7,
  "numbers of days": 8,
  "numbers of hours": 9,
  "clock of a code": 10,
  mix: 2,
  "mix of numbers": 1,
  rounded: 5,
};

const quoted = (text: string): string => escaped(text).replaceAll('"', "&quot;");
const STYLES_XML = `<numFmts>${CODES.map((code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${quoted(code)}"/>`).join("")}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${FORMATS.map((id) => `<xf numFmtId="${id}"/>`).join("")}</cellXfs>`;

const DAY = 86_400_000_000_000n;
const nanosOf = (text: string): bigint => instantFrom(text)?.nanos ?? 0n;
const START = nanosOf("1899-12-30 00:00:00");

/** Days since the last of December 1899, as spreadsheets count them, or since 1904. */
function serialOf(text: string, is1904: boolean): number {
  const nanos = nanosOf(text) - START;
  const days = Number(nanos / DAY) + Number(nanos % DAY) / Number(DAY) - (is1904 ? 1462 : 0);
  return !is1904 && days < 61 ? days - 1 : days;
}

/** A fraction of a day. */
const partOf = (clock: string): number => Number(nanosOf(`1970-01-01 ${clock}`)) / Number(DAY);

/** A cell as a sheet writes it and as it is distinguished. `isRounded` if a run must report that it isn't exact. */
interface SheetCell {
  xml(place: string): string;
  cell: string;
  isRounded?: boolean;
}

/** How texts are stored: in the cell, shared, shared as rich text, or as a formula's result. */
const WAYS_OF_TEXT = ["inline", "shared", "rich", "formula"] as const;

class Book {
  readonly shared = new Map<string, number>();
  #texts = 0;

  constructor(
    readonly is1904: boolean,
    readonly way: number,
  ) {}

  cellOf({ type }: SourceColumn, source: string): SheetCell {
    const [sort, value] = [source.slice(0, 1), source.slice(2)];
    const style = STYLES[type] === undefined ? "" : ` s="${STYLES[type]}"`;
    const number = (text: string, cell: string): SheetCell => ({
      xml: (place) => `<c r="${place}"${style}><v>${text}</v></c>`,
      cell,
    });
    switch (sort) {
      case "n":
        return number(value, source);
      case "c":
        return number(String(partOf(value)), source);
      case "d": {
        const serial = serialOf(value, this.is1904);
        return number(String(serial), serial < 0 ? `n ${serial}` : source);
      }
      case "r": // Finer than a millisecond.
        return {
          ...number(String(serialOf(value, this.is1904)), `d ${wholeMs(value)}`),
          isRounded: true,
        };
      case "x": // Days that only a sheet has, by their number; from 1904 on, they are separate days.
        return this.is1904
          ? number(value, `d ${instantText(START + (BigInt(value) + 1462n) * DAY)}`)
          : number(value, source);
      case "b":
        return {
          xml: (place) => `<c r="${place}" t="b"><v>${value === "true" ? 1 : 0}</v></c>`,
          cell: source,
        };
      case "i": // In ISO 8601.
        return {
          xml: (place) => `<c r="${place}" t="d"><v>${value}</v></c>`,
          cell: `${/Z$/.test(value) ? "z" : "d"} ${value.replace("T", " ")}`,
        };
      case "e":
        return { xml: (place) => `<c r="${place}" t="e"><v>${value}</v></c>`, cell: source };
      case "f":
        return { xml: (place) => `<c r="${place}"><f>${escaped(value)}</f></c>`, cell: source };
      default:
        return { xml: (place) => this.text(place, value), cell: source };
    }
  }

  text(place: string, text: string): string {
    const way = WAYS_OF_TEXT[(this.way + this.#texts++) % WAYS_OF_TEXT.length];
    if (way === "inline") return `<c r="${place}" t="inlineStr"><is>${plain(text)}</is></c>`;
    if (way === "formula")
      return `<c r="${place}" t="str"><f>A1</f><v xml:space="preserve">${escaped(text)}</v></c>`;
    const item = way === "rich" ? rich(text) : plain(text);
    if (!this.shared.has(item)) this.shared.set(item, this.shared.size);
    return `<c r="${place}" t="s"><v>${this.shared.get(item)}</v></c>`;
  }
}

const wholeMs = (instant: string): string =>
  instantText(((nanosOf(instant) + 500_000n) / 1_000_000n) * 1_000_000n);
const plain = (text: string): string => `<t xml:space="preserve">${escaped(text)}</t>`;

/** Two formats, and a pronunciation. Escapes aren't split. */
function rich(text: string): string {
  const all = Array.from(text);
  const run = (part: string) => `<r><rPr><b/></rPr>${plain(part)}</r>`;
  const runs = text.includes("_") ? run(text) : run(all.slice(0, 1).join("")) + run(all.slice(1).join(""));
  return `${runs}<rPh sb="0" eb="1"><t>no part of it</t></rPh>`;
}

/**
 * A table as a workbook.
 * Its number determines how texts are stored, when days begin, and where its columns and rows are.
 */
export function xlsxOf(table: SourceTable): Written {
  const number = Bun.hash.crc32(table.name);
  const book = new Book(number % 5 === 0, number);
  const isOneOfTwo = number % 3 === 0;
  const [first, step] = [number % 7 === 0 ? 24 : 1, number % 11 === 0 ? 2 : 1];
  const placeOf = (at: number, row: number) => `${letters(first + at * step)}${row}`;
  const rows = table.rows.map((row) =>
    row.map((source, at) =>
      source === null ? null : book.cellOf(table.columns[at] as SourceColumn, source),
    ),
  );
  const heads = ["id", ...table.columns.map(({ name }) => name)].map((head, at) =>
    book.text(at === 0 ? "A1" : placeOf(at - 1, 1), head),
  );
  const lines = rows.map((row, index) => {
    const line = (index + 2) * step; // With rows that the sheet omits.
    const cells = row.map((cell, at) => cell?.xml(placeOf(at, line)) ?? "");
    return `<row r="${line}"><c r="A${line}"><v>${index + 1}</v></c>${cells.join("")}</row>`;
  });
  const sheet = (content: string) =>
    `${HEAD}<worksheet xmlns="${MAIN}"><sheetData>${content}</sheetData><mergeCells count="1"><mergeCell ref="A1:B1"/></mergeCells></worksheet>`;
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`;
  const other = isOneOfTwo ? `<sheet name="Other" sheetId="2" state="hidden" r:id="r4"/>` : "";
  const content = zipOf({
    "[Content_Types].xml": `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>`,
    "_rels/.rels": `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${relation("r1", "officeDocument", "xl/workbook.xml")}</Relationships>`,
    "xl/workbook.xml": `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><workbookPr date1904="${book.is1904 ? 1 : 0}"/><sheets>${other}<sheet name="Rows" sheetId="1" r:id="r1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${relation("r1", "worksheet", "worksheets/odd name.xml")}${relation("r2", "sharedStrings", "sharedStrings.xml")}${relation("r3", "styles", "styles.xml")}${relation("r4", "worksheet", "worksheets/sheet1.xml")}</Relationships>`,
    "xl/worksheets/odd name.xml": sheet(`<row r="1">${heads.join("")}</row>${lines.join("")}`),
    "xl/worksheets/sheet1.xml": sheet(`<row r="1"><c r="A1"><v>1</v></c></row>`),
    "xl/sharedStrings.xml": `${HEAD}<sst xmlns="${MAIN}">${[...book.shared.keys()].map((item) => `<si>${item}</si>`).join("")}</sst>`,
    "xl/styles.xml": `${HEAD}<styleSheet xmlns="${MAIN}">${STYLES_XML}</styleSheet>`,
  });
  return {
    content,
    values: rows.map((row) => row.map((cell) => cell?.cell ?? null)),
    odd: new Set(
      rows.flatMap((row, index) => row.flatMap((cell, at) => (cell?.isRounded ? `${index}:${at}` : []))),
    ),
    ...(isOneOfTwo ? { resource: { file: { sheet: "Rows" } } } : {}),
  };
}
