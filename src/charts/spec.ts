import { isObject, type Json, type JsonObject } from "../base/json.ts";

/** Keys by which a specification could load its own data or contain links. */
const FORBIDDEN: Readonly<Record<string, string>> = {
  data: "its data comes from the panel's SQL",
  datasets: "its data comes from the panel's SQL",
  url: "a chart can't load external data",
  href: "a chart can't have links",
};
const MAX_SPEC_CHARACTERS = 100_000;
/** Keys of which every chart has one. */
const VIEWS = ["mark", "layer", "concat", "hconcat", "vconcat", "facet", "repeat"];
/** Vega-Lite's marks, without images and maps, which load external files. */
const MARKS = [
  ...["arc", "area", "bar", "boxplot", "circle", "errorband", "errorbar", "line"],
  ...["point", "rect", "rule", "square", "text", "tick", "trail"],
];

/** Whether it looks like a Vega-Lite specification, even an invalid one. */
export const isSpec = (spec: JsonObject): boolean => VIEWS.some((name) => Object.hasOwn(spec, name));

/** What a Vega-Lite specification may not contain, with paths; empty if it can be drawn. */
export function specFaults(spec: JsonObject): { path: string[]; message: string }[] {
  if (JSON.stringify(spec).length > MAX_SPEC_CHARACTERS) {
    return [{ path: [], message: `A chart has at most ${MAX_SPEC_CHARACTERS} characters.` }];
  }
  const faults = forbidden(spec, []);
  if (!isSpec(spec)) {
    faults.push({
      path: ["mark"],
      message: "A chart needs a mark, such as bar, line or point, or views with marks.",
    });
  }
  return faults;
}

function forbidden(value: Json, path: string[]): { path: string[]; message: string }[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => forbidden(item, [...path, String(at)]));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const why = Object.hasOwn(FORBIDDEN, name) ? FORBIDDEN[name] : undefined;
    const at = [...path, name];
    if (why !== undefined) return [{ path: at, message: `A chart has no ${name}: ${why}.` }];
    if (name === "mark") {
      const mark = isObject(inner) ? inner.type : inner;
      if (typeof mark !== "string" || !MARKS.includes(mark)) {
        return [{ path: at, message: `A mark must be one of ${MARKS.join(", ")}.` }];
      }
    }
    return forbidden(inner, at);
  });
}

/** Fields that the chart uses but `columns` lacks; empty for a chart that computes fields. */
export function missingFields(spec: JsonObject, columns: readonly string[]): string[] {
  if (JSON.stringify(spec).includes('"transform":')) return [];
  const found = new Set<string>();
  const visit = (value: Json): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    else if (isObject(value)) {
      for (const [name, inner] of Object.entries(value)) {
        if (name === "field" && typeof inner === "string") found.add(inner);
        else visit(inner);
      }
    }
  };
  visit(spec);
  const isThere = (field: string) =>
    columns.includes(field) ||
    columns.includes(field.split(/[.[]/)[0] ?? field) ||
    columns.includes(field.replaceAll("\\", ""));
  return [...found].filter((field) => !isThere(field));
}
