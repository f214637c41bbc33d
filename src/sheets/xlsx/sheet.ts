import { damaged, FileFault } from "../fault.ts";
import { type Cell, type CellRules, cellOf } from "./cells.ts";
import { SheetColumn } from "./columns.ts";
import type { AddressedCell, RawRows } from "./raw-rows.ts";
import { isPlainText } from "./shared-texts.ts";
import { type Attributes, type Listener, parsePart } from "./xml.ts";
import type { Zip } from "./zip.ts";

/** Excel's limit. */
const MAX_ROWS = 1_048_576;
const MAX_COLUMNS = 16_384;
/** Only the start of a formula is ever shown. */
const MAX_FORMULA_CHARACTERS = 200;

export interface SheetRules extends CellRules {
  header: boolean;
  skipRows: number;
}

/** What is known about a sheet after reading it. */
export interface SheetHead {
  /** Names in the first row, by column; columns without one are absent. */
  names: Map<number, string>;
  columns: Map<number, SheetColumn>;
}

/** Reads the rows of a sheet that have at least one value. Throws `FileFault`. */
export async function readSheet(
  zip: Zip,
  part: string,
  rules: SheetRules,
  rows: RawRows,
): Promise<SheetHead> {
  const head: SheetHead = { names: new Map(), columns: new Map() };
  let isHeaderDue = rules.header;
  await parsePart(
    zip,
    part,
    listenTo(rules, (number, cells) => {
      if (number <= rules.skipRows) return;
      if (isHeaderDue) {
        isHeaderDue = false;
        for (const { column, cell } of cells) {
          const name = cell.kind === "nothing" ? "" : textOf(cell);
          if (name.trim() !== "") head.names.set(column, name);
        }
        return;
      }
      for (const { column, cell } of cells) {
        const known = head.columns.get(column) ?? new SheetColumn();
        head.columns.set(column, known);
        known.see(cell, () => `${lettersOf(column)}${number}`);
      }
      rows.add(cells);
    }),
  );
  return head;
}

const textOf = ({ text }: Cell) => (typeof text === "string" ? text : Buffer.from(text).toString());

/** Follows `<sheetData>`: rows at depth 3, cells at 4, their content at 5. Cells are in column order. */
function listenTo(
  rules: CellRules,
  onRow: (number: number, cells: readonly AddressedCell[]) => void,
): Listener {
  let isData = false;
  let row = 0;
  let column = -1;
  let cells: AddressedCell[] = [];
  let attributes: Attributes = {};
  let value: string | null = null;
  let formula: string | null = null;
  let into: "value" | "formula" | null = null;
  const plainText = isPlainText();

  return {
    open(name, tagAttributes, depth) {
      into = null;
      if (depth === 2) isData = name === "sheetData";
      if (!isData) return;
      if (depth === 3 && name === "row") {
        row = rowAfter(row, tagAttributes.r);
        column = -1;
        cells = [];
      } else if (depth === 4 && name === "c") {
        column = columnAfter(column, tagAttributes.r);
        attributes = tagAttributes;
        value = null;
        formula = null;
      } else if (depth === 5 && name === "v") {
        value = "";
        into = "value";
      } else if (depth === 5 && name === "is" && attributes.t === "inlineStr") {
        value = "";
      } else if (depth === 5 && name === "f") {
        formula = "";
        into = "formula";
      } else if (depth > 5 && plainText.open(name) && attributes.t === "inlineStr") into = "value";
    },
    text(text) {
      if (into === "value") value += text;
      if (into === "formula") formula = (formula + text).slice(0, MAX_FORMULA_CHARACTERS);
    },
    close(name, depth) {
      into = null;
      if (depth > 5) plainText.close(name);
      if (!isData) return;
      if (depth === 4 && name === "c") {
        const { t: type = "n", s = "0" } = attributes;
        const cell = cellOf({ type, style: Number(s), value, formula }, rules);
        if (cell !== null) cells.push({ column, cell });
      } else if (depth === 3 && name === "row" && cells.length > 0) onRow(row, cells);
    },
  };
}

function rowAfter(last: number, reference: string | undefined): number {
  const row = reference === undefined ? last + 1 : Number(reference);
  if (!(row > last)) throw damaged(`its row ${reference} isn't after row ${last}`);
  if (!Number.isInteger(row) || row > MAX_ROWS)
    throw new FileFault("The sheet has more rows than Excel allows.");
  return row;
}

function columnAfter(last: number, reference: string | undefined): number {
  let column = 0;
  for (let at = 0; reference !== undefined; at++) {
    const letter = reference.charCodeAt(at) - 64;
    if (!(letter >= 1 && letter <= 26 && column <= MAX_COLUMNS)) break;
    column = column * 26 + letter;
  }
  column = reference === undefined ? last + 1 : column - 1;
  if (column <= last) throw damaged(`its cell ${reference} is out of order`);
  if (column >= MAX_COLUMNS) throw new FileFault("The sheet has more columns than Excel allows.");
  return column;
}

/** The column's letters, such as `AB`. */
function lettersOf(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26));
  return column < 26 ? letter : lettersOf(Math.floor(column / 26) - 1) + letter;
}
