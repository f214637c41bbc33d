import { open, rename, stat, unlink } from "node:fs/promises";
import { AppError } from "../base/errors.ts";
import type { SqlSession } from "../sql/contract.ts";
import { quoteList, quoteText } from "../sql/text.ts";
import { readHead, withSeparator } from "./csv-head.ts";
import { oneLineEnd, recordsOf, withoutComments } from "./csv-records.ts";
import type { CsvStyle } from "./csv-style.ts";

/** A CSV file in UTF-8 as DuckDB reads it, with all columns as text. */
export interface CsvSource {
  /** Column names from the file, or `column_1` … if there is no header or a name is missing. */
  names: string[];
  /** The table function. Its columns are `c0`, `c1` …. */
  relation(more?: string): string;
}

/** DuckDB's default limit for a record. Longer records need an explicit limit. */
const USUAL_RECORD_BYTES = 1_900_000;
/** DuckDB's values are limited to half a gigabyte. */
const MAX_RECORD_BYTES = 512 * 1024 * 1024;

/**
 * Inspects a CSV file: delimiter, column names and record lengths. Returns null for a file without lines. Throws
 * `sql_error` for a quoted field that doesn't end, and for a record that is too long.
 */
async function csvSource(path: string, style: CsvStyle): Promise<CsvSource | null> {
  if ((await stat(path)).size === 0) return null;
  const { quote = '"', header = true, skipRows = 0, comment = "", nullText } = style;
  const { delimiter, fields } = await readHead(path, style);
  const names = fields.map((field, at) => (header && field !== "" ? field : `column_${at + 1}`));
  const columns = names.map((_, at) => `c${at}: 'VARCHAR'`).join(", ");
  const options = [
    `auto_detect = false, columns = {${columns}}, delim = ${quoteText(delimiter)}, quote = ${quoteText(quote)}, escape = ${quoteText(quote)}`,
    `header = ${header}, skip = ${skipRows}, comment = ${quoteText(comment)}, strict_mode = true`,
    `nullstr = ${quoteList(["", ...(nullText ?? [])])}, allow_quoted_nulls = ${nullText === undefined}`,
  ].join(", ");
  let size = "";
  // DuckDB silently drops the last record if it doesn't fit its buffer.
  if ((await lastRecordBytes(path, quote)) > USUAL_RECORD_BYTES) size = await sizeFor(path, quote);
  return {
    names,
    relation: (more = "") => `read_csv(${quoteText(path)}, ${options}${size}${more})`,
  };
}

async function sizeFor(path: string, quote: string): Promise<string> {
  const { longest } = await recordsOf(path, quote);
  if (longest > MAX_RECORD_BYTES) {
    throw new AppError(
      "sql_error",
      `a record is longer than ${MAX_RECORD_BYTES / 1024 ** 2} MiB. Is a quote missing that should end a value?`,
    );
  }
  return `, max_line_size = ${longest + 1024}, buffer_size = ${longest + 2048}`;
}

/**
 * Runs `work` over a file, and again after fixing mixed line breaks or raising the limit for long records. Both are
 * rare, so they are handled only when they occur.
 */
export async function withCsv<T>(
  path: string,
  declaredStyle: CsvStyle,
  work: (source: CsvSource) => Promise<T>,
): Promise<T | null> {
  const style = await withOwnComments(path, await withSeparator(path, declaredStyle));
  const source = await csvSource(path, style);
  if (!source) return null;
  try {
    return await work(source);
  } catch (error) {
    const message = error instanceof AppError && error.code === "sql_error" ? error.message : "";
    if (/maximum line size|max_line_size/i.test(message)) {
      const size = await sizeFor(path, style.quote ?? '"');
      return work({ ...source, relation: (more = "") => source.relation(`${size}${more}`) });
    }
    if (/CSV Error|state machine reached an invalid state/.test(message)) {
      const even = `${path}.lines`;
      if (!(await oneLineEnd(path, even, style.quote ?? '"'))) throw error;
      await rename(even, path);
      const mended = await csvSource(path, style);
      return mended && (await work(mended));
    }
    throw error;
  }
}

/** The style without `comment` if comments were already removed: DuckDB also ends a value at that character. */
async function withOwnComments(path: string, style: CsvStyle): Promise<CsvStyle> {
  const { comment = "" } = style;
  if (comment === "") return style;
  const plain = `${path}.plain`;
  const hasOthers = await withoutComments(path, plain, comment, style);
  if (!hasOthers) await unlink(plain);
  else await rename(plain, path);
  return hasOthers ? { ...style, comment: "" } : style;
}

/** Length of the last record in bytes, or one more than usual if unknown. */
async function lastRecordBytes(path: string, quote: string): Promise<number> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const length = Math.min(size, USUAL_RECORD_BYTES + 1);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const sign = quote === "" ? -1 : quote.charCodeAt(0);
    let isQuoted = false;
    for (let at = length - 1; at >= 0; at--) {
      const byte = buffer[at];
      if (byte === sign) isQuoted = !isQuoted;
      else if (!isQuoted && (byte === 0x0a || byte === 0x0d) && at < length - 2) return length - at;
    }
    return length;
  } finally {
    await file.close();
  }
}

/** Copies the first rows of a relation to the temporary table `weir_sample`. */
export const sampleRows = async (session: SqlSession, relation: string, rows: number): Promise<void> => {
  await session.run(`CREATE OR REPLACE TEMP TABLE weir_sample AS SELECT * FROM ${relation} LIMIT ${rows}`);
};
