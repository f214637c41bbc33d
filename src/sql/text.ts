import type { Column } from "./contract.ts";

/** `name` as a quoted SQL identifier. */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** `text` as a SQL string literal. */
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** Strings as a SQL list, for `read_parquet` and settings. */
export const quoteList = (texts: readonly string[]): string => `[${texts.map(quoteText).join(", ")}]`;

/** Less than a row group, so that each row group has its own file. */
const PASSING_FILE_BYTES = 64 * 1024;

/** Approximate maximum size of a Parquet file. */
const FILE_BYTES = 256 * 1024 * 1024;

interface ScanOptions {
  /** Adds a column of this name with the path of each row's file. */
  pathColumn?: string;
}

/**
 * A SELECT that returns exactly `columns`, in their order and types, from Parquet files that may be older than the
 * columns: missing ones are NULL, additional ones are omitted. Without files there are no rows.
 */
export function scanOf(
  files: readonly string[],
  columns: readonly Column[],
  options: ScanOptions = {},
): string {
  const { pathColumn } = options;
  const typed = columns.map((c) => `CAST(NULL AS ${c.dataType}) AS ${quoteName(c.name)}`);
  const wanted = columns.map((c) => `CAST(${quoteName(c.name)} AS ${c.dataType}) AS ${quoteName(c.name)}`);
  if (pathColumn) {
    typed.push(`CAST(NULL AS VARCHAR) AS ${quoteName(pathColumn)}`);
    wanted.push(quoteName(pathColumn));
  }
  if (files.length === 0) return `SELECT ${typed.join(", ")} WHERE false`;
  // The first half has no rows; it declares columns that no file has.
  return `SELECT ${wanted.join(", ")} FROM (SELECT ${typed.join(", ")} WHERE false UNION ALL BY NAME SELECT * FROM ${parquet(files, pathColumn)})`;
}

/** The table function that reads `files` unchanged. */
export function parquet(files: readonly string[], pathColumn?: string): string {
  const named = pathColumn ? `, filename = ${quoteText(pathColumn)}` : "";
  return `read_parquet(${quoteList(files)}, union_by_name = true, hive_partitioning = false${named})`;
}

export interface Layout {
  partitionBy?: readonly string[];
  isPassing?: boolean;
  isQuick?: boolean;
}

/**
 * Weir's own COPY of `select` to the folder `into`, which returns a row for each file: `filename`, `count`,
 * `file_size_bytes`. With `partitionBy` a file has rows of one value only; with `isPassing` files are small, and
 * written in half the time. With `isQuick` files are compressed less: compaction rewrites small ones anyway.
 */
export function copyInto(
  select: string,
  into: string,
  { partitionBy = [], isPassing = false, isQuick = false }: Layout = {},
): string {
  const layout =
    partitionBy.length > 0
      ? // NULL and the text __HIVE_DEFAULT_PARTITION__ have the same folder: without an ID, their files would be one
        `PARTITION_BY (${partitionBy.map(quoteName).join(", ")}), WRITE_PARTITION_COLUMNS true, FILENAME_PATTERN '{uuid}'`
      : `FILE_SIZE_BYTES ${isPassing ? PASSING_FILE_BYTES : FILE_BYTES}`;
  const level = isQuick ? ", COMPRESSION_LEVEL 1" : "";
  const speed = isPassing ? "COMPRESSION lz4, DICTIONARY_SIZE_LIMIT 1" : `COMPRESSION zstd${level}`;
  // The line break ends a comment at the end of the SELECT.
  return `COPY (${select}\n) TO ${quoteText(into)} (FORMAT parquet, ${speed}, RETURN_STATS true, ${layout})`;
}

/** SQL that lists tables or computes their names. */
const ASKS_FOR_ALL = /information_schema|duckdb_|sqlite_|pg_|\bshow\b|query_table|\bquery\s*\(/;

/**
 * Whether SQL may mention a table of a given name; false positives are fine. Only such tables are prepared for it, so
 * that organizations can have many.
 */
export function namesIn(sql: string): (name: string) => boolean {
  const text = sql.toLowerCase();
  return ASKS_FOR_ALL.test(text) ? () => true : (name) => text.includes(name.toLowerCase());
}

/** One statement without its trailing semicolon, for use inside another. */
export const withoutEnd = (sql: string): string => sql.replace(/;\s*$/, "");

const STRING = String.raw`"(?:[^"\\]|\\.)*"`;
const REALS = ["NaN", "Infinity", "-Infinity"].map(quoteText).join();

/**
 * DuckDB writes NaN and infinity to JSON as bare words, which isn't valid JSON. Returns the SQL condition for JSON text
 * with such words, and the SQL of the text with the words in quotes.
 */
export function quoteReals(text: string): { where: string; quoted: string } {
  const where = `regexp_matches(${text}, ${quoteText(`(?s)^(?:${STRING}|[^"NI])*(?:NaN|Infinity)`)})`;
  const tokens = `regexp_extract_all(${text}, ${quoteText(`(?s)${STRING}|-?(?:NaN|Infinity)|[^"NI-]+|.`)})`;
  const words = `list_transform(${tokens}, lambda t: CASE WHEN t IN (${REALS}) THEN '"' || t || '"' ELSE t END)`;
  return { where, quoted: `array_to_string(${words}, '')` };
}
