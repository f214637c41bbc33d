import type { SheetType } from "../contract.ts";
import { damaged } from "../fault.ts";
import type { Tap } from "./tap.ts";

/** How to convert values of a type to text. */
export interface Reading {
  /** Nanoseconds turn a timestamp into text once one occurs, so the type is final only after the last value. */
  type: SheetType;
  /** The next value; null is NULL. */
  read(tap: Tap): string | null;
}

export const reading = (type: SheetType, read: Reading["read"]): Reading => ({ type, read });

/** Types whose text is valid JSON, except for NaN and infinities. */
const BARE = /^(?:BOOLEAN|INTEGER|BIGINT|FLOAT|DOUBLE|DECIMAL\(.*|JSON)$/;

/** The next value as JSON: numbers with all of their digits, everything else as a JSON string. */
export function jsonOf({ type, read }: Reading, tap: Tap): string {
  const text = read(tap);
  if (text === null) return "null";
  if (!BARE.test(type)) return JSON.stringify(text);
  if (!/^-?(?:NaN|Infinity)$/.test(text)) return text;
  tap.odd.add("NaN and infinities became texts within JSON", () => text);
  return JSON.stringify(text);
}

const floatText = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

/** Primitive types, each with its own encoding. */
export const PRIMITIVES: ReadonlyMap<string, () => Reading> = new Map([
  ["null", () => reading("VARCHAR", () => null)],
  ["boolean", () => reading("BOOLEAN", (tap) => String(tap.boolean()))],
  ["int", () => reading("INTEGER", (tap) => String(tap.int()))],
  ["long", () => reading("BIGINT", (tap) => String(tap.long()))],
  ["float", () => reading("FLOAT", (tap) => floatText(tap.float()))],
  ["double", () => reading("DOUBLE", (tap) => floatText(tap.double()))],
  ["string", () => reading("VARCHAR", (tap) => tap.string())],
  ["bytes", () => reading("BLOB", (tap) => tap.blob().toString("hex"))],
]);

export const fixed = (size: number): Reading => reading("BLOB", (tap) => tap.take(size).toString("hex"));

export const enumeration = (symbols: readonly string[]): Reading =>
  reading("VARCHAR", (tap) => {
    const symbol = symbols[tap.int()];
    if (symbol === undefined) throw damaged("an enum has a value that its schema doesn't have");
    return symbol;
  });

export const array = (items: Reading): Reading =>
  reading("JSON", (tap) => {
    const found: string[] = [];
    tap.items(() => found.push(jsonOf(items, tap)));
    return `[${found.join(",")}]`;
  });

export const map = (values: Reading): Reading =>
  reading("JSON", (tap) => {
    const found: string[] = [];
    tap.items(() => {
      const key = JSON.stringify(tap.string() ?? "");
      found.push(`${key}:${jsonOf(values, tap)}`);
    });
    return `{${found.join(",")}}`;
  });

/** A union of one type and null is that type; others become JSON, because a column has one type. */
export function union(branches: readonly { reading: Reading; isNull: boolean }[]): Reading {
  const chosen = (tap: Tap) => {
    const branch = branches[tap.int()];
    if (branch === undefined) throw damaged("a union has a value that its schema doesn't have");
    return branch;
  };
  const [only, other] = branches.filter(({ isNull }) => !isNull);
  if (only && !other) {
    return {
      get type() {
        return only.reading.type;
      },
      read: (tap) => chosen(tap).reading.read(tap),
    };
  }
  return reading(only ? "JSON" : "VARCHAR", (tap) => {
    const { reading: inner, isNull } = chosen(tap);
    return isNull ? inner.read(tap) : jsonOf(inner, tap);
  });
}
