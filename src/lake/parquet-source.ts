import { AppError } from "../base/errors.ts";
import type { SqlSession } from "../sql/contract.ts";
import { parquet, quoteName, quoteReals, quoteText } from "../sql/text.ts";
import { storedType, typeName } from "./stored-types.ts";

/** A column of a Parquet file, and how the lake stores it. */
export interface ParquetColumn {
  name: string;
  /** The type it is stored in. */
  type: string;
  /** SQL of its values in that type. */
  sql: string;
  /** SQL condition for values that change when stored, and their text. Null if none do. */
  odd: { what: string; where: string; text: string } | null;
}

/** Finds the columns of a Parquet file. Throws `sql_error` for those that DuckDB would misread. */
export async function parquetColumns(session: SqlSession, path: string): Promise<ParquetColumn[]> {
  const wide = await session.run(
    `SELECT name FROM parquet_schema(${quoteText(path)}) WHERE converted_type = 'DECIMAL' AND precision > 38`,
  );
  if (wide.length > 0) {
    const names = wide.map((row) => String(row.name)).join(", ");
    throw new AppError(
      "sql_error",
      `decimals of more than 38 digits can't be read exactly (${names}). Choose other columns, or write them as text at the source.`,
    );
  }
  const relation = parquet([path]);
  const columns = (await session.run(`DESCRIBE SELECT * FROM ${relation}`)).map((row) => ({
    name: String(row.column_name),
    type: typeName(String(row.column_type)),
  }));
  const fine = await withNanoseconds(session, relation, columns);
  return columns.map(({ name, type }) => {
    const stored = !isNanos(type)
      ? storedType(type)
      : type.replace(NANOSECONDS, fine.has(name) ? "VARCHAR" : "TIMESTAMP");
    const value = quoteName(name);
    const isJson = stored === "JSON" && type !== "JSON";
    if (isJson && /\b(?:FLOAT|DOUBLE)\b/.test(type)) return { name, type: stored, ...jsonWithReals(value) };
    const sql = stored === type ? value : isJson ? `to_json(${value})` : `CAST(${value} AS ${stored})`;
    return { name, type: stored, sql, odd: null };
  });
}

const NANOSECONDS = "TIMESTAMP_NS";
const isNanos = (type: string): boolean => type === NANOSECONDS || type === `${NANOSECONDS}[]`;

/** Columns with timestamps that microsecond precision would change. */
async function withNanoseconds(
  session: SqlSession,
  relation: string,
  columns: readonly { name: string; type: string }[],
): Promise<Set<string>> {
  const fine = columns.filter(({ type }) => isNanos(type));
  if (fine.length === 0) return new Set();
  const checks = fine.map(({ name, type }, at) => {
    const value = quoteName(name);
    const isFine = type.endsWith("[]")
      ? `len(list_filter(${value}, lambda t: epoch_ns(t) % 1000 <> 0)) > 0`
      : `epoch_ns(${value}) % 1000 <> 0`;
    return `bool_or(${isFine}) AS n${at}`;
  });
  const [row = {}] = await session.run(`SELECT ${checks.join(", ")} FROM ${relation}`);
  return new Set(fine.filter((_, at) => row[`n${at}`] === true).map(({ name }) => name));
}

function jsonWithReals(value: string): Pick<ParquetColumn, "sql" | "odd"> {
  const text = `CAST(to_json(${value}) AS VARCHAR)`;
  const { where, quoted } = quoteReals(text);
  const sql = `CASE WHEN ${where} THEN CAST(${quoted} AS JSON) ELSE to_json(${value}) END`;
  return { sql, odd: { what: "became texts within JSON: NaN and infinities", where, text } };
}
