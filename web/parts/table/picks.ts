/** A value of a row: clicked, or represented by a clicked element. */
export interface Cell {
  column: string;
  value: unknown;
}

/** What clicks on values do. */
export interface Picking {
  /** Returns whether a cell can be clicked. */
  may: (cell: Cell) => boolean;
  /** Called with all values of a clicked element or cell. */
  pick: (cells: readonly Cell[]) => void;
}
