import type { Sheet, SheetColumn } from "./sheet.ts";

/** One key of an object at one position of the tree. Its value decides which members are set. */
export interface Field {
  key: string;
  /** The key as JSON text. */
  bytes: Uint8Array;
  /** The last object that had the key. */
  seen: number;
  /** Normalized names from the table's row to this field. */
  path: readonly string[];
  /** The path as one name, which becomes the column's name. */
  name: string;
  source: string;
  column: SheetColumn | null;
  object: Node | null;
  list: Lines | null;
}

export interface Node {
  path: readonly string[];
  source: string;
  fields: Map<string, Field>;
  /** The fields in the order of the last object's keys: most objects have the same order. */
  order: Field[];
}

/** A sheet being filled: CSV lines in bytes, each as wide as the sheet was when it was written. */
export class Lines {
  #bytes = Buffer.alloc(FIRST_BYTES);
  /** Where lines of another width begin. */
  readonly #widths: { from: number; width: number }[] = [];
  readonly cells: string[];
  readonly top: Node = { path: [], source: "", fields: new Map(), order: [] };
  /** Bytes not written yet. */
  size = 0;
  longest = 0;

  constructor(
    readonly sheet: Sheet,
    /** Number of the table within its load. The root's is 0. */
    readonly number = 0,
  ) {
    this.cells = sheet.slots.map(() => "");
  }

  endRow(): void {
    const { cells } = this;
    const line = cells.join(",");
    const into = this.beginRow(3 * line.length + 1); // a character takes up to three bytes
    this.endBytes(this.size + into.write(line, this.size));
    cells.fill("");
  }

  /** Returns the buffer, with room for this many bytes after `size` and for a line with all cells. */
  beginRow(room: number): Buffer {
    const width = this.cells.length;
    if (this.#widths.at(-1)?.width !== width) this.#widths.push({ from: this.size, width });
    if (this.size + room > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(2 * this.#bytes.length, this.size + room));
      larger.set(this.#bytes.subarray(0, this.size));
      this.#bytes = larger;
    }
    return this.#bytes;
  }

  /** Ends the current line at `end`. There is always room for the line break. */
  endBytes(end: number): void {
    this.#bytes[end] = NEWLINE;
    const length = end + 1 - this.size;
    if (length > this.longest) this.longest = length;
    this.size = end + 1;
    this.sheet.rows++;
  }

  /** Discards the lines after `size`, which hold `rows` rows. */
  rollBack(size: number, rows: number): void {
    this.size = size;
    this.sheet.rows -= rows;
    while ((this.#widths.at(-1)?.from ?? -1) >= size) this.#widths.pop();
  }

  /** Returns and removes all lines so far as CSV with every column of the sheet. Valid until the next row. */
  take(): { bytes: Uint8Array; longest: number } {
    while (this.cells.length < this.sheet.slots.length) this.cells.push(""); // slots created by a file of another format
    const width = this.cells.length;
    const lines = this.#bytes.subarray(0, this.size);
    const parts = this.#widths.map(({ from, width: own }, at) => {
      const part = lines.subarray(from, this.#widths[at + 1]?.from ?? lines.length);
      return own === width ? part : widened(part, width - own);
    });
    const taken = {
      bytes: parts.length === 1 ? (parts[0] ?? lines) : Buffer.concat(parts),
      longest: this.longest + width,
    };
    this.#widths.length = 0;
    this.size = 0;
    this.longest = 0;
    return taken;
  }
}

const FIRST_BYTES = 4096;
const NEWLINE = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;

/** Returns CSV with this many additional empty cells at the end of each line. */
function widened(csv: Uint8Array, more: number): Uint8Array {
  let lines = 0;
  for (const byte of csv) if (byte === NEWLINE) lines++;
  const wide = new Uint8Array(csv.length + lines * more);
  let to = 0;
  let isQuoted = false;
  for (const byte of csv) {
    if (byte === QUOTE) isQuoted = !isQuoted;
    if (byte === NEWLINE && !isQuoted) {
      wide.fill(COMMA, to, to + more);
      to += more;
    }
    wide[to++] = byte;
  }
  return wide.subarray(0, to);
}
