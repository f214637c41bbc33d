import { integerOf } from "../json-numbers.ts";
import { ExpressionError } from "./fault.ts";

/**
 * A value in an expression. A bigint is CEL's int, a number its double (as all numbers in JSON).
 * A Map is an object created by the expression, whose keys keep their types.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Instant
  | Duration
  | readonly Value[]
  | ReadonlyMap<Value, Value>
  | Fields;

/** A JSON object. Only its own fields are accessible. */
export interface Fields {
  readonly [key: string]: Value;
}

const NANOSECONDS = 1_000_000_000n;
/** Years 1 to 9999. */
const FIRST_INSTANT_NS = -62_135_596_800n * NANOSECONDS;
const END_OF_INSTANTS_NS = 253_402_300_800n * NANOSECONDS;
/** About 292 years: 64 bits of nanoseconds, as in CEL. */
const LONGEST_DURATION_NS = 2n ** 63n - 1n;

/** A point in time, in nanoseconds since 1970. */
export class Instant {
  constructor(readonly nanoseconds: bigint) {
    if (nanoseconds < FIRST_INSTANT_NS || nanoseconds >= END_OF_INSTANTS_NS)
      throw new ExpressionError("value", "the time is outside the years 1 to 9999");
  }
}

/** A duration, in nanoseconds. */
export class Duration {
  constructor(readonly nanoseconds: bigint) {
    if (nanoseconds > LONGEST_DURATION_NS || nanoseconds < -LONGEST_DURATION_NS)
      throw new ExpressionError("value", "the duration exceeds 292 years");
  }
}

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;

const fits = (value: bigint): boolean => value >= MIN_INT && value <= MAX_INT;

/** Returns the integer if it fits in 64 bits. */
export function int(value: bigint): bigint {
  if (!fits(value)) throw new ExpressionError("value", "the number exceeds 64 bits");
  return value;
}

/**
 * A whole result of numbers from JSON that doubles can't hold. Operators see it as a decimal: dividing it isn't a division
 * of whole numbers. Anywhere else it is an integer.
 */
export class LongDecimal {
  constructor(readonly whole: bigint) {}
}

/** A value, as operators see it. */
export type Operand = Value | LongDecimal;

/** Returns a decimal with the value of an integer, rounded if it exceeds 64 bits. */
export const decimalOf = (value: bigint): number | LongDecimal =>
  Number.isSafeInteger(Number(value)) || !fits(value) ? Number(value) : new LongDecimal(value);

/** Returns the value outside operators. */
export const plain = (value: Operand): Value => (value instanceof LongDecimal ? value.whole : value);

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

const isMap = (value: Value): value is ReadonlyMap<Value, Value> => value instanceof Map;

const isFields = (value: Value): value is Fields =>
  typeof value === "object" &&
  value !== null &&
  !(
    Array.isArray(value) ||
    value instanceof Map ||
    value instanceof Uint8Array ||
    value instanceof Instant ||
    value instanceof Duration
  );

/** Returns whether a value has fields. */
export const isObject = (value: Value): value is ReadonlyMap<Value, Value> | Fields =>
  isMap(value) || isFields(value);

export const isNumber = (value: Value): value is number | bigint =>
  typeof value === "number" || typeof value === "bigint";

/** Returns the names and values of an object. */
export const entriesOf = (value: ReadonlyMap<Value, Value> | Fields): [Value, Value][] =>
  isMap(value) ? [...value] : Object.entries(value);

export const sizeOf = (value: ReadonlyMap<Value, Value> | Fields): number =>
  isMap(value) ? value.size : Object.keys(value).length;

/** Returns a key as maps and groups hold it: an integer is the same in any numeric type. */
export const keyOf = (key: Value): Value => (Number.isInteger(key) ? integerOf(key as number) : key);

/** Returns the field or item at `key`. Undefined if there is none. */
export function find(holder: Value, key: Value): Value | undefined {
  if (isList(holder)) {
    const index = indexOf(key);
    return index === null ? undefined : holder[index];
  }
  if (isMap(holder)) return holder.get(keyOf(key));
  if (!isFields(holder)) return undefined;
  const name = String(key);
  return typeof key === "string" && Object.hasOwn(holder, name) ? (holder[name] ?? null) : undefined;
}

function indexOf(key: Value): number | null {
  const index =
    typeof key === "string" && /^(0|[1-9]\d*)$/.test(key) ? Number(key) : isNumber(key) ? Number(key) : -1;
  return Number.isInteger(index) && index >= 0 ? index : null;
}

/** Returns the name of a value's type for messages. */
export function nameOf(value: Value): string {
  if (value === null) return "null";
  if (typeof value === "bigint") return "a whole number";
  if (typeof value === "number") return "a number";
  if (typeof value === "boolean") return "a bool";
  if (typeof value === "string") return "a text";
  if (isList(value)) return `a list of ${value.length}`;
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Instant) return "a time";
  return value instanceof Duration ? "a duration" : "an object";
}
