import { type Fault, InvalidInput } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { SqlValue } from "../../sql/contract.ts";
import { fromText, sqlValue, valueFaults } from "../queries/parameters.ts";
import type { Filter } from "./table.ts";

interface Values {
  /** By their names in SQL. */
  values: JsonObject;
  faults: Fault[];
}

/** Returns a filter's names in SQL and in URLs. */
const namesOf = ({ key, type }: Filter): string[] =>
  type === "date_range" ? [`${key}_from`, `${key}_to`] : [key];

const typeOf = ({ type }: Filter) => (type === "date_range" ? "date" : type === "choice" ? "text" : type);

/** Resolves a default value. */
export function valuesOf(filter: Filter, value: Json, loc: readonly string[]): Values {
  if (filter.type !== "date_range") return one(filter, value, loc);
  const { from = null, to = null, ...more } = isObject(value) ? value : {};
  const names = namesOf(filter);
  const faults = [
    ...(value === null || isObject(value)
      ? []
      : [{ loc, msg: "A date range should be {from, to}", type: "dict_type" }]),
    ...Object.keys(more).map((name) => ({
      loc: [...loc, name],
      msg: "Unknown field",
      type: "extra_forbidden",
    })),
    ...valueFaults("date", from, [...loc, "from"]),
    ...valueFaults("date", to, [...loc, "to"]),
  ];
  return { values: Object.fromEntries([from, to].map((each, at) => [names[at], each])), faults };
}

function one(filter: Filter, value: Json, loc: readonly string[]): Values {
  const { key, type, options } = filter;
  const isNumber = type === "choice" && typeof value === "number";
  const faults = isNumber ? [] : valueFaults(typeOf(filter), value, loc);
  if (value !== null && Array.isArray(options) && faults.length === 0) {
    const known = options.find((option) => String(option) === String(value));
    if (known !== undefined) return { values: { [key]: known }, faults };
    const msg = `Input should be ${options.slice(0, 20).map(String).join(", ")}`;
    return { values: { [key]: value }, faults: [{ loc, msg, type: "enum" }] };
  }
  return { values: { [key]: value }, faults };
}

/** Converts values of filters for SQL. */
export const sqlValues = (filters: readonly Filter[], values: JsonObject): Record<string, SqlValue> =>
  Object.fromEntries(
    filters.flatMap((filter) =>
      namesOf(filter).map((name) => [name, sqlValue(typeOf(filter), values[name] ?? null)]),
    ),
  );

/**
 * Returns the value of every filter: from the query string, where an empty text means no value, or else its default.
 * Throws `InvalidInput` for an invalid value and for an unknown filter.
 */
export function filterValues(filters: readonly Filter[], query: URLSearchParams): JsonObject {
  const known = new Set(filters.flatMap(namesOf));
  const faults: Fault[] = [...new Set(query.keys())]
    .filter((name) => !known.has(name))
    .map((name) => ({
      loc: ["query", name],
      msg: `Unknown filter. Known filters: ${[...known].join(", ") || "none"}`,
      type: "extra_forbidden",
    }));
  const values: JsonObject = {};
  for (const filter of filters) {
    Object.assign(values, valuesOf(filter, filter.default, ["query", filter.key]).values);
    for (const name of namesOf(filter)) {
      const [text, ...more] = query.getAll(name);
      if (text === undefined) continue;
      const value = text === "" ? null : fromText(typeOf(filter), text);
      const loc = ["query", name];
      if (more.length > 0) faults.push({ loc, msg: "Give one value", type: "string_type" });
      const parsed =
        filter.type === "date_range"
          ? { values: { [name]: value }, faults: valueFaults("date", value, loc) }
          : one(filter, value, loc);
      Object.assign(values, parsed.values);
      faults.push(...parsed.faults);
    }
  }
  if (faults.length > 0) throw new InvalidInput(faults);
  return values;
}
