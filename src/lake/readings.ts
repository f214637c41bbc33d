import { quoteText } from "../sql/text.ts";

/**
 * How texts are read as values of one type. `guard` is true only for texts whose value the type keeps exactly, else
 * false or NULL, and `cast` is right where it is true; both take the SQL of a VARCHAR.
 */
export interface Reading {
  type: string;
  guard(text: string): string;
  cast(text: string): string;
}

export const ZONED = "TIMESTAMP WITH TIME ZONE";

/** DuckDB's widest decimal. */
export const MAX_DECIMAL_DIGITS = 38;

/** The SQL of a number's digits without zeros at the end of its fraction: equal numbers become equal texts. */
export const withoutZeros = (digits: string): string =>
  `CASE WHEN contains(${digits}, '.') THEN rtrim(rtrim(${digits}, '0'), '.') ELSE ${digits} END`;

const matches = (text: string, pattern: string) => `regexp_full_match(${text}, ${quoteText(pattern)})`;
const plainCast = (type: string) => (text: string) => `CAST(${text} AS ${type})`;

/** Decimals and integers lose the sign of a negative zero, and doubles show it as another text. */
const NEGATIVE_ZERO = "-0([.]0+)?";
const DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
const TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?";
/** DuckDB also takes +25:00, and 24:00:00Z as the next day. */
const ZONE = "(Z|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)";
const FLOATING = "-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]{1,3})?";

const integer = (type: string): Reading => ({
  type,
  // The round trip refuses leading zeros, signs, blanks, hexadecimal digits, exponents and fractions.
  guard: (text) => `CAST(TRY_CAST(${text} AS ${type}) AS VARCHAR) = ${text}`,
  cast: plainCast(type),
});

const floating = (type: string): Reading => ({
  type,
  guard: (text) =>
    `${matches(text, FLOATING)} AND NOT ${matches(text, NEGATIVE_ZERO)} AND replace(replace(CAST(TRY_CAST(${text} AS ${type}) AS VARCHAR), 'e+', 'e'), '.0', '') = replace(replace(lower(${text}), 'e+', 'e'), '.0', '')`,
  cast: plainCast(type),
});

/** A decimal of so many digits in all, so many of them behind the point. */
export function decimalReading(precision: number, scale: number): Reading {
  const type = `DECIMAL(${precision},${scale})`;
  const whole = precision - scale;
  const digits = whole <= 1 ? "" : `|[1-9][0-9]{0,${whole - 1}}`;
  const fraction = scale === 0 ? "" : `([.][0-9]{1,${scale}})?`;
  return {
    type,
    guard: (text) =>
      `${matches(text, `-?(0${whole === 1 ? "|[1-9]" : digits})${fraction}`)} AND NOT ${matches(text, NEGATIVE_ZERO)}`,
    cast: (text) => decimalCast(text, precision, scale),
  };
}

/** DuckDB takes some 20 µs to read a text as a decimal of more than 18 digits, and a fortieth of that for a short one. */
function decimalCast(text: string, precision: number, scale: number): string {
  const type = `DECIMAL(${precision},${scale})`;
  if (precision <= 18) return `CAST(${text} AS ${type})`;
  if (scale === 0) return `CAST(CAST(${text} AS HUGEINT) AS ${type})`;
  if (scale > 17) return `CAST(${text} AS ${type})`;
  const short = `CAST(TRY_CAST(${text} AS DECIMAL(18,${scale})) AS ${type})`;
  const sign = `CASE WHEN ${text}[1] = '-' THEN -1 ELSE 1 END::DECIMAL(1,0)`;
  const fraction = `CAST(CAST('0.' || split_part(${text}, '.', 2) AS DECIMAL(18,${scale})) AS DECIMAL(${precision - 1},${scale}))`;
  const wide = `CAST(CAST(split_part(${text}, '.', 1) AS HUGEINT) AS ${type}) + ${sign} * ${fraction}`;
  return `COALESCE(${short}, CAST(${wide} AS ${type}))`;
}

const instant = (type: string, pattern: string): Reading => ({
  type,
  // Most calendars have no year 0, and DuckDB would give it back as another text.
  guard: (text) =>
    `${matches(text, pattern)} AND ${text} >= '0001' AND TRY_CAST(${text} AS ${type}) IS NOT NULL`,
  cast: plainCast(type),
});

const BOOLEAN: Reading = {
  type: "BOOLEAN",
  guard: (text) => `${text} IN ('true', 'false')`,
  cast: (text) => `${text} = 'true'`,
};

const TEXT: Reading = { type: "VARCHAR", guard: () => "true", cast: (text) => text };

const DATE: Reading = {
  type: "DATE",
  guard: (text) =>
    `length(${text}) = 10 AND CAST(TRY_CAST(${text} AS DATE) AS VARCHAR) = ${text} AND ${text} >= '0001'`,
  cast: plainCast("DATE"),
};

const TIME_OF_DAY: Reading = {
  type: "TIME",
  guard: (text) => matches(text, TIME),
  cast: plainCast("TIME"),
};

const UUID: Reading = {
  type: "UUID",
  guard: (text) => `CAST(TRY_CAST(${text} AS UUID) AS VARCHAR) = lower(${text}) AND length(${text}) = 36`,
  cast: plainCast("UUID"),
};

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

/** Reads texts as values of a type by DuckDB's name; null where texts have no reading as it. */
export function readingOf(type: string): Reading | null {
  const [, precision, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(type) ?? [];
  return precision === undefined
    ? (BY_TYPE.get(type) ?? null)
    : decimalReading(Number(precision), Number(scale));
}

const some = (types: readonly string[]) =>
  types.map((type) => readingOf(type)).filter((reading) => reading !== null);

/** What a column of texts may be, the narrowest first; decimals, whose scale the values tell, come behind BIGINT. */
export const BEFORE_DECIMALS: readonly Reading[] = some(["BOOLEAN", "BIGINT"]);
export const DAYS: readonly Reading[] = some(["DATE", "TIMESTAMP", ZONED]);
export const AFTER_DECIMALS: readonly Reading[] = [...some(["DOUBLE"]), ...DAYS];
export const AS_TEXT = TEXT;
