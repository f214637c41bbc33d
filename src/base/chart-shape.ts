import { type Aggregate, type ChartSpec, type Column, isNumeric, type Row } from "./chart-spec.ts";

interface Series {
  name: string;
  /** Value of the series column. Undefined if columns are the series. */
  part?: unknown;
  /** One per label. Null if there is no value. */
  values: readonly (number | null)[];
}

export interface Shaped {
  /** The column on the x axis. */
  x: string;
  labels: readonly string[];
  /** The x values behind the labels. */
  keys: readonly unknown[];
  /** The x values as numbers. Null unless all are. */
  numbers: readonly number[] | null;
  series: readonly Series[];
  /** Notes for readers, such as that not all rows are drawn. */
  notes: readonly ChartNote[];
}

/** More points than this can't be distinguished. */
const MAX_POINTS = 2000;
const MAX_SERIES = 12;

const toNumber = (value: unknown): number | null => {
  if (value === null || value === undefined || value === "") return null;
  const number = Number(value); // decimals and long integers arrive as text
  return Number.isFinite(number) ? number : null;
};

const toLabel = (value: unknown): string => {
  if (value === null || value === undefined) return "null";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.replace(/T00:00:00(?:\.0+)?Z$/, "");
};

/** Combines values; null if none of them is a number. A count counts rows. */
function combine(how: Aggregate, values: readonly (number | null)[]): number | null {
  if (how === "count") return values.length;
  const numbers = values.filter((value) => value !== null);
  if (numbers.length === 0) return null;
  if (how === "min") return numbers.reduce((least, value) => Math.min(least, value));
  if (how === "max") return numbers.reduce((most, value) => Math.max(most, value));
  const sum = numbers.reduce((total, value) => total + value, 0);
  return how === "avg" ? sum / numbers.length : sum;
}

/** The columns that a chart plots: those it names that exist, else the numeric ones. */
export function plotted({ x, y, series }: ChartSpec, columns: readonly Column[]): string[] {
  const named = (y ?? []).filter((name) => columns.some((column) => column.name === name));
  if (named.length > 0) return named;
  return columns
    .filter((column) => isNumeric(column) && column.name !== x && column.name !== series)
    .map(({ name }) => name);
}

/** Part of the data that a chart leaves out because of its limits on points and series. */
export interface ChartNote {
  of: "points" | "series";
  shown: number;
  total: number;
}

/** Computes the labels and series of a chart. Rows with the same x and series are combined, by default summed up. */
export function shapeChart(spec: ChartSpec, columns: readonly Column[], rows: readonly Row[]): Shaped | null {
  const x = columns.find(({ name }) => name === spec.x)?.name ?? columns[0]?.name;
  const y = plotted(spec, columns);
  if (x === undefined || y.length === 0) return null;
  const split = columns.some(({ name }) => name === spec.series) ? spec.series : undefined;
  const labels = new Map<string, unknown>();
  const cells = new Map<string, Map<string, (number | null)[]>>();
  const parts = new Map<string, unknown>();
  for (const row of rows) {
    const label = toLabel(row[x]);
    if (!labels.has(label)) labels.set(label, row[x]);
    for (const column of y) {
      const name = nameOf(column, split === undefined ? null : toLabel(row[split]), y.length);
      const byLabel = cells.get(name) ?? new Map<string, (number | null)[]>();
      cells.set(name, byLabel);
      if (split !== undefined) parts.set(name, row[split]);
      byLabel.set(label, [...(byLabel.get(label) ?? []), toNumber(row[column])]);
    }
  }
  const how = spec.aggregate ?? "sum";
  const cellOf = (name: string, label: string) => {
    const values = cells.get(name)?.get(label);
    return values === undefined ? null : combine(how, values);
  };
  const names = [...cells.keys()];
  const first = names[0] ?? "";
  const ordered = inOrder([...labels], spec.sort, (label) => cellOf(first, label));
  const drawn = ordered.slice(0, MAX_POINTS);
  const numbers = drawn.map(([, value]) => (typeof value === "boolean" ? null : toNumber(value)));
  return {
    x,
    labels: drawn.map(([label]) => label),
    keys: drawn.map(([, value]) => value),
    numbers: numbers.every((value) => value !== null) ? (numbers as number[]) : null,
    series: names.slice(0, MAX_SERIES).map((name) => ({
      name,
      ...(parts.has(name) ? { part: parts.get(name) } : {}),
      values: drawn.map(([label]) => cellOf(name, label)),
    })),
    notes: [
      ...(ordered.length > MAX_POINTS
        ? [{ of: "points", shown: MAX_POINTS, total: ordered.length } as const]
        : []),
      ...(names.length > MAX_SERIES
        ? [{ of: "series", shown: MAX_SERIES, total: names.length } as const]
        : []),
    ],
  };
}

const nameOf = (column: string, part: string | null, columnCount: number): string =>
  part === null ? column : columnCount === 1 ? part : `${part}, ${column}`;

type Entry = readonly [label: string, value: unknown];

function inOrder(
  entries: Entry[],
  sort: ChartSpec["sort"],
  cellOf: (label: string) => number | null,
): Entry[] {
  if (sort === undefined) return entries;
  const sign = sort.startsWith("-") ? -1 : 1;
  const compare = (a: Entry, b: Entry) =>
    sort.endsWith("y")
      ? (cellOf(a[0]) ?? Number.NEGATIVE_INFINITY) - (cellOf(b[0]) ?? Number.NEGATIVE_INFINITY)
      : byValue(a[1], b[1]);
  return entries.toSorted((a, b) => sign * compare(a, b));
}

function byValue(a: unknown, b: unknown): number {
  const [one, other] = [toNumber(a), toNumber(b)];
  if (one !== null && other !== null) return one - other;
  return toLabel(a) < toLabel(b) ? -1 : 1;
}

/** Computes the value of a number chart: from the first row, or from all rows if the chart has an aggregate. */
export function numberOf(spec: ChartSpec, columns: readonly Column[], rows: readonly Row[]): number | null {
  const column = spec.y?.[0] ?? columns.find(isNumeric)?.name ?? columns[0]?.name;
  if (column === undefined) return null;
  if (spec.aggregate === undefined) return toNumber(rows[0]?.[column]);
  return combine(
    spec.aggregate,
    rows.map((row) => toNumber(row[column])),
  );
}
