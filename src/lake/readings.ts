import { quoteText } from "../sql/text.ts";

/**
 * How to read texts as values of one type. `guard` is true only for texts whose value the type holds exactly, else
 * false or NULL. `cast` is valid where `guard` is true. Both take the SQL of a VARCHAR. If there is an `attempt`,
 * both need its value, and a statement that computes it once passes the name of its column.
 */
export interface Reading {
  type: string;
  attempt?(text: string): string;
  guard(text: string, attempt?: string): string;
  cast(text: string, attempt?: string): string;
}

export const ZONED = "TIMESTAMP WITH TIME ZONE";

/** DuckDB's widest decimal. */
export const MAX_DECIMAL_DIGITS = 38;

/** SQL of a number's digits without trailing zeros in its fraction: equal numbers become equal texts. */
export const withoutZeros = (digits: string): string =>
  `CASE WHEN contains(${digits}, '.') THEN rtrim(rtrim(${digits}, '0'), '.') ELSE ${digits} END`;

const matches = (text: string, pattern: string) => `regexp_full_match(${text}, ${quoteText(pattern)})`;
const plainCast = (type: string) => (text: string) => `CAST(${text} AS ${type})`;

/** Decimals and integers lose the sign of a negative zero, and doubles print it differently. */
const NEGATIVE_ZERO = "-0([.]0+)?";
/** Patterns are slow: only what begins with a sign is matched. */
const isNoNegativeZero = (text: string) =>
  `CASE WHEN ${text} < '.' THEN NOT ${matches(text, NEGATIVE_ZERO)} ELSE true END`;
const DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
const TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?";
/** DuckDB also accepts +25:00, and 24:00:00Z as the next day. */
const ZONE = "(Z|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)";
const FLOATING = "-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]{1,3})?";

/** A reading by TRY_CAST, which takes more texts than the guard does. */
const byCast = (type: string, guard: (text: string, attempt: string) => string): Reading => {
  const attempt = (text: string) => `TRY_CAST(${text} AS ${type})`;
  return {
    type,
    attempt,
    guard: (text, value = attempt(text)) => guard(text, value),
    cast: (text, value = `CAST(${text} AS ${type})`) => value,
  };
};

const integer = (type: string): Reading =>
  // The round trip rejects leading zeros, signs, whitespace, hexadecimal digits, exponents and fractions.
  byCast(type, (text, value) => `CAST(${value} AS VARCHAR) = ${text}`);

const floating = (type: string): Reading =>
  byCast(type, (text, value) => {
    const written = `CAST(${value} AS VARCHAR)`;
    const same = `replace(replace(${written}, 'e+', 'e'), '.0', '') = replace(replace(lower(${text}), 'e+', 'e'), '.0', '')`;
    // Most texts are what the value is written as. A pattern and the replacements take four times as long.
    return `CASE WHEN ${written} = ${text} AND ${value} <> 0 AND isfinite(${value}) THEN true WHEN ${written} = ${text} || '.0' AND ${value} <> 0 THEN true ELSE ${matches(text, FLOATING)} AND ${isNoNegativeZero(text)} AND ${same} END`;
  });

/** A decimal of this precision and scale. */
export function decimalReading(precision: number, scale: number): Reading {
  const type = `DECIMAL(${precision},${scale})`;
  const whole = precision - scale;
  const digits = whole <= 1 ? "" : `|[1-9][0-9]{0,${whole - 1}}`;
  const fraction = scale === 0 ? "" : `([.][0-9]{1,${scale}})?`;
  const pattern = `-?(0${whole === 1 ? "|[1-9]" : digits})${fraction}`;
  const attempt = (text: string) => shortDecimal(text, precision, scale);
  return {
    type,
    // DuckDB writes a decimal without whole digits as .5, which is not how numbers are written
    ...(scale < SHORT_DIGITS && whole > 0 ? { attempt } : {}),
    // Most texts are what the value is written as, and a pattern costs more than writing it.
    guard: (text, value) => {
      const fits = `${matches(text, pattern)} AND ${isNoNegativeZero(text)}`;
      return value === undefined
        ? fits
        : `CASE WHEN CAST(${value} AS VARCHAR) = ${text} THEN true ELSE ${fits} END`;
    },
    cast: (text, value) => decimalCast(text, precision, scale, value),
  };
}

/** DuckDB takes some 10 µs to read a text as a decimal of more digits, and a hundredth of that for a short one. */
const SHORT_DIGITS = 18;
/** Digits before the point that nearly all numbers stay below. */
const USUAL_WHOLE_DIGITS = 10;

