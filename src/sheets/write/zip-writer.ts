import { closeSync, openSync, writeSync } from "node:fs";
import { constants, crc32, deflateRawSync } from "node:zlib";

const VERSION = 20;
const UTF8_NAMES = 0x800;
const DEFLATED = 8;
/** 1980-01-01, the first date in zip: equal rows give equal files. */
const DAY = 0x21;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
/** Maximum size of a part and of the file, without the 64-bit extension, which some workbook readers don't support. */
const MAX_BYTES = 0xffffffff;
/** Ends a deflate stream whose previous blocks were flushed. */
const LAST_BLOCK = Buffer.from([3, 0]);

/** Thrown if a part or the file exceeds zip's limits. */
export class ZipTooLarge extends Error {
  override readonly name = "ZipTooLarge";
}

/** Writes a zip file, part by part, without buffering. */
export class ZipWriter implements Disposable {
  readonly #file: number;
  #at = 0;
  readonly #directory: Buffer[] = [];

  constructor(path: string) {
    this.#file = openSync(path, "w", 0o600);
  }

  /** Starts a part, after the previous one has ended. */
  part(name: string): { write(text: string): void; end(): void } {
    const start = this.#at;
    const nameBytes = Buffer.from(name);
    const sums = { crc: 0, compressedBytes: 0, bytes: 0 };
    this.#send(Buffer.alloc(LOCAL_BYTES + nameBytes.length)); // filled in once the checksum is known
    const compressed = (bytes: Buffer) => {
      sums.compressedBytes += bytes.length;
      this.#send(bytes);
    };
    return {
      write: (text) => {
        const plain = Buffer.from(text);
        sums.crc = crc32(plain, sums.crc);
        sums.bytes += plain.length;
        if (sums.bytes > MAX_BYTES) throw new ZipTooLarge();
        // Flushed blocks can be concatenated in one stream.
        compressed(deflateRawSync(plain, { finishFlush: constants.Z_SYNC_FLUSH }));
      },
      end: () => {
        compressed(LAST_BLOCK);
        const common = commonOf(sums, nameBytes.length);
        const local = Buffer.concat([signature(3, 4), common, nameBytes]);
        writeSync(this.#file, local, 0, local.length, start);
        const central = Buffer.alloc(CENTRAL_BYTES);
        signature(1, 2).copy(central);
        central.writeUInt16LE(VERSION, 4);
        common.copy(central, 6);
        central.writeUInt32LE(start, 42);
        this.#directory.push(central, nameBytes);
      },
    };
  }

  /** Writes the central directory. */
  end(): void {
    const directory = Buffer.concat(this.#directory);
    const end = Buffer.alloc(END_BYTES);
    signature(5, 6).copy(end);
    const count = this.#directory.length / 2;
    end.writeUInt16LE(count, 8);
    end.writeUInt16LE(count, 10);
    end.writeUInt32LE(directory.length, 12);
    end.writeUInt32LE(this.#at, 16);
    this.#send(directory);
    this.#send(end);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #send(bytes: Uint8Array): void {
    if (this.#at + bytes.length > MAX_BYTES) throw new ZipTooLarge();
    for (let at = 0; at < bytes.length; )
      at += writeSync(this.#file, bytes, at, bytes.length - at, this.#at + at);
    this.#at += bytes.length;
  }
}

const signature = (...kind: [number, number]) => Buffer.from([0x50, 0x4b, ...kind]);

/** The fields that a part's header and its directory entry share. */
function commonOf(
  { crc, compressedBytes, bytes }: { crc: number; compressedBytes: number; bytes: number },
  nameBytes: number,
): Buffer {
  const common = Buffer.alloc(26);
  for (const [at, value] of [VERSION, UTF8_NAMES, DEFLATED, 0, DAY].entries())
    common.writeUInt16LE(value, at * 2);
  common.writeUInt32LE(crc, 10);
  common.writeUInt32LE(compressedBytes, 14);
  common.writeUInt32LE(bytes, 18);
  common.writeUInt16LE(nameBytes, 22);
  return common;
}
