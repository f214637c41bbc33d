import { Type } from "@sinclair/typebox";
import type { Fault } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { described, jsonObject, object, oneOf, optional, read } from "../../base/shape.ts";
import { isSpec, specFaults } from "../../charts/spec.ts";

const column = () => Type.String({ minLength: 1, maxLength: 255 });

/** Weir's own chart definition: the columns to show, and how. */
export const Chart = object({
  kind: oneOf(["line", "bar", "area", "scatter", "pie", "number", "table"], { description: "Type of chart" }),
  x: optional(described("The column on the x axis, or the slices of a pie", column())),
  y: optional(described("The columns to plot", Type.Array(column(), { maxItems: 20 }))),
  series: optional(described("The column that splits the data into series", column())),
  aggregate: optional(
    oneOf(["sum", "avg", "min", "max", "count"], {
      description:
        "How rows with the same `x` and `series` are combined. Default: sum. A number shows the first row by default",
    }),
  ),
  stack: optional(Type.Boolean({ description: "Whether the series are stacked. Default: false" })),
  sort: optional(
    oneOf(["x", "-x", "y", "-y"], { description: "Sort order. A leading - sorts in descending order" }),
  ),
  unit: optional(described("Unit to show after each number", Type.String({ maxLength: 20 }))),
  format: optional(
    oneOf(["number", "compact", "percent", "bytes", "duration"], { description: "How numbers are shown" }),
  ),
  goal: optional(described("A target: a line in the chart, or the number to compare with", Type.Number())),
});

/** A chart in a body: Weir's own definition, or a Vega-Lite specification without data. */
export const ChartInput = Type.Unsafe<JsonObject>({
  anyOf: [
    Chart,
    jsonObject({ description: "A Vega-Lite specification without data, as in a flashboard's panels" }),
  ],
  description: "How the rows are shown. Null: as a table",
});

/** Returns what is wrong with a chart at `loc`. */
export function chartFaults(chart: Json | undefined, loc: readonly string[]): Fault[] {
  if (!isObject(chart ?? null)) return [];
  const chartJson = chart as JsonObject;
  if (!isSpec(chartJson)) return read(Chart, chartJson, loc).faults;
  return specFaults(chartJson).map(({ path, message }) => ({
    loc: [...loc, ...path],
    msg: message,
    type: "value_error",
  }));
}
