import { closeSync, openSync, writeFileSync } from "node:fs";
import { constants, crc32, deflateRawSync, zstdCompressSync } from "node:zlib";
import { AppError } from "../base/errors.ts";
import type { Compression } from "./contract.ts";

/** Without name, time and operating system, so that equal texts give equal files. */
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** Ends a deflate stream whose previous blocks were flushed. */
const LAST_BLOCK = Buffer.from([3, 0]);
const UINT32 = 2 ** 32;

/** Writes a text compressed, piece by piece: one gzip member, or a zstd frame for each piece. */
export class TextFile implements Disposable {
  readonly #file: number;
  readonly #compression: "none" | "gzip" | "zstd";
  #crc = 0;
  #bytes = 0;

  constructor(path: string, compression: Compression | null) {
    if (compression !== null && !["none", "gzip", "zstd"].includes(compression))
      throw new AppError("internal", `Text is not compressed by ${compression}.`);
    this.#compression = (compression ?? "none") as "none" | "gzip" | "zstd";
    this.#file = openSync(path, "w", 0o600);
    if (this.#compression === "gzip") writeFileSync(this.#file, GZIP_HEAD);
  }

  write(text: string): void {
    const plain = Buffer.from(text);
    if (this.#compression === "none") return writeFileSync(this.#file, plain);
    if (this.#compression === "zstd") return writeFileSync(this.#file, zstdCompressSync(plain));
    this.#crc = crc32(plain, this.#crc);
    this.#bytes += plain.length;
    writeFileSync(this.#file, deflateRawSync(plain, { finishFlush: constants.Z_SYNC_FLUSH }));
  }

  /** Writes the rest. */
  end(): void {
    if (this.#compression !== "gzip") return;
    const sums = Buffer.alloc(8);
    sums.writeUInt32LE(this.#crc, 0);
    sums.writeUInt32LE(this.#bytes % UINT32, 4);
    writeFileSync(this.#file, Buffer.concat([LAST_BLOCK, sums]));
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}
