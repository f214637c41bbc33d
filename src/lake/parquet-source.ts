import { AppError } from "../base/errors.ts";
import type { SqlSession } from "../sql/contract.ts";
import { parquet, quoteName, quoteText } from "../sql/text.ts";
import { storedType, typeName } from "./stored-types.ts";

/** A column of a Parquet file, and what the lake keeps of it. */
export interface ParquetColumn {
  name: string;
  /** The type that it is kept in. */
  type: string;
  /** Its values in that type. */
  sql: string;
}

/** Finds the columns of a Parquet file. Throws `sql_error` for those that DuckDB would read wrong. */
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
    const stored = type !== NANOSECONDS ? storedType(type) : fine.has(name) ? "VARCHAR" : "TIMESTAMP";
    return { name, type: stored, sql: castTo(stored, type, quoteName(name)) };
  });
}

const NANOSECONDS = "TIMESTAMP_NS";

/** Columns with instants that a column of microseconds would change. */
async function withNanoseconds(
  session: SqlSession,
  relation: string,
  columns: readonly { name: string; type: string }[],
): Promise<Set<string>> {
  const fine = columns.filter(({ type }) => type === NANOSECONDS);
  if (fine.length === 0) return new Set();
  const asked = fine.map(({ name }, at) => `bool_or(epoch_ns(${quoteName(name)}) % 1000 <> 0) AS n${at}`);
  const [row = {}] = await session.run(`SELECT ${asked.join(", ")} FROM ${relation}`);
  return new Set(fine.filter((_, at) => row[`n${at}`] === true).map(({ name }) => name));
}

function castTo(stored: string, type: string, value: string): string {
  if (stored === type) return value;
  return stored === "JSON" ? `to_json(${value})` : `CAST(${value} AS ${stored})`;
}
