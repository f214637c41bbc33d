import { crc32, inflateRawSync, zstdDecompressSync } from "node:zlib";
import { damaged, FileFault } from "../fault.ts";
import { unsnap } from "./snappy.ts";

/** Maximum size of a block, which is read as a whole; usual blocks have kilobytes to a few megabytes. */
export const MAX_BLOCK_BYTES = 128 * 1024 * 1024;

type Codec = (bytes: Buffer) => Buffer;

const limit = { maxOutputLength: MAX_BLOCK_BYTES };

const CODECS = new Map<string, Codec>([
  ["null", (bytes) => bytes],
  ["deflate", (bytes) => inflateRawSync(bytes, limit)],
  ["zstandard", (bytes) => zstdDecompressSync(bytes, limit)],
  ["snappy", withoutSum],
]);

/** Returns the decompressor for the blocks of a file. Throws `FileFault` for an unsupported codec. */
export function codecNamed(name: string): Codec {
  const codec = CODECS.get(name);
  const known = [...CODECS.keys()].join(", ");
  if (!codec) {
    throw new FileFault(
      `The file is compressed with ${name}, which Weir can't read. Write it with ${known}.`,
    );
  }
  return (bytes) => {
    try {
      return codec(bytes);
    } catch (error) {
      if (error instanceof FileFault) throw error;
      const isTooLarge = error instanceof RangeError;
      throw isTooLarge ? new FileFault(TOO_LARGE) : damaged("a block can't be decompressed");
    }
  };
}

export const TOO_LARGE = "A block of the file is larger than 128 MiB. Write the file with smaller blocks.";

/** A snappy block ends with a checksum of the uncompressed bytes. */
function withoutSum(bytes: Buffer): Buffer {
  if (bytes.length < 4) throw damaged("a block ends early");
  const plain = unsnap(bytes.subarray(0, -4), MAX_BLOCK_BYTES);
  if (crc32(plain) !== bytes.readUInt32BE(bytes.length - 4)) throw damaged("a block isn't what it was");
  return plain;
}
