/**
 * A JSON number that a double would change: `1.10`, `12345678901234567.89`, `1e400`. Not a plain object,
 * so that it isn't mistaken for one. `JSON.stringify` writes it as text, and arithmetic uses its double.
 */
export class NumberText {
  constructor(readonly text: string) {}

  get [Symbol.toStringTag](): string {
    return "Number";
  }

  toJSON(): string {
    return this.text;
  }

  toString(): string {
    return this.text;
  }

  valueOf(): number {
    return Number(this.text);
  }
}

/** A number of any size and precision. */
export type Numeric = number | bigint | NumberText;

export const isNumeric = (value: unknown): value is Numeric =>
  typeof value === "number" || typeof value === "bigint" || value instanceof NumberText;

/** Returns the nearest double of a number. Null for anything else. */
export const doubleOf = (value: unknown): number | null => (isNumeric(value) ? Number(value) : null);

/** Returns the integer that a double's shortest text writes: 1700000000123456800, not …768. Exact beyond 64 bits. */
export const integerOf = (value: number): bigint => BigInt(Math.abs(value) < 2 ** 63 ? String(value) : value);

/** Compares exactly. Negative if `left` is less than `right`, 0 if they are equal. */
export function compareNumbers(left: Numeric, right: Numeric): number {
  const [a, b] = [Number(left), Number(right)];
  if (a !== b) return a < b ? -1 : 1; // rounding never reverses the order
  const [first, second] = [magnitudeOf(String(left)), magnitudeOf(String(right))];
  const isNegative = a < 0 || String(left).startsWith("-");
  const order =
    first.exponent - second.exponent ||
    (first.digits < second.digits ? -1 : Number(first.digits > second.digits));
  return isNegative ? -order : order;
}

/** Returns a number as `0.digits` times a power of ten. */
function magnitudeOf(text: string): { digits: string; exponent: number } {
  const { digits, exponent } = partsOf(text);
  return { digits: digits.replace(/0+$/, ""), exponent: exponent + digits.length };
}

/** Numbers that a double may change: many digits, a fraction ending in 0, an exponent, a negative zero. */
const SUSPECT = /\d[\d.]{15}|[.]\d+0(?!\d)|[eE][+-]?\d|-0/;

/**
 * Parses JSON. Integers beyond 2^53 become `bigint`,
 * other numbers whose text isn't the shortest one of their double become `NumberText`. Throws like `JSON.parse`.
 */
export function parseExact(text: string): unknown {
  return SUSPECT.test(text) ? JSON.parse(text, exactNumber) : JSON.parse(text);
}

/** Numbers whose value a double may change: many digits, or a long exponent. */
const LONG = /\d[\d.]{15}|\d[eE][+-]?\d{3}/;

/** Parses JSON. A number beyond doubles becomes text. Throws like `JSON.parse`. */
export const parseLossless = (text: string) =>
  LONG.test(text) ? JSON.parse(text, keptNumber) : JSON.parse(text);

/** Like `parseLossless`, but a number beyond doubles becomes `NumberText`. */
export const parseNumberTexts = (text: string) =>
  LONG.test(text) ? JSON.parse(text, numberText) : JSON.parse(text);

/** Returns whether JSON may contain numbers that `parseLossless` converts to text. */
export const hasLongNumbers = (text: string): boolean => LONG.test(text);

/** Converts a result of `parseExact` to that of `parseLossless`. */
export const lossless = (value: unknown) => parseLossless(exactJson(value));

/** Returns whether text is a JSON number beyond doubles. */
export const isBeyondDoubles = (text: string): boolean =>
  /^-?(?:0|[1-9]\d*)(?:[.]\d+)?(?:[eE][+-]?\d+)?$/.test(text) && typeof parseLossless(text) === "string";

/** Returns the number of decimal digits such as `2.50`. One beyond doubles stays text, without leading zeros. */
export function fromDigits(text: string): number | string {
  const digits = text.replace(/^(-?)0+(?=\d)/, "$1");
  return isBeyondDoubles(digits) ? digits : Number(text);
}

/** Returns JSON in which numbers that a double would change are text. */
export function withTextNumbers(text: string): string {
  return SUSPECT.test(text) ? JSON.stringify(JSON.parse(text, keptNumber)) : text;
}

function keptNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  const exact = exactOf(context.source, value);
  if (typeof exact === "number") return exact;
  return Number.isFinite(value) && compareNumbers(exact, value) === 0 ? value : context.source;
}

function numberText(key: string, value: unknown, context?: { source?: string }): unknown {
  const kept = keptNumber(key, value, context);
  return typeof value === "number" && typeof kept === "string" ? new NumberText(kept) : kept;
}

const exactNumber = (_key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === "number" ? exactOf(context?.source ?? String(value), value) : value;

/** Returns the number in `text`, in the type that preserves it. `value` is its double. */
export function exactOf(text: string, value = Number(text)): number | bigint | NumberText {
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(value) ? value : BigInt(text);
  return Number.isFinite(value) && isShortest(text, value) ? value : new NumberText(text);
}

/** Returns whether this is the double's shortest text, ignoring how its exponent is written. */
function isShortest(text: string, value: number): boolean {
  const shortest = String(value);
  if (shortest === text) return true;
  const [left, right] = [partsOf(text), partsOf(shortest)];
  return left.digits === right.digits && left.exponent === right.exponent;
}

/**
 * Returns the digits without leading and trailing zeros, and the power of ten of the last one.
 * Trailing zeros of a fraction count, except in `1.0`.
 */
function partsOf(text: string): { digits: string; exponent: number } {
  const [mantissa = "", power = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace(/^-/, "").split(".");
  const kept = fraction === "0" ? "" : fraction;
  const all = (whole + kept).replace(/^0+/, "");
  const digits = kept === "" ? all.replace(/0+$/, "") : all;
  return { digits, exponent: digits === "" ? 0 : Number(power) - kept.length + all.length - digits.length };
}

/** Returns the number of digits before and after the decimal point. Null for a number with an exponent. */
export function digitsOf(text: string): { whole: number; scale: number } | null {
  const { length } = text;
  const from = text.charCodeAt(0) === MINUS ? 1 : 0;
  let point = length;
  for (let at = from; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code === POINT && point === length) point = at;
    else if (code < ZERO || code > NINE) return null;
  }
  const scale = Math.max(0, length - point - 1);
  return point === from || point === length - 1 ? null : { whole: point - from, scale };
}

const [MINUS, POINT, ZERO, NINE] = [0x2d, 0x2e, 0x30, 0x39];

/** Returns JSON in which all numbers keep their digits. With `sorted`, equal values have equal text. */
export function exactJson(value: unknown, sorted = false): string {
  if (typeof value === "bigint") return String(value);
  if (value instanceof NumberText) return value.text;
  if (Object.is(value, -0)) return "-0.0";
  if (Array.isArray(value)) return `[${value.map((item) => exactJson(item ?? null, sorted)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    if (sorted) entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${exactJson(item, sorted)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}
