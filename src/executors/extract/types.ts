import { quoteText } from "../../sql/text.ts";

/** DuckDB's own name of a type, from one of its other names. */
export function typeName(type: string): string {
  const upper = type
    .trim()
    .toUpperCase()
    .replaceAll(/\s*,\s*/g, ",");
  return ALIASES[upper] ?? upper;
}

const ALIASES: Readonly<Record<string, string>> = {
  TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE",
  TIMETZ: "TIME WITH TIME ZONE",
  TEXT: "VARCHAR",
  STRING: "VARCHAR",
  INT: "INTEGER",
  INT2: "SMALLINT",
  INT4: "INTEGER",
  INT8: "BIGINT",
  BOOL: "BOOLEAN",
  FLOAT4: "FLOAT",
  REAL: "FLOAT",
  FLOAT8: "DOUBLE",
  BYTEA: "BLOB",
};

/**
 * The type that a column of a source is kept in. Lists and structs become JSON; what Parquet would
 * change silently (128-bit integers, intervals, bits, enums) becomes its text.
 */
export function storedType(type: string): string {
  const name = typeName(type);
  if (/\]$|^(STRUCT|MAP|UNION|LIST)\b/.test(name)) return "JSON";
  if (/^(HUGEINT|UHUGEINT|BIGNUM|VARINT|INTERVAL|BIT|ENUM\b.*|TIME_NS|GEOMETRY)$/.test(name))
    return "VARCHAR";
  return name;
}

/** dlt's name of a type, for `column__v_text`. */
export function shortType(type: string): string {
  if (INTEGERS.includes(type)) return "bigint";
  if (type.startsWith("DECIMAL")) return "decimal";
  if (type.startsWith("TIMESTAMP")) return "timestamp";
  if (type.startsWith("TIME")) return "time";
  return SHORT[type] ?? "text";
}

const SHORT: Readonly<Record<string, string>> = {
  DOUBLE: "double",
  FLOAT: "double",
  BOOLEAN: "bool",
  DATE: "date",
  BLOB: "binary",
  JSON: "json",
};

const INTEGERS = ["TINYINT", "UTINYINT", "SMALLINT", "USMALLINT", "INTEGER", "UINTEGER", "BIGINT", "UBIGINT"];
const BITS = [7, 8, 15, 16, 31, 32, 63, 64];
const DIGITS = [3, 3, 5, 5, 10, 10, 19, 20];
/** Doubles hold integers of so many bits exactly. */
const DOUBLE_BITS = 53;
const FLOAT_BITS = 24;

export const isInteger = (type: string): boolean => INTEGERS.includes(type);
export const isNumber = (type: string): boolean =>
  isInteger(type) || type === "DOUBLE" || type === "FLOAT" || type.startsWith("DECIMAL");
export const isInstant = (type: string): boolean => type.startsWith("TIMESTAMP");

/**
 * The narrowest type that holds all values of both, in the same sense; null where there is none.
 * BIGINT with DOUBLE gives DOUBLE, as dlt has it; the caller looks after integers beyond 2^53.
 */
export function widen(left: string, right: string): string | null {
  if (left === right) return left;
  if (isInteger(left) && isInteger(right)) return widerInteger(left, right);
  for (const [a, b] of [
    [left, right],
    [right, left],
  ] as const) {
    if (isInteger(a) && b === "DOUBLE") return "DOUBLE";
    if (isInteger(a) && b === "FLOAT")
      return (BITS[INTEGERS.indexOf(a)] ?? 64) <= FLOAT_BITS ? "FLOAT" : "DOUBLE";
    if (isInteger(a) && b.startsWith("DECIMAL"))
      return widerDecimal([DIGITS[INTEGERS.indexOf(a)] ?? 20, 0], decimal(b));
    if (a === "FLOAT" && b === "DOUBLE") return "DOUBLE";
    if (a === "DATE" && (b === "TIMESTAMP" || b === "TIMESTAMP WITH TIME ZONE")) return b;
    if (a.startsWith("TIMESTAMP") && b.startsWith("TIMESTAMP")) return instantOf(left, right);
  }
  if (left.startsWith("DECIMAL") && right.startsWith("DECIMAL"))
    return widerDecimal(decimal(left), decimal(right));
  return null;
}

