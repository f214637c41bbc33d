import { integerOf } from "../../json-numbers.ts";
import type { Budget } from "../budget.ts";
import { ExpressionError } from "../fault.ts";
import {
  type Fields,
  Instant,
  isList,
  isNumber,
  isObject,
  nameOf,
  type Operand,
  type Value,
} from "../value.ts";

/** What a function gets besides its arguments. */
export interface Tools {
  budget: Budget;
  nextUuid(): string;
}

/** Definition of a function. Its documentation is generated from this, and each example is a test. */
export interface Definition {
  /** Its parameters as documented: `text, pattern?, zone?`. A final `…` means any number more. */
  takes: string;
  about: string;
  /** Expressions and their values as JSON. */
  examples: readonly (readonly [expression: string, json: string])[];
  /** True if it reads only the ends of its arguments, whatever their length. */
  isShallow?: boolean;
  call(values: readonly Value[], tools: Tools): Operand;
}

export type Definitions = Readonly<Record<string, Definition>>;

/** Throws that a value of another type is expected. */
export function refuse(what: string, ...values: Value[]): never {
  throw new ExpressionError("type", `expected ${what}, not ${values.map(nameOf).join(" and ")}`);
}

export function fail(reason: string): never {
  throw new ExpressionError("value", reason);
}

export const textOf = (value: Value = null): string =>
  typeof value === "string" ? value : refuse("a text", value);

export const numberOf = (value: Value = null): number =>
  isNumber(value) ? Number(value) : refuse("a number", value);

/** Returns an integer of any numeric type. */
export function wholeOf(value: Value = null): number {
  const number = numberOf(value);
  return Number.isInteger(number) ? number : fail(`${number} is not a whole number`);
}

export const bigintOf = (value: Value = null): bigint =>
  typeof value === "bigint"
    ? value
    : typeof value === "number"
      ? integerOf(wholeOf(value))
      : refuse("a whole number", value);

export const boolOf = (value: Value = null): boolean =>
  typeof value === "boolean" ? value : refuse("a bool", value);

export const listOf = (value: Value = null): readonly Value[] =>
  isList(value) ? value : refuse("a list", value);

export const objectOf = (value: Value = null): ReadonlyMap<Value, Value> | Fields =>
  isObject(value) ? value : refuse("an object", value);

export const instantOf = (value: Value = null): Instant =>
  value instanceof Instant ? value : refuse("a time", value);

/** Returns a text that UTF-8 can represent. */
export function wellFormedOf(value: Value = null): string {
  const text = textOf(value);
  return text.isWellFormed() ? text : fail("the text contains a lone surrogate");
}

/** Returns the UTF-8 of a text, or the bytes themselves. */
export function bytesOf(value: Value = null): Uint8Array {
  if (value instanceof Uint8Array) return value;
  return typeof value === "string" ? Buffer.from(wellFormedOf(value)) : refuse("a text or bytes", value);
}
