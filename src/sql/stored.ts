import { AppError } from "../base/errors.ts";
import type { Column } from "./contract.ts";
import { quoteText } from "./text.ts";

/** What the types of columns have to hold, as far as earlier attempts to write the rows have shown. */
export interface Fit {
  /** Parquet has no HUGEINT, which is the type of a sum: it is stored as `whole`, where DuckDB would take a DOUBLE. */
  whole: "BIGINT" | "DECIMAL(38,0)";
  /** Positions of columns of nanoseconds with instants that no microsecond is equal to. */
  fine: readonly number[];
}

/** Returns what to write the rows as after an attempt has failed with `message`; null if other types don't help. */
export function widerFit(fit: Fit, columns: readonly Column[], message: string): Fit | null {
  if (
    fit.whole === "BIGINT" &&
    /INT128/.test(message) &&
    columns.some(({ dataType }) => dataType === "HUGEINT")
  )
    return { ...fit, whole: "DECIMAL(38,0)" };
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

/** The type to store where Parquet has none of the kind. */
export function storedType(type: string, whole: string): string {
  if (type === "HUGEINT" || type === "UHUGEINT") return whole;
  if (type.includes("NULL")) return "INTEGER"; // SELECT NULL
  if (/^(ENUM\(.*|UNION\(.*|BIT|BIGNUM|TIME WITH TIME ZONE|TIME_NS)$/s.test(type)) return "VARCHAR";
  return type.replaceAll(QUOTED_OR_LENGTH, (found) => (found.startsWith("[") ? "[]" : found));
}

/** Types within others that Parquet changes. */
const CHANGED_WITHIN = /\b(HUGEINT|UHUGEINT|BIGNUM|BIT|INTERVAL|TIME WITH TIME ZONE|TIME_NS|UNION)\b/;

export function exactType(name: string, type: string, whole: string): string {
  if (type === "INTERVAL") return "VARCHAR";
  const inner = /[[(]/.test(type)
    ? CHANGED_WITHIN.exec(type.replaceAll(QUOTED_OR_LENGTH, ""))?.[1]
    : undefined;
  if (inner === undefined || /^(ENUM|UNION)\(/.test(type)) return storedType(type, whole);
  throw new AppError(
    "sql_error",
    `The column "${name}" is ${type}, whose ${inner} would not arrive as it is. Cast it.`,
  );
}

/** The length of a list: where a list of one length is NULL, other readers of Parquet lose the rows behind it. */
const QUOTED_OR_LENGTH = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\[\d+\]/g;
