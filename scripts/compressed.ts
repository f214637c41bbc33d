import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, zstdCompressSync } from "node:zlib";

/** Compressed files for the next build. Deleted with the packages. */
const CACHE = join(import.meta.dir, "..", "node_modules", ".cache", "weir");

export interface Compression {
  zstd(bytes: Uint8Array): Uint8Array;
  brotli(bytes: Uint8Array): Uint8Array;
}

const compression = (level: number, quality: number): Compression => ({
  zstd: (bytes) =>
    kept(`zstd-${level}`, bytes, () =>
      zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: level } }),
    ),
  brotli: (bytes) =>
    kept(`brotli-${quality}`, bytes, () =>
      brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }),
    ),
});

/** 70 MB become 20; higher levels add ten seconds to the build for one or two MB more. */
export const small = compression(9, constants.BROTLI_MAX_QUALITY);
/** For tests: takes a second of CPU time instead of ten, for 5 MB more. */
export const quick = compression(1, 5);

/** Compressed by `compress`, or cached by an earlier build with the same Bun. */
function kept(way: string, bytes: Uint8Array, compress: () => Uint8Array): Uint8Array {
  const name = createHash("sha256").update(`${Bun.version} ${way} `).update(bytes).digest("hex");
  const path = join(CACHE, name);
  if (existsSync(path)) return readFileSync(path);
  const made = compress();
  mkdirSync(CACHE, { recursive: true });
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, made);
  renameSync(aside, path);
  return made;
}
