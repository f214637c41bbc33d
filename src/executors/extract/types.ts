import { MAX_DECIMAL_DIGITS, ZONED } from "../../lake/readings.ts";

const COLUMN_TYPES: Readonly<Record<string, string>> = {
  text: "VARCHAR",
  integer: "BIGINT",
  bigint: "BIGINT",
  double: "DOUBLE",
  boolean: "BOOLEAN",
  date: "DATE",
  time: "TIME",
  timestamp: "TIMESTAMP",
  timestamptz: ZONED,
  uuid: "UUID",
  binary: "BLOB",
  json: "JSON",
};

/** Pattern of valid `columns[].type` values. */
export const COLUMN_TYPE_PATTERN = `^(${Object.keys(COLUMN_TYPES).join("|")}|decimal\\([1-9][0-9]?,[0-9]{1,2}\\))$`;

/** DuckDB's name of a type in a definition, or null for an impossible decimal. */
export function columnType(name: string): string | null {
  const [, precision, scale] = /^decimal\((\d+),(\d+)\)$/.exec(name) ?? [];
  if (precision === undefined) return COLUMN_TYPES[name] ?? null;
  const fits = Number(precision) <= MAX_DECIMAL_DIGITS && Number(scale) <= Number(precision);
  return fits ? `DECIMAL(${Number(precision)},${Number(scale)})` : null;
}

/** dlt's name of a type, as in `column__v_text`. */
export function shortType(type: string): string {
  if (type.endsWith("[]")) return "list";
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
  UUID: "uuid",
};

const INTEGERS = ["TINYINT", "UTINYINT", "SMALLINT", "USMALLINT", "INTEGER", "UINTEGER", "BIGINT", "UBIGINT"];
const BITS = [7, 8, 15, 16, 31, 32, 63, 64];
/** Maximum number of bits of integers that a double holds exactly. */
const DOUBLE_BITS = 53;

export const isInteger = (type: string): boolean => INTEGERS.includes(type);
export const isDecimal = (type: string): boolean => type.startsWith("DECIMAL") && !type.endsWith("]");
export const isFloat = (type: string): boolean => type === "DOUBLE" || type === "FLOAT";
export const isNumber = (type: string): boolean => isInteger(type) || isFloat(type) || isDecimal(type);
export const isInstant = (type: string): boolean => type.startsWith("TIMESTAMP") && !type.endsWith("]");

/**
 * The wider of two types, if a column may change to it for every reader, including Iceberg's: integers, FLOAT to
 * DOUBLE, and decimals of one scale. Otherwise null.
 */
export function widen(left: string, right: string): string | null {
  if (left === right) return left;
  if (isInteger(left) && isInteger(right)) return widerInteger(left, right);
  if (isFloat(left) && isFloat(right)) return "DOUBLE";
  if (isDecimal(left) && isDecimal(right)) {
    const [[p1, s1], [p2, s2]] = [decimalOf(left), decimalOf(right)];
    return s1 === s2 ? `DECIMAL(${Math.max(p1, p2)},${s1})` : null;
  }
  return null;
}

/**
 * A type that holds all values of both exactly, for tables whose files are cast on read. In addition to `widen`:
 * decimals of two scales, integers that a decimal or double can hold, dates among timestamps, and text with intervals and
 * zoned times, which files of earlier versions have. Otherwise null.
 */
export function commonType(left: string, right: string): string | null {
  const wide = widen(left, right);
  if (wide !== null) return wide;
  for (const [a, b] of [
    [left, right],
    [right, left],
  ] as const) {
    if (fitsDouble(a) && isFloat(b)) return "DOUBLE";
    if (isInteger(a) && isDecimal(b))
      return widerDecimal([DIGITS[INTEGERS.indexOf(a)] ?? 20, 0], decimalOf(b));
    if (a === "DATE" && b === "TIMESTAMP") return b;
  }
  if (isDecimal(left) && isDecimal(right)) return widerDecimal(decimalOf(left), decimalOf(right));
  const text = asText(left);
  return text === asText(right) ? text : null;
}

