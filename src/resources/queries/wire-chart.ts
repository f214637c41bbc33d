import { Type } from "@sinclair/typebox";
import type { Fault } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { described, object, oneOf, optional, read } from "../../base/shape.ts";
import { isSpec, specFaults } from "../../charts/spec.ts";

const column = () => Type.String({ minLength: 1, maxLength: 255 });

/** Weir's own description of a chart: which columns it shows, and how. */
const Chart = object({
  kind: oneOf(["line", "bar", "area", "scatter", "pie", "number", "table"]),
  x: optional(described("The column along the axis; of a pie, its slices", column())),
  y: optional(described("The columns whose values are drawn", Type.Array(column(), { maxItems: 20 }))),
  series: optional(described("The column whose values are drawn each by itself", column())),
  stack: optional(Type.Boolean()),
  sort: optional(
    oneOf(["x", "-x", "y", "-y"], { description: "The order of what is drawn; with - the largest first" }),
  ),
  unit: optional(described("Stands behind each number", Type.String({ maxLength: 20 }))),
  format: optional(oneOf(["number", "compact", "percent", "bytes", "duration"])),
  goal: optional(described("A line, or of a number what it is held against", Type.Number())),
});

/** A chart in a body: Weir's own description, or a Vega-Lite specification without data. */
export const ChartInput = Type.Unsafe<JsonObject>({
  anyOf: [
    Chart,
    Type.Unsafe<JsonObject>({
      type: "object",
      description: "A Vega-Lite specification without data, as a flashboard's panels have it",
    }),
  ],
  description: "How the rows are drawn; null for a table of them",
});

/** What is wrong with a chart at `loc`. */
export function chartFaults(chart: Json | undefined, loc: readonly string[]): Fault[] {
  if (!isObject(chart ?? null)) return [];
  const given = chart as JsonObject;
  if (!isSpec(given)) return read(Chart, given, loc).faults;
  return specFaults(given).map(({ path, message }) => ({
    loc: [...loc, ...path],
    msg: message,
    type: "value_error",
  }));
}
