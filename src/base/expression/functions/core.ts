import { integerOf } from "../../json-numbers.ts";
import { isRealDay } from "../../real-day.ts";
import type { Budget } from "../budget.ts";
import { isoOf, secondsOf } from "../json.ts";
import { Duration, Instant, int, isList, isNumber, isObject, sizeOf, type Value } from "../value.ts";
import { bigintOf, bytesOf, type Definitions, fail, numberOf, refuse, textOf } from "./contract.ts";

export function textFrom(value: Value = null): string {
  if (typeof value === "string") return value;
  if (typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (typeof value === "number") return doubleText(value);
  if (value instanceof Instant) return instantText(value);
  if (value instanceof Duration) return secondsOf(value);
  if (value instanceof Uint8Array) return utf8Of(value);
  return refuse("a text, number, bool, time, duration or bytes", value);
}

function doubleText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

function utf8Of(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return fail("the bytes are not UTF-8");
  }
}

/** RFC 3339, with all decimals. */
function instantText(value: Instant): string {
  const seconds = isoOf(value).slice(0, 19);
  const rest = ((value.nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const decimals = String(rest).padStart(9, "0").replace(/0+$/, "");
  return `${seconds}${decimals && `.${decimals}`}Z`;
}

function intFrom(value: Value = null): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") {
    if (!(Math.abs(value) < 2 ** 63)) fail("the number exceeds 64 bits");
    return integerOf(Math.trunc(value));
  }
  if (typeof value === "string")
    return /^[+-]?\d{1,25}$/.test(value)
      ? int(BigInt(value.replace("+", "")))
      : fail(`${JSON.stringify(value)} is not a whole number`);
  if (value instanceof Instant)
    return value.nanoseconds / 1_000_000_000n - (value.nanoseconds % 1_000_000_000n < 0n ? 1n : 0n);
  return refuse("a number or a text", value);
}

const DOUBLE = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

function doubleFrom(value: Value = null): number {
  if (typeof value !== "string") return numberOf(value);
  if (DOUBLE.test(value)) return Number(value);
  if (/^[+-]?Inf(inity)?$/i.test(value))
    return value.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return value === "NaN" ? Number.NaN : fail(`${JSON.stringify(value)} is not a number`);
}

const BOOLS: Readonly<Record<string, boolean>> = {
  "1": true,
  t: true,
  T: true,
  true: true,
  TRUE: true,
  True: true,
  "0": false,
  f: false,
  F: false,
  false: false,
  FALSE: false,
  False: false,
};

const UNITS_NS: Readonly<Record<string, number>> = {
  h: 3.6e12,
  m: 6e10,
  s: 1e9,
  ms: 1e6,
  us: 1e3,
  µs: 1e3,
  ns: 1,
};

/** As in CEL: `1h30m`, `1.5s`. */
function durationFrom(text: string): Duration {
  const parts = /^([+-]?)((?:\d+(?:\.\d*)?(?:h|ms|m|s|us|µs|ns)|0)+)$/.exec(text);
  if (!parts) fail(`${JSON.stringify(text)} is not a duration such as 1h30m`);
  let sum = 0n;
  for (const [, whole = "0", decimals = "", unit = "ns"] of (parts?.[2] ?? "").matchAll(
    /(\d+)(?:\.(\d*))?(h|ms|m|s|us|µs|ns)/g,
  )) {
    const size = BigInt(UNITS_NS[unit] ?? 1);
    const part = decimals.slice(0, 20); // an hour in nanoseconds has fewer digits
    sum += (BigInt(whole + part) * size) / 10n ** BigInt(part.length);
  }
  return new Duration(parts?.[1] === "-" ? -sum : sum);
}

const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/;

/** A time in RFC 3339, with a zone. */
export function instantFrom(text: string): Instant {
  const [, date, time, decimals = "", zone = ""] = RFC_3339.exec(text) ?? [];
  const isDay = date !== undefined && isRealDay(date);
  const ms = isDay ? Date.parse(`${date}T${time}${zone.toUpperCase()}`) : Number.NaN;
  if (Number.isNaN(ms))
    fail(`${JSON.stringify(text.slice(0, 60))} is not a time such as 2026-01-31T12:00:00Z`);
  return new Instant(BigInt(ms) * 1_000_000n + BigInt(decimals.padEnd(9, "0") || "0"));
}

function sizeFrom(value: Value = null, budget: Budget): number {
  if (typeof value === "string") {
    budget.step(value.length >> 3);
    return [...value].length;
  }
  if (isList(value) || value instanceof Uint8Array) return value.length;
  return isObject(value) ? sizeOf(value) : refuse("a text, list or object", value);
}

export const coreFunctions: Definitions = {
  size: {
    takes: "value",
    about:
      "Number of characters, list items, object fields, or bytes. It is a whole number, so divide it by 2.0 to keep decimals.",
    examples: [
      ['size("abc")', "3"],
      ["[1, 2].size()", "2"],
      ["[1, 2, 3].size() / 2.0", "1.5"],
    ],
    isShallow: true,
    call: ([value], { budget }) => BigInt(sizeFrom(value, budget)),
  },
  string: {
    takes: "value",
    about: "Converts a value to text.",
    examples: [
      ["string(12)", '"12"'],
      ["string(9007199254740993)", '"9007199254740993"'],
    ],
    call: ([value]) => textFrom(value),
  },
  int: {
    takes: "value",
    about: "Converts text, a number (truncated) or a time (in seconds) to a whole number.",
    examples: [
      ['int("42")', "42"],
      ["int(3.9)", "3"],
    ],
    call: ([value]) => intFrom(value),
  },
  double: {
    takes: "value",
    about: "Converts text or a whole number to a number.",
    examples: [['double("1.5")', "1.5"]],
    call: ([value]) => doubleFrom(value),
  },
  bool: {
    takes: "value",
    about: 'True for "true", "t" and "1", false for "false", "f" and "0".',
    examples: [['bool("true")', "true"]],
    call([value = null]) {
      if (typeof value === "boolean") return value;
      const text = textOf(value);
      return BOOLS[text] ?? fail(`${JSON.stringify(text.slice(0, 60))} is neither true nor false`);
    },
  },
  bytes: {
    takes: "text",
    about: "The text's UTF-8 bytes, base64 in JSON.",
    examples: [['bytes("hi")', '"aGk="']],
    call([value], { budget }) {
      const bytes = bytesOf(value);
      budget.make(bytes.length);
      return bytes;
    },
  },
  timestamp: {
    takes: "text or seconds",
    about: "A time from text with a zone, or from whole seconds since 1970.",
    examples: [['timestamp("2026-01-31T12:00:00+02:00")', '"2026-01-31T10:00:00.000Z"']],
    call([value = null]) {
      if (value instanceof Instant) return value;
      return isNumber(value) ? new Instant(bigintOf(value) * 1_000_000_000n) : instantFrom(textOf(value));
    },
  },
  duration: {
    takes: "text",
    about: "A duration in h, m, s, ms, us and ns.",
    examples: [['duration("1h30m")', '"5400s"']],
    call: ([value = null]) => (value instanceof Duration ? value : durationFrom(textOf(value))),
  },
  dyn: {
    takes: "value",
    about: "The value itself, for CEL type checks.",
    examples: [["dyn(1)", "1"]],
    call: ([value = null]) => value,
  },
};