/** The type with intervals and zoned times as text, also within others. */
const asText = (type: string): string =>
  type.replaceAll(/"(?:[^"]|"")*"|\b(?:INTERVAL|TIME WITH TIME ZONE)\b/g, (found) =>
    found.startsWith('"') ? found : "VARCHAR",
  );

const DIGITS = [3, 3, 5, 5, 10, 10, 19, 20];

function widerDecimal([p1, s1]: [number, number], [p2, s2]: [number, number]): string | null {
  const scale = Math.max(s1, s2);
  const precision = Math.max(p1 - s1, p2 - s2) + scale;
  return precision <= MAX_DECIMAL_DIGITS ? `DECIMAL(${precision},${scale})` : null;
}

function widerInteger(left: string, right: string): string | null {
  const least = Math.max(BITS[INTEGERS.indexOf(left)] ?? 64, BITS[INTEGERS.indexOf(right)] ?? 64);
  const signed = !(left.startsWith("U") && right.startsWith("U"));
  if (!signed) return INTEGERS[BITS.indexOf(least)] ?? null;
  return INTEGERS[BITS.findIndex((bits, at) => bits >= least && at % 2 === 0)] ?? null;
}

export function decimalOf(type: string): [precision: number, scale: number] {
  const match = /\((\d+),(\d+)\)/.exec(type);
  return match ? [Number(match[1]), Number(match[2])] : [18, 3];
}

/** True if a double holds every integer of this type exactly. */
export const fitsDouble = (type: string): boolean =>
  isInteger(type) && (BITS[INTEGERS.indexOf(type)] ?? 64) <= DOUBLE_BITS;

/** A timestamp in ISO 8601, with at most the microseconds that a column can hold. */
const INSTANT =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.]\d{1,6})?)?(?:Z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?)?$/;

/** The type of a text's value: a date, a timestamp with or without a zone, or plain text. */
export type TextType = "DATE" | "TIMESTAMP" | typeof ZONED | "VARCHAR";

/** The type of a text in ISO 8601. */
export function textType(text: string): TextType {
  if (text.length < 10 || text.length > 32 || text.charCodeAt(4) !== 45) return "VARCHAR";
  if (!INSTANT.test(text) || !isDay(text)) return "VARCHAR";
  if (text.length === 10) return "DATE";
  if (!text.endsWith("Z") && Math.max(text.lastIndexOf("+"), text.lastIndexOf("-")) < 16) return "TIMESTAMP";
  return text.charCodeAt(16) === 58 ? ZONED : "VARCHAR"; // DuckDB requires the seconds if there is a zone
}

const ZERO = 0x30;

function isDay(text: string): boolean {
  if (text.startsWith("0000")) return false;
  const day = 10 * (text.charCodeAt(8) - ZERO) + text.charCodeAt(9) - ZERO;
  if (day <= 28) return true;
  const year = Number(text.slice(0, 4));
  return day <= new Date(Date.UTC(2000 + (year % 400), Number(text.slice(5, 7)), 0)).getUTCDate();
}

/** True for a text that is an ISO 8601 timestamp. */
export const isInstantText = (text: string): boolean => isInstant(textType(text));

/**
 * SQL for an ISO text as a timestamp, converted to UTC if the zone is dropped: DuckDB's own cast to TIMESTAMP
 * ignores the offset.
 */
export function instantFromText(sql: string, type: string): string {
  const zoned = `CAST(${sql} AS ${ZONED})`;
  if (type === ZONED) return zoned;
  // A text with this ending has no offset, and the plain cast takes a quarter of the time.
  return `CASE WHEN suffix(${sql}, 'Z') THEN CAST(${sql} AS ${type}) ELSE CAST(${zoned} AS ${type}) END`;
}
