import { isUtf8 } from "node:buffer";
import { damaged } from "../fault.ts";
import { Odd } from "../odd.ts";

/** So many bytes of a long are exact as a double; it has 64 bits at most. */
const LOW_BYTES = 7;
const MAX_LONG_BYTES = 10;

/** Values in Avro's binary form, one after the other. Throws `FileFault` where they end early. */
export class Tap {
  #at = 0;
  /** Whether the last byte of a number said that another follows. */
  #goesOn = false;
  /** Where values that are lost are counted: with the column that is being read. */
  odd = new Odd();

  constructor(readonly bytes: Buffer) {}

  get left(): number {
    return this.bytes.length - this.#at;
  }

  /** Moves past so many bytes and returns where they begin. */
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

  /** An int or a long; a bigint where a number might not be exact. */
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

  /** Seven bits of each byte, the lowest first, until one has no mark that another follows, or so many are read. */
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

  /** How many bytes, items or values follow. */
  count(): number {
    const value = Number(this.long());
    if (!Number.isSafeInteger(value)) throw damaged("a length is out of range");
    return value;
  }

  /** The items of an array or a map, block by block. */
  items(read: () => void): void {
    for (let count = this.count(); count !== 0; count = this.count()) {
      if (count < 0) this.count(); // the bytes of the block, for who skips it
      this.checkCount(Math.abs(count));
      for (let item = Math.abs(count); item > 0; item--) read();
    }
  }

  /** Items without a byte of their own, such as nulls, may be many, and not without end. */
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

  /** Null, and counted as lost, for bytes that are no UTF-8. */
  string(): string | null {
    const bytes = this.blob();
    const text = bytes.toString("utf8");
    if (!text.includes("\ufffd") || isUtf8(bytes)) return text;
    this.odd.add("texts that aren't UTF-8 became NULL", () => bytes.toString("hex", 0, 100));
    return null;
  }
}

const MAX_EMPTY_ITEMS = 1_000_000;
