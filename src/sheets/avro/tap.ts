import { isUtf8 } from "node:buffer";
import { damaged } from "../fault.ts";
import { Odd } from "../odd.ts";

/** Number of bytes of a long that a double represents exactly; a long has up to 64 bits. */
const LOW_BYTES = 7;
const MAX_LONG_BYTES = 10;

/** Reads values in Avro's binary encoding, in order. Throws `FileFault` if the bytes end early. */
export class Tap {
  #at = 0;
  /** Whether the last byte of a number announced another one. */
  #goesOn = false;
  /** Counts lost values of the current column. */
  odd = new Odd();

  constructor(readonly bytes: Buffer) {}

  get left(): number {
    return this.bytes.length - this.#at;
  }

  /** Skips bytes and returns the position of the first one. */
  pass(count: number): number {
    if (count < 0 || count > this.left) throw damaged("a value continues past the end of its block");
    this.#at += count;
    return this.#at - count;
  }

  take(count: number): Buffer {
    const at = this.pass(count);
    return this.bytes.subarray(at, at + count);
  }

  boolean(): boolean {
    const value = this.bytes[this.pass(1)];
    if (value !== 0 && value !== 1) throw damaged("a boolean is neither true nor false");
    return value === 1;
  }

  /** An int or a long; a bigint if a double might not be exact. */
  long(): number | bigint {
    const low = this.#digits(LOW_BYTES);
    if (!this.#goesOn) return low % 2 === 0 ? low / 2 : -(low + 1) / 2;
    const high = this.#digits(MAX_LONG_BYTES - LOW_BYTES);
    if (this.#goesOn || high >= 2 ** 15) throw damaged("a number has more than 64 bits");
    if (high < 16) {
      const sum = low + high * 2 ** 49; // below 2^53
      return sum % 2 === 0 ? sum / 2 : -(sum + 1) / 2;
    }
    const sum = BigInt(low) | (BigInt(high) << 49n);
    return BigInt.asIntN(64, (sum >> 1n) ^ -(sum & 1n));
  }

  /** Seven bits of each byte, lowest first, until a byte without a continuation bit or `most` bytes. */
  #digits(most: number): number {
    let sum = 0;
    let scale = 1;
    for (let length = 1; length <= most; length++) {
      const byte = this.bytes[this.pass(1)] ?? 0;
      sum += (byte & 0x7f) * scale;
      scale *= 128;
      this.#goesOn = byte >= 0x80;
      if (!this.#goesOn) break;
    }
    return sum;
  }

  int(): number {
    const value = Number(this.long());
    if (value < -(2 ** 31) || value >= 2 ** 31) throw damaged("an int has more than 32 bits");
    return value;
  }

  /** The number of bytes, items or values that follow. */
  count(): number {
    const value = Number(this.long());
    if (!Number.isSafeInteger(value)) throw damaged("a length is out of range");
    return value;
  }

  /** The items of an array or a map, by blocks. */
  items(read: () => void): void {
    for (let count = this.count(); count !== 0; count = this.count()) {
      if (count < 0) this.count(); // size of the block in bytes, for readers that skip it
      this.checkCount(Math.abs(count));
      for (let item = Math.abs(count); item > 0; item--) read();
    }
  }

  /** Limits items without bytes, such as nulls, of which a short file could have billions. */
  checkCount(count: number): void {
    if (count > this.left + MAX_EMPTY_ITEMS) throw damaged("it announces more values than it has bytes for");
  }

  float(): number {
    return this.bytes.readFloatLE(this.pass(4));
  }

  double(): number {
    return this.bytes.readDoubleLE(this.pass(8));
  }

  blob(): Buffer {
    return this.take(this.count());
  }

  /** Null, counted as lost, for invalid UTF-8. */
  string(): string | null {
    const bytes = this.blob();
    const text = bytes.toString("utf8");
    if (!text.includes("\ufffd") || isUtf8(bytes)) return text;
    this.odd.add("texts that aren't UTF-8 became NULL", () => bytes.toString("hex", 0, 100));
    return null;
  }
}

const MAX_EMPTY_ITEMS = 1_000_000;
