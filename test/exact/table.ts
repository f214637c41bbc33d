import type { Cell, Kind } from "./canon.ts";

export interface SourceColumn {
  name: string;
  /** The type's name at the source, as declared. */
  type: string;
  kind: Kind;
}

/** A table to create at a source. Its rows have an `id` before these columns: 1, 2, 3 … */
export interface SourceTable {
  name: string;
  columns: SourceColumn[];
  /** Values for the source; null is its NULL. */
  rows: (string | null)[][];
  /** Fields of the extract's resource. */
  resource?: object;
}

/** A table as the source has it. */
export interface Made {
  /** The extract's resource for it; `name` is the table's own. */
  resource: object;
  /** The values in the source's own text, row by row. */
  values: Cell[][];
  /** `row:column` of values that the lake can only hold in part, so that the run must report them. */
  odd?: ReadonlySet<string>;
}

/** Some rows or columns of a table, with another name. */
export const partOf = (table: SourceTable, name: string, columns: number[], rows: number[]): SourceTable => ({
  ...table,
  name,
  columns: columns.flatMap((at) => table.columns[at] ?? []),
  rows: rows.map((row) => columns.map((at) => table.rows[row]?.[at] ?? null)),
});
