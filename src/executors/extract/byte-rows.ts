import { digitsOf, exactOf, NumberText } from "../../base/json-numbers.ts";
import { ZONED } from "../../lake/readings.ts";
import { ByteCells } from "./byte-cells.ts";
import type { Field, Lines, Node } from "./lines.ts";
import { type Normaliser, TOO_MANY_DIGITS } from "./normalise.ts";
import { PRESENT, type SheetColumn } from "./sheet.ts";
import { textType } from "./types.ts";

/** Numbers with up to this many digits survive conversion to a double. */
const EXACT_DIGITS = 15;
const [TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA, MINUS, DOT, ZERO, NINE] = [
  9, 10, 13, 32, 34, 44, 45, 46, 48, 57,
] as const;
const [COLON, OPEN_LIST, BACKSLASH, CLOSE_LIST, OPEN, CLOSE] = [58, 91, 92, 93, 123, 125] as const;

/**
 * Parses lines of JSON, or items of a list, as bytes, with the same result as the normalizer in a quarter of its time,
 * since it creates no values. It uses the normalizer's tree of fields without adding to it: a row with anything new,
 * possibly invalid JSON, or anything that bytes alone don't decide is left to the normalizer.
 */
export class ByteRows {
  #bytes: Uint8Array = new Uint8Array(0);
  /** A view of `#bytes`, which decodes short texts in a fraction of a decoder's time. */
  #letters: Buffer = Buffer.alloc(0);
  #at = 0;
  #objects = 0;
  /** Position of the root row's number. */
  #number = { from: 0, to: 0 };
  /** Whitespace to accept in addition to the usual: list items may span several lines. */
  #gap: number = SPACE;
  readonly #cells = new ByteCells();
  /** Columns whose texts in this row are known to be plain text. */
  #texts: SheetColumn[] = [];
  readonly #prefix: Uint8Array;
  /** Whether the normalizer records fields without a value. */
  readonly #isPresenceKept: boolean;

  constructor(
    readonly normaliser: Normaliser,
    readonly root: Lines,
    readonly options: { idPrefix: string; maxNesting: number },
  ) {
    this.#prefix = encoder.encode(options.idPrefix);
    this.#isPresenceKept = root.sheet.slots.includes(PRESENT);
  }

  /**
   * Adds the row that starts at `from`, in UTF-8: a line, or with `isItem` an item of a list. Returns the position
   * after its line break, or after the comma or bracket that follows. -1 if the row is left to the normalizer.
   */
  add(bytes: Uint8Array, from: number, isItem = false): number {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#letters = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    this.#at = from;
    this.#gap = isItem ? NEWLINE : SPACE;
    this.#cells.begin(bytes);
    this.#texts.length = 0;
    const { root } = this;
    const id = this.#cells.write(this.#prefix);
    this.#number = this.#cells.digits(this.normaliser.sequence + 1);
    this.#cells.set(root, 0, this.#number.from, this.#number.to);
    this.#space();
    const isTaken =
      this.#next() === OPEN && this.#object(root, root.top, 0, id.from, this.#number.to) && this.#ends();
    if (!isTaken) {
      this.#cells.undo();
      return -1;
    }
    this.#cells.emit(root);
    for (const column of this.#texts) column.texts = "VARCHAR";
    this.normaliser.skip(1);
    return this.#at;
  }

  #next(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  #space(): void {
    let byte = this.#bytes[this.#at];
    while (
      byte !== undefined &&
      byte <= SPACE &&
      (byte === SPACE || byte === TAB || byte === RETURN || byte === this.#gap)
    )
      byte = this.#bytes[++this.#at];
  }

  #ends(): boolean {
    this.#space();
    const byte = this.#next();
    return this.#gap === NEWLINE ? byte === COMMA || byte === CLOSE_LIST : byte === NEWLINE;
  }

