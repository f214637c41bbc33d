import type { JsonObject } from "./json.ts";

/** Chart kinds, named as in the API. */
const CHART_KINDS = ["line", "bar", "area", "scatter", "pie", "number", "table"] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

export const AGGREGATES = ["sum", "avg", "min", "max", "count"] as const;
export type Aggregate = (typeof AGGREGATES)[number];

export const FORMATS = ["number", "compact", "percent", "bytes", "duration"] as const;
export type Format = (typeof FORMATS)[number];

export type Sort = "x" | "-x" | "y" | "-y";

/** Weir's own description of a chart, as the API stores it. */
export interface ChartSpec {
  kind: ChartKind;
  x?: string;
  y?: readonly string[];
  series?: string;
  aggregate?: Aggregate;
  stack?: boolean;
  sort?: Sort;
  unit?: string;
  format?: Format;
  goal?: number;
}

/** A chart in the API: Weir's own description, or a Vega-Lite specification. */
export type StoredChart = JsonObject;

/** Returns the chart as Weir's own description. Null for a Vega-Lite specification. */
export const specOf = (chart: StoredChart): ChartSpec | null =>
  CHART_KINDS.some((kind) => kind === chart.kind) ? (chart as unknown as ChartSpec) : null;

export interface Column {
  name: string;
  dataType: string;
}

export type Row = Readonly<Record<string, unknown>>;

export const isNumeric = ({ dataType }: Column): boolean =>
  /INT|DOUBLE|FLOAT|DECIMAL|REAL|NUMERIC/i.test(dataType) && !/\]$|STRUCT|MAP|INTERVAL/i.test(dataType);

const MAX_SUGGESTED = 6;

/** Suggests a chart for the columns. Null if none of them is numeric. */
export function suggestChart(columns: readonly Column[], rowCount: number): ChartSpec | null {
  const numeric = columns.filter(isNumeric);
  const [first] = numeric;
  if (!first) return null;
  if (rowCount === 1 && columns.length === 1) return { kind: "number", y: [first.name] };
  const x = columns.find((column) => !isNumeric(column)) ?? columns[0];
  const y = numeric.filter(({ name }) => name !== x?.name).slice(0, MAX_SUGGESTED);
  if (!x || y.length === 0) return null;
  return {
    kind: /CHAR|BOOL|ENUM|UUID/i.test(x.dataType) ? "bar" : "line",
    x: x.name,
    y: y.map(({ name }) => name),
  };
}
