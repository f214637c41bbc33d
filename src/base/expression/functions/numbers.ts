import { compare, isOfWords, unfit, wholeNumbers } from "../operators.ts";
import { decimalOf, int, isList, isNumber, type Operand, plain, type Value } from "../value.ts";
import { bigintOf, type Definitions, fail, listOf, numberOf, refuse, type Tools } from "./contract.ts";

declare global {
  interface Math {
    /** Sums with a single rounding at the end. */
    sumPrecise(numbers: Iterable<number>): number;
  }
}

/** Returns the first item that is least (-1) or greatest (1). */
function extreme(values: readonly Value[], sign: 1 | -1, { budget }: Tools): Value {
  const ofWords = isOfWords(values, budget);
  return values.slice(1).reduce((found, value) => {
    const order = compare(value, found, budget, ofWords);
    if (order === null) throw unfit(sign < 0 ? "min" : "max", found, value);
    return order * sign > 0 ? value : found;
  }, values[0] ?? null);
}

/** Returns the arguments, or the items of a single list. */
const operands = (values: readonly Value[]): readonly Value[] => {
  const [only] = values;
  return values.length === 1 && only !== undefined && isList(only) ? only : values;
};

const numbers = (values: readonly Value[]) => {
  for (const value of values) numberOf(value);
  return values.length > 0 ? values : fail("expected at least one number");
};

const rounded = (value: number) => Math.sign(value) * Math.round(Math.abs(value));

const whole =
  (work: (value: number) => number) =>
  ([value = null]: readonly Value[]) =>
    typeof value === "bigint" ? value : work(numberOf(value));

/** Sums with a single rounding. Bun rounds sums below 0 wrongly (-1 becomes -1.0000000000000002), but not their negation. */
function preciseSum(list: readonly number[]): number {
  const sum = Math.sumPrecise(list);
  return sum < 0 ? -Math.sumPrecise(list.map((number) => -number)) : sum;
}

/** Exact if all are integers, else with a single rounding at the end. */
function total(list: readonly Value[]): Operand {
  const sum = (whole: readonly bigint[]) => whole.reduce((a, b) => a + b, 0n);
  if (list.every((item) => typeof item === "bigint")) return int(sum(list as bigint[]));
  const result = preciseSum(list.map((item) => numberOf(item)));
  const whole = wholeNumbers(list as (number | bigint)[], result);
  return whole ? decimalOf(sum(whole)) : result;
}

function shifted(value: Value | undefined, places: Value | undefined, isLeft: boolean): bigint {
  const by = bigintOf(places);
  if (by < 0n) fail("the number of places is negative");
  const from = bigintOf(value);
  if (by >= 64n) return 0n;
  return isLeft ? BigInt.asIntN(64, from << by) : BigInt.asIntN(64, BigInt.asUintN(64, from) >> by);
}

