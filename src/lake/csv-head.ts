import { open } from "node:fs/promises";
import { AppError } from "../base/errors.ts";
import type { CsvStyle } from "./csv-style.ts";

/** Longer first lines are no headers. */
const MAX_HEAD_BYTES = 4 * 1024 * 1024;

const DELIMITERS = [",", ";", "\t", "|"] as const;

/** The first record of CSV text in UTF-8, and what its fields are parted by. */
export interface CsvHead {
  delimiter: string;
  fields: string[];
}

/**
 * Reads the first record behind what is passed over. The delimiter is that of the four which parts it most often, unless
 * the style says another; DuckDB's own guess passes over lines that don't fit it. Throws `sql_error` for a file without a
 * line, and for a quoted field that does not end.
 */
export async function readHead(
  path: string,
  { delimiter, quote = '"', skipRows = 0, comment = "" }: CsvStyle = {},
): Promise<CsvHead> {
  const text = await beginning(path);
  const record = recordOf(text, { quote, skipRows, comment });
  if (record === null) {
    throw new AppError("sql_error", "The file can't be read as CSV, line 1: a quoted value does not end.");
  }
  if (record.trim() === "")
    throw new AppError("sql_error", "The file has no line with the names of columns.");
  const best =
    delimiter ??
    DELIMITERS.map((each) => ({ each, count: fieldsOf(record, each, quote).length })).sort(
      (a, b) => b.count - a.count,
    )[0]?.each;
  return { delimiter: best ?? ",", fields: fieldsOf(record, best ?? ",", quote) };
}

async function beginning(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEAD_BYTES), 0, MAX_HEAD_BYTES, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Up to the first line break that is not quoted, behind the lines that are passed over; null where a quote stays open. */
function recordOf(
  text: string,
  { quote, skipRows, comment }: { quote: string; skipRows: number; comment: string },
): string | null {
  let from = text.startsWith("\ufeff") ? 1 : 0;
  for (let passed = 0; ; passed++) {
    const isComment = comment !== "" && text.startsWith(comment, from);
    if (passed >= skipRows && !isComment) break;
    const [end] = /\r\n|\n|\r|$/.exec(text.slice(from)) ?? [""];
    const length = text.slice(from).search(/\r\n|\n|\r|$/) + end.length;
    if (length === 0) return "";
    from += length;
  }
  let isQuoted = false;
  for (let at = from; at < text.length; at++) {
    const sign = text[at];
    if (sign === quote) isQuoted = !isQuoted;
    else if (!isQuoted && (sign === "\n" || sign === "\r")) return text.slice(from, at);
  }
  return isQuoted ? null : text.slice(from);
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
 * Throws `sql_error` for a record of more than `maxBytes`. DuckDB says nothing of one that does not fit into its
 * buffer where it is the last, and leaves it out.
 */
export async function refuseLongRecords(path: string, delimiter: string, maxBytes: number): Promise<void> {
  const scan = recordScanner(delimiter.charCodeAt(0), maxBytes);
  const buffer = new Uint8Array(READ_BYTES); // one for all reads: chunks of a stream stay until they are collected
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

/** Returns a function that takes the file piece by piece and returns the number of a record that is too long, or null. */
function recordScanner(comma: number, maxBytes: number) {
  let state = { isQuoted: false, mayOpen: true, before: LINE_FEED, length: 0, record: 1 };
  return (bytes: Uint8Array, end: number): number | null => {
    let { isQuoted, mayOpen, before, length, record } = state; // locals are twice as fast as what a closure shares
    for (let at = 0; at < end; at++) {
      const byte = bytes[at] as number;
      length++;
      if (byte === QUOTE) {
        // It opens a value at its begin, or one that has just closed, where it is doubled; elsewhere it is a letter.
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