/** The table's own kind of instant stays: both mean an instant in UTC. Seconds and milliseconds go up. */
const instantOf = (left: string, right: string): string =>
  left === "TIMESTAMP_S" || left === "TIMESTAMP_MS" || right === "TIMESTAMP_NS" ? right : left;

function widerInteger(left: string, right: string): string | null {
  const least = Math.max(BITS[INTEGERS.indexOf(left)] ?? 64, BITS[INTEGERS.indexOf(right)] ?? 64);
  const signed = !(left.startsWith("U") && right.startsWith("U"));
  if (!signed) return INTEGERS[BITS.indexOf(least)] ?? null;
  const index = BITS.findIndex((bits, at) => bits >= least && at % 2 === 0);
  return index < 0 ? "DECIMAL(20,0)" : (INTEGERS[index] ?? null);
}

const decimal = (type: string): [precision: number, scale: number] => {
  const match = /\((\d+),(\d+)\)/.exec(type);
  return match ? [Number(match[1]), Number(match[2])] : [18, 3];
};

function widerDecimal([p1, s1]: [number, number], [p2, s2]: [number, number]): string | null {
  const scale = Math.max(s1, s2);
  const precision = Math.max(p1 - s1, p2 - s2) + scale;
  return precision <= 38 ? `DECIMAL(${precision},${scale})` : null;
}

/** True where every integer of this type is exact as a double. */
export const fitsDouble = (type: string): boolean =>
  isInteger(type) && (BITS[INTEGERS.indexOf(type)] ?? 64) <= DOUBLE_BITS;

/** An instant as ISO 8601 writes it, with at most the microseconds that a column can hold. */
const INSTANT_PATTERN =
  "\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])[T ]([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d([.]\\d{1,6})?(Z|[+-]\\d\\d(:?\\d\\d)?)?";
const INSTANT = new RegExp(`^${INSTANT_PATTERN}$`);

/** True for a text that is an ISO 8601 instant; one without an offset is in UTC. */
export function isInstantText(text: string): boolean {
  if (text.length < 19 || text.length > 32 || text.charCodeAt(4) !== 45 || text.charCodeAt(13) !== 58)
    return false;
  if (!INSTANT.test(text)) return false;
  const day = Number(text.slice(8, 10));
  if (day <= 28) return Number(text.slice(0, 4)) > 0;
  const year = Number(text.slice(0, 4));
  return year > 0 && day <= new Date(Date.UTC(2000 + (year % 400), Number(text.slice(5, 7)), 0)).getUTCDate();
}

/** SQL for a text as an instant; DuckDB's own cast to TIMESTAMP passes over the offset. */
export const instantFromText = (sql: string, type: string): string => castInstant("CAST", sql, type);

/** SQL for a text as an instant, NULL where it is none. */
export const instantOrNull = (sql: string, type: string): string =>
  `CASE WHEN regexp_full_match(${sql}, ${quoteText(INSTANT_PATTERN)}) THEN ${castInstant("TRY_CAST", sql, type)} END`;

function castInstant(cast: "CAST" | "TRY_CAST", sql: string, type: string): string {
  const zoned = `${cast}(${sql} AS TIMESTAMP WITH TIME ZONE)`;
  if (type === "TIMESTAMP WITH TIME ZONE") return zoned;
  if (type !== "TIMESTAMP") return `CAST(${zoned} AS ${type})`;
  // What ends so has no offset to reckon with, and the plain cast takes a quarter of the time.
  return `CASE WHEN suffix(${sql}, 'Z') THEN ${cast}(${sql} AS ${type}) ELSE CAST(${zoned} AS ${type}) END`;
}
