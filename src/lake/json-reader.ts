import { isUtf8 } from "node:buffer";
import { AppError } from "../base/errors.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { parseExact } from "../base/json-numbers.ts";
import { type RepeatedKey, repeatedKeys } from "../base/repeated-keys.ts";

/** Called for each key that an object repeats. All but its last value are lost. */
export type OnRepeated = (key: RepeatedKey) => void;

/** Maximum size of one JSON row. */
const MAX_ROW_BYTES = 64 * 1024 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;

/**
 * Reads the bytes of a JSONL file in chunks of complete lines. Throws `upstream` for a line that is too long, and
 * for invalid UTF-8.
 */
export async function* readLines(name: string, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const lines of cutLines(name, bytes)) {
    checkText(name, lines);
    yield lines;
  }
}

/** As `readLines`, with lines of any bytes. */
export async function* cutLines(name: string, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const cutter = new LineCutter();
  for await (const chunk of bytes) {
    const lines = cutter.push(chunk);
    checkLength(name, cutter);
    if (lines.length > 0) yield lines;
  }
  yield cutter.end();
}

/** Parses one line into rows, as `parseLines` does. Returns why if it can't be parsed. */
export function parseLine(line: Uint8Array, onRepeated: OnRepeated): JsonObject[] | string {
  if (!isUtf8(line)) return "not utf-8";
  const text = withBom.decode(line);
  if (text.trim() === "") return [];
  try {
    return parseLines("", [text], 0, onRepeated);
  } catch {
    return "not valid JSON"; // or nested too deeply to parse
  }
}

/**
 * Parses lines into rows; `before` is the number of lines before them. A list of rows becomes rows, a scalar becomes
 * a row with `value`. Throws `upstream` with the line number.
 */
export const parseLines = (
  name: string,
  texts: readonly string[],
  before: number,
  onRepeated: OnRepeated,
): JsonObject[] => rowsOf(parseTexts(name, "Line", texts, before, onRepeated));

/** Turns a list item into a row; `before` is the number of items before it. Throws like `parseLines`. */
export const parseItem = (
  name: string,
  item: Uint8Array,
  before: number,
  onRepeated: OnRepeated,
): JsonObject[] => rowsOf(parseTexts(name, "Row", [withBom.decode(item)], before, onRepeated));

/**
 * Reads the rows of a JSON file in batches, one for each chunk read: the items of one list, or consecutive values.
 * Lists of rows become rows, a scalar becomes a row with `value`. Numbers that a double can't hold are represented
 * as in `parseExact`.
 *
 * `onValue` is called once there is any value. Throws `upstream` with the filename and the value for invalid JSON,
 * and for invalid UTF-8.
 */
export async function* readJson(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  onRepeated: OnRepeated,
  onValue: () => void,
): AsyncGenerator<JsonObject[]> {
  for await (const values of readValues(name, bytes, onRepeated, onValue)) {
    const rows = rowsOf(values);
    if (rows.length > 0) yield rows;
  }
}

/** The values of a JSON file as `readJson` splits it, before they become rows. */
export async function* readValues(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  onRepeated: OnRepeated,
  onValue: () => void = () => undefined,
): AsyncGenerator<unknown[]> {
  const cutter = new ValueCutter(name);
  let before = 0;
  const parse = (texts: string[]): unknown[] => {
    const values = parseTexts(name, "Value", texts, before, onRepeated);
    before += texts.length;
    return values;
  };
  for await (const chunk of bytes) {
    if (chunk.length > 0) onValue();
    const values = parse(cutter.push(chunk));
    checkLength(name, cutter);
    yield values;
  }
  yield parse(cutter.end());
}

/** The values of a JSONL file, one per line. Throws like `readLines` and `parseLines`. */
export async function* readLineValues(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  onRepeated: OnRepeated,
): AsyncGenerator<unknown[]> {
  let before = 0;
  for await (const lines of readLines(name, bytes)) {
    const texts = linesIn(lines);
    yield parseTexts(name, "Line", texts, before, onRepeated);
    before += texts.length;
  }
}

/** Strict: dropping invalid bytes could make two different texts equal. */
function checkText(name: string, bytes: Uint8Array): void {
  if (isUtf8(bytes)) return;
  throw new AppError("upstream", `${name} is no UTF-8, which JSON is written in: convert it first.`, {
    details: { file: name },
  });
}

function checkLength(name: string, { waiting }: Cutter): void {
  if (waiting <= MAX_ROW_BYTES) return;
  throw new AppError("upstream", `${name} has a row of more than ${MAX_ROW_BYTES / 1024 / 1024} MB.`);
}

