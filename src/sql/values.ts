import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBListValue,
  DuckDBMapValue,
  type DuckDBPreparedStatement,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBUnionValue,
  type DuckDBValue,
} from "@duckdb/node-api";
import { AppError } from "../base/errors.ts";
import { withTextNumbers } from "../base/json-numbers.ts";
import { bindOne } from "./bind.ts";
import type { SqlValue } from "./contract.ts";

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** JSON text of one value, as defined for `SqlRows`. */
export function jsonText(value: DuckDBValue): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      if (!Number.isFinite(value)) return `"${value}"`; // JSON has no NaN
      return Object.is(value, -0) ? "-0.0" : String(value);
    case "boolean":
      return value ? "true" : "false";
    case "bigint":
      return value <= MAX_SAFE && value >= -MAX_SAFE ? String(value) : `"${value}"`;
    default:
      return value === null ? "null" : objectText(value);
  }
}

function objectText(value: Exclude<DuckDBValue, null | string | number | boolean | bigint>): string {
  if (value instanceof DuckDBTimestampTZValue) return instantText(value.micros, "Z", value);
  if (value instanceof DuckDBTimestampValue) return instantText(value.micros, "", value);
  if (value instanceof DuckDBTimestampMillisecondsValue) return instantText(value.millis * 1000n, "", value);
  if (value instanceof DuckDBTimestampSecondsValue) return instantText(value.seconds * 1_000_000n, "", value);
  if (value instanceof DuckDBTimestampNanosecondsValue) return nanosText(value);
  if (value instanceof DuckDBDateValue) return `"${dateText(value)}"`;
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
    return `[${value.items.map(jsonText).join(",")}]`;
  }
  if (value instanceof DuckDBStructValue) return recordText(Object.entries(value.entries));
  if (value instanceof DuckDBMapValue) return mapText(value);
  if (value instanceof DuckDBUnionValue) return jsonText(value.value);
  if (value instanceof DuckDBBlobValue) return JSON.stringify(Buffer.from(value.bytes).toString("base64"));
  return JSON.stringify(String(value)); // decimals, dates, times, intervals, UUIDs, bits
}

const recordText = (entries: [string, DuckDBValue][]) =>
  `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${jsonText(item)}`).join(",")}}`;

/** An object if the keys are strings, otherwise a list of pairs. */
function mapText({ entries }: DuckDBMapValue): string {
  if (entries.every(({ key }) => typeof key === "string")) {
    return recordText(entries.map(({ key, value }) => [String(key), value]));
  }
  return `[${entries.map(({ key, value }) => `{"key":${jsonText(key)},"value":${jsonText(value)}}`).join(",")}]`;
}

/** ISO 8601 with milliseconds, or microseconds if there are any; dates outside the calendar in DuckDB's format. */
function instantText(micros: bigint, zone: "" | "Z", value: DuckDBValue): string {
  const rest = ((micros % 1000n) + 1000n) % 1000n;
  const date = new Date(Number((micros - rest) / 1000n));
  const year = date.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) return JSON.stringify(String(value));
  const text = date.toISOString().slice(0, -1);
  return `"${text}${rest === 0n ? "" : String(rest).padStart(3, "0")}${zone}"`;
}

/** As `instantText`, with nanoseconds if there are any. */
function nanosText(value: DuckDBTimestampNanosecondsValue): string {
  const rest = ((value.nanos % 1000n) + 1000n) % 1000n;
  const micros = (value.nanos - rest) / 1000n;
  if (rest === 0n) return instantText(micros, "", value);
  return JSON.stringify(String(value).replace(" ", "T"));
}

/** The driver would write the days that represent infinity as dates. */
function dateText(value: DuckDBDateValue): string {
  if (value.days === DuckDBDateValue.PosInf.days) return "infinity";
  return value.days === DuckDBDateValue.NegInf.days ? "-infinity" : String(value);
}

/** DuckDB's type name; to the driver, JSON is a VARCHAR. */
export const typeName = (type: DuckDBType): string => (isJson(type) ? "JSON" : String(type));

const isJson = (type: DuckDBType): boolean => type.alias === "JSON";

/** JSON columns become their content, all others the JSON of their type. */
export const textOf = (type: DuckDBType): ((value: DuckDBValue) => string) =>
  isJson(type) ? jsonColumnText : jsonText;

function jsonColumnText(value: DuckDBValue): string {
  if (typeof value !== "string") return jsonText(value);
  try {
    JSON.parse(value);
    return withTextNumbers(value);
  } catch {
    return JSON.stringify(value); // not JSON, for example from another program's file
  }
}

/** Binds by name, with `$1` and `?` named "1", "2", …; ignores values that the statement doesn't use. */
export function bindNamed(
  statement: DuckDBPreparedStatement,
  values: Readonly<Record<string, SqlValue>>,
): void {
  const names = new Map(Object.keys(values).map((name) => [name.toLowerCase(), name]));
  for (let index = 1; index <= statement.parameterCount; index++) {
    const parameter = statement.parameterName(index);
    const name = Object.hasOwn(values, parameter) ? parameter : names.get(parameter.toLowerCase());
    if (name === undefined) {
      throw new AppError("sql_error", `The statement uses $${parameter}, which isn't in parameters.`);
    }
    bindOne(statement, index, values[name] ?? null);
  }
}
