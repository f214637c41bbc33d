import {
  DuckDBDateValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from "@duckdb/node-api";
import type { Styles } from "../sheets/write/styles.ts";
import type { Cell } from "../sheets/write/workbook-writer.ts";
import { jsonText } from "./values.ts";

const MS_PER_DAY = 86_400_000;
/** Days from 1899-12-30, day 0 of workbooks, to 1970-01-01. */
const DAYS_TO_1970 = 25_569;
/** 1900-03-01: programs number earlier days differently. */
const FIRST_DAY = 61;
/** 9999-12-31. */
const LAST_DAY = 2_958_465;
const MICROS_PER_DAY = 86_400_000_000n;
/** Maximum number of decimal places in a number format. */
const MAX_SHOWN_SCALE = 30;

/** A value written as text although its column has another kind of cell, and the reason. */
type OddCell = { cell: Cell; what: string };
type CellWriter = (value: Exclude<DuckDBValue, null>) => Cell | OddCell;

/** Converts values of a type to cells, exactly; values that no number or date of a workbook can hold become text. */
export function cellWriter(type: DuckDBType, styles: Styles): CellWriter {
  const asText = textWriter(styles);
  const odd = (value: DuckDBValue, what: string): OddCell => ({
    cell: asText(plainText(value)),
    what: `became text: ${what}`,
  });
  const number = (style: number, textOf: (value: DuckDBValue) => string): CellWriter => {
    return (value) => {
      const text = textOf(value);
      if (!Number.isFinite(Number(text))) return odd(value, "a workbook has no such number");
      if (!isDouble(text)) return odd(value, "more digits than a number of a workbook holds");
      return { kind: "number", text, style, width: text.length };
    };
  };
  switch (type.typeId) {
    case DuckDBTypeId.BOOLEAN:
      return (value) => ({ kind: "boolean", text: value ? "1" : "0", style: 0, width: 5 });
    case DuckDBTypeId.TINYINT:
    case DuckDBTypeId.SMALLINT:
    case DuckDBTypeId.INTEGER:
    case DuckDBTypeId.UTINYINT:
    case DuckDBTypeId.USMALLINT:
    case DuckDBTypeId.UINTEGER:
    case DuckDBTypeId.BIGINT:
    case DuckDBTypeId.UBIGINT:
    case DuckDBTypeId.HUGEINT:
    case DuckDBTypeId.UHUGEINT:
    case DuckDBTypeId.BIGNUM:
      return number(styles.of("0"), String);
    case DuckDBTypeId.FLOAT:
      return number(0, (value) => floatText(Number(value)));
    case DuckDBTypeId.DOUBLE:
      return number(0, (value) => doubleText(Number(value)));
    case DuckDBTypeId.DECIMAL: {
      const { scale } = type as DuckDBType & { scale: number };
      const fraction = Math.min(scale, MAX_SHOWN_SCALE);
      return number(styles.of(fraction === 0 ? "0" : `0.${"0".repeat(fraction)}`), String);
    }
    case DuckDBTypeId.DATE:
    case DuckDBTypeId.TIME:
    case DuckDBTypeId.TIMESTAMP:
    case DuckDBTypeId.TIMESTAMP_S:
    case DuckDBTypeId.TIMESTAMP_MS:
    case DuckDBTypeId.TIMESTAMP_NS:
    case DuckDBTypeId.TIMESTAMP_TZ: {
      const at = instantWriter(type.typeId, styles);
      return (value) => at(value) ?? odd(value, "no date or time of a workbook");
    }
    default:
      return (value) => asText(plainText(value));
  }
}

function textWriter(styles: Styles): (text: string) => Cell {
  const style = styles.of("@");
  return (text) => ({ kind: "text", text, style, width: text.length });
}

/** The text of a string value, else its JSON. */
function plainText(value: DuckDBValue): string {
  if (typeof value === "string") return value;
  if (value instanceof DuckDBTimestampNanosecondsValue) return String(value);
  const json = jsonText(value);
  return json.startsWith('"') ? JSON.parse(json) : json;
}

/** Dates and times in milliseconds, as in Excel; null for other types. Those with a zone are in UTC and say so. */
function instantWriter(type: DuckDBTypeId, styles: Styles): (value: DuckDBValue) => Cell {
  const hasDay = type !== DuckDBTypeId.TIME;
  const day = hasDay ? "yyyy-mm-dd" : "";
  const zone = type === DuckDBTypeId.TIMESTAMP_TZ ? '"Z"' : "";
  if (type === DuckDBTypeId.DATE) {
    const style = styles.of(day);
    return (value) => {
      const serial = (value instanceof DuckDBDateValue ? value.days : Number.NaN) + DAYS_TO_1970;
      return serial >= FIRST_DAY && serial <= LAST_DAY ? dateCell(serial, style, day) : null;
    };
  }
  const codes = [`${day} hh:mm:ss${zone}`.trim(), `${day} hh:mm:ss.000${zone}`.trim()];
  const styled = codes.map((code) => styles.of(code));
  return (value) => {
    const micros = microsOf(value);
    if (micros === null || micros % 1000n !== 0n || (!hasDay && micros >= MICROS_PER_DAY)) return null;
    const ms = Number(micros / 1000n) + (hasDay ? DAYS_TO_1970 * MS_PER_DAY : 0);
    const serial = ms / MS_PER_DAY;
    if (hasDay && !(serial >= FIRST_DAY && serial < LAST_DAY + 1)) return null;
    const at = ms % 1000 === 0 ? 0 : 1;
    return dateCell(serial, styled[at] ?? 0, codes[at] ?? "");
  };
}

const dateCell = (serial: number, style: number, { length }: string): Cell => ({
  kind: "number",
  text: String(serial),
  style,
  width: length,
});

function microsOf(value: DuckDBValue): bigint | null {
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return value.micros;
  if (value instanceof DuckDBTimeValue) return value.micros;
  if (value instanceof DuckDBTimestampMillisecondsValue) return value.millis * 1000n;
  if (value instanceof DuckDBTimestampSecondsValue) return value.seconds * 1_000_000n;
  if (value instanceof DuckDBTimestampNanosecondsValue)
    return value.nanos % 1000n === 0n ? value.nanos / 1000n : null;
  return null;
}

/** The shortest digits that give the same 32-bit number. */
function floatText(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return doubleText(short);
  }
  return doubleText(value);
}

const doubleText = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

/** Number of digits that every double preserves. */
const SAFE_DIGITS = 15;

/** Whether the shortest text of the double is this decimal. */
function isDouble(text: string): boolean {
  if (text.length <= SAFE_DIGITS || text.includes("e")) return true;
  return significant(String(Number(text))) === significant(text);
}

/** The digits without leading and trailing zeros, and the power of ten of the first one. */
function significant(text: string): string {
  const [mantissa = "", exponent = "0"] = text.replace("-", "").split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const leading = whole.length + fraction.length - digits.length;
  return `${digits.replace(/0+$/, "")}e${whole.length - leading + Number(exponent)}`;
}
