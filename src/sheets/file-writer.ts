import { closeSync, openSync, writeSync } from "node:fs";

const BLOCK_BYTES = 256 * 1024;
/** Fits into an empty block, whatever its length in UTF-8. */
const MAX_INLINE_CHARACTERS = 64 * 1024;
const LINE_FEED = 10;
const COMMA = 44;
const QUOTE = 34;

/** Writes a file sequentially, in blocks. Synchronous, so that nothing accumulates in memory while a parser runs. */
export class FileWriter {
  readonly #file: number;
  readonly #block = Buffer.allocUnsafe(BLOCK_BYTES);
  #used = 0;
  #flushed = 0;

  constructor(readonly path: string) {
    this.#file = openSync(path, "wx", 0o600);
  }

  get bytes(): number {
    return this.#flushed + this.#used;
  }

  byte(value: number): void {
    if (this.#used === BLOCK_BYTES) this.#flush();
    this.#block[this.#used++] = value;
  }

  /** An unsigned 32-bit integer. */
  number(value: number): void {
    if (this.#used + 4 > BLOCK_BYTES) this.#flush();
    this.#used = this.#block.writeUInt32LE(value, this.#used);
  }

  write(bytes: Uint8Array): void {
    if (this.#used + bytes.length > BLOCK_BYTES) this.#flush();
    if (bytes.length > BLOCK_BYTES) return this.#send(bytes);
    this.#block.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  text(value: string): void {
    if (value.length > MAX_INLINE_CHARACTERS) return this.write(Buffer.from(value));
    if (this.#used + value.length * 3 > BLOCK_BYTES) this.#flush();
    this.#used += this.#block.write(value, this.#used);
  }

  /** A value preceded by its length in bytes. */
  sized(value: Uint8Array | string): void {
    if (typeof value !== "string" || value.length > MAX_INLINE_CHARACTERS) {
      const bytes = typeof value === "string" ? Buffer.from(value) : value;
      this.number(bytes.length);
      return this.write(bytes);
    }
    if (this.#used + 4 + value.length * 3 > BLOCK_BYTES) this.#flush();
    const length = this.#block.write(value, this.#used + 4);
    this.#used = this.#block.writeUInt32LE(length, this.#used) + length;
  }

  /** Flushes and closes. */
  end(): void {
    this.#flush();
    closeSync(this.#file);
  }

  #flush(): void {
    this.#send(this.#block.subarray(0, this.#used));
    this.#used = 0;
  }

  #send(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
    this.#flushed += bytes.length;
  }
}

/** Writes rows in the format of `SheetTable.path`. */
export class CsvWriter {
  readonly #to: FileWriter;
  #rowAt = 0;
  #isFirst = true;
  rows = 0;
  longest = 0;

  constructor(readonly path: string) {
    this.#to = new FileWriter(path);
  }

  /** Adds a value to the row; bytes are UTF-8, null is NULL. */
  value(value: Uint8Array | string | null, isQuoted: boolean): void {
    if (this.#isFirst) this.#isFirst = false;
    else this.#to.byte(COMMA);
    if (value === null) return;
    if (isQuoted) this.#to.byte(QUOTE);
    if (typeof value === "string") {
      this.#to.text(isQuoted && value.includes('"') ? value.replaceAll('"', '""') : value);
    } else this.#bytes(value, isQuoted);
    if (isQuoted) this.#to.byte(QUOTE);
  }

  #bytes(bytes: Uint8Array, isQuoted: boolean): void {
    let from = 0;
    for (let at = isQuoted ? bytes.indexOf(QUOTE) : -1; at >= 0; at = bytes.indexOf(QUOTE, from)) {
      this.#to.write(bytes.subarray(from, at + 1));
      this.#to.byte(QUOTE);
      from = at + 1;
    }
    this.#to.write(from === 0 ? bytes : bytes.subarray(from));
  }

  endRow(): void {
    this.#to.byte(LINE_FEED);
    this.rows += 1;
    this.longest = Math.max(this.longest, this.#to.bytes - this.#rowAt);
    this.#rowAt = this.#to.bytes;
    this.#isFirst = true;
  }

  end(): void {
    this.#to.end();
  }
}
