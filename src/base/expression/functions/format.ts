import { integerOf } from "../../json-numbers.ts";
import type { Budget } from "../budget.ts";
import { Duration, entriesOf, Instant, isList, isNumber, isObject, nameOf, type Value } from "../value.ts";
import { fail } from "./contract.ts";
import { textFrom } from "./core.ts";

const CLAUSE = /%(?:%|(?:\.(\d+))?([A-Za-z]?))/g;
const MAX_DECIMALS = 100;

/** Formats `text` with the values, as CEL's `format` does. */
export function formatted(text: string, values: readonly Value[], budget: Budget): string {
  let next = 0;
  return text.replace(CLAUSE, (clause, decimals: string | undefined, letter: string | undefined) => {
    if (clause === "%%") return "%";
    const write = WRITERS[letter ?? ""];
    if (!write || (decimals !== undefined && letter !== "f" && letter !== "e"))
      fail(`unknown placeholder ${clause}`);
    if (next >= values.length) fail(`missing value ${next} for ${clause}`);
    const places = decimals === undefined ? 6 : Number(decimals);
    if (places > MAX_DECIMALS) fail(`at most ${MAX_DECIMALS} decimals are allowed`);
    const written = write?.(values[next++] ?? null, places, budget) ?? "";
    budget.make(written.length);
    return written;
  });
}

type Writer = (value: Value, decimals: number, budget: Budget) => string;

function shown(value: Value, budget: Budget): string {
  budget.step();
  if (value === null) return "null";
  if (typeof value === "number") return special(value) ?? String(value);
  if (isList(value)) return `[${value.map((item) => shown(item, budget)).join(", ")}]`;
  if (!isObject(value)) return textFrom(value);
  const entries = entriesOf(value).map(([key, item]): [string, string] => [
    shown(key, budget),
    shown(item, budget),
  ]);
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map((entry) => entry.join(": ")).join(", ")}}`;
}

function special(value: number): string | null {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? null : value > 0 ? "Infinity" : "-Infinity";
}

/** Formats an integer in a base other than ten. */
const inBase =
  (base: number): Writer =>
  (value) => {
    if (typeof value === "boolean") return value ? "1" : "0";
    return wholeOf(value).toString(base);
  };

function wholeOf(value: Value): bigint {
  if (typeof value === "bigint") return value;
  return typeof value === "number" && Number.isInteger(value)
    ? integerOf(value)
    : fail(`expected a whole number, not ${nameOf(value)}`);
}

const hex: Writer = (value, decimals, budget) => {
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  return value instanceof Uint8Array ? value.toHex() : inBase(16)(value, decimals, budget);
};

function numberOf(value: Value): number {
  return isNumber(value) ? Number(value) : fail(`expected a number, not ${nameOf(value)}`);
}

/** Rounds half to even, with at least two digits of exponent. */
const scientific: Writer = (value, decimals) => {
  const number = numberOf(value);
  return special(number) ?? number.toExponential(decimals).replace(/e([+-])(\d)$/, "e$10$2");
};

const fixed: Writer = (value, decimals) => {
  const number = numberOf(value);
  if (!Number.isInteger(number)) return special(number) ?? evenFixed(number, decimals);
  return decimals === 0 ? String(wholeOf(value)) : `${wholeOf(value)}.${"0".repeat(decimals)}`;
};

/** Rounds half to even. `toFixed` rounds up. */
function evenFixed(number: number, decimals: number): string {
  const exact = number.toFixed(MAX_DECIMALS);
  const end = exact.indexOf(".") + 1 + decimals;
  const isTie = /^50*$/.test(exact.slice(end));
  const isEven = /[02468]\.?$/.test(exact.slice(0, end));
  return isTie && isEven ? exact.slice(0, decimals === 0 ? end - 1 : end) : number.toFixed(decimals);
}

const decimal: Writer = (value) => (typeof value === "number" && special(value)) || String(wholeOf(value));

const WRITERS: Readonly<Record<string, Writer>> = {
  s: (value, _, budget) =>
    value instanceof Duration || value instanceof Instant ? textFrom(value) : shown(value, budget),
  d: decimal,
  f: fixed,
  e: scientific,
  b: inBase(2),
  o: inBase(8),
  x: hex,
  X: (value, decimals, budget) => hex(value, decimals, budget).toUpperCase(),
};
