import type { Json } from "../json.ts";
import type { Budget } from "./budget.ts";
import { ExpressionError } from "./fault.ts";
import { Duration, entriesOf, Instant, isList, type Value } from "./value.ts";

/**
 * A value as JSON has it: bytes as base64, times as ISO 8601, durations in seconds (`90s`), and whole
 * numbers that a double can't hold as text. One list that stands in it a thousand times is a thousand lists there, so
 * that this spends too.
 *
 * Throws `ExpressionError` for numbers that JSON does not have.
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
  return Object.fromEntries(entriesOf(value).map(([key, item]) => [String(key), toJson(item, budget)]));
}

/** With milliseconds, or with microseconds or nanoseconds where there are any. */
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

/** As CEL writes a duration: seconds, with a fraction where there is one. */
export function secondsOf({ nanoseconds }: Duration): string {
  const sign = nanoseconds < 0n ? "-" : "";
  const length = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = String(length % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${sign}${length / 1_000_000_000n}${fraction && `.${fraction}`}s`;
}
