import {
  BIGINT,
  BOOLEAN,
  DECIMAL,
  DOUBLE,
  DuckDBDecimalValue,
  type DuckDBPreparedStatement,
  type DuckDBType,
  type DuckDBValue,
  HUGEINT,
  INTEGER,
  LIST,
  SQLNULL,
  VARCHAR,
} from "@duckdb/node-api";
import { AppError } from "../base/errors.ts";
import { digitsOf, exactJson, isBeyondDoubles, isNumeric, NumberText } from "../base/json-numbers.ts";
import { parameterValue } from "../base/parameter-numbers.ts";
import type { SqlValue } from "./contract.ts";

/**
 * Binds a JSON value: lists of one type as lists, `{"$number": …}` as the number, and everything without a DuckDB type
 * as JSON text.
 */
export function bindOne(statement: DuckDBPreparedStatement, index: number, parameter: SqlValue): void {
  const value = parameter instanceof NumberText ? parameter : parameterValue(parameter);
  switch (typeof value) {
    case "string":
      return statement.bindVarchar(index, wellFormed(value));
    case "boolean":
      return statement.bindBoolean(index, value);
    case "number":
      return bindNumber(statement, index, value);
  }
  if (value === null) return statement.bindNull(index);
  if (value instanceof NumberText) return bindExact(statement, index, value);
  const list = Array.isArray(value) ? listOf(value) : null;
  if (list) return statement.bindList(index, list.items, LIST(list.type));
  statement.bindVarchar(index, exactJson(value)); // `$x::JSON` reads it
}

function bindExact(statement: DuckDBPreparedStatement, index: number, value: NumberText): void {
  const { items, type } = numberList([value]);
  const [item] = items;
  if (item instanceof DuckDBDecimalValue) return statement.bindDecimal(index, item);
  if (type === BIGINT) return statement.bindBigInt(index, item as bigint);
  statement.bindHugeInt(index, item as bigint);
}

const MAX_DIGITS = 38;

/** Numbers of which a double would change at least one: whole numbers, or else decimals of one type. */
function numberList(list: readonly (number | NumberText | null)[]): List {
  const texts = list.map((item) => (item === null ? null : String(item)));
  const sizes = texts.map((text) => (text === null ? { whole: 0, scale: 0 } : sizeOf(text)));
  const scale = Math.max(...sizes.map((size) => size.scale));
  const width = scale + Math.max(...sizes.map((size) => size.whole));
  if (width > MAX_DIGITS) throw tooLong();
  const scaled = texts.map((text, at) =>
    text === null ? null : BigInt(text.replace(".", "") + "0".repeat(scale - (sizes[at]?.scale ?? 0))),
  );
  if (scale > 0)
    return {
      items: scaled.map((item) => (item === null ? null : new DuckDBDecimalValue(item, width, scale))),
      type: DECIMAL(width, scale),
    };
  return { items: scaled, type: scaled.every((item) => item === null || isLong(item)) ? BIGINT : HUGEINT };
}

/** Digits before and after the point; a single 0 before it doesn't count. */
function sizeOf(text: string): { whole: number; scale: number } {
  const size = digitsOf(text);
  if (size === null) throw tooLong();
  return size.scale > 0 && /^-?0[.]/.test(text) ? { ...size, whole: 0 } : size;
}

const tooLong = () =>
  new AppError(
    "sql_error",
    `A number for the SQL can have at most ${MAX_DIGITS} digits and no exponent. Give a longer one as text.`,
  );

/** Throws for half of a surrogate pair, which the driver would replace. */
function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  throw new AppError(
    "sql_error",
    "A text for the SQL contains half of a surrogate pair, which isn't a character. Remove it.",
  );
}

const isShort = (value: number): boolean =>
  Number.isInteger(value) && value >= -2_147_483_648 && value <= 2_147_483_647;

/** As a double, a whole number would equal its neighbours from 2^53 on. */
function bindNumber(statement: DuckDBPreparedStatement, index: number, value: number): void {
  if (isShort(value)) return statement.bindInteger(index, value);
  const whole = wholeOf(value);
  if (whole === null) return statement.bindDouble(index, value);
  if (isLong(whole)) return statement.bindBigInt(index, whole);
  return statement.bindHugeInt(index, whole);
}

/** Null for what isn't a whole number of up to 64 bits. Larger ones are no IDs, and too large for many decimals. */
function wholeOf(value: number): bigint | null {
  if (!Number.isInteger(value)) return null;
  const whole = BigInt(value);
  return isLong(whole) || BigInt.asUintN(64, whole) === whole ? whole : null;
}

const isLong = (whole: bigint): boolean => BigInt.asIntN(64, whole) === whole;

interface List {
  items: DuckDBValue[];
  type: DuckDBType;
}

/** Null for a list of mixed types, of lists or of objects. An empty list is valid for any list type. */
function listOf(list: readonly SqlValue[]): List | null {
  const items = list.filter((item) => item !== null);
  const every = (type: string) => items.every((item) => typeof item === type);
  if (items.length === 0) return { items: [...list] as null[], type: SQLNULL };
  if (every("string")) {
    for (const item of items) wellFormed(item as string);
    return { items: [...list] as string[], type: VARCHAR };
  }
  if (every("boolean")) return { items: [...list] as boolean[], type: BOOLEAN };
  if (items.some((item) => item instanceof NumberText) && items.every(isNumeric))
    return numberList(list as (number | NumberText | null)[]);
  if (!every("number")) return wholeList(list);
  if (items.every((item) => isShort(item as number))) return { items: [...list] as number[], type: INTEGER };
  return wholeList(list) ?? { items: [...list] as number[], type: DOUBLE };
}

/** Whole numbers. Those of 64 bits are strings if a JSON number can't represent them. */
function wholeList(list: readonly SqlValue[]): List | null {
  const items: (bigint | null)[] = [];
  for (const item of list) {
    const whole = item === null ? null : wholeItem(item);
    if (item !== null && whole === null) return null;
    items.push(whole);
  }
  return { items, type: items.every((item) => item === null || isLong(item)) ? BIGINT : HUGEINT };
}

function wholeItem(item: SqlValue): bigint | null {
  if (typeof item === "number") return wholeOf(item);
  if (typeof item !== "string" || !/^-?\d+$/.test(item) || !isBeyondDoubles(item)) return null;
  const whole = BigInt(item);
  return isLong(whole) ? whole : null;
}
