/** A condition on the value `$` for values that can't be written, and a description of them. */
export interface Misfit {
  condition: string;
  why: string;
}

/** How the values of one column become text, in DuckDB SQL on the value `$`. */
export interface Way {
  sql: string;
  checks: readonly Misfit[];
  isQuoted: boolean;
}

/** What kind of type a DuckDB type is, as far as it decides where it can be written. */
export type Kind =
  | "integer"
  | "decimal"
  | "float"
  | "double"
  | "boolean"
  | "text"
  | "json"
  | "bytes"
  | "uuid"
  | "date"
  | "time"
  | "timestamp"
  | "nanos"
  | "instant"
  | "list"
  | "nested"
  | "other";

const KINDS: Readonly<Record<string, Kind>> = {
  ...Object.fromEntries(
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"].map(
      (name) => [name, "integer" as const],
    ),
  ),
  FLOAT: "float",
  DOUBLE: "double",
  BOOLEAN: "boolean",
  VARCHAR: "text",
  JSON: "json",
  BLOB: "bytes",
  UUID: "uuid",
  DATE: "date",
  TIME: "time",
  TIMESTAMP: "timestamp",
  TIMESTAMP_NS: "nanos",
  "TIMESTAMP WITH TIME ZONE": "instant",
};

export function kindOf(dataType: string): Kind {
  const element = elementOf(dataType);
  if (element !== null) return isNested(element) ? "nested" : "list";
  if (isNested(dataType)) return "nested";
  return /^DECIMAL\(/.test(dataType) ? "decimal" : (KINDS[dataType] ?? "other");
}

/** Element type of a list; null for other types. */
export const elementOf = (dataType: string): string | null =>
  dataType.endsWith("[]") ? dataType.slice(0, -2) : null;

/** True for types that other systems can only store as JSON. */
export const isNested = (dataType: string): boolean =>
  dataType.endsWith("[]") ? true : /^(STRUCT|MAP|UNION)\b/.test(dataType);

export const bad = (condition: string, why: string): Misfit => ({ condition, why });

/** Values in DuckDB's own format. */
export const exactly = (as: "text" | "number"): Way => ({ sql: "$", checks: [], isQuoted: as === "text" });

/** Values by an expression whose text needs no quotes. */
export const where = (sql: string, ...checks: Misfit[]): Way => ({ sql, checks, isQuoted: false });

/** Microseconds of a value, for types that keep fewer digits. */
export const MICROS = {
  time: "date_part('microseconds', $)",
  timestamp: "CASE WHEN isfinite($) THEN epoch_us($) ELSE 0 END",
} as const;

/** The SQL of a way, applied to a value. It contains no other dollar sign. */
export const forValue = (sql: string, value: string): string => sql.replaceAll("$", () => value);

/** The text of a PostgreSQL array, by the way of its elements. */
export function listText(way: Way): Way {
  const text = `CAST(${forValue(way.sql, "x")} AS VARCHAR)`;
  const quoted = `coalesce('"' || replace(replace(${text}, '\\', '\\\\'), '"', '\\"') || '"', 'NULL')`;
  return {
    sql: `'{' || array_to_string(list_transform($, lambda x: ${quoted}), ',') || '}'`,
    checks: way.checks.map(({ condition, why }) => ({
      condition: `len(list_filter($, lambda x: ${forValue(condition, "x")})) > 0`,
      why,
    })),
    isQuoted: true,
  };
}
