import { isUtf8 } from "node:buffer";
import { open } from "node:fs/promises";
import { AppError } from "../base/errors.ts";
import type { CsvStyle } from "./csv-style.ts";

/** A first line longer than this isn't a header. */
const MAX_HEAD_BYTES = 4 * 1024 * 1024;

const DELIMITERS = [",", ";", "\t", "|"] as const;

/** The first record of CSV text in UTF-8, and the delimiter of its fields. */
export interface CsvHead {
  delimiter: string;
  fields: string[];
}

/**
 * Reads the first record after the skipped lines. Unless the style names the delimiter, it is the most frequent of
 * the four candidates: DuckDB's own detection skips lines that don't match. Throws `sql_error` for a file without
 * lines, for a quoted field that doesn't end, and for names that aren't UTF-8. Otherwise DuckDB, which checks only the
 * rows, would read such columns under other names.
 */
export async function readHead(
  path: string,
  { delimiter, quote = '"', header = true, skipRows = 0, comment = "" }: CsvStyle = {},
): Promise<CsvHead> {
  const text = (await beginning(path)).toString("latin1"); // a character for each byte
  const found = recordOf(text, { quote: bytewise(quote), skipRows, comment: bytewise(comment) });
  if (found === null) {
    throw new AppError("sql_error", "The file can't be read as CSV, line 1: a quoted value doesn't end.");
  }
  const bytes = Buffer.from(text.slice(found.start, found.end), "latin1");
  if (header && !isUtf8(bytes)) {
    const line = text.slice(0, found.start).split(/\r\n|\n|\r/).length;
    throw new AppError("sql_error", `CSV Error on Line: ${line}\nThe names of columns are not utf-8.`);
  }
  const record = bytes.toString("utf8");
  if (record.trim() === "")
    throw new AppError("sql_error", "The file has no line with the names of columns.");
  const best =
    delimiter ??
    DELIMITERS.map((each) => ({ each, count: fieldsOf(record, each, quote).length })).sort(
      (a, b) => b.count - a.count,
    )[0]?.each;
  return { delimiter: best ?? ",", fields: fieldsOf(record, best ?? ",", quote) };
}

/** Excel writes a first line that names the delimiter, which isn't a record. Returns the style for what follows it. */
export async function withSeparator(path: string, style: CsvStyle): Promise<CsvStyle> {
  if ((style.skipRows ?? 0) > 0) return style;
  const [, delimiter] = SEPARATOR.exec((await beginning(path, SEPARATOR_BYTES)).toString("utf8")) ?? [];
  return delimiter === undefined ? style : { delimiter, ...style, skipRows: 1 };
}

const SEPARATOR = /^\ufeff?"?sep=(.)"?(?:\r|\n)/i;
const SEPARATOR_BYTES = 16;

async function beginning(path: string, bytes = MAX_HEAD_BYTES): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

const bytewise = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

const BYTE_ORDER_MARK = bytewise("\ufeff");

/**
 * Returns where the first record after the skipped lines starts and ends, or null if a quote stays open. The text has
 * a character for each byte.
 */
function recordOf(
  text: string,
  { quote, skipRows, comment }: { quote: string; skipRows: number; comment: string },
): { start: number; end: number } | null {
  let from = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  for (let passed = 0; ; passed++) {
    const isComment = comment !== "" && text.startsWith(comment, from);
    if (passed >= skipRows && !isComment) break;
    const [end] = /\r\n|\n|\r|$/.exec(text.slice(from)) ?? [""];
    const length = text.slice(from).search(/\r\n|\n|\r|$/) + end.length;
    if (length === 0) return { start: from, end: from };
    from += length;
  }
  let isQuoted = false;
  for (let at = from; at < text.length; at++) {
    const sign = text[at];
    if (quote !== "" && text.startsWith(quote, at)) isQuoted = !isQuoted;
    else if (!isQuoted && (sign === "\n" || sign === "\r")) return { start: from, end: at };
  }
  return isQuoted ? null : { start: from, end: text.length };
}

function fieldsOf(record: string, delimiter: string, quote: string): string[] {
  const fields: string[] = [];
  let isQuoted = false;
  let start = 0;
  for (let at = 0; at < record.length; at++) {
    if (record[at] === quote) isQuoted = !isQuoted;
    if (isQuoted || !record.startsWith(delimiter, at)) continue;
    fields.push(plain(record.slice(start, at), quote));
    start = at + delimiter.length;
    at = start - 1;
  }
  return [...fields, plain(record.slice(start), quote)];
}

function plain(field: string, quote: string): string {
  const text = field.trim();
  const isQuoted = quote !== "" && text.length > 1 && text.startsWith(quote) && text.endsWith(quote);
  return isQuoted ? text.slice(1, -1).replaceAll(quote + quote, quote) : text;
}

const [QUOTE, LINE_FEED, RETURN] = [0x22, 0x0a, 0x0d];
const READ_BYTES = 256 * 1024;

/**
 * Throws `sql_error` for a record of more than `maxBytes`. DuckDB silently drops the last record if it doesn't fit
 * its buffer.
 */
export async function refuseLongRecords(path: string, delimiter: string, maxBytes: number): Promise<void> {
  const scan = recordScanner(delimiter.charCodeAt(0), maxBytes);
  const buffer = new Uint8Array(READ_BYTES); // reused for all reads: chunks of a stream stay in memory until they are collected
  await using file = await open(path, "r");
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, READ_BYTES);
    if (bytesRead === 0) return;
    const record = scan(buffer, bytesRead);
    if (record === null) continue;
    const megabytes = Math.floor(maxBytes / 1024 ** 2);
    throw new AppError(
      "sql_error",
      `The file can't be read as CSV: record ${record} is longer than ${megabytes} MiB.`,
    );
  }
}

/** Returns a function that takes the file in chunks and returns the number of a record that is too long, or null. */
function recordScanner(comma: number, maxBytes: number) {
  let state = { isQuoted: false, mayOpen: true, before: LINE_FEED, length: 0, record: 1 };
  return (bytes: Uint8Array, end: number): number | null => {
    let { isQuoted, mayOpen, before, length, record } = state; // locals are twice as fast as variables of the closure
    for (let at = 0; at < end; at++) {
      const byte = bytes[at] as number;
      length++;
      if (byte === QUOTE) {
        // A quote opens a value only at its start, or right after a closing quote (doubled). Elsewhere it is an
        // ordinary character.
        const wasQuoted = isQuoted;
        isQuoted = !isQuoted && mayOpen;
        mayOpen = wasQuoted;
      } else {
        const isBreak = byte === LINE_FEED || byte === RETURN;
        mayOpen = isBreak || byte === comma;
        if (isBreak && !isQuoted) {
          length = 0;
          if (byte === RETURN || before !== RETURN) record++;
        }
      }
      before = byte;
      if (length > maxBytes) return record;
    }
    state = { isQuoted, mayOpen, before, length, record };
    return null;
  };
}
