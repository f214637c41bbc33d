import { isObject, type Json } from "../base/json.ts";

/**
 * Keys that clients of the AI SDK refuse because they could change prototypes: one of them in a chunk would break the
 * whole stream. Source: `secureJsonParse` of `@ai-sdk/provider-utils`.
 */
const isForbidden = (key: string, value: Json): boolean =>
  key === "__proto__" || (key === "constructor" && isObject(value) && Object.hasOwn(value, "prototype"));

/** Whether `value` contains no such key. */
export function isPlain(value: Json): boolean {
  if (Array.isArray(value)) return value.every(isPlain);
  if (!isObject(value)) return true;
  return Object.entries(value).every(([key, item]) => !isForbidden(key, item) && isPlain(item));
}

/** The value, with forbidden keys in parentheses. */
export function toPlain(value: Json): Json {
  if (isPlain(value)) return value;
  if (Array.isArray(value)) return value.map(toPlain);
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([key, item]) => [isForbidden(key, item) ? `(${key})` : key, toPlain(item)]),
  );
}
