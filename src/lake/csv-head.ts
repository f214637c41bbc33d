import { open } from "node:fs/promises";
import { AppError } from "../base/errors.ts";

/** Longer first lines are no headers. */
const MAX_HEAD_BYTES = 4 * 1024 * 1024;

const DELIMITERS = [",", ";", "\t", "|"] as const;

/** The first record of CSV text in UTF-8, and what its fields are parted by. */
export interface CsvHead {
  delimiter: string;
  fields: string[];
}

/**
 * Reads the first record. The delimiter is that of the four which parts it most often; DuckDB's own guess passes over
 * lines that don't fit it. Throws `sql_error` for a file without a line, and for a quoted field that does not end.
 */
export async function readHead(path: string, delimiter?: string): Promise<CsvHead> {
  const text = await beginning(path);
  const record = recordOf(text);
  if (record === null) {
    throw new AppError("sql_error", "The file can't be read as CSV, line 1: a quoted value does not end.");
  }
  if (record.trim() === "")
    throw new AppError("sql_error", "The file has no line with the names of columns.");
  const best =
    delimiter ??
    DELIMITERS.map((each) => ({ each, count: fieldsOf(record, each).length })).sort(
      (a, b) => b.count - a.count,
    )[0]?.each;
  return { delimiter: best ?? ",", fields: fieldsOf(record, best ?? ",") };
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

/** Up to the first line break that is not quoted; null where a quote stays open. */
function recordOf(text: string): string | null {
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (sign === "\n" || sign === "\r")) return text.slice(0, at);
  }
  return isQuoted ? null : text;
}

function fieldsOf(record: string, delimiter: string): string[] {
  const fields: string[] = [];
  let isQuoted = false;
  let field = "";
  for (const sign of record) {
    if (sign === '"') isQuoted = !isQuoted;
    if (sign === delimiter && !isQuoted) {
      fields.push(plain(field));
      field = "";
    } else field += sign;
  }
  return [...fields, plain(field)];
}

function plain(field: string): string {
  const text = field.trim();
  return /^".*"$/s.test(text) ? text.slice(1, -1).replaceAll('""', '"') : text;
}

const [QUOTE, LINE_FEED, RETURN] = [0x22, 0x0a, 0x0d];

/**
 * Throws `sql_error` for a record of more than `maxBytes`. DuckDB says nothing of one that does not fit into its
 * buffer where it is the last, and leaves it out.
 */
export async function refuseLongRecords(path: string, delimiter: string, maxBytes: number): Promise<void> {
  const comma = delimiter.charCodeAt(0);
  let isQuoted = false;
  let mayOpen = true;
  let before = LINE_FEED;
  let length = 0;
  let record = 1;
  for await (const chunk of Bun.file(path).stream()) {
    for (const byte of chunk) {
      length++;
      if (byte === QUOTE) {
        // It opens a value at its begin, or one that has just closed, where it is doubled; elsewhere it is a letter.
        [isQuoted, mayOpen] = [!isQuoted && mayOpen, isQuoted];
      } else {
        const isBreak = byte === LINE_FEED || byte === RETURN;
        mayOpen = isBreak || byte === comma;
        if (isBreak && !isQuoted) {
          length = 0;
          if (byte === RETURN || before !== RETURN) record++;
        }
      }
      before = byte;
      if (length > maxBytes) {
        const megabytes = Math.floor(maxBytes / 1024 ** 2);
        throw new AppError(
          "sql_error",
          `The file can't be read as CSV: record ${record} is longer than ${megabytes} MiB.`,
        );
      }
    }
  }
}