  /** Parses what follows an opening brace. */
  #object(lines: Lines, node: Node, level: number, idFrom: number, idTo: number): boolean {
    const bytes = this.#bytes;
    const stamp = ++this.#objects;
    const { order } = node;
    this.#space();
    if (bytes[this.#at] === CLOSE) {
      this.#at++;
      return true;
    }
    for (let index = 0; ; index++) {
      this.#space();
      let field = order[index];
      if (field === undefined || !this.#passes(field.bytes)) {
        field = this.#fieldAt(node);
        if (field === undefined) return false;
        order[index] = field;
      }
      if (field.seen === stamp) return false; // the last value of a key wins
      field.seen = stamp;
      this.#space();
      if (this.#next() !== COLON) return false;
      this.#space();
      if (!this.#value(lines, field, level, idFrom, idTo)) return false;
      this.#space();
      const byte = this.#next();
      if (byte !== COMMA) return byte === CLOSE;
    }
  }

  /** Skips `expected` if it is here. */
  #passes(expected: Uint8Array): boolean {
    const bytes = this.#bytes;
    const at = this.#at;
    for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false;
    this.#at = at + expected.length;
    return true;
  }

  #fieldAt(node: Node): Field | undefined {
    if (this.#bytes[this.#at] !== QUOTE) return undefined;
    const from = this.#at + 1;
    const to = this.#bytes.indexOf(QUOTE, from);
    if (to < 0) return undefined;
    this.#at = to + 1;
    const key = this.#text(from, to);
    return UNSURE.test(key) ? undefined : node.fields.get(key);
  }

  #isEmptyObject(): boolean {
    let at = this.#at + 1;
    while ((this.#bytes[at] ?? 0x21) <= 0x20) at++;
    return this.#bytes[at] === CLOSE;
  }

  #value(lines: Lines, field: Field, level: number, idFrom: number, idTo: number): boolean {
    switch (this.#bytes[this.#at]) {
      case QUOTE:
        return this.#string(lines, field.column);
      case OPEN:
        if (lines === this.root && this.#isPresenceKept && this.#isEmptyObject()) return false;
        this.#at++;
        return field.object !== null && this.#object(lines, field.object, level + 1, idFrom, idTo);
      case OPEN_LIST:
        if (lines === this.root && this.#isPresenceKept) return false;
        this.#at++;
        return this.#list(field.list, level, idFrom, idTo);
      case 0x6e: // n
        return !(lines === this.root && this.#isPresenceKept) && this.#passes(NULL);
      case 0x74: // t
        return this.#word(lines, field.column, TRUE);
      case 0x66: // f
        return this.#word(lines, field.column, FALSE);
      default:
        return this.#decimal(lines, field.column);
    }
  }

  #word(lines: Lines, column: SheetColumn | null, word: Uint8Array): boolean {
    const from = this.#at;
    return this.#passes(word) && this.#put(lines, column?.at.boolean, from, this.#at);
  }

  /** A JSON string without escapes is already a quoted cell. */
  #string(lines: Lines, column: SheetColumn | null): boolean {
    if (column === null) return false;
    const bytes = this.#bytes;
    const from = this.#at;
    let to = from + 1;
    let isEscaped = false;
    for (let byte = bytes[to] ?? 0; byte !== QUOTE; byte = bytes[++to] ?? 0) {
      if (byte < SPACE) return false;
      if (byte !== BACKSLASH) continue;
      isEscaped = true;
      to++;
    }
    this.#at = ++to;
    if (isEscaped)
      return this.#plainlyEscaped(lines, column, from, to) || this.#escaped(lines, column, from, to);
    if (column.texts !== "VARCHAR" && !this.#isOfType(column, from + 1, to - 1)) this.#texts.push(column);
    return this.#put(lines, column.at.text, from, to);
  }

  /** False if an escape is longer than one letter. A text with any other escape is not a date or time. */
  #plainlyEscaped(lines: Lines, column: SheetColumn, from: number, to: number): boolean {
    const cell = this.#cells.unescaped(from, to);
    if (cell === null) return false;
    if (column.texts !== "VARCHAR") this.#texts.push(column);
    return this.#put(lines, column.at.text, cell.from, cell.to);
  }

  #escaped(lines: Lines, column: SheetColumn, from: number, to: number): boolean {
    let text: string;
    try {
      text = JSON.parse(this.#text(from, to));
    } catch {
      return false; // reported where the row is added
    }
    if (!text.isWellFormed()) return false;
    if (column.texts !== "VARCHAR" && column.texts !== textType(text)) this.#texts.push(column);
    const cell = this.#cells.write(encoder.encode(`"${text.replaceAll('"', '""')}"`));
    return this.#put(lines, column.at.text, cell.from, cell.to);
  }

  /** Most UTC times are recognized without decoding the text. */
  #isOfType({ texts }: SheetColumn, from: number, to: number): boolean {
    const bytes = this.#bytes;
    const length = to - from;
    if (length < 10 || length > 32) return false;
    const two = (at: number) => ((bytes[from + at] ?? 0) - ZERO) * 10 + (bytes[from + at + 1] ?? 0) - ZERO;
    let isPlain =
      texts === ZONED && length >= 20 && bytes[to - 1] === 0x5a && length <= 27 && bytes[from + 10] === 0x54; // Z, T
    for (let at = 0; isPlain && at < length - 1; at++) {
      const byte = bytes[from + at] ?? 0;
      if (at === 4 || at === 7) isPlain = byte === MINUS;
      else if (at === 13 || at === 16) isPlain = byte === COLON;
      else if (at === 19) isPlain = byte === DOT && length > 21;
      else if (at !== 10) isPlain = byte >= ZERO && byte <= NINE;
    }
    if (isPlain && two(0) > 0 && two(5) > 0 && two(5) <= 12 && two(8) > 0 && two(8) <= 28)
      return two(11) < 24 && two(14) < 60 && two(17) < 60;
    return textType(this.#text(from, to)) === texts;
  }

  #decimal(lines: Lines, column: SheetColumn | null): boolean {
    if (column === null) return false;
    const from = this.#at;
    const first = this.#bytes[from] === MINUS ? from + 1 : from;
    let to = this.#past(first);
    const whole = to - first;
    if (whole === 0 || (whole > 1 && this.#bytes[first] === ZERO)) return false;
    let scale = 0;
    if (this.#bytes[to] === DOT) {
      const start = ++to;
      to = this.#past(start);
      scale = to - start;
      if (scale === 0) return false;
    }
    this.#at = to;
    const isPlain = ((this.#bytes[to] ?? 0) | 0x20) !== 0x65; // e
    if (isPlain && whole + scale <= EXACT_DIGITS) {
      if (scale === 0 && this.#bytes[first] !== ZERO) return this.#put(lines, column.at.integer, from, to);
      if (scale > 0 && this.#bytes[to - 1] !== ZERO) {
        column.sawDigits(whole, scale);
        return this.#put(lines, column.at.double, from, to);
      }
    }
    if (isPlain && scale > 0 && this.#isShortest(from, to)) {
      column.sawDigits(whole, scale);
      return this.#put(lines, column.at.double, from, to);
    }
    return this.#rare(lines, column, from);
  }

  /** True for a fraction that is written as its double is printed. Most with many digits aren't. */
  #isShortest(from: number, to: number): boolean {
    const text = this.#letters.toString("latin1", from, to);
    const value = Number(text);
    return String(value) === text && !Number.isInteger(value);
  }

  /** The position after the digits from `at` on. */
  #past(at: number): number {
    const bytes = this.#bytes;
    let to = at;
    for (let byte = bytes[to] ?? 0; byte >= ZERO && byte <= NINE; byte = bytes[++to] ?? 0);
    return to;
  }

  /** A number that has to be parsed before its type is known. */
  #rare(lines: Lines, column: SheetColumn, from: number): boolean {
    if (((this.#bytes[this.#at] ?? 0) | 0x20) === 0x65) {
      const sign = this.#bytes[++this.#at];
      const start = sign === MINUS || sign === 0x2b ? this.#at + 1 : this.#at;
      this.#at = this.#past(start);
      if (this.#at === start) return false;
    }
    const value = exactOf(this.#text(from, this.#at));
    if (typeof value === "bigint") return false;
    if (Number.isSafeInteger(value) && !Object.is(value, -0))
      return this.#write(lines, column.at.integer, String(value));
    const isText = value instanceof NumberText;
    const text = isText ? value.text : Object.is(value, -0) ? "-0.0" : String(value);
    const digits = digitsOf(text);
    if (digits === null) return false;
    if (text === "-0.0")
      column.sawDigits(TOO_MANY_DIGITS, 0); // no decimal can hold it
    else column.sawDigits(digits.whole, digits.scale);
    return this.#write(lines, isText ? column.at.number : column.at.double, text);
  }

  #write(lines: Lines, position: number, text: string): boolean {
    const cell = this.#cells.write(encoder.encode(text));
    return this.#put(lines, position, cell.from, cell.to);
  }

  /** Parses what follows an opening bracket. */
  #list(list: Lines | null, level: number, parentFrom: number, parentTo: number): boolean {
    this.#space();
    if (this.#bytes[this.#at] === CLOSE_LIST) {
      this.#at++;
      return level < this.options.maxNesting; // deeper ones are kept as JSON
    }
    if (list === null) return false;
    for (let index = 0; ; index++) {
      this.#space();
      const { from } = this.#cells.copy(parentFrom, parentTo);
      this.#cells.dotted(list.number);
      const last = this.#cells.dotted(index);
      this.#cells.set(list, 0, this.#number.from, this.#number.to);
      this.#cells.set(list, 1, from, last.to);
      this.#cells.set(list, 2, parentFrom, parentTo);
      this.#cells.set(list, 3, last.from, last.to);
      if (!this.#element(list, level + 1, from, last.to)) return false;
      this.#cells.emit(list);
      this.#space();
      const byte = this.#next();
      if (byte !== COMMA) return byte === CLOSE_LIST;
    }
  }

  #element(list: Lines, level: number, idFrom: number, idTo: number): boolean {
    const byte = this.#bytes[this.#at];
    if (byte === OPEN) {
      this.#at++;
      return this.#object(list, list.top, level, idFrom, idTo);
    }
    const field = list.top.fields.get(byte === OPEN_LIST ? "list" : "value");
    return field !== undefined && this.#value(list, field, level, idFrom, idTo);
  }

  /** Decodes bytes that don't start with a byte order mark. */
  #text(from: number, to: number): string {
    return decoder.decode(this.#bytes.subarray(from, to));
  }

  #put(lines: Lines, position: number | undefined, from: number, to: number): boolean {
    if (position === undefined || position < 0) return false;
    this.#cells.set(lines, position, from, to);
    return true;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
/** The text differs from the expected key, or is invalid JSON. */
const UNSURE = /[\\\p{Cc}]/u;
const NULL = encoder.encode("null");
const TRUE = encoder.encode("true");
const FALSE = encoder.encode("false");
