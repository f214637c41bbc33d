import { compareNumbers, exactOf, integerOf } from "../json-numbers.ts";
import type { Budget } from "./budget.ts";
import { ExpressionError } from "./fault.ts";
import {
  Duration,
  decimalOf,
  entriesOf,
  find,
  Instant,
  int,
  isList,
  isNumber,
  isObject,
  LongDecimal,
  nameOf,
  type Operand,
  plain,
  sizeOf,
  type Value,
} from "./value.ts";

export function unfit(operator: string, ...values: Value[]): ExpressionError {
  const isMixed = values.some(isNumber) && values.some((value) => typeof value === "string");
  const hint = isMixed ? ", convert one with double(…) or string(…)" : "";
  return new ExpressionError(
    "type",
    `${operator} doesn't apply to ${values.map(nameOf).join(" and ")}${hint}`,
  );
}

/**
 * Compares by value, as CEL does: 1 equals 1.0, and values of different types aren't equal.
 * An integer beyond 2^53 equals its text in JSON. Each value examined is a step.
 */
export function isEqual(a: Value, b: Value, budget: Budget): boolean {
  budget.step();
  if (a === b) return true;
  if (isNumber(a) && isNumber(b)) return typeof a !== typeof b && orderOf(a, b) === 0;
  if (typeof a === "bigint" && typeof b === "string") return isLong(a) && String(a) === b;
  if (typeof b === "bigint" && typeof a === "string") return isLong(b) && String(b) === a;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (isList(a))
    return isList(b) && a.length === b.length && a.every((item, i) => isEqual(item, b[i] ?? null, budget));
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof Instant) return b instanceof Instant && a.nanoseconds === b.nanoseconds;
  if (a instanceof Duration) return b instanceof Duration && a.nanoseconds === b.nanoseconds;
  if (!isObject(a) || !isObject(b) || sizeOf(a) !== sizeOf(b)) return false;
  return entriesOf(a).every(([key, value]) => {
    const other = find(b, key);
    return other !== undefined && isEqual(value, other, budget);
  });
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:[.]\d+)?$/;
/** No number that anyone compares has more characters. */
const MAX_NUMBER = 400;

/** Whether text writes a number, as long whole numbers and the decimals of SQL arrive. */
const isWritten = (text: string): boolean => text.length <= MAX_NUMBER && NUMBER.test(text);

/** Throws for a text and the number that it writes: they aren't equal, which nobody wants who compares them. */
function refuseWritten(operator: string, a: Value, b: Value): void {
  if (isNumber(b) && typeof a === "string") return refuseWritten(operator, b, a);
  if (!isNumber(a) || typeof b !== "string" || !isWritten(b)) return;
  const isSame = typeof a === "bigint" ? compareNumbers(a, exactOf(b)) === 0 : Number(b) === a;
  if (isSame) throw unfit(operator, a, b);
}

function isEqualTo(operator: string, a: Value, b: Value, budget: Budget): boolean {
  if (isEqual(a, b, budget)) return true;
  refuseWritten(operator, a, b);
  return false;
}

/** Returns whether it is an integer that a double may not represent. */
const isLong = (value: number | bigint): boolean =>
  Number.isInteger(Number(value)) && !Number.isSafeInteger(Number(value));

/** Returns an integer beyond 2^53 as its shortest text writes it. JavaScript compares others by value. */
const exactly = (value: number | bigint): number | bigint =>
  typeof value === "number" && isLong(value) ? integerOf(value) : value;

/**
 * Returns the numbers as integers if doubles could round one of them or `result`:
 * JSON numbers are doubles, even if they are integers. Null if one isn't an integer of 64 bits.
 */
export function wholeNumbers(values: readonly (number | bigint)[], result: number): bigint[] | null {
  const mayBeRounded = values.some(isLong) || (isLong(result) && Math.abs(result) <= 2 ** 63);
  if (!mayBeRounded || !values.every(isWhole)) return null;
  return values.map((value) => BigInt(exactly(value)));
}

const isWhole = (value: number | bigint): boolean =>
  typeof value === "bigint" || (Number.isInteger(value) && Math.abs(value) < 2 ** 63);

/** Whether a list has text that writes no number. Its texts are then compared as such: the order must be one for all. */
export function isOfWords(list: readonly Value[], budget: Budget): boolean {
  budget.step(list.length);
  return list.some((value) => typeof value === "string" && !isWritten(value));
}

/**
 * Negative if `a` comes first, NaN if neither does, null for values without an order. `ofWords` if they are from a list
 * of which `isOfWords` is true.
 */
export function compare(a: Value, b: Value, budget: Budget, ofWords = false): number | null {
  if (typeof a === "string" && typeof b === "string") {
    const order = compareTexts(a, b, budget);
    return ofWords ? order : compareWritten(a, b, order);
  }
  if (isNumber(a) && isNumber(b)) return orderOf(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (a instanceof Instant && b instanceof Instant) return Number(a.nanoseconds - b.nanoseconds);
  if (a instanceof Duration && b instanceof Duration) return Number(a.nanoseconds - b.nanoseconds);
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    budget.step(Math.min(a.length, b.length) >> 5);
    return Buffer.compare(a, b);
  }
  return null;
}

/** NaN if one of them is. */
function orderOf(a: number | bigint, b: number | bigint): number {
  const [x, y] = [exactly(a), exactly(b)];
  return x < y ? -1 : x > y ? 1 : Number.isNaN(x) || Number.isNaN(y) ? Number.NaN : 0;
}

