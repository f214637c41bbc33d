import { MAX_DECIMAL_DIGITS, readingOf, withoutZeros, ZONED } from "../../lake/readings.ts";
import type { SheetColumn } from "./sheet.ts";
import { decimalOf, instantFromText, isDecimal, isFloat, isInteger, isNumber, widen } from "./types.ts";

/** Values of one type in a column, over the staged rows. */
export interface Part {
  type: string;
  sql: string;
  /** The source's own text, if it was text. */
  text?: string;
  /** Their JSON, if it differs from `to_json`. */
  json?: string;
  /** True for texts that are numbers. */
  isNumber?: boolean;
}

/** Contents of a column's slots. */
export function partsOf(column: SheetColumn): Part[] {
  return column.slots.map(({ name, type, number: form, list, isUntyped }): Part => {
    if (list) return { type: list, sql: listFromJson(name, list), json: name };
    if (form === "text") return { type, sql: name, text: name, isNumber: true };
    if (form) {
      const fitting = decimalFor(column.wholeDigits, column.scale);
      const text = form === "plain" ? withoutZeros(name) : name;
      const number = { text, json: `CAST(${name} AS JSON)`, isNumber: true };
      if (fitting === null) return { type: "VARCHAR", sql: text, ...number };
      return { type: fitting, sql: castDecimal(name, fitting), ...number };
    }
    if (isUntyped || type !== "VARCHAR" || column.texts === null || column.texts === "VARCHAR")
      return { type, sql: name };
    const sql = column.texts === ZONED ? instantFromText(name, ZONED) : `CAST(${name} AS ${column.texts})`;
    return { type: column.texts, sql, text: name, json: `to_json(${name})` };
  });
}

/** SQL that converts a JSON list to a list of `type`. Bytes in it have PostgreSQL's format, `\\x` and hex digits. */
const listFromJson = (json: string, type: string): string =>
  type === "BLOB[]"
    ? `list_transform(CAST(${json} AS VARCHAR[]), lambda x: unhex(x[3:]))`
    : `CAST(${json} AS ${type})`;

/** SQL that is true if a JSON list has only values of `type`: no nested list, and nothing that a cast would change. */
export function isListOf(json: string, type: string): string {
  const text = `CAST(${json} AS VARCHAR)`;
  const flat = `NOT starts_with(${text}, '[[')`;
  if (type === "VARCHAR[]" || type === "BLOB[]") return flat;
  // DuckDB reads these dates and times, but other readers of Parquet don't.
  const odd = /^(DATE|TIME)/.test(type) ? ` AND NOT regexp_matches(${text}, 'infinity|BC|24:00:00')` : "";
  // An element of another type becomes NULL.
  return `${flat}${odd} AND list_count(TRY_CAST(${json} AS ${type})) = list_count(CAST(${json} AS VARCHAR[]))`;
}

const castDecimal = (text: string, type: string): string => readingOf(type)?.cast(text) ?? text;

/** Returns the decimal with this many digits before and after the point. Null if there is none. */
const decimalFor = (whole: number, scale: number): string | null =>
  whole + scale <= MAX_DECIMAL_DIGITS ? `DECIMAL(${MAX_DECIMAL_DIGITS},${scale})` : null;

/** Counts the staged rows that match each condition. */
type Probe = (conditions: readonly string[]) => Promise<number[]>;

/**
 * Returns one type for all parts of a new column, and its values. Numbers become a number type that fits all of them.
 * Values of several types become JSON, or text if they aren't JSON values.
 */
export async function unite(column: SheetColumn, parts: readonly Part[], probe: Probe): Promise<Part> {
  const [first, ...more] = parts as [Part, ...Part[]];
  if (more.length === 0) return first;
  const types = parts.map(({ type }) => type);
  if (parts.every((part) => part.isNumber || isNumber(part.type))) {
    const number = await unitedNumber(column, parts, probe);
    if (number) return number;
  }
  if (parts.every(({ type, json, isNumber }) => type === first.type && json === undefined && !isNumber))
    return { type: first.type, sql: coalesce(parts.map(({ sql }) => sql)) };
  const isOfJson = Object.values(column.at).some((position) => position >= 0);
  if (!isOfJson && !types.includes("JSON")) return asText(parts);
  return {
    type: "JSON",
    sql: coalesce(parts.map(({ sql, type, json }) => json ?? (type === "JSON" ? sql : `to_json(${sql})`))),
  };
}

const asText = (parts: readonly Part[]): Part => ({
  type: "VARCHAR",
  sql: coalesce(parts.map(({ sql, text }) => text ?? `CAST(${sql} AS VARCHAR)`)),
});

const coalesce = (values: readonly string[]) => `COALESCE(${values.join(", ")})`;

/** Null if no number type fits all of them. */
async function unitedNumber(column: SheetColumn, parts: readonly Part[], probe: Probe): Promise<Part | null> {
  const types = parts.map(({ type }) => type);
  const as = (type: string, texts = false): Part => ({
    type,
    sql: coalesce(
      parts.map((part) => {
        if (part.type === type) return part.sql;
        return `CAST(${texts && isFloat(part.type) ? `CAST(${part.sql} AS VARCHAR)` : (part.text ?? part.sql)} AS ${type})`;
      }),
    ),
  });
  const wide = types.reduce<string | null>((one, other) => one && widen(one, other), types[0] ?? null);
  if (wide) return as(wide);
  const integers = parts.filter(({ type }) => isInteger(type));
  if (types.every((type) => isInteger(type) || isFloat(type))) {
    if (column.jsonNumbers) return as("DOUBLE");
    const counts = await probe(integers.map(({ sql }) => inexact(sql)));
    if (counts.every((count) => count === 0)) return as("DOUBLE");
  }
  if (types.includes("VARCHAR")) return asText(parts);
  const decimals = types.filter(isDecimal).map(decimalOf);
  const scale = Math.max(column.scale, ...decimals.map(([, each]) => each));
  const isOfJson = column.at.double >= 0 || column.at.integer >= 0 || column.at.number >= 0;
  const whole = Math.max(
    column.wholeDigits,
    integers.length > 0 ? MAX_INTEGER_DIGITS : 0,
    ...(isOfJson ? [] : decimals.map(([precision, each]) => precision - each)),
  );
  const type = decimalFor(whole, scale);
  return type === null || (types.some(isFloat) && !isOfJson) ? asText(parts) : as(type, true);
}

/** The range of a BIGINT. */
const MAX_INTEGER_DIGITS = 19;

/** Integers that a double would change. */
const inexact = (sql: string) => `TRY_CAST(CAST(${sql} AS DOUBLE) AS HUGEINT) IS DISTINCT FROM ${sql}`;
