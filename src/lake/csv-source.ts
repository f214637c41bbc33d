import { open, rename, stat, unlink } from "node:fs/promises";
import { AppError } from "../base/errors.ts";
import type { SqlSession } from "../sql/contract.ts";
import { quoteList, quoteText } from "../sql/text.ts";
import { readHead } from "./csv-head.ts";
import { oneLineEnd, recordsOf, withoutComments } from "./csv-records.ts";
import type { CsvStyle } from "./csv-style.ts";

/** A CSV file in UTF-8 as DuckDB is to read it, every column a text. */
export interface CsvSource {
  /** Names of the columns as they stand in the file; `column_1` … where there is no header, or a name is missing. */
  names: string[];
  /** The table function; its columns are `c0`, `c1` …. */
  relation(more?: string): string;
}

/** DuckDB's own limit for a record; longer ones have to be announced. */
const USUAL_RECORD_BYTES = 1_900_000;
/** A value of half a gigabyte is the most that DuckDB holds. */
const MAX_RECORD_BYTES = 512 * 1024 * 1024;

/**
 * Looks at a CSV file: its delimiter, the names of its columns, and how long its records are. Null for a file without a
 * line. Throws `sql_error` for a quoted field that does not end, and for a record that is too long.
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
  // DuckDB says nothing of a last record that its buffer does not hold, and leaves it out.
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
 * Runs `work` over a file, and again where its lines end in several ways, or a record is long: both are mended once
 * they are met, since most files have neither.
 */
export async function withCsv<T>(
  path: string,
  given: CsvStyle,
  work: (source: CsvSource) => Promise<T>,
): Promise<T | null> {
  const style = await withOwnComments(path, given);
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

/** The style, without comments where the file has been freed of them: DuckDB also ends a value where it finds the sign. */
async function withOwnComments(path: string, style: CsvStyle): Promise<CsvStyle> {
  const { comment = "" } = style;
  if (comment === "") return style;
  const plain = `${path}.plain`;
  const hasOthers = await withoutComments(path, plain, comment, style);
  if (!hasOthers) await unlink(plain);
  else await rename(plain, path);
  return hasOthers ? { ...style, comment: "" } : style;
}

/** Bytes of the last record, or one more than usual where they are not known. */
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

/** True where a statement over all columns of the relation finds no fault. */
export const sampleRows = async (session: SqlSession, relation: string, rows: number): Promise<void> => {
  await session.run(`CREATE OR REPLACE TEMP TABLE weir_sample AS SELECT * FROM ${relation} LIMIT ${rows}`);
};
