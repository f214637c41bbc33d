import type { Cell, Kind } from "./canon.ts";

export interface SourceColumn {
  name: string;
  /** The type's name at the source, as it was declared. */
  type: string;
  kind: Kind;
}

/** A table to be made at a source. Its rows have an `id` before these columns: 1, 2, 3 … */
export interface SourceTable {
  name: string;
  columns: SourceColumn[];
  /** What the source is given; null is its NULL. */
  rows: (string | null)[][];
  /** Fields of the resource of the extract. */
  resource?: object;
}

/** A table as the source has it. */
export interface Made {
  /** What a resource of the extract says of it; `name` is the table's own. */
  resource: object;
  /** The values in the source's own text, row by row. */
  values: Cell[][];
  /** `row:column` of values that the lake can't hold whole though it has something of them, so that the run must tell. */
  odd?: ReadonlySet<string>;
}

/** Some rows or columns of a table, under another name. */
export const partOf = (table: SourceTable, name: string, columns: number[], rows: number[]): SourceTable => ({
  ...table,
  name,
  columns: columns.flatMap((at) => table.columns[at] ?? []),
  rows: rows.map((row) => columns.map((at) => table.rows[row]?.[at] ?? null)),
});
