/** One value of a row: what was clicked, or what a clicked mark stands for. */
export interface Cell {
  column: string;
  value: unknown;
}

/** What clicks on values do. */
export interface Picking {
  /** Whether a click on this cell of a table does something. */
  may: (cell: Cell) => boolean;
  /** Called with all that a mark or cell stands for. */
  pick: (cells: readonly Cell[]) => void;
}
