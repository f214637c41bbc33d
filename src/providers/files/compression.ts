import { Readable, type Transform } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { AppError } from "../../base/errors.ts";
import type { Compression } from "./file-kinds.ts";
import { atLeast, toStream } from "./streams.ts";
import { ZstdFrames } from "./zstd-frames.ts";

const MAGIC: Readonly<Record<Compression, readonly number[]>> = {
  gz: [0x1f, 0x8b],
  zst: [0x28, 0xb5, 0x2f, 0xfd],
};
const LONGEST_MAGIC = 4;
const TITLES: Readonly<Record<Compression, string>> = { gz: "gzip", zst: "Zstandard" };

/**
 * Decompresses the bytes, unless that has already happened in transit: an object store's Content-Encoding does so for
 * gzip. Throws `upstream` if the file is truncated or has another compression.
 */
export const unpacked = (
  packed: ReadableStream<Uint8Array>,
  path: string,
  compression: Compression,
): ReadableStream<Uint8Array> => toStream(unpack(packed, path, compression));

/**
 * Decompresses bytes by the format that their first bytes show. Others are returned unchanged. Throws `upstream` if the
 * file is truncated; `path` is null for one without a name.
 */
export const unpackStream = (packed: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> =>
  toStream(unpack(packed, null, null));

async function* unpack(
  packed: ReadableStream<Uint8Array>,
  path: string | null,
  expected: Compression | null,
): AsyncGenerator<Uint8Array> {
  const source = Readable.fromWeb(packed as unknown as NodeStream);
  let stream: Transform | null = null;
  let compression: Compression | null = null;
  try {
    const start = await head(source, LONGEST_MAGIC);
    compression = compressionOf(start);
    if (compression === null || (expected !== null && compression !== expected)) {
      if (expected === "zst") throw broken(path, expected);
      if (start.length > 0) yield start;
      yield* source;
      return;
    }
    source.unshift(start);
    const { createGunzip, createZstdDecompress } = await import("node:zlib"); // 4 MB, not at the start
    const unpacker = compression === "gz" ? createGunzip() : createZstdDecompress();
    stream = unpacker;
    source.once("error", (error) => unpacker.destroy(error));
    const frames = compression === "zst" ? new ZstdFrames() : null;
    if (frames) source.on("data", (piece: Uint8Array) => frames.push(piece));
    yield* source.pipe(unpacker);
    // The decoder ends without an error if the file is truncated.
    if (frames && !frames.isWhole) throw broken(path, compression);
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (compression && /^(Z_|ZSTD|ERR_ZSTD)/i.test(code)) throw broken(path, compression, error);
    throw error;
  } finally {
    stream?.destroy();
    source.destroy();
  }
}

/**
 * The bytes of text. Throws `upstream` if they are compressed, although the name didn't say so: read as text, they
 * would be rows of anything.
 */
export async function* uncompressed(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const piece of atLeast(bytes, LONGEST_MAGIC)) {
    const compression = isFirst ? compressionOf(piece) : null;
    isFirst = false;
    if (compression !== null)
      throw new AppError(
        "upstream",
        `${name} is compressed with ${TITLES[compression]}. Add .${compression} to its name, or decompress it.`,
        { details: { file: name } },
      );
    yield piece;
  }
}

const compressionOf = (start: Uint8Array): Compression | null =>
  (["gz", "zst"] as const).find((one) => MAGIC[one].every((byte, at) => start[at] === byte)) ?? null;

const broken = (path: string | null, compression: Compression, cause?: unknown) =>
  new AppError(
    "upstream",
    `The file${path === null ? "" : ` ${path}`} is not whole, or not ${TITLES[compression]}.`,
    { cause },
  );

/** The first `least` bytes or more; fewer if the source ends before. */
async function head(source: Readable, least: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source.iterator({ destroyOnReturn: false })) {
    pieces.push(piece as Uint8Array);
    length += (piece as Uint8Array).length;
    if (length >= least) break;
  }
  return Buffer.concat(pieces);
}
