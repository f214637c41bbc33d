import { AppError } from "./errors.ts";
import type { Json, JsonObject } from "./json.ts";
import { exactJson, NumberText } from "./json-numbers.ts";

/** The key of a number as text, `{"$number": "9007199254740993"}`. */
const KEY = "$number";

/** As in `base/json`, which would be too large for the page. */
const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns what `{"$number": …}` holds. Undefined for other values. */
export function taggedNumber(value: Json): Json | undefined {
  if (!isObject(value)) return undefined;
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0] === KEY ? value[KEY] : undefined;
}

const NUMBER = /^-?\d+(?:[.]\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns a parameter's value for SQL, with the number of `{"$number": …}`. Throws `sql_error` if it isn't one. */
export function parameterValue(value: Json): Json | NumberText {
  if (Array.isArray(value)) return value.map(parameterValue) as Json[];
  const number = taggedNumber(value);
  if (number === undefined) return value;
  if (number === null || typeof number === "number") return number;
  if (typeof number === "string" && NUMBER.test(number)) return new NumberText(number);
  throw new AppError("sql_error", `A parameter ${exactJson(value)} isn't a number. Use digits.`);
}

/**
 * Fields of SQL in definitions, with `*` for list items. `parameters` next to one has its values. Executors choose
 * theirs from this list, which the page and the command line have without them.
 */
export const SQL_FIELDS = ["sql", "tests.*.sql", "panels.*.sql", "resources.*.where"] as const;

/** Where `parameters` are values for SQL: in a definition, in an item of such a list, or in a step's `forEach`. */
const DEFINITIONS = "definition|definitionOverrides";
const HOLDERS = [...SQL_FIELDS.flatMap((field) => field.split(".*.").slice(0, -1)), "forEach", DEFINITIONS];
const OUTER = `actions|automations|templates|dashboards|components|config|steps|action|${DEFINITIONS}`;
const HOLDER = new RegExp(`^(?:(?:${OUTER})[.])*(?:${HOLDERS.join("|")})$`);

const isParameter = (keys: readonly string[]): boolean =>
  keys.at(-2) === "parameters" && HOLDER.test(keys.slice(0, -2).join("."));

/**
 * Returns the stored form of a number beyond doubles in the field with these keys: text, or `{"$number": …}` if a
 * definition passes it to SQL as a parameter. SQL orders texts otherwise than numbers.
 */
export const storedNumber = (text: string, keys: readonly string[]): Json =>
  isParameter(keys) ? { [KEY]: text } : text;

/** Returns a body with the stored form of all numbers. */
export function withStoredNumbers(value: Json, keys: readonly string[] = []): Json {
  if ((value as unknown) instanceof NumberText) return storedNumber(String(value), keys);
  if (Array.isArray(value)) return value.map((item) => withStoredNumbers(item, keys));
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, item]) => [key, withStoredNumbers(item, [...keys, key])]));
}