/** A text as a decimal of up to 18 digits, else NULL. A TRY_CAST that fails takes ten times as long as one that doesn't. */
function shortDecimal(text: string, precision: number, scale: number): string {
  const digits = Math.min(precision, SHORT_DIGITS);
  const cast = `TRY_CAST(${text} AS DECIMAL(${digits},${scale}))`;
  const whole = digits - scale;
  return whole >= Math.min(USUAL_WHOLE_DIGITS, precision - scale)
    ? cast
    : `CASE WHEN strpos(${text}, '.') BETWEEN 2 AND ${whole + 1} THEN ${cast} END`;
}

function decimalCast(text: string, precision: number, scale: number, value?: string): string {
  const type = `DECIMAL(${precision},${scale})`;
  if (precision <= SHORT_DIGITS) return value ?? `CAST(${text} AS ${type})`;
  if (scale === 0) return `CAST(CAST(${text} AS HUGEINT) AS ${type})`;
  if (scale >= SHORT_DIGITS) return `CAST(${text} AS ${type})`;
  const short = `CAST(${value ?? shortDecimal(text, precision, scale)} AS ${type})`;
  const fraction = `CAST('0.' || split_part(${text}, '.', 2) AS DECIMAL(18,${scale}))`;
  const whole = `CAST(CAST(split_part(${text}, '.', 1) AS HUGEINT) AS ${type})`;
  // Only a sign is less than the point.
  const wide = `CASE WHEN ${text} < '.' THEN ${whole} - ${fraction} ELSE ${whole} + ${fraction} END`;
  return `COALESCE(${short}, CAST(${wide} AS ${type}))`;
}

const instant = (type: string, pattern: string): Reading =>
  // Most calendars have no year 0, and DuckDB would print it differently.
  byCast(type, (text, value) => `${matches(text, pattern)} AND ${text} >= '0001' AND ${value} IS NOT NULL`);

const BOOLEAN: Reading = {
  type: "BOOLEAN",
  guard: (text) => `${text} IN ('true', 'false')`,
  cast: (text) => `${text} = 'true'`,
};

const TEXT: Reading = { type: "VARCHAR", guard: () => "true", cast: (text) => text };

const DATE = byCast(
  "DATE",
  (text, value) => `length(${text}) = 10 AND CAST(${value} AS VARCHAR) = ${text} AND ${text} >= '0001'`,
);

const TIME_OF_DAY: Reading = {
  type: "TIME",
  guard: (text) => matches(text, TIME),
  cast: plainCast("TIME"),
};

const UUID = byCast(
  "UUID",
  (text, value) => `CAST(${value} AS VARCHAR) = lower(${text}) AND length(${text}) = 36`,
);

const JSON_VALUE: Reading = {
  type: "JSON",
  guard: (text) => `json_valid(${text})`,
  cast: plainCast("JSON"),
};

const BINARY: Reading = {
  type: "BLOB",
  guard: (text) => matches(text, "([0-9a-fA-F]{2})*"),
  cast: (text) => `unhex(${text})`,
};

const FIXED: readonly Reading[] = [
  TEXT,
  BOOLEAN,
  integer("BIGINT"),
  integer("INTEGER"),
  integer("SMALLINT"),
  integer("TINYINT"),
  floating("DOUBLE"),
  floating("FLOAT"),
  DATE,
  TIME_OF_DAY,
  instant("TIMESTAMP", `${DAY}[T ]${TIME}|${DAY}[T ]([01][0-9]|2[0-3]):[0-5][0-9]`),
  instant(ZONED, `${DAY}[T ]${TIME}${ZONE}`),
  UUID,
  JSON_VALUE,
  BINARY,
];
const BY_TYPE: ReadonlyMap<string, Reading> = new Map(FIXED.map((reading) => [reading.type, reading]));

/** Reads texts as values of a type, by DuckDB's name. Null if texts can't be read as that type. */
export function readingOf(type: string): Reading | null {
  const [, precision, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(type) ?? [];
  return precision === undefined
    ? (BY_TYPE.get(type) ?? null)
    : decimalReading(Number(precision), Number(scale));
}

const some = (types: readonly string[]) =>
  types.map((type) => readingOf(type)).filter((reading) => reading !== null);

/**
 * Candidate types for a column of texts, the narrowest first. Decimals come after BIGINT; their scale depends on the
 * values.
 */
export const BEFORE_DECIMALS: readonly Reading[] = some(["BOOLEAN", "BIGINT"]);
export const DAYS: readonly Reading[] = some(["DATE", "TIMESTAMP", ZONED]);
export const AFTER_DECIMALS: readonly Reading[] = [...some(["DOUBLE"]), ...DAYS];
export const AS_TEXT = TEXT;
