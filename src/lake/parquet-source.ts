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
  odd: { what: string; where: string; text: string; isLost: boolean } | null;
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
  const fine = await columnsWith(session, relation, columns.filter(isNanos), hasNanoseconds);
  const outside = await columnsWith(session, relation, columns.filter(isDated), isOutside);
  return columns.map((column) => {
    const value = quoteName(column.name);
    const stored = storedAs(column, fine, outside);
    if (outside.has(column.name) && isScalar(stored)) return { name: column.name, ...dated(column, stored) };
    const isJson = stored === "JSON" && column.type !== "JSON";
    if (isJson && /\b(?:FLOAT|DOUBLE)\b/.test(column.type))
      return { name: column.name, type: stored, ...jsonWithReals(value) };
    const sql = stored === column.type ? value : isJson ? `to_json(${value})` : `CAST(${value} AS ${stored})`;
    return { name: column.name, type: stored, sql, odd: null };
  });
}

/** Says which values the lake can't store, for readers that can't report them. Null if it stores all. */
export function lossOf(columns: readonly ParquetColumn[]): string | null {
  const lost = columns.filter(({ odd }) => odd?.isLost).map(({ name }) => name);
  return lost.length === 0
    ? null
    : `has values that the lake doesn't store: ${NOT_STORED} in ${lost.join(", ")}.`;
}

interface FileColumn {
  name: string;
  type: string;
}

const NANOSECONDS = "TIMESTAMP_NS";
const isNanos = ({ type }: FileColumn): boolean => type === NANOSECONDS || type === `${NANOSECONDS}[]`;
const isDated = ({ type }: FileColumn): boolean =>
  /^(?:DATE|TIMESTAMP|TIMESTAMP_NS|TIMESTAMP WITH TIME ZONE)(?:\[\])?$/.test(type);
const isScalar = (type: string): boolean => type !== "VARCHAR" && type !== "JSON";

function storedAs(
  { name, type }: FileColumn,
  fine: ReadonlySet<string>,
  outside: ReadonlySet<string>,
): string {
  if (isNanos({ name, type }) && fine.has(name)) return type.replace(NANOSECONDS, "VARCHAR");
  if (type.endsWith("[]") && outside.has(name)) return "JSON";
  return isNanos({ name, type }) ? type.replace(NANOSECONDS, "TIMESTAMP") : storedType(type);
}

/** The names of the columns that a condition of all their values is true for. */
async function columnsWith(
  session: SqlSession,
  relation: string,
  columns: readonly FileColumn[],
  condition: (value: string, type: string) => string,
): Promise<Set<string>> {
  if (columns.length === 0) return new Set();
  const checks = columns.map(({ name, type }, at) => `${condition(quoteName(name), type)} AS n${at}`);
  const [row = {}] = await session.run(`SELECT ${checks.join(", ")} FROM ${relation}`);
  return new Set(columns.filter((_, at) => row[`n${at}`] === true).map(({ name }) => name));
}

/** Whether microsecond precision would change a value. */
function hasNanoseconds(value: string, type: string): string {
  const isFine = (one: string) => `isfinite(${one}) AND epoch_ns(${one}) % 1000 <> 0`;
  return type.endsWith("[]")
    ? `bool_or(len(list_filter(${value}, lambda t: ${isFine("t")})) > 0)`
    : `bool_or(${isFine(value)})`;
}

const NOT_STORED = "dates that are infinite or before the year 1";

/** Whether a value isn't a finite date from the year 1 on. Files have the least and the greatest in their statistics. */
function isOutside(value: string, type: string): string {
  const element = type.replace("[]", "");
  if (type === element)
    return `NOT (${isStored(`min(${value})`, element)} AND ${isStored(`max(${value})`, element)})`;
  return `bool_or(len(list_filter(${value}, lambda t: NOT ${isStored("t", element)})) > 0)`;
}

function isStored(value: string, type: string): string {
  if (type === NANOSECONDS) return `isfinite(${value})`; // none is before the year 1677
  const first =
    type === "TIMESTAMP WITH TIME ZONE" ? "TIMESTAMPTZ '0001-01-01 00:00:00+00'" : "DATE '0001-01-01'";
  return `(isfinite(${value}) AND ${value} >= ${first})`;
}

/** A column with dates that other readers of Parquet misread: they become NULL. */
function dated({ name, type }: FileColumn, stored: string): Omit<ParquetColumn, "name"> {
  const value = quoteName(name);
  const isFine = isStored(value, type);
  const sql = `CASE WHEN ${isFine} THEN ${stored === type ? value : `CAST(${value} AS ${stored})`} END`;
  const odd = { what: `became NULL: ${NOT_STORED}`, where: `NOT ${isFine}`, isLost: true };
  return { type: stored, sql, odd: { ...odd, text: `CAST(${value} AS VARCHAR)` } };
}

function jsonWithReals(value: string): Pick<ParquetColumn, "sql" | "odd"> {
  const text = `CAST(to_json(${value}) AS VARCHAR)`;
  const { where, quoted } = quoteReals(text);
  const sql = `CASE WHEN ${where} THEN CAST(${quoted} AS JSON) ELSE to_json(${value}) END`;
  return { sql, odd: { what: "became texts within JSON: NaN and infinities", where, text, isLost: false } };
}
