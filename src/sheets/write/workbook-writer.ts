import { AppError } from "../../base/errors.ts";
import { BOLD, Styles } from "./styles.ts";
import { cellText } from "./text.ts";
import { ZipTooLarge, ZipWriter } from "./zip-writer.ts";

/** Excel's limit, including the header. */
const MAX_ROWS = 1_048_576;
const MAX_COLUMNS = 16_384;
const MAX_CELL_CHARACTERS = 32_767;
/** Maximum length of a column's name in a message. */
const MAX_NAME_CHARACTERS = 100;
/** Column widths are based on this many rows, or on as many as make about this much XML. */
const WIDTH_ROWS = 1_000;
const WIDTH_CHARACTERS = 8_000_000;
const MIN_WIDTH = 8;
const MAX_WIDTH = 60;
/** Approximate size of the pieces in which XML is compressed. */
const CHUNK_CHARACTERS = 1_000_000;

const HEAD = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n`;
const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const SPREADSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/** A cell's value: a number in XML syntax, `1` or `0` for a boolean. Null for an empty cell. */
export type Cell = { kind: "number" | "boolean" | "text"; text: string; style: number; width: number } | null;

/**
 * Writes a workbook with one sheet, whose header is bold and frozen. Keeps the first rows in memory until the column
 * widths are known, and one block of the others. Throws `limit_exceeded` if the sheet or a cell is too large.
 */
export class WorkbookWriter implements Disposable {
  readonly styles = new Styles();
  readonly #zip: ZipWriter;
  readonly #sheet: { write(text: string): void; end(): void };
  readonly #letters: string[];
  readonly #widths: number[];
  #rows = 0;
  #isOpen = false;
  #xml = "";

  constructor(
    path: string,
    readonly names: readonly string[],
  ) {
    if (names.length > MAX_COLUMNS)
      throw refusal(`A sheet can have at most 16,384 columns, not ${names.length}.`);
    this.#letters = names.map((_, at) => lettersOf(at));
    this.#widths = names.map(() => MIN_WIDTH);
    this.#zip = new ZipWriter(path);
    this.#whole("[Content_Types].xml", CONTENT_TYPES);
    this.#whole("_rels/.rels", relations(["officeDocument", "xl/workbook.xml"]));
    this.#whole("xl/workbook.xml", WORKBOOK);
    this.#whole(
      "xl/_rels/workbook.xml.rels",
      relations(["worksheet", "worksheets/sheet1.xml"], ["styles", "styles.xml"]),
    );
    this.#sheet = this.#zip.part("xl/worksheets/sheet1.xml");
    this.#add(names.map((text) => ({ kind: "text", text, style: BOLD, width: text.length })));
  }

  /** Adds a row with a cell for each column. */
  row(cells: readonly Cell[]): void {
    this.#add(cells);
  }

  /** Completes the file. */
  end(): void {
    this.#flush();
    this.#write("</sheetData></worksheet>");
    this.#sheet.end();
    this.#whole("xl/styles.xml", this.styles.xml());
    this.#zip.end();
  }

  [Symbol.dispose](): void {
    this.#zip[Symbol.dispose]();
  }

  #whole(name: string, xml: string): void {
    const part = this.#zip.part(name);
    part.write(xml);
    part.end();
  }

  #add(cells: readonly Cell[]): void {
    const row = ++this.#rows;
    if (row > MAX_ROWS)
      throw refusal(
        "A sheet can have at most 1,048,576 rows, with its header. Request fewer rows, or use csv or parquet.",
      );
    let xml = `<row r="${row}">`;
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at];
      if (!cell) continue;
      const head = `<c r="${this.#letters[at]}${row}" s="${cell.style}"`;
      if (cell.kind === "number") xml += `${head}><v>${cell.text}</v></c>`;
      else if (cell.kind === "boolean") xml += `${head} t="b"><v>${cell.text}</v></c>`;
      else
        xml += `${head} t="inlineStr"><is><t xml:space="preserve">${this.#text(cell.text, at)}</t></is></c>`;
      if (!this.#isOpen) this.#widths[at] = Math.max(this.#widths[at] ?? 0, cell.width + 2);
    }
    this.#xml += `${xml}</row>`;
    const isWidthKnown = row > WIDTH_ROWS || this.#xml.length > WIDTH_CHARACTERS;
    if (this.#isOpen ? this.#xml.length > CHUNK_CHARACTERS : isWidthKnown) this.#flush();
  }

  #text(text: string, at: number): string {
    if (text.length <= MAX_CELL_CHARACTERS) return cellText(text);
    const length = text.length.toLocaleString("en");
    const row = this.#rows === 1 ? "The header" : `Row ${this.#rows - 1}`;
    throw refusal(
      `${row}, column ${at + 1} "${this.names[at]?.slice(0, MAX_NAME_CHARACTERS)}": the text has ${length} characters, and a cell holds 32,767. Shorten it, or use csv or parquet.`,
    );
  }

  #flush(): void {
    if (!this.#isOpen) {
      const columns = this.#widths.map((width, at) => {
        const shown = Math.min(width, MAX_WIDTH);
        return `<col min="${at + 1}" max="${at + 1}" width="${shown}" customWidth="1"/>`;
      });
      const cols = columns.length === 0 ? "" : `<cols>${columns.join("")}</cols>`;
      this.#isOpen = true;
      this.#write(
        `${HEAD}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>${cols}<sheetData>`,
      );
    }
    if (this.#xml !== "") this.#write(this.#xml);
    this.#xml = "";
  }

  #write(xml: string): void {
    try {
      this.#sheet.write(xml);
    } catch (error) {
      if (!(error instanceof ZipTooLarge)) throw error;
      throw refusal("A sheet can have at most 4 GiB. Request fewer rows, or use csv or parquet.");
    }
  }
}

const refusal = (message: string) => new AppError("limit_exceeded", message);

/** The column's letters, such as `AB`. */
function lettersOf(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26));
  return column < 26 ? letter : lettersOf(Math.floor(column / 26) - 1) + letter;
}

const relations = (...targets: readonly [type: string, target: string][]) =>
  `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${targets
    .map(
      ([type, target], at) =>
        `<Relationship Id="r${at + 1}" Type="${RELATIONS}/${type}" Target="${target}"/>`,
    )
    .join("")}</Relationships>`;

const WORKBOOK = `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><bookViews><workbookView/></bookViews><sheets><sheet name="Rows" sheetId="1" r:id="r1"/></sheets></workbook>`;

const CONTENT_TYPES = `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${[
  ["workbook.xml", "sheet.main"],
  ["worksheets/sheet1.xml", "worksheet"],
  ["styles.xml", "styles"],
]
  .map(([part, type]) => `<Override PartName="/xl/${part}" ContentType="${SPREADSHEET}.${type}+xml"/>`)
  .join("")}</Types>`;
