import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import type { CsvStyle } from "./csv-style.ts";

const [LINE_FEED, RETURN] = [0x0a, 0x0d];
/** Of UTF-8, at the start of a file. */
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/**
 * Follows the quotes of CSV bytes. A quote opens a value where one begins, or one that has just closed, where it is
 * doubled; elsewhere it is a letter.
 */
class Quotes {
  isQuoted = false;
  #mayOpen = true;

  constructor(readonly quote: number) {}

  /** Takes the next byte; true where it is a line break between records. */
  isBreak(byte: number): boolean {
    if (byte === this.quote) {
      [this.isQuoted, this.#mayOpen] = [!this.isQuoted && this.#mayOpen, this.isQuoted];
      return false;
    }
    const isBreak = byte === LINE_FEED || byte === RETURN;
    // Anything that may be a delimiter: letters and digits are none.
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

/** How many records a file has, and the bytes of the longest. */
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

/** Writes a file anew with a line feed behind each record; values keep their line breaks. False where that changes nothing. */
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
 * Writes a file anew without the lines that begin with `comment`, behind those that are passed over. False where no other
 * line has that sign outside of quotes.
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
      const isEnd = byte === LINE_FEED && before === RETURN && isStart; // the second half of a line break
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
