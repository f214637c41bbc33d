import type { Filter, Panel } from "./table.ts";
import { COLUMNS, type FilterInput, type PanelInput } from "./wire.ts";

export const WIDTH = 6;
const HEIGHT = 4;

export const toFilters = (inputs: readonly FilterInput[]): Filter[] =>
  inputs.map(({ key, label, type, default: value = null, options = null, sql = null }) => ({
    key,
    label: label ?? key,
    type,
    default: value,
    options,
    sql,
  }));

/**
 * Returns panels with all of their fields. Those without a position are placed below the others, from left to right.
 */
export function toPanels(inputs: readonly PanelInput[]): Panel[] {
  const place = placer(inputs);
  return inputs.map(
    ({
      key,
      title,
      sql = null,
      queryId = null,
      parameters = {},
      chart = null,
      clickFilters = {},
      x,
      y,
      ...size
    }) => {
      const { width = Math.min(WIDTH, COLUMNS - (x ?? 0)), height = HEIGHT } = size;
      const at = x === undefined || y === undefined ? place(width, height, x) : { x, y };
      return { key, title, sql, queryId, parameters, chart, clickFilters, ...at, width, height };
    },
  );
}

/** Returns a function that places panels below all that have a position, row by row. */
function placer(inputs: readonly PanelInput[]) {
  const bottoms = inputs.map(({ y, height = HEIGHT }) => (y === undefined ? 0 : y + height));
  let row = Math.max(0, ...bottoms);
  let column = 0;
  let tallest = 0;
  return (width: number, height: number, x?: number) => {
    if (column + width > COLUMNS || (x !== undefined && x < column)) {
      row += tallest;
      column = 0;
      tallest = 0;
    }
    const at = { x: x ?? column, y: row };
    column = at.x + width;
    tallest = Math.max(tallest, height);
    return at;
  };
}
