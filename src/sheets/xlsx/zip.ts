import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { Readable } from "node:stream";
import { crc32, createInflateRaw } from "node:zlib";
import { damaged, FileFault } from "../fault.ts";

const BLOCK_BYTES = 256 * 1024;
/** Size of an end record with a comment of maximum length. */
const MAX_TAIL_BYTES = 22 + 65_535;
const MAX_DIRECTORY_BYTES = 64 * 1024 * 1024;
/** Maximum total size of all parts that are read; without the 64-bit extension, one part has at most half of it. */
const MAX_INFLATED_BYTES = 8 * 1024 ** 3;
const SATURATED = 0xffffffff;

interface Part {
  method: number;
  flags: number;
  crc: number;
  compressedBytes: number;
  bytes: number;
  headerAt: number;
}

/** The parts of a zip file, by its central directory. */
export class Zip implements Disposable {
  readonly #file: number;
  readonly #size: number;
  readonly #parts = new Map<string, Part>();
  #inflated = 0;

  /** Throws `FileFault` for a file that isn't a complete zip file. */
  constructor(path: string) {
    this.#file = openSync(path, "r");
    try {
      this.#size = fstatSync(this.#file).size;
      refuseOthers(this.#file, this.#size);
      this.#readDirectory();
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
  }

  has(name: string): boolean {
    return this.#parts.has(keyOf(name));
  }

  /** The bytes of a part; throws `FileFault` if they don't match the directory. */
  async *inflate(name: string): AsyncGenerator<Uint8Array> {
    const part = this.#parts.get(keyOf(name));
    if (part === undefined) throw damaged(`it has no part ${name}`);
    if (part.flags & 1) throw new FileFault(PROTECTED);
    const blocks = this.#blocks(this.#bodyAt(part), part.compressedBytes);
    let length = 0;
    let crc = 0;
    for await (const block of part.method === 0 ? blocks : inflated(blocks, name)) {
      length += block.length;
      this.#inflated += block.length;
      if (length > part.bytes) break;
      if (this.#inflated > MAX_INFLATED_BYTES) {
        throw new FileFault("The workbook is too large: it has more than 8 GiB of XML. Split it.");
      }
      crc = crc32(block, crc);
      yield block;
    }
    if (length !== part.bytes || crc !== part.crc) throw damaged(`its part ${name} isn't what it was`);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #readDirectory(): void {
    const tail = read(this.#file, Math.max(0, this.#size - MAX_TAIL_BYTES), this.#size);
    const at = endRecordIn(tail);
    if (at < 0) throw new FileFault("The file isn't whole: its end is missing. Try to export it again.");
    const [count, bytes, start] = [
      tail.readUInt16LE(at + 10),
      tail.readUInt32LE(at + 12),
      tail.readUInt32LE(at + 16),
    ];
    if (count === 0xffff || bytes === SATURATED || start === SATURATED) throw new FileFault(ZIP64);
    if (bytes > MAX_DIRECTORY_BYTES) throw damaged("its directory is too long");
    const directory = read(this.#file, start, start + bytes);
    let entryAt = 0;
    for (let entry = 0; entry < count; entry++) {
      if (entryAt + 46 > directory.length || directory.readUInt32LE(entryAt) !== 0x02014b50) {
        throw damaged("its directory ends early");
      }
      const nameLength = directory.readUInt16LE(entryAt + 28);
      const name = keyOf(directory.toString("utf8", entryAt + 46, entryAt + 46 + nameLength));
      const part = partAt(directory, entryAt);
      if ([part.compressedBytes, part.bytes, part.headerAt].includes(SATURATED)) throw new FileFault(ZIP64);
      if (this.#parts.has(name)) throw damaged(`it has two parts ${name}`);
      this.#parts.set(name, part);
      entryAt +=
        46 + nameLength + directory.readUInt16LE(entryAt + 30) + directory.readUInt16LE(entryAt + 32);
    }
  }

  #bodyAt({ headerAt, method }: Part): number {
    const header = read(this.#file, headerAt, headerAt + 30);
    if (header.readUInt32LE(0) !== 0x04034b50) throw damaged("its directory leads nowhere");
    if (method !== 0 && method !== 8) {
      throw new FileFault(`The workbook is compressed by method ${method}. Save it again with Excel.`);
    }
    return headerAt + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  }

  *#blocks(start: number, length: number): Generator<Uint8Array> {
    for (let at = start; at < start + length; at += BLOCK_BYTES) {
      yield read(this.#file, at, Math.min(at + BLOCK_BYTES, start + length));
    }
  }
}

const ZIP64 = "The workbook is a zip64 file, which Weir can't read. Open it in Excel and save it again.";
const PROTECTED = "The workbook is protected by a password. Save it without one and try again.";

/** Part names are case-insensitive and relative to the root. */
const keyOf = (name: string) => name.replaceAll("\\", "/").replace(/^\//, "").toLowerCase();

const partAt = (directory: Buffer, at: number): Part => ({
  flags: directory.readUInt16LE(at + 8),
  method: directory.readUInt16LE(at + 10),
  crc: directory.readUInt32LE(at + 16),
  compressedBytes: directory.readUInt32LE(at + 20),
  bytes: directory.readUInt32LE(at + 24),
  headerAt: directory.readUInt32LE(at + 42),
});

/** The last record whose comment ends within the file; -1 if there is none. */
function endRecordIn(tail: Buffer): number {
  for (let at = tail.length - 22; at >= 0; at--) {
    if (tail.readUInt32LE(at) === 0x06054b50 && at + 22 + tail.readUInt16LE(at + 20) <= tail.length)
      return at;
  }
  return -1;
}

async function* inflated(blocks: Iterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const inflater = createInflateRaw({ chunkSize: BLOCK_BYTES });
  const source = Readable.from(blocks).on("error", (error) => inflater.destroy(error));
  try {
    yield* source.pipe(inflater);
  } catch (error) {
    if (error instanceof FileFault) throw error;
    throw damaged(`its part ${name} can't be decompressed`);
  } finally {
    source.destroy();
  }
}

/** The bytes of a file between two offsets; throws `FileFault` if it ends before. */
function read(file: number, from: number, to: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(to - from);
  for (let at = 0; at < bytes.length; ) {
    const count = readSync(file, bytes, at, bytes.length - at, from + at);
    if (count === 0) throw damaged("its directory leads past its end");
    at += count;
  }
  return bytes;
}

/** Throws for a file that isn't a zip file, with what to do about it. */
function refuseOthers(file: number, size: number): void {
  const head = read(file, 0, Math.min(8, size)).toString("hex");
  if (head.startsWith("504b0304")) return;
  if (head !== "d0cf11e0a1b11ae1") throw new FileFault("The file isn't an Excel workbook (.xlsx).");
  const mark = Buffer.from("EncryptedPackage", "utf16le");
  for (let at = 0; at < size; at += BLOCK_BYTES) {
    const block = read(file, at, Math.min(at + BLOCK_BYTES + mark.length, size));
    if (block.includes(mark)) throw new FileFault(PROTECTED);
  }
  throw new FileFault("The file is an Excel 97–2003 workbook (.xls). Save it as .xlsx and try again.");
}