export const numberFunctions: Definitions = {
  "math.greatest": {
    takes: "number, …",
    about: "Largest of several numbers or of a list.",
    examples: [["math.greatest(1, 3.5, 2)", "3.5"]],
    call: (values, tools) => extreme(numbers(operands(values)), 1, tools),
  },
  "math.least": {
    takes: "number, …",
    about: "Smallest of several numbers or of a list.",
    examples: [["math.least([4, 2])", "2"]],
    call: (values, tools) => extreme(numbers(operands(values)), -1, tools),
  },
  "math.ceil": {
    takes: "number",
    about: "Rounds up to a whole number.",
    examples: [["math.ceil(1.2)", "2"]],
    call: whole(Math.ceil),
  },
  "math.floor": {
    takes: "number",
    about: "Rounds down to a whole number.",
    examples: [["math.floor(1.8)", "1"]],
    call: whole(Math.floor),
  },
  "math.round": {
    takes: "number",
    about:
      "Rounds to the nearest whole number, halves away from 0. For two decimals, use `math.round(x * 100) / 100`.",
    examples: [
      ["math.round(2.5)", "3"],
      ["math.round(3.14159 * 100) / 100", "3.14"],
    ],
    call: whole(rounded),
  },
  "math.trunc": {
    takes: "number",
    about: "Truncates to a whole number.",
    examples: [["math.trunc(-1.8)", "-1"]],
    call: whole(Math.trunc),
  },
  "math.abs": {
    takes: "number",
    about: "Absolute value.",
    examples: [["math.abs(-3)", "3"]],
    call: ([value = null]) =>
      typeof value === "bigint" ? int(value < 0n ? -value : value) : Math.abs(numberOf(value)),
  },
  "math.sign": {
    takes: "number",
    about: "-1, 0 or 1.",
    examples: [["math.sign(-3)", "-1"]],
    call: ([value = null]) =>
      typeof value === "bigint" ? (value > 0n ? 1n : value < 0n ? -1n : 0n) : Math.sign(numberOf(value)),
  },
  "math.sqrt": {
    takes: "number",
    about: "Square root.",
    examples: [["math.sqrt(81)", "9"]],
    call: ([value]) => Math.sqrt(numberOf(value)),
  },
  "math.isNaN": {
    takes: "number",
    about: "Whether the value is NaN, such as 0.0 / 0.0.",
    examples: [["math.isNaN(0.0 / 0.0)", "true"]],
    call: ([value]) => Number.isNaN(numberOf(value)),
  },
  "math.isInf": {
    takes: "number",
    about: "Whether the value is infinite, such as 1.0 / 0.0.",
    examples: [["math.isInf(1.0 / 0.0)", "true"]],
    call: ([value]) => Math.abs(numberOf(value)) === Number.POSITIVE_INFINITY,
  },
  "math.isFinite": {
    takes: "number",
    about: "Whether the value is finite.",
    examples: [["math.isFinite(1.5)", "true"]],
    call: ([value]) => Number.isFinite(numberOf(value)),
  },
  "math.bitAnd": {
    takes: "a, b",
    about: "Bitwise AND.",
    examples: [["math.bitAnd(6, 3)", "2"]],
    call: ([a, b]) => bigintOf(a) & bigintOf(b),
  },
  "math.bitOr": {
    takes: "a, b",
    about: "Bitwise OR.",
    examples: [["math.bitOr(6, 3)", "7"]],
    call: ([a, b]) => bigintOf(a) | bigintOf(b),
  },
  "math.bitXor": {
    takes: "a, b",
    about: "Bitwise XOR.",
    examples: [["math.bitXor(6, 3)", "5"]],
    call: ([a, b]) => bigintOf(a) ^ bigintOf(b),
  },
  "math.bitNot": {
    takes: "a",
    about: "Bitwise NOT.",
    examples: [["math.bitNot(1)", "-2"]],
    call: ([a]) => ~bigintOf(a),
  },
  "math.bitShiftLeft": {
    takes: "a, places",
    about: "Shifts bits to the left, within 64 bits.",
    examples: [["math.bitShiftLeft(1, 4)", "16"]],
    call: ([a, places]) => shifted(a, places, true),
  },
  "math.bitShiftRight": {
    takes: "a, places",
    about: "Shifts bits to the right, filling with zeros.",
    examples: [["math.bitShiftRight(16, 2)", "4"]],
    call: ([a, places]) => shifted(a, places, false),
  },
  sum: {
    takes: "list",
    about: "Sum of a list of numbers; 0 for an empty list.",
    examples: [
      ["sum([1, 2, 3])", "6"],
      ["[0.1, 0.2, 0.3].sum()", "0.6"],
    ],
    call: ([list]) => total(listOf(list)),
  },
  avg: {
    takes: "list",
    about: "Average of a list of numbers; null for an empty list.",
    examples: [["avg([1, 2])", "1.5"]],
    call([value]) {
      const list = listOf(value);
      return list.length === 0 ? null : Number(plain(total(list))) / list.length;
    },
  },
  min: {
    takes: "list, or values…",
    about: "Smallest of a list or of several values of one type; null for an empty list.",
    examples: [
      ["min([3, 1, 2])", "1"],
      ['min("b", "a")', '"a"'],
    ],
    call: (values, tools) => extreme(ordered(operands(values)), -1, tools),
  },
  max: {
    takes: "list, or values…",
    about: "Largest of a list or of several values of one type; null for an empty list.",
    examples: [["max([3, 1, 2])", "3"]],
    call: (values, tools) => extreme(ordered(operands(values)), 1, tools),
  },
};

/** A single value must be orderable too. */
function ordered(values: readonly Value[]): readonly Value[] {
  const [first] = values;
  if (
    first !== undefined &&
    (first === null ||
      isList(first) ||
      (typeof first === "object" && !isNumber(first) && first.constructor === Object))
  )
    refuse("a number, text, bool, time or duration", first);
  return values;
}
