import type { Json } from "../json.ts";
import type { Budget } from "./budget.ts";
import { ExpressionError } from "./fault.ts";
import { Duration, entriesOf, type Fields, Instant, isList, type Value } from "./value.ts";

/**
 * Converts a value to JSON: bytes to base64, times to ISO 8601, durations to seconds (`90s`),
 * and integers beyond doubles to text. A list that is referenced a thousand times becomes a thousand lists,
 * so this spends from the budget too.
 *
 * Throws `ExpressionError` for numbers that JSON doesn't have, and for keys that are the same text.
 */
export function toJson(value: Value, budget: Budget): Json {
  budget.step();
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") {
    budget.make(value.length);
    return value;
  }
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new ExpressionError("value", `JSON has no number ${value}`);
    return value;
  }
  if (isList(value)) return value.map((item) => toJson(item, budget));
  if (value instanceof Uint8Array) {
    budget.make(value.length * 2);
    return value.toBase64();
  }
  if (value instanceof Instant) return isoOf(value);
  if (value instanceof Duration) return secondsOf(value);
  return Object.fromEntries([...fieldsOf(value)].map(([name, item]) => [name, toJson(item, budget)]));
}

/** Returns an object's fields by their names in JSON. Throws `ExpressionError` for keys with the same text, as 1 and "1". */
export function fieldsOf(value: ReadonlyMap<Value, Value> | Fields): ReadonlyMap<string, Value> {
  const fields = new Map<string, Value>();
  for (const [key, item] of entriesOf(value)) {
    const name = String(key);
    if (fields.has(name))
      throw new ExpressionError(
        "value",
        `duplicate key ${JSON.stringify(name)}, since the keys of JSON are text`,
      );
    fields.set(name, item);
  }
  return fields;
}

/** With milliseconds, or with microseconds or nanoseconds if there are any. */
export function isoOf({ nanoseconds }: Instant): string {
  const rest = ((nanoseconds % SECOND) + SECOND) % SECOND;
  const seconds = new Date(Number((nanoseconds - rest) / 1_000_000n)).toISOString().slice(0, SECONDS_LENGTH);
  const decimals = String(rest)
    .padStart(9, "0")
    .replace(/(?:000){1,2}$/, "");
  return `${seconds}.${decimals}Z`;
}

const SECOND = 1_000_000_000n;
const SECONDS_LENGTH = "2026-01-31T12:00:00".length;

/** As CEL writes a duration: seconds, with a fraction if there is one. */
export function secondsOf({ nanoseconds }: Duration): string {
  const sign = nanoseconds < 0n ? "-" : "";
  const length = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = String(length % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${sign}${length / 1_000_000_000n}${fraction && `.${fraction}`}s`;
}
