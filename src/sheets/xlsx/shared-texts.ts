import { closeSync, openSync, readSync } from "node:fs";
import { damaged } from "../fault.ts";
import { FileWriter } from "../file-writer.ts";
import { unescaped } from "./cells.ts";
import { parsePart } from "./xml.ts";
import type { Zip } from "./zip.ts";

const BLOCK_BYTES = 64 * 1024;
/** 32 MiB; sheets reference strings roughly in the file's order. */
const MAX_CACHED_BLOCKS = 512;

/** The shared strings of a workbook, in a file: they may exceed the memory. */
export class SharedTexts implements Disposable {
  readonly #writer: FileWriter;
  #starts = new Float64Array(1024);
  #count = 0;
  #file = -1;
  readonly #blocks = new Map<number, Buffer>();

  constructor(path: string) {
    this.#writer = new FileWriter(path);
  }

  add(text: string): void {
    if (this.#count + 1 === this.#starts.length) {
      const longer = new Float64Array(this.#starts.length * 2);
      longer.set(this.#starts);
      this.#starts = longer;
    }
    this.#writer.write(Buffer.from(text));
    this.#starts[++this.#count] = this.#writer.bytes;
  }

  /** Ends the writing; strings can be read from now on. */
  seal(): void {
    this.#writer.end();
    this.#file = openSync(this.#writer.path, "r");
  }

  /** The string with an index, as written in a cell, in UTF-8. Throws `FileFault` if it doesn't exist. */
  at(index: string): Uint8Array {
    const number = /^\d{1,10}$/.test(index) ? Number(index) : -1;
    if (number < 0 || number >= this.#count) throw damaged(`it has no shared text ${index}`);
    const [start = 0, end = 0] = this.#starts.subarray(number, number + 2);
    const block = Math.floor(start / BLOCK_BYTES);
    const from = start - block * BLOCK_BYTES;
    if (from + end - start <= BLOCK_BYTES) return this.#block(block).subarray(from, from + end - start);
    return this.#read(start, end - start);
  }

  [Symbol.dispose](): void {
    if (this.#file >= 0) closeSync(this.#file);
  }

  /** Blocks are in order of last use. */
  #block(number: number): Buffer {
    const known = this.#blocks.get(number);
    this.#blocks.delete(number);
    const block = known ?? this.#read(number * BLOCK_BYTES, BLOCK_BYTES);
    this.#blocks.set(number, block);
    const [oldest = 0] = this.#blocks.keys();
    if (this.#blocks.size > MAX_CACHED_BLOCKS) this.#blocks.delete(oldest);
    return block;
  }

  #read(start: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafeSlow(Math.min(length, this.#writer.bytes - start));
    for (let at = 0; at < bytes.length; )
      at += readSync(this.#file, bytes, at, bytes.length - at, start + at);
    return bytes;
  }
}

/** Reads the shared strings of a workbook into a file. Throws `FileFault`. */
export async function readSharedTexts(zip: Zip, part: string | null, path: string): Promise<SharedTexts> {
  const texts = new SharedTexts(path);
  let text = "";
  let isText = false;
  const isPlain = isPlainText();
  if (part !== null) {
    await parsePart(zip, part, {
      open(name, _, depth) {
        if (depth === 2) text = "";
        isText = isPlain.open(name) && depth >= 3;
      },
      text(piece) {
        if (isText) text += piece;
      },
      close(name, depth) {
        isText = false;
        isPlain.close(name);
        if (name === "si" && depth === 2) texts.add(unescaped(text));
      },
    });
  }
  texts.seal();
  return texts;
}

/** Distinguishes the `<t>` of a rich text from those in `<rPh>`, which contain its pronunciation. */
export function isPlainText() {
  let phonetic = 0;
  return {
    open(name: string): boolean {
      if (name === "rPh") phonetic += 1;
      return name === "t" && phonetic === 0;
    },
    close(name: string): void {
      if (name === "rPh") phonetic -= 1;
    },
  };
}
