import { isUtf8 } from "node:buffer";
import { inSlices, type Work } from "../../base/slices.ts";
import type { JsonList } from "../contract.ts";

/** Longer or deeper rows, and pages with more rows, are left to the full JSON parser. */
const MAX_LEVELS = 1_000;
const MAX_ROW_BYTES = 4_000_000;
const MAX_ROWS = 2_000_000;

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA, COLON] = [9, 10, 13, 32, 34, 44, 58] as const;
const [OPEN_LIST, BACKSLASH, CLOSE_LIST, OPEN, CLOSE] = [91, 92, 93, 123, 125] as const;

/** A list of objects cut out of JSON text, and the rest of the text with `[]` in its place. */
export interface CutText {
  list: JsonList;
  around: string;
}

/** Bytes between two checks of the time. */
const SCAN_BYTES = 65_536;

/**
 * Finds the list at a path of names by skipping over its values, without parsing them and without blocking. Null if the
 * bytes aren't UTF-8, if the list is missing, empty or has items that aren't objects, or if a name of the path is
 * duplicated.
 */
export async function cutList(bytes: Uint8Array, path: readonly string[]): Promise<CutText | null> {
  if (!isUtf8(bytes)) return null;
  const found = await inSlices(new Search(bytes, path).list());
  if (found === null) return null;
  const { from, to } = found;
  const around = decoder.decode(bytes.subarray(0, from)) + decoder.decode(bytes.subarray(to));
  return { list: found, around };
}

/** The position after the JSON value at `at`, or after whitespace there; -1 if it doesn't end. Doesn't validate it. */
export const pastValue = (bytes: Uint8Array, at: number): number =>
  pass(bytes, { at: pastSpace(bytes, at), depth: 0 }, bytes.length) ?? -1;

/** Position within a value that is being skipped. */
interface Passing {
  at: number;
  depth: number;
}

/** The position after the value; null if it continues beyond `until` or the text ends. */
function pass(bytes: Uint8Array, passing: Passing, until: number): number | null {
  let { depth } = passing;
  let i = passing.at;
  for (; i < until; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE) {
      i = closingQuote(bytes, i + 1);
      if (i < 0) return -1;
      if (depth === 0) return i + 1;
    } else if (byte === OPEN || byte === OPEN_LIST) {
      if (++depth > MAX_LEVELS) return -1;
    } else if (byte === CLOSE || byte === CLOSE_LIST) {
      if (depth === 0) return i;
      if (--depth === 0) return i + 1;
    } else if (depth === 0 && (byte === COMMA || isSpace(byte))) return i;
  }
  passing.at = i;
  passing.depth = depth;
  return null;
}

function closingQuote(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  for (let i = from; i < length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) return i;
    if (byte === BACKSLASH) i++;
  }
  return -1;
}

/** The position of the first byte from `at` on that isn't JSON whitespace. */
function pastSpace(bytes: Uint8Array, at: number): number {
  let to = at;
  while (isSpace(bytes[to] ?? 0)) to++;
  return to;
}

const isSpace = (byte: number): boolean =>
  byte === SPACE || byte === NEWLINE || byte === RETURN || byte === TAB;

class Search {
  #at = 0;
  #look = SCAN_BYTES;
  #found: JsonList | null = null;

  constructor(
    readonly bytes: Uint8Array,
    readonly path: readonly string[],
  ) {}

  *list(): Work<JsonList | null> {
    if (!(yield* this.#value(0))) return null;
    return pastSpace(this.bytes, this.#at) === this.bytes.length ? this.#found : null;
  }

  #next(): number {
    this.#at = pastSpace(this.bytes, this.#at);
    return this.bytes[this.#at++] ?? 0;
  }

  /** Skips a value that has the list `level` names below it; false if the full parser is needed. */
  *#value(level: number): Work<boolean> {
    const first = this.#next();
    if (level === this.path.length) return first === OPEN_LIST && (yield* this.#rows());
    return first === OPEN && (yield* this.#members(level));
  }

  *#members(level: number): Work<boolean> {
    let isHere = false;
    for (let next = this.#next(); next === QUOTE; next = this.#next()) {
      if (this.#isTime()) yield;
      const from = this.#at;
      const to = closingQuote(this.bytes, from);
      if (to < 0) return false;
      this.#at = to + 1;
      const name = decoder.decode(this.bytes.subarray(from, to));
      if (name.includes("\\") || this.#next() !== COLON) return false;
      if (name === this.path[level]) {
        if (isHere || !(yield* this.#value(level + 1))) return false;
        isHere = true;
      } else {
        this.#at = yield* this.#pastValue();
        if (this.#at < 0) return false;
      }
      const after = this.#next();
      if (after !== COMMA) return after === CLOSE;
    }
    return false;
  }

  /** As `pastValue`, for a value that may be long. */
  *#pastValue(): Work<number> {
    const passing = { at: pastSpace(this.bytes, this.#at), depth: 0 };
    while (passing.at < this.bytes.length) {
      const past = pass(this.bytes, passing, Math.min(passing.at + SCAN_BYTES, this.bytes.length));
      if (past !== null) return past;
      yield;
    }
    return -1;
  }

  #isTime(): boolean {
    if (this.#at < this.#look) return false;
    this.#look = this.#at + SCAN_BYTES;
    return true;
  }

  *#rows(): Work<boolean> {
    const from = this.#at;
    let rows = 0;
    let after: number = COMMA;
    for (; after === COMMA; after = this.#next()) {
      if (this.#isTime()) yield;
      const start = pastSpace(this.bytes, this.#at);
      if (this.bytes[start] !== OPEN) return false;
      this.#at = pastValue(this.bytes, start);
      if (this.#at < 0 || this.#at - start > MAX_ROW_BYTES || ++rows > MAX_ROWS) return false;
    }
    const to = this.#at - 1;
    this.#found = { bytes: this.bytes, from, to, rows };
    return after === CLOSE_LIST;
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
