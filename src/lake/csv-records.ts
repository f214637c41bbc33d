import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import type { CsvStyle } from "./csv-style.ts";

const [LINE_FEED, RETURN] = [0x0a, 0x0d];
/** The UTF-8 byte order mark. */
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/**
 * Tracks the quotes of CSV bytes. A quote opens a value only at its start, or right after a closing quote (doubled).
 * Elsewhere it is an ordinary character.
 */
class Quotes {
  isQuoted = false;
  #mayOpen = true;

  constructor(readonly quote: number) {}

  /** Takes the next byte. Returns true for a line break between records. */
  isBreak(byte: number): boolean {
    if (byte === this.quote) {
      [this.isQuoted, this.#mayOpen] = [!this.isQuoted && this.#mayOpen, this.isQuoted];
      return false;
    }
    const isBreak = byte === LINE_FEED || byte === RETURN;
    // Any byte that can be a delimiter, so no letters and digits.
    this.#mayOpen = isBreak || !isLetter(byte);
    return isBreak && !this.isQuoted;
  }
}

const isLetter = (byte: number) =>
  (byte >= 0x30 && byte <= 0x39) ||
  (byte >= 0x41 && byte <= 0x5a) ||
  (byte >= 0x61 && byte <= 0x7a) ||
  byte >= 0x80;

const quoteByte = (quote: string) => (quote === "" ? -1 : quote.charCodeAt(0));

/** The number of records in a file, and the size of the longest in bytes. */
export async function recordsOf(path: string, quote: string): Promise<{ records: number; longest: number }> {
  const quotes = new Quotes(quoteByte(quote));
  let records = 0;
  let longest = 0;
  let length = 0;
  for await (const chunk of Bun.file(path).stream()) {
    for (const byte of chunk) {
      length++;
      if (!quotes.isBreak(byte)) continue;
      if (length > 1) records++;
      longest = Math.max(longest, length);
      length = 0;
    }
  }
  return { records: records + (length > 0 ? 1 : 0), longest: Math.max(longest, length) };
}

/**
 * Rewrites a file with a line feed after each record. Line breaks within values stay. Returns false if that changes
 * nothing.
 */
export async function oneLineEnd(path: string, to: string, quote: string): Promise<boolean> {
  const quotes = new Quotes(quoteByte(quote));
  const out = createWriteStream(to, { mode: 0o600 });
  let before = 0;
  let hasChanged = false;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const made = new Uint8Array(chunk.length);
    let length = 0;
    for (const byte of chunk) {
      const isBreak = quotes.isBreak(byte);
      if (isBreak && byte === RETURN) {
        made[length++] = LINE_FEED;
        hasChanged = true;
      } else if (!(isBreak && before === RETURN)) made[length++] = byte;
      before = isBreak ? byte : 0;
    }
    if (!out.write(made.subarray(0, length))) await once(out, "drain");
  }
  out.end();
  await once(out, "finish");
  return hasChanged;
}

/**
 * Rewrites a file without the lines that begin with `comment`, except skipped ones. Returns false if no other line
 * has that character outside quotes.
 */
export async function withoutComments(
  path: string,
  to: string,
  comment: string,
  { quote = '"', skipRows = 0 }: CsvStyle,
): Promise<boolean> {
  const quotes = new Quotes(quoteByte(quote));
  const sign = comment.charCodeAt(0);
  const out = createWriteStream(to, { mode: 0o600 });
  let left = skipRows;
  let before = 0;
  let isComment = false;
  let isStart = true;
  let hasOthers = false;
  let bom = BYTE_ORDER_MARK;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const made = new Uint8Array(chunk.length);
    let length = 0;
    for (const byte of chunk) {
      if (byte === bom[0]) {
        bom = bom.slice(1);
        made[length++] = byte;
        continue;
      }
      bom = [];
      const isEnd = byte === LINE_FEED && before === RETURN && isStart; // second byte of CRLF
      if (isStart && !isEnd) isComment = left === 0 && byte === sign;
      if (!isComment) made[length++] = byte;
      const isOwn = isComment || left > 0;
      const isBreak = isOwn ? byte === LINE_FEED || byte === RETURN : quotes.isBreak(byte);
      if (byte === sign && !isOwn && !quotes.isQuoted) hasOthers = true;
      if (isBreak && !isEnd && left > 0) left--;
      isStart = isBreak;
      before = byte;
    }
    if (!out.write(made.subarray(0, length))) await once(out, "drain");
  }
  out.end();
  await once(out, "finish");
  return hasOthers;
}
