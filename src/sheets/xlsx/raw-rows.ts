import { FileReader } from "../file-reader.ts";
import { type CsvWriter, FileWriter } from "../file-writer.ts";
import { type Cell, KINDS } from "./cells.ts";

/** A cell and its column. */
export interface AddressedCell {
  column: number;
  cell: Cell;
}

const END_OF_ROW = 0xffffffff;

/**
 * Stores rows temporarily in a file: a column's type is known only after its last cell, and a sheet may be larger than
 * memory. A row has column, kind, length and bytes of each value, and ends with an invalid column number.
 */
export class RawRows {
  readonly #writer: FileWriter;
  rows = 0;

  constructor(readonly path: string) {
    this.#writer = new FileWriter(path);
  }

  /** Adds a row, whose cells are in column order. */
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

/** Converts a file of raw rows to CSV with these column types. */
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
