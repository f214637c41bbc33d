/**
 * A number of a JSON text that no double holds as it is written: `1.10`, `12345678901234567.89`, `1e400`. It is no plain
 * object, so that nothing takes it for one; `JSON.stringify` shows its text in quotes, and arithmetic takes its double.
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

/** A number of any size or length. */
export type Numeric = number | bigint | NumberText;

export const isNumeric = (value: unknown): value is Numeric =>
  typeof value === "number" || typeof value === "bigint" || value instanceof NumberText;

/** The nearest double of a number; null for what is none. */
export const doubleOf = (value: unknown): number | null => (isNumeric(value) ? Number(value) : null);

/** Negative where `left` is less than `right`, 0 where they are equal, with all of their digits. */
export function compareNumbers(left: Numeric, right: Numeric): number {
  const [a, b] = [Number(left), Number(right)];
  if (a !== b) return a < b ? -1 : 1; // rounding keeps the order of those that differ afterwards
  const [first, second] = [magnitudeOf(String(left)), magnitudeOf(String(right))];
  const isNegative = a < 0 || String(left).startsWith("-");
  const order =
    first.exponent - second.exponent ||
    (first.digits < second.digits ? -1 : Number(first.digits > second.digits));
  return isNegative ? -order : order;
}

/** A number as `0.digits` times a power of ten. */
function magnitudeOf(text: string): { digits: string; exponent: number } {
  const { digits, exponent } = partsOf(text);
  return { digits: digits.replace(/0+$/, ""), exponent: exponent + digits.length };
}

/** What may be changed by a double: many digits, a fraction that ends with 0, a long exponent, a negative zero. */
const SUSPECT = /\d[\d.]{15}|[.]\d+0(?!\d)|[eE][+-]?\d|-0/;

/**
 * Parses JSON text. Integers beyond 2^53 come as `bigint`, other numbers whose text is not the shortest one of their
 * double as `NumberText`. Throws as `JSON.parse` does.
 */
export function parseExact(text: string): unknown {
  return SUSPECT.test(text) ? JSON.parse(text, exactNumber) : JSON.parse(text);
}

/** What a double may hold as another number: many digits, or a long exponent. */
const LONG = /\d[\d.]{15}|\d[eE][+-]?\d{3}/;

/** Parses JSON text; a number that no double holds comes as the text of its digits. Throws as `JSON.parse` does. */
export const parseLossless = (text: string) =>
  LONG.test(text) ? JSON.parse(text, keptNumber) : JSON.parse(text);

/** Whether JSON text may have numbers that `parseLossless` makes texts of. */
export const hasLongNumbers = (text: string): boolean => LONG.test(text);

/** What `parseExact` gave, as `parseLossless` gives it. */
export const lossless = (value: unknown) => parseLossless(exactJson(value));

/** True for the text of a JSON number that no double holds. */
export const isBeyondDoubles = (text: string): boolean =>
  /^-?(?:0|[1-9]\d*)(?:[.]\d+)?(?:[eE][+-]?\d+)?$/.test(text) && typeof parseLossless(text) === "string";

/** JSON text with the numbers that a double would change as texts of their digits. */
export function withTextNumbers(text: string): string {
  return SUSPECT.test(text) ? JSON.stringify(JSON.parse(text, keptNumber)) : text;
}

function keptNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  const exact = exactOf(context.source, value);
  if (typeof exact === "number") return exact;
  return Number.isFinite(value) && compareNumbers(exact, value) === 0 ? value : context.source;
}

const exactNumber = (_key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === "number" ? exactOf(context?.source ?? String(value), value) : value;

/** The number that `text` is, in the form that keeps it; `value` is its double. */
export function exactOf(text: string, value = Number(text)): number | bigint | NumberText {
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(value) ? value : BigInt(text);
  return Number.isFinite(value) && isShortest(text, value) ? value : new NumberText(text);
}

/** True where the double's shortest text is this one, whatever way its exponent is written. */
function isShortest(text: string, value: number): boolean {
  const shortest = String(value);
  if (shortest === text) return true;
  const [left, right] = [partsOf(text), partsOf(shortest)];
  return left.digits === right.digits && left.exponent === right.exponent;
}

/** Digits without zeros at their ends, and the power of ten of the last one; a fraction's last zeros are digits, save in `1.0`. */
function partsOf(text: string): { digits: string; exponent: number } {
  const [mantissa = "", power = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace(/^-/, "").split(".");
  const kept = fraction === "0" ? "" : fraction;
  const all = (whole + kept).replace(/^0+/, "");
  const digits = kept === "" ? all.replace(/0+$/, "") : all;
  return { digits, exponent: digits === "" ? 0 : Number(power) - kept.length + all.length - digits.length };
}

/** How many digits a number's text has before and behind the point; null where it has an exponent. */
export function digitsOf(text: string): { whole: number; scale: number } | null {
  const [, whole, fraction = ""] = /^-?(\d+)(?:[.](\d+))?$/.exec(text) ?? [];
  return whole === undefined ? null : { whole: whole.length, scale: fraction.length };
}

/** JSON text in which all numbers keep their digits; with `sorted`, equal values have equal text. */
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
