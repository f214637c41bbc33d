import type { Json, JsonObject } from "./json.ts";
import { NumberText } from "./json-numbers.ts";

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

/** Fields with definitions, or with parts of definitions that have parameters of their own. */
const HOLDER =
  /^(actions|automations|templates|dashboards|definition|definitionOverrides|config|steps|action|components|panels|tests|forEach)$/;

const isParameter = (keys: readonly string[]): boolean =>
  keys.length > 2 && keys.at(-2) === "parameters" && keys.slice(0, -2).every((key) => HOLDER.test(key));

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
