import { AppError } from "../base/errors.ts";
import type { Column } from "./contract.ts";
import { quoteText } from "./text.ts";

/**
 * The types to write a column in, each to be tried where values don't fit the one before; the last one holds them all.
 * Parquet has no HUGEINT, which is the type of a sum, and DuckDB would make it a DOUBLE; Iceberg has no nanoseconds and no
 * unsigned integers of 32 and 64 bits, which stay where the rows are of no table. A type that `table` already has the column
 * in comes first.
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

/** As `storedTypes`, in a file that is no table's. */
export const fileTypes = (column: Column): string[] => [
  ...new Set(WHOLE.slice(2).map((whole) => storedType(column, whole))),
];

/** What integers of 128 bits may be stored as; a DOUBLE only if the table has it, as tables of earlier versions do. */
const WHOLE = ["DOUBLE", "BIGINT", "DECIMAL(38,0)", "VARCHAR"];

const isNanos = (type: string): boolean => type === "TIMESTAMP_NS" || type === "TIMESTAMP_NS[]";

/** The type without what Iceberg lacks, also within others: it would read unsigned integers of 64 bits as negative ones. */
const inIceberg = (type: string): string =>
  type.replaceAll(
    /"(?:[^"]|"")*"|'(?:[^']|'')*'|\b(?:UINTEGER|UBIGINT|TIMESTAMP_NS)\b/g,
    (found) => ICEBERG[found] ?? found,
  );

/** Nanoseconds are texts here: those that are not within another type are told apart by their values. */
const ICEBERG: Readonly<Record<string, string>> = {
  UINTEGER: "BIGINT",
  UBIGINT: "DECIMAL(20,0)",
  TIMESTAMP_NS: "VARCHAR",
};

/** Returns the types to try after an attempt with the first ones has failed with `message`; null if none help. */
export function widerTypes(types: readonly string[][], message: string): string[][] | null {
  const at = Number(CHANGED_VALUES.exec(message)?.[1] ?? -1);
  if ((types[at]?.length ?? 0) < 2) return null;
  return types.map((some, index) => (index === at ? some.slice(1) : some));
}

const CHANGED_VALUES = /changed values in column (\d+)/;

/** The SQL of the column `c…` as the first of `types`. Fails for a value that it would change if there are others. */
export function castOf(at: number, from: string, [to = from, ...others]: readonly string[]): string {
  if (from === to) return `c${at}`;
  if (others.length === 0) return `CAST(c${at} AS ${to})`;
  const cast = `TRY_CAST(c${at} AS ${to})`;
  const isChanged = `TRY_CAST(${cast} AS ${from}) IS DISTINCT FROM c${at}`;
  return `CASE WHEN ${isChanged} THEN error(${quoteText(`changed values in column ${at}`)}) ELSE ${cast} END`;
}

/**
 * The type to store where Parquet has none of the kind or would change values, also within others: it has no integers of
 * 128 bits, no zone of a time, and whole milliseconds of an interval.
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
        `The column "${name}" is ${dataType}, whose UNION would not arrive as it is. Cast it.`,
      );
    return found.endsWith("HUGEINT") ? whole : "VARCHAR";
  });
}

const IS_NULL = /^"?(SQL)?NULL"?$/;

/**
 * What Parquet changes, and what is quoted, which is none of it. Lists lose their length: where one of a fixed length is
 * NULL, other readers of Parquet lose the rows behind it.
 */
const CHANGED =
  /"(?:[^"]|"")*"|'(?:[^']|'')*'|\[\d+\]|\b(?:U?HUGEINT|BIGNUM|BIT|INTERVAL|TIME WITH TIME ZONE|TIME_NS|UNION)\b/g;
