import { AppError } from "../base/errors.ts";
import type { Column } from "./contract.ts";
import { quoteText } from "./text.ts";

/** What the types of columns have to hold, as far as earlier attempts to write the rows have shown. */
export interface Fit {
  /** Parquet has no HUGEINT, which is the type of a sum: it is stored as `whole`, where DuckDB would take a DOUBLE. */
  whole: "BIGINT" | "DECIMAL(38,0)" | "VARCHAR";
  /** Positions of columns of nanoseconds with instants that no microsecond is equal to. */
  fine: readonly number[];
}

/** Returns what to write the rows as after an attempt has failed with `message`; null if other types don't help. */
export function widerFit(fit: Fit, columns: readonly Column[], message: string): Fit | null {
  const isTooGreat =
    /INT128|to DECIMAL\(38,0\)/.test(message) && columns.some(({ dataType }) => dataType.includes("HUGEINT"));
  if (isTooGreat && fit.whole === "BIGINT") return { ...fit, whole: "DECIMAL(38,0)" };
  if (isTooGreat && fit.whole === "DECIMAL(38,0)") return { ...fit, whole: "VARCHAR" };
  const at = Number(FINER.exec(message)?.[1] ?? -1);
  if (fit.fine.includes(at) || !isNanos(columns[at]?.dataType ?? "")) return null;
  return { ...fit, fine: [...fit.fine, at] };
}

const FINER = /nanoseconds in column (\d+)/;
const isNanos = (type: string): boolean => type === "TIMESTAMP_NS" || type === "TIMESTAMP_NS[]";

/**
 * The type of a column of nanoseconds, which Iceberg lacks: the one that the table already has it in, else
 * microseconds, or text if a value has more digits. Null for other columns, and for rows of no table.
 */
export function instantType(
  { name, dataType }: Column,
  table: readonly Column[] | null,
  isFine: boolean,
): string | null {
  if (table === null || !isNanos(dataType)) return null;
  const text = dataType.replace("TIMESTAMP_NS", "VARCHAR");
  const known = table.find((column) => column.name.toLowerCase() === name.toLowerCase())?.dataType;
  if (isFine || known === text) return text;
  return known === dataType ? dataType : dataType.replace("TIMESTAMP_NS", "TIMESTAMP");
}

/** The SQL of the column `c…` as `to`. Fails for an instant that microseconds would change. */
export function castOf(at: number, from: string, to: string): string {
  if (from === to) return `c${at}`;
  const cast = `CAST(c${at} AS ${to})`;
  if (!isNanos(from) || !to.startsWith("TIMESTAMP")) return cast;
  const isChanged = `CAST(${cast} AS ${from}) IS DISTINCT FROM c${at}`;
  return `CASE WHEN ${isChanged} THEN error(${quoteText(`nanoseconds in column ${at}`)}) ELSE ${cast} END`;
}

/**
 * The type to store where Parquet has none of the kind or would change values, also within others: it has no integers of
 * 128 bits, no zone of a time, and whole milliseconds of an interval.
 */
export function storedType({ name, dataType }: Pick<Column, "name" | "dataType">, whole: string): string {
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
