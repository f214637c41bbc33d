import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { withoutZeros } from "../../lake/readings.ts";
import type { SqlSession } from "../../sql/contract.ts";
import { quoteText } from "../../sql/text.ts";
import { type Part, partsOf } from "./parts.ts";
import type { SheetColumn } from "./sheet.ts";
import { instantFromText, isFloat, isInstant, isInstantText, isInteger, isNumber } from "./types.ts";

/** How a load compares values of its cursor. */
export interface CursorSql {
  /** The value to compare, as SQL over the staged rows. */
  sql: string;
  type: string;
  /** The value as text, which DuckDB returns losslessly. */
  text: string;
  /** Whether the source returned text, which is then stored unchanged. */
  isText: boolean;
}

/** Aggregate of the greatest value, as text. */
export function greatestText({ sql, type, text, isText }: CursorSql): string {
  // A text for each row takes longer than to find the greatest value.
  const hasOneText = !isText && (isInteger(type) || isInstant(type) || type === "DATE");
  return hasOneText ? `CAST(max(${sql}) AS VARCHAR)` : `arg_max(${text}, ${sql})`;
}

/** A number without an exponent, as a regular expression of DuckDB. */
export const PLAIN_NUMBER = "-?[0-9]+([.][0-9]+)?";

/** The type of a cursor whose values are compared as numbers of any length. */
const ANY_NUMBER = "number of any length";

/**
 * Decides how to compare values of `column`: numbers as numbers, texts that are all times as times, and with `fixed`,
 * the type that the definition sets, texts of numbers as numbers. Other texts then don't count as cursor values.
 */
export function cursorSql(column: SheetColumn, fixed: string | null = null): CursorSql {
  const parts = partsOf(column);
  const [first, second] = parts;
  if (first?.type === "VARCHAR" && !first.isNumber && !second && fixed !== null && isNumber(fixed)) {
    const digits = `regexp_replace(trim(${first.sql}), '^(-?)0+([0-9])', '\\1\\2')`;
    const text = `CASE WHEN regexp_full_match(trim(${first.sql}), '${PLAIN_NUMBER}') THEN ${withoutZeros(digits)} END`;
    return { sql: orderKey(text), type: ANY_NUMBER, text, isText: true };
  }
  const isNumeric = parts.every((part) => part.isNumber || isNumber(part.type));
  if (!first || (second && !isNumeric)) {
    const types = parts.map((part) => part.type).join(", ");
    throw new AppError(
      "definition_invalid",
      `The cursor "${column.source}" has values of several types (${types}), which have no order.`,
    );
  }
  if (second && column.jsonNumbers && parts.every(({ type }) => type === "BIGINT" || type === "DOUBLE")) {
    const sql = `COALESCE(${parts.map((part) => `CAST(${part.sql} AS DOUBLE)`).join(", ")})`;
    return { sql, type: "DOUBLE", text: `CAST(${sql} AS VARCHAR)`, isText: false };
  }
  if (second || first.isNumber) {
    const text = parts.length === 1 ? plainNumber(first) : `COALESCE(${parts.map(plainNumber).join(", ")})`;
    return { sql: orderKey(text), type: ANY_NUMBER, text, isText: true };
  }
  return {
    sql: first.sql,
    type: first.type,
    text: first.text ?? `CAST(${first.sql} AS VARCHAR)`,
    isText: first.text !== undefined || first.type === "VARCHAR",
  };
}

/** A number's digits without an exponent or trailing zeros in its fraction, so that equal numbers are equal texts. */
function plainNumber({ sql, type, text }: Part): string {
  if (isInteger(type)) return `CAST(${sql} AS VARCHAR)`;
  const digits = text ?? `CAST(${sql} AS VARCHAR)`;
  // DuckDB prints very large and very small doubles with an exponent.
  const plain = isFloat(type)
    ? `CASE WHEN contains(${digits}, 'e') THEN CAST(CAST(${digits} AS DECIMAL(38,12)) AS VARCHAR) ELSE ${digits} END`
    : digits;
  const trimmed = withoutZeros(plain);
  if (type !== "VARCHAR") return trimmed;
  // A database can store NaN and infinity. They don't count as cursor values.
  return `CASE WHEN ${digits} NOT IN ('NaN', 'Infinity', '-Infinity') THEN ${trimmed} END`;
}

/**
 * Returns a text that sorts like the number: the number of digits before the point comes first, and everything is
 * inverted for negative numbers.
 */
