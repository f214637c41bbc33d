import { FileReader } from "../file-reader.ts";
import { type CsvWriter, FileWriter } from "../file-writer.ts";
import { type Cell, KINDS } from "./cells.ts";

/** A cell at its address in a row. */
export interface AddressedCell {
  column: number;
  cell: Cell;
}

const END_OF_ROW = 0xffffffff;

/**
 * Rows on their way: a column's type is known only when all of its cells have been seen, and a sheet may be larger than
 * memory. A row is column, kind, length and bytes of each value, and ends with a column that no sheet has.
 */
export class RawRows {
  readonly #writer: FileWriter;
  rows = 0;

  constructor(readonly path: string) {
    this.#writer = new FileWriter(path);
  }

  /** Adds a row; its cells are in the order of their columns. */
  add(cells: readonly AddressedCell[]): void {
    this.rows += 1;
    for (const { column, cell } of cells) {
      if (cell.kind === "nothing") continue;
      this.#writer.number(column);
      this.#writer.byte(KINDS.indexOf(cell.kind));
      this.#writer.sized(cell.text);
    }
    this.#writer.number(END_OF_ROW);
  }

  end(): void {
    this.#writer.end();
  }
}

const MIDNIGHT = Buffer.from("T00:00:00");

/** Writes the raw rows of a file as CSV whose columns have these types. */
export function writeCsv(rawPath: string, csv: CsvWriter, types: readonly string[]): void {
  using raw = new FileReader(rawPath);
  const areTexts = types.map((type) => type === "VARCHAR");
  const areInstants = types.map((type) => type === "TIMESTAMP");
  while (raw.left > 0) {
    let next = 0;
    for (let column = raw.number(); column !== END_OF_ROW; column = raw.number()) {
      const kind = KINDS[raw.byte()];
      const bytes = raw.take(raw.number());
      for (; next < column; next++) csv.value(null, false);
      const isWholeDay = kind === "day" && areInstants[column];
      csv.value(isWholeDay ? Buffer.concat([bytes, MIDNIGHT]) : bytes, areTexts[column] === true);
      next += 1;
    }
    for (; next < types.length; next++) csv.value(null, false);
    csv.endRow();
  }
}
