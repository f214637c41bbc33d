import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const BLOCK_BYTES = 256 * 1024;

/** Reads a file sequentially, in blocks. Synchronous, like the conversion of its rows. */
export class FileReader implements Disposable {
  readonly #file: number;
  readonly bytes: number;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  /** Position in the file of the end of the block. */
  #loaded = 0;

  constructor(path: string) {
    this.#file = openSync(path, "r");
    this.bytes = fstatSync(this.#file).size;
  }

  /** Number of bytes not yet read. */
  get left(): number {
    return this.bytes - this.#loaded + this.#block.length - this.#at;
  }

  /** The next bytes. Throws `RangeError` if there are fewer. */
  take(count: number): Buffer {
    const at = this.#pass(count);
    return this.#block.subarray(at, at + count);
  }

  byte(): number {
    const at = this.#pass(1);
    return this.#block[at] ?? 0;
  }

  /** An unsigned 32-bit integer. */
  number(): number {
    const at = this.#pass(4);
    return this.#block.readUInt32LE(at);
  }

  /** Skips bytes and returns their position in the block, which may have to be loaded first. */
  #pass(count: number): number {
    if (this.#at + count > this.#block.length) this.#load(count);
    this.#at += count;
    return this.#at - count;
  }

  #load(count: number): void {
    if (count > this.left) throw new RangeError(`${this.left} bytes are left, and not ${count}.`);
    const rest = this.#block.subarray(this.#at);
    const length = Math.min(Math.max(BLOCK_BYTES, count), this.left);
    const block = Buffer.allocUnsafeSlow(length);
    rest.copy(block);
    for (let at = rest.length; at < length; ) {
      const read = readSync(this.#file, block, at, length - at, this.#loaded);
      if (read === 0) throw new RangeError("The file became shorter while it was read.");
      at += read;
      this.#loaded += read;
    }
    this.#block = block;
    this.#at = 0;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}
