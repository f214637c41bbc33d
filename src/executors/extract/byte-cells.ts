import type { Lines } from "./lines.ts";

/** Offsets from here on refer to the scratch buffer, smaller ones to the text. */
const SCRATCH = 2 ** 30;
/** The runtime copies longer pieces. */
const LONG_BYTES = 48;

const QUOTE = 34;
const COMMA = 44;
const DOT = 46;
const ZERO = 48;
const BACKSLASH = 92;

/** The byte for each letter after a backslash. 0 for invalid escapes. */
const MEANT = new Uint8Array(256);
for (const [letter, meant] of Object.entries({
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
}))
  MEANT[letter.charCodeAt(0)] = meant.charCodeAt(0);

/** The cells of the current line: where their bytes are, or -1 for an empty one. */
interface Cells {
  from: Int32Array;
  to: Int32Array;
  /** Total bytes of all pieces. */
  total: number;
  /** The row that last added lines, how many it added, and where they start. */
  row: number;
  lines: number;
  start: number;
}

/**
 * Writes CSV lines from pieces of the given text, and of a scratch buffer for bytes that aren't in the text. A piece is
 * identified by its start and end.
 */
export class ByteCells {
  #bytes: Uint8Array = new Uint8Array(0);
  #scratch = new Uint8Array(4096);
  #used = 0;
  #row = 0;
  readonly #cells: (Cells | undefined)[] = [];
  #touched: Lines[] = [];

  /** Starts a row of the text, which `undo` discards. */
  begin(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#used = 0;
    this.#row++;
    this.#touched.length = 0;
  }

  set(lines: Lines, position: number, from: number, to: number): void {
    const cells = this.#cellsOf(lines);
    cells.from[position] = from;
    cells.to[position] = to;
    cells.total += to - from;
  }

  #cellsOf(lines: Lines): Cells {
    const known = this.#cells[lines.number];
    const width = lines.cells.length;
    if (known && known.from.length >= width) return known;
    const from = new Int32Array(width + 16).fill(-1);
    const to = new Int32Array(width + 16);
    if (known) {
      from.set(known.from);
      to.set(known.to);
    }
    const made = { total: 0, row: 0, lines: 0, start: 0, ...known, from, to };
    this.#cells[lines.number] = made;
    return made;
  }

  /** Writes the current line. */
  emit(lines: Lines): void {
    const cells = this.#cellsOf(lines);
    if (cells.row !== this.#row) {
      cells.row = this.#row;
      cells.lines = 0;
      cells.start = lines.size;
      this.#touched.push(lines);
    }
    cells.lines++;
    const width = lines.cells.length;
    const into = lines.beginRow(cells.total + width);
    let at = lines.size;
    for (let position = 0; position < width; position++) {
      if (position > 0) into[at++] = COMMA;
      const cell = cells.from[position] ?? -1;
      if (cell < 0) continue;
      const isScratch = cell >= SCRATCH;
      const source = isScratch ? this.#scratch : this.#bytes;
      const from = isScratch ? cell - SCRATCH : cell;
      const to = (cells.to[position] ?? 0) - (isScratch ? SCRATCH : 0);
      if (to - from > LONG_BYTES) {
        into.set(source.subarray(from, to), at);
        at += to - from;
      } else for (let byte = from; byte < to; byte++) into[at++] = source[byte] ?? 0;
      cells.from[position] = -1;
    }
    cells.total = 0;
    lines.endBytes(at);
  }

  /** Discards all lines of the row. */
  undo(): void {
    for (const lines of this.#touched) {
      const cells = this.#cellsOf(lines);
      lines.rollBack(cells.start, cells.lines);
    }
    for (const cells of this.#cells) {
      cells?.from.fill(-1);
      if (cells) cells.total = 0;
    }
  }

  write(bytes: Uint8Array): { from: number; to: number } {
    const from = this.#room(bytes.length);
    this.#scratch.set(bytes, from);
    return { from: from + SCRATCH, to: this.#used + SCRATCH };
  }

  /**
   * Returns a quoted JSON text as a quoted cell if each of its escapes is a backslash and one letter. Null for
   * others.
   */
  unescaped(from: number, to: number): { from: number; to: number } | null {
    const bytes = this.#bytes;
    const start = this.#room(2 * (to - from));
    const scratch = this.#scratch;
    let at = start;
    scratch[at++] = QUOTE;
    for (let index = from + 1; index < to - 1; index++) {
      const byte = bytes[index] ?? 0;
      if (byte !== BACKSLASH) {
        scratch[at++] = byte;
        continue;
      }
      const meant = MEANT[bytes[++index] ?? 0] ?? 0;
      if (meant === 0) {
        this.#used = start;
        return null;
      }
      if (meant === QUOTE) scratch[at++] = QUOTE;
      scratch[at++] = meant;
    }
    scratch[at++] = QUOTE;
    this.#used = at;
    return { from: start + SCRATCH, to: at + SCRATCH };
  }

  /** Copies bytes to the end. */
  copy(from: number, to: number): { from: number; to: number } {
    const start = this.#room(to - from);
    this.#scratch.copyWithin(start, from - SCRATCH, to - SCRATCH);
    return { from: start + SCRATCH, to: this.#used + SCRATCH };
  }

  dotted(value: number): { from: number; to: number } {
    const at = this.#room(1);
    this.#scratch[at] = DOT;
    return this.digits(value);
  }

  digits(value: number): { from: number; to: number } {
    let length = 1;
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) length++;
    const from = this.#room(length);
    let rest = value;
    for (let at = this.#used - 1; at >= from; at--) {
      this.#scratch[at] = ZERO + (rest % 10);
      rest = Math.floor(rest / 10);
    }
    return { from: from + SCRATCH, to: this.#used + SCRATCH };
  }

  /** Returns where this many bytes of the scratch buffer start. */
  #room(length: number): number {
    const from = this.#used;
    this.#used += length;
    if (this.#used > this.#scratch.length) {
      const larger = new Uint8Array(2 * this.#used);
      larger.set(this.#scratch.subarray(0, from));
      this.#scratch = larger;
    }
    return from;
  }
}