export function orderKey(number: string): string {
  const whole = `split_part(ltrim(${number}, '-'), '.', 1)`;
  const digits = `lpad(CAST(length(${whole}) AS VARCHAR), 6, '0') || ${whole} || '.' || split_part(${number}, '.', 2)`;
  return `CASE WHEN ${number} LIKE '-%' THEN '0' || translate(${digits}, '0123456789', '9876543210') || '~' ELSE '1' || ${digits} END`;
}

/** Returns the digits of a JSON number. Null for anything else. */
function digitsOfNumber(value: Json): string | null {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const [, sign = "", whole, fraction = ""] = /^(-?)0*(\d+)(?:[.](\d*?)0*)?$/.exec(text) ?? [];
  if (whole === undefined) return null;
  return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Returns `value` as SQL of the cursor's type. Throws `definition_invalid` if it isn't of that type. */
export async function cursorValue(
  session: SqlSession,
  value: Json,
  type: string,
  what: string,
): Promise<string> {
  const text = quoteText(typeof value === "string" ? value : JSON.stringify(value));
  const digits = type === ANY_NUMBER ? digitsOfNumber(value) : null;
  if (digits !== null) return orderKey(quoteText(digits));
  const zoned = isInstant(type) && typeof value === "string" && isInstantText(value);
  const sql = zoned ? instantFromText(text, type) : `CAST(${text} AS ${type})`;
  if (type !== ANY_NUMBER) {
    const [row] = await session.run(`SELECT ${sql.replaceAll("CAST(", "TRY_CAST(")} IS NOT NULL AS fits`);
    if (row?.fits === true) return sql;
  }
  throw new AppError(
    "definition_invalid",
    `The ${what} of the cursor, ${text}, isn't a ${type}, which the source has now.`,
    {
      details: { value, type },
    },
  );
}

/** Returns a cursor's text as exact JSON: numbers if a double can represent them, times as ISO 8601. */
export function cursorJson(text: string, type: string): Json {
  if (isInteger(type)) return Number.isSafeInteger(Number(text)) ? Number(text) : text;
  if (type === "DOUBLE" || type === "FLOAT") return Number.isFinite(Number(text)) ? Number(text) : text;
  const match = isInstant(type) ? /^(\d{4}-\d\d-\d\d) ([\d:.]+)(\+00)?$/.exec(text) : null;
  return match ? `${match[1]}T${match[2]}${match[3] ? "Z" : ""}` : text;
}

/**
 * Returns `value` minus `lagSeconds`: seconds for times and dates, the number itself for numbers. Throws
 * `definition_invalid` for other text.
 */
export function beforeLag(value: Json, lagSeconds: number): Json {
  if (lagSeconds === 0) return value;
  if (typeof value === "number") return value - lagSeconds;
  const text = typeof value === "string" ? value : "";
  const number = /^(-?\d+)(?:[.](\d+))?$/.exec(text);
  if (number) return lessSeconds(number[1] ?? "", number[2] ?? "", lagSeconds);
  const match = /^(\d{4}-\d\d-\d\d)(?:([T ])(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/.exec(text);
  if (!match)
    throw new AppError(
      "definition_invalid",
      `lagSeconds requires a cursor of timestamps or numbers, but ${JSON.stringify(value)} is neither.`,
    );
  const [, day, separator, time = "00:00:00", fraction = "", zone = ""] = match;
  const offset =
    zone === "" || zone === "Z"
      ? "Z"
      : zone.length === 3
        ? `${zone}:00`
        : zone.replace(/^(...)(\d\d)$/, "$1:$2");
  const moved = new Date(Date.parse(`${day}T${time}${offset}`) - Math.ceil(lagSeconds) * 1000).toISOString();
  if (!separator) return moved.slice(0, 10);
  return `${moved.slice(0, 10)}${separator}${moved.slice(11, 19)}${fraction}${zone === "" ? "" : "Z"}`;
}

/** Subtracts from a number without losing digits. */
function lessSeconds(whole: string, fraction: string, seconds: number): string {
  const unit = 10n ** BigInt(fraction.length);
  const moved = BigInt(whole + fraction) - BigInt(Math.ceil(seconds)) * unit;
  if (fraction === "") return String(moved);
  const digits = String(moved < 0n ? -moved : moved).padStart(fraction.length + 1, "0");
  return `${moved < 0n ? "-" : ""}${digits.slice(0, -fraction.length)}.${digits.slice(-fraction.length)}`;
}
