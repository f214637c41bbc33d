import { AppError } from "../base/errors.ts";
import type { Column } from "./contract.ts";
import { quoteReals, quoteText } from "./text.ts";

/**
 * The types to write a column in, each tried if values don't fit the previous one; the last one fits all values.
 * Parquet has no HUGEINT, the type of a sum, and DuckDB would convert it to DOUBLE; Iceberg has no nanoseconds and no
 * unsigned integers of 32 and 64 bits, which are kept for rows outside a table. The column's existing type in `table`
 * comes first.
 */
export function storedTypes(column: Column, table: readonly Column[] | null): string[] {
  const { name, dataType } = column;
  const known = table?.find((one) => one.name.toLowerCase() === name.toLowerCase())?.dataType ?? "";
  if (table !== null && isNanos(dataType)) {
    const text = dataType.replace("TIMESTAMP_NS", "VARCHAR");
    if (known === text || known === dataType) return [known];
    return [dataType.replace("TIMESTAMP_NS", "TIMESTAMP"), text];
  }
  const inParquet = WHOLE.map((whole) => storedType(column, whole));
  const isOurs = table !== null && !inParquet.some((type) => type === known && type !== inIceberg(type));
  const types = isOurs ? inParquet.map(inIceberg) : inParquet;
  const at = types.indexOf(storedType({ name, dataType: known }, "VARCHAR"));
  return [...new Set(types.slice(at < 0 ? 1 : at))];
}

/** As `storedTypes`, for a file outside a table. */
export const fileTypes = (column: Column): string[] => [
  ...new Set(WHOLE.slice(2).map((whole) => storedType(column, whole))),
];

/** Types for 128-bit integers; DOUBLE only if the table already has it, as in tables of earlier versions. */
const WHOLE = ["DOUBLE", "BIGINT", "DECIMAL(38,0)", "VARCHAR"];

const isNanos = (type: string): boolean => type === "TIMESTAMP_NS" || type === "TIMESTAMP_NS[]";

/** The type in terms that Iceberg has, also within nested types: it would read unsigned 64-bit integers as negative. */
const inIceberg = (type: string): string =>
  type.replaceAll(
    /"(?:[^"]|"")*"|'(?:[^']|'')*'|\b(?:UINTEGER|UBIGINT|TIMESTAMP_NS)\b/g,
    (found) => ICEBERG[found] ?? found,
  );

/** Nanoseconds become text; outside nested types the values decide. */
const ICEBERG: Readonly<Record<string, string>> = {
  UINTEGER: "BIGINT",
  UBIGINT: "DECIMAL(20,0)",
  TIMESTAMP_NS: "VARCHAR",
};

/** Returns the types to try after the first ones failed with `message`; null if none would help. */
export function widerTypes(types: readonly string[][], message: string): string[][] | null {
  const at = Number(CHANGED_VALUES.exec(message)?.[1] ?? -1);
  if ((types[at]?.length ?? 0) < 2) return null;
  return types.map((some, index) => (index === at ? some.slice(1) : some));
}

const CHANGED_VALUES = /changed values in column (\d+)/;

/** Converts column `c…` to the first of `types`. If there are others, the SQL fails for values that it would change. */
export function castOf(at: number, from: string, [to = from, ...others]: readonly string[]): string {
  if (from === to) return `c${at}`;
  if (others.length === 0) return `CAST(c${at} AS ${to})`;
  const cast = `TRY_CAST(c${at} AS ${to})`;
  const isChanged = `TRY_CAST(${cast} AS ${from}) IS DISTINCT FROM c${at}`;
  return `CASE WHEN ${isChanged} THEN error(${quoteText(`changed values in column ${at}`)}) ELSE ${cast} END`;
}

/**
 * The type to store if Parquet lacks the type or would change values, also within nested types: it has no 128-bit
 * integers, no times with a zone, and only milliseconds in intervals.
 */
function storedType({ name, dataType }: Pick<Column, "name" | "dataType">, whole: string): string {
  if (IS_NULL.test(dataType)) return "INTEGER"; // SELECT NULL
  if (/^(ENUM|UNION)\(.*\)$/s.test(dataType)) return "VARCHAR";
  return dataType.replaceAll(CHANGED, (found) => {
    if (/^["']/.test(found)) return found;
    if (found.startsWith("[")) return "[]";
    if (found === "UNION")
      throw new AppError(
        "sql_error",
        `The column "${name}" is ${dataType}, whose UNION would be changed. Cast it.`,
      );
    return found.endsWith("HUGEINT") ? whole : "VARCHAR";
  });
}

const IS_NULL = /^"?(SQL)?NULL"?$/;

/**
 * Types that Parquet changes, and quoted names, which don't count. Lists lose their fixed length: if such a list is
 * NULL, other Parquet readers lose the rows after it.
 */
const CHANGED =
  /"(?:[^"]|"")*"|'(?:[^']|'')*'|\[\d+\]|\b(?:U?HUGEINT|BIGNUM|BIT|INTERVAL|TIME WITH TIME ZONE|TIME_NS|UNION)\b/g;

/** Nested values in CSV are JSON, which other programs can read. */
export function asCell(column: string, type: string): string {
  if (!/^(STRUCT|MAP|UNION)\(|\[\d*\]$/.test(type)) return column;
  const known = type.replaceAll(QUOTED_OR_DECIMAL, (found, width, scale) =>
    width === undefined || width !== scale
      ? found
      : width === "38"
        ? "VARCHAR"
        : `DECIMAL(${Number(width) + 1},${scale})`,
  );
  const json = `CAST(to_json(${known === type ? column : `CAST(${column} AS ${known})`}) AS VARCHAR)`;
  if (!/\b(?:FLOAT|DOUBLE)\b/.test(type)) return json;
  const { where, quoted } = quoteReals(json);
  return `CASE WHEN ${where} THEN ${quoted} ELSE ${json} END`;
}

/** Decimals without a digit before the point, which are invalid JSON; not within quotes. */
const QUOTED_OR_DECIMAL = /"(?:[^"]|"")*"|DECIMAL\((\d+),(\d+)\)/g;
