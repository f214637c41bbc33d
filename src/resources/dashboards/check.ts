import type { Fault } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { chartFaults } from "../queries/wire-chart.ts";
import { valuesOf } from "./filters.ts";
import { WIDTH } from "./panels.ts";
import { FILTER_TYPES, type Filter, type Panel } from "./table.ts";
import { COLUMNS } from "./wire.ts";

/** Returns what is wrong with filters and panels of a body, beyond their shapes. */
export function dashboardFaults(raw: Json): Fault[] {
  const { filters, panels, fromArtifactId } = raw as JsonObject;
  const isPresent = (value: Json | undefined) => value !== undefined && value !== null;
  const faults: Fault[] = [];
  if (isPresent(fromArtifactId) && isPresent(panels))
    faults.push({
      loc: ["body", "panels"],
      msg: "Give either panels or fromArtifactId",
      type: "value_error",
    });
  for (const [at, filter] of listOf(filters).entries()) faults.push(...filterFaults(filter, at));
  for (const [at, panel] of listOf(panels).entries()) faults.push(...panelFaults(panel, at));
  return [...faults, ...twice(listOf(filters), "filters"), ...twice(listOf(panels), "panels")];
}

/** Checks a body without a name, which has no default. */
export function nameFaults(raw: Json): Fault[] {
  const { name, fromArtifactId } = raw as JsonObject;
  return name === undefined && fromArtifactId === undefined
    ? [{ loc: ["body", "name"], msg: "Field required", type: "missing" }]
    : [];
}

const listOf = (value: Json | undefined): JsonObject[] =>
  (Array.isArray(value) ? value : []).filter((one) => isObject(one));

function twice(items: readonly JsonObject[], field: string): Fault[] {
  return items.flatMap(({ key }, at) =>
    items.findIndex((other) => other.key === key) === at
      ? []
      : [
          {
            loc: ["body", field, String(at), "key"],
            msg: "This key is already used; keys must be unique",
            type: "value_error",
          },
        ],
  );
}

function filterFaults(filter: JsonObject, at: number): Fault[] {
  const loc = ["body", "filters", String(at)];
  const { key, type, options, sql, default: value = null } = filter;
  if (!FILTER_TYPES.some((one) => one === type) || typeof key !== "string") return [];
  const hasOptions = Array.isArray(options);
  const hasSql = typeof sql === "string";
  if (type === "choice" && hasOptions === hasSql)
    return [{ loc: [...loc, "options"], msg: "A choice needs either options or sql", type: "value_error" }];
  if (type !== "choice" && (hasOptions || hasSql))
    return [
      {
        loc: [...loc, hasOptions ? "options" : "sql"],
        msg: "Only a choice can have this",
        type: "value_error",
      },
    ];
  return valuesOf(filter as unknown as Filter, value, [...loc, "default"]).faults;
}

function panelFaults(panel: JsonObject, at: number): Fault[] {
  const loc = ["body", "panels", String(at)];
  const { sql = null, queryId = null, chart, x, width = WIDTH } = panel;
  const faults = chartFaults(chart, [...loc, "chart"]);
  if ((sql === null) === (queryId === null))
    faults.push({ loc: [...loc, "sql"], msg: "A panel needs either sql or queryId", type: "value_error" });
  if (typeof x === "number" && typeof width === "number" && x + width > COLUMNS)
    faults.push({
      loc: [...loc, "width"],
      msg: `The panel extends past column ${COLUMNS}`,
      type: "value_error",
    });
  return faults;
}

/** Returns clicks that would set missing filters. */
export const clickFaults = (filters: readonly Filter[], panels: readonly Panel[]): Fault[] =>
  panels.flatMap(({ clickFilters = {} }, at) =>
    Object.entries(clickFilters).flatMap(([column, key]) =>
      key === null || filters.some((filter) => filter.key === key)
        ? []
        : [
            {
              loc: ["body", "panels", String(at), "clickFilters", column],
              msg: `There is no filter with the key ${key}`,
              type: "not_found",
            },
          ],
    ),
  );
