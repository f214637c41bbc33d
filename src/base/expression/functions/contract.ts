import type { Budget } from "../budget.ts";
import { ExpressionError } from "../fault.ts";
import { type Fields, Instant, isList, isNumber, isObject, nameOf, type Value } from "../value.ts";

/** What a function has beside its values. */
export interface Tools {
  budget: Budget;
  nextUuid(): string;
}

/** A function as it is defined; the documents are made from it, and each example is a test. */
export interface Definition {
  /** Its values as the documents name them: `text, pattern?, zone?`; `…` at the end for any number more. */
  takes: string;
  about: string;
  /** Expressions, and what they give as JSON. */
  examples: readonly (readonly [expression: string, json: string])[];
  /** True for one that looks at an end of its values alone, however long they are. */
  isShallow?: boolean;
  call(values: readonly Value[], tools: Tools): Value;
}

export type Definitions = Readonly<Record<string, Definition>>;

/** Throws that something else is expected. */
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

/** A whole number, however it came. */
export function wholeOf(value: Value = null): number {
  const number = numberOf(value);
  return Number.isInteger(number) ? number : fail(`${number} is not a whole number`);
}

export const bigintOf = (value: Value = null): bigint =>
  typeof value === "bigint"
    ? value
    : typeof value === "number"
      ? BigInt(wholeOf(value))
      : refuse("a whole number", value);

export const boolOf = (value: Value = null): boolean =>
  typeof value === "boolean" ? value : refuse("a bool", value);

export const listOf = (value: Value = null): readonly Value[] =>
  isList(value) ? value : refuse("a list", value);

export const objectOf = (value: Value = null): ReadonlyMap<Value, Value> | Fields =>
  isObject(value) ? value : refuse("an object", value);

export const instantOf = (value: Value = null): Instant =>
  value instanceof Instant ? value : refuse("a time", value);

/** UTF-8 of a text, or the bytes themselves. */
export const bytesOf = (value: Value = null): Uint8Array =>
  value instanceof Uint8Array
    ? value
    : typeof value === "string"
      ? Buffer.from(value)
      : refuse("a text or bytes", value);
