/** Error in a value: a message for people, and its code in `detail[].type`. */
type ValueFaultText = readonly [message: string, code: string];

/** By JSON type. */
export const WRONG_TYPE = {
  string: ["Input should be a string", "string_type"],
  integer: ["Input should be an integer", "int_type"],
  number: ["Input should be a number", "float_type"],
  boolean: ["Input should be true or false", "bool_type"],
  null: ["Input should be null", "none_required"],
  array: ["Input should be a list", "list_type"],
  object: ["Input should be an object", "dict_type"],
} as const satisfies Record<string, ValueFaultText>;

export const MISSING: ValueFaultText = ["Field required", "missing"];

/** More names than this would hide the error. */
const MAX_NAMES = 30;

/** Error for an unknown field. */
export const unknownField = (known: readonly string[]): ValueFaultText =>
  known.length === 0 || known.length > MAX_NAMES
    ? ["Unknown field", "extra_forbidden"]
    : [`Unknown field. Known fields: ${known.join(", ")}`, "extra_forbidden"];

interface Bounds {
  minimum?: unknown;
  maximum?: unknown;
  exclusiveMinimum?: unknown;
  exclusiveMaximum?: unknown;
}

const isNumber = (value: unknown): value is number => typeof value === "number";

const NONE: readonly ValueFaultText[] = [];

/** Returns the errors for all limits that a number exceeds. */
export function beyondBounds(bounds: Bounds, value: number): readonly ValueFaultText[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  let faults = NONE;
  if (isNumber(minimum) && value < minimum)
    faults = [...faults, [`Input should be at least ${minimum}`, "greater_than_equal"]];
  if (isNumber(maximum) && value > maximum)
    faults = [...faults, [`Input should be at most ${maximum}`, "less_than_equal"]];
  if (isNumber(exclusiveMinimum) && value <= exclusiveMinimum)
    faults = [...faults, [`Input should be greater than ${exclusiveMinimum}`, "greater_than"]];
  if (isNumber(exclusiveMaximum) && value >= exclusiveMaximum)
    faults = [...faults, [`Input should be less than ${exclusiveMaximum}`, "less_than"]];
  return faults;
}

/** Error for a length that `least` and `most` don't allow, or null. */
export function wrongLength(length: number, least: unknown, most: unknown): ValueFaultText | null {
  if (isNumber(least) && length < least)
    return [`Input should have at least ${least} character(s)`, "string_too_short"];
  if (isNumber(most) && length > most)
    return [`Input should have at most ${most} characters`, "string_too_long"];
  return null;
}

/** Like `wrongLength`, for the items of a list. */
export function wrongCount(count: number, least: unknown, most: unknown): ValueFaultText | null {
  if (isNumber(least) && count < least)
    return [`The list should have at least ${least} item(s)`, "too_short"];
  if (isNumber(most) && count > most) return [`The list should have at most ${most} items`, "too_long"];
  return null;
}

/** Like `wrongLength`, for the fields of an object. */
export function wrongSize(count: number, least: unknown, most: unknown): ValueFaultText | null {
  if (isNumber(least) && count < least) return [`At least ${least} field(s)`, "too_short"];
  if (isNumber(most) && count > most) return [`At most ${most} fields`, "too_long"];
  return null;
}

/** Text that doesn't start with a slash, or a path of names, each preceded by one slash. */
export const TAG_PATTERN = "^(?:(?!/)[\\s\\S]*\\S[\\s\\S]*|(?:/[^/\\s](?:[^/]*[^/\\s])?)+)$";

/** Patterns that are described in words. */
const IN_WORDS: ReadonlyMap<string, string> = new Map([
  ["\\S", "Input should have more than spaces"],
  [
    TAG_PATTERN,
    "Input should have more than spaces, and a folder one / before each name, such as /finance/eu",
  ],
]);

export const notMatching = (pattern: string): ValueFaultText => [
  IN_WORDS.get(pattern) ?? `Input should match ${pattern}`,
  "string_pattern_mismatch",
];
/** Formats that need more than the fields of HTML forms send. */
const FORMATS_IN_WORDS: ReadonlyMap<string, string> = new Map([
  ["time", "Input should be a time with seconds and a zone, such as 10:30:00+02:00"],
  ["date-time", "Input should be a date and time with seconds and a zone, such as 2026-01-31T10:30:00+02:00"],
]);

export const notOfFormat = (format: string): ValueFaultText => [
  FORMATS_IN_WORDS.get(format) ?? `Input should be a valid ${format}`,
  `${format}_parsing`,
];