function parseTexts(
  name: string,
  what: string,
  texts: readonly string[],
  before: number,
  onRepeated: OnRepeated,
): unknown[] {
  const parse = (text: string, at: number): unknown => {
    try {
      return parseExact(text);
    } catch (cause) {
      throw new AppError("upstream", `${what} ${before + at + 1} of ${name} is not valid JSON.`, {
        cause,
        details: { file: name },
      });
    }
  };
  return texts.map((text, at) => {
    const value = parse(text, at);
    for (const key of repeatedKeys(text, value)) onRepeated(key);
    return value;
  });
}

const rowsOf = (values: readonly unknown[]): JsonObject[] =>
  values.flatMap((value): JsonObject[] => (Array.isArray(value) ? value.map(asRow) : [asRow(value)]));

const asRow = (value: unknown): JsonObject => (isObject(value) ? value : { value: value as string });

/** Splits a byte stream into texts, and buffers incomplete ones. */
abstract class Cutter {
  #parts: Uint8Array[] = [];
  waiting = 0;

  protected keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#parts.push(part.slice());
    this.waiting += part.length;
  }

  protected finish(part: Uint8Array): Uint8Array {
    if (this.#parts.length === 0) return part;
    const whole = Buffer.concat([...this.#parts, part]);
    this.#parts = [];
    this.waiting = 0;
    return whole;
  }
}

const decoder = new TextDecoder();
const text = (bytes: Uint8Array): string => decoder.decode(bytes); // skips a byte order mark

class LineCutter extends Cutter {
  push(chunk: Uint8Array): Uint8Array {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    const lines = end === 0 ? new Uint8Array() : this.finish(chunk.subarray(0, end));
    this.keep(chunk.subarray(end));
    return lines;
  }

  end(): Uint8Array {
    return this.finish(Uint8Array.of(NEWLINE));
  }
}

/** The lines that are not blank, from the start of a file: a byte order mark is dropped. */
export const linesIn = (bytes: Uint8Array): string[] => filled(text(bytes).split("\n"));

/** The lines that are not blank, from the middle of a file: a byte order mark there is text. */
export const lineIn = (bytes: Uint8Array): string[] => filled(withBom.decode(bytes).split("\n"));

const withBom = new TextDecoder("utf-8", { ignoreBOM: true });
const filled = (lines: string[]): string[] => lines.filter((line) => line.trim() !== "");

/** Splits at the items of a top-level list, or else after each top-level object. */
class ValueCutter extends Cutter {
  #depth = 0;
  #quoted = false;
  #escaped = false;
  /** Whether the current top-level value is a list, which is split into its items. */
  #list = false;
  /** Whether an item must follow, because the last token was a comma. */
  #isOwed = false;

  constructor(readonly name: string) {
    super();
  }

  #text(bytes: Uint8Array): string {
    checkText(this.name, bytes);
    return text(bytes).trim();
  }

  push(chunk: Uint8Array): string[] {
    const values: string[] = [];
    let start = 0;
    const cut = (end: number, isOwed = false) => {
      const value = this.#text(this.finish(chunk.subarray(start, end)));
      if (value !== "" || isOwed) values.push(value);
      start = end;
    };
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i];
      if (this.#quoted) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) this.#quoted = false;
        continue;
      }
      switch (byte) {
        case QUOTE:
          this.#quoted = true;
          break;
        case 0x5b: // [
          if (this.#depth === 0) {
            cut(i);
            this.#list = true;
            start = i + 1;
          }
          this.#depth++;
          break;
        case 0x7b: // {
          this.#depth++;
          break;
        case 0x5d: // ]
        case 0x7d: // }
          this.#depth--;
          if (this.#depth === 0) {
            cut(this.#list ? i : i + 1, this.#isOwed);
            start = i + 1;
            this.#list = false;
            this.#isOwed = false;
          }
          break;
        case 0x2c: // ,
          if (this.#list && this.#depth === 1) {
            cut(i, true);
            start = i + 1;
            this.#isOwed = true;
          }
          break;
      }
    }
    this.keep(chunk.subarray(start));
    return values;
  }

  end(): string[] {
    const unfinished = this.#depth > 0 || this.#quoted;
    const rest = this.#text(this.finish(new Uint8Array()));
    if (unfinished) return [rest === "" || this.#list ? `${rest} and then it ends` : rest];
    return rest === "" ? [] : [rest];
  }
}