/** Compares by characters, not by UTF-16 code units. */
function compareTexts(a: string, b: string, budget: Budget): number {
  budget.step(Math.min(a.length, b.length) >> 3);
  for (let i = 0; ; i++) {
    const x = a.codePointAt(i);
    const y = b.codePointAt(i);
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? -1 : 1;
    if (x !== y) return x - y;
    if (x > 0xffff) i++;
  }
}

/**
 * Returns the order of two texts, which is `order`, or of long whole numbers, which are text only since JSON can't hold
 * them. Throws for other texts that write numbers with another order.
 */
function compareWritten(a: string, b: string, order: number): number {
  if (order === 0 || !isWritten(a) || !isWritten(b)) return order;
  const [x, y] = [exactOf(a), exactOf(b)];
  const numbers = compareNumbers(x, y);
  if (Math.sign(numbers) === Math.sign(order)) return order;
  if (typeof x === "bigint" || typeof y === "bigint") return numbers;
  const [left, right] = [a, b].map((text) => JSON.stringify(text.slice(0, 40)));
  throw new ExpressionError(
    "type",
    `${left} and ${right} are text, and have another order than as numbers. Convert them with double(…)`,
  );
}

/**
 * Integers stay integers. An integer and a double give a double, since JSON has only doubles,
 * unless that could round a whole number.
 */
function arithmetic(
  operator: string,
  whole: (a: bigint, b: bigint) => bigint,
  double: (a: number, b: number) => number,
): (a: Operand, b: Operand) => Operand {
  const divides = operator === "/" || operator === "%";
  return (a, b) => {
    const [x, y] = [plain(a), plain(b)];
    if (!isNumber(x) || !isNumber(y)) throw unfit(operator, x, y);
    if (divides && (typeof y === "bigint" ? y === 0n : operator === "%" && y === 0))
      throw new ExpressionError("value", "division by zero");
    if (typeof a === "bigint" && typeof b === "bigint") return int(whole(a, b));
    const result = double(Number(x), Number(y));
    const [left, right] = wholeNumbers([x, y], result) ?? [];
    if (left === undefined || right === undefined) return result;
    if (operator !== "/") return decimalOf(whole(left, right));
    return right === 0n ? result : quotient(left, right);
  };
}

/** Divides integers as decimals, which would round both of them first. */
const quotient = (a: bigint, b: bigint): Operand =>
  a % b === 0n ? decimalOf(a / b) : Number(a / b) + Number(a % b) / Number(b);

const plusNumbers = arithmetic(
  "+",
  (a, b) => a + b,
  (a, b) => a + b,
);
const minusNumbers = arithmetic(
  "-",
  (a, b) => a - b,
  (a, b) => a - b,
);

function plus(a: Operand, b: Operand, budget: Budget): Operand {
  if (a instanceof LongDecimal || b instanceof LongDecimal) return plusNumbers(a, b);
  if (typeof a === "string" && typeof b === "string") {
    budget.make(a.length + b.length);
    return a + b;
  }
  if (isList(a) && isList(b)) {
    budget.make(8 * (a.length + b.length));
    return [...a, ...b];
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    budget.make(a.length + b.length);
    return Uint8Array.from(Buffer.concat([a, b]));
  }
  if (a instanceof Instant && b instanceof Duration) return new Instant(a.nanoseconds + b.nanoseconds);
  if (a instanceof Duration && b instanceof Instant) return new Instant(a.nanoseconds + b.nanoseconds);
  if (a instanceof Duration && b instanceof Duration) return new Duration(a.nanoseconds + b.nanoseconds);
  return plusNumbers(a, b);
}

function minus(a: Operand, b: Operand): Operand {
  if (a instanceof LongDecimal || b instanceof LongDecimal) return minusNumbers(a, b);
  if (a instanceof Instant && b instanceof Instant) return new Duration(a.nanoseconds - b.nanoseconds);
  if (a instanceof Instant && b instanceof Duration) return new Instant(a.nanoseconds - b.nanoseconds);
  if (a instanceof Duration && b instanceof Duration) return new Duration(a.nanoseconds - b.nanoseconds);
  return minusNumbers(a, b);
}

type Comparison = (a: Value, b: Value, budget: Budget) => boolean;

function isIn(a: Value, b: Value, budget: Budget): boolean {
  if (isList(b)) {
    const isThere = b.some((item) => isEqual(a, item, budget));
    if (!isThere) for (const item of b) refuseWritten("in", a, item);
    return isThere;
  }
  if (isObject(b)) return find(b, a) !== undefined;
  throw unfit("in", b);
}

function ordered(operator: string, holds: (order: number) => boolean): Comparison {
  return (a, b, budget) => {
    const order = compare(a, b, budget);
    if (order === null) throw unfit(operator, a, b);
    return holds(order);
  };
}

export const ARITHMETIC: Readonly<Record<string, (a: Operand, b: Operand, budget: Budget) => Operand>> = {
  "+": plus,
  "-": minus,
  "*": arithmetic(
    "*",
    (a, b) => a * b,
    (a, b) => a * b,
  ),
  "/": arithmetic(
    "/",
    (a, b) => a / b,
    (a, b) => a / b,
  ),
  "%": arithmetic(
    "%",
    (a, b) => a % b,
    (a, b) => a % b,
  ),
};

export const COMPARISONS: Readonly<Record<string, Comparison>> = {
  "==": (a, b, budget) => isEqualTo("==", a, b, budget),
  "!=": (a, b, budget) => !isEqualTo("!=", a, b, budget),
  "<": ordered("<", (order) => order < 0),
  "<=": ordered("<=", (order) => order <= 0),
  ">": ordered(">", (order) => order > 0),
  ">=": ordered(">=", (order) => order >= 0),
  in: isIn,
};
