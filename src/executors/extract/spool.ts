import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError } from "../../base/errors.ts";
import { atLeast } from "../../providers/files/streams.ts";

/** Streams a file's bytes to disk. Returns their number. */
export async function spool(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  signal: AbortSignal,
): Promise<number> {
  const into = createWriteStream(path, { mode: 0o600 });
  await pipeline(Readable.from(bytes), into, { signal });
  return into.bytesWritten;
}

/**
 * Converts bytes to UTF-8 without a byte order mark, from `encoding` or the one that their byte order mark shows.
 * UTF-8 is passed through. Throws `upstream` for bytes that are invalid in the encoding.
 */
export async function* inUtf8(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  encoding: string | null,
): AsyncGenerator<Uint8Array> {
  let decoder: TextDecoder | null = null;
  let isFirst = true;
  for await (const piece of atLeast(bytes, 3)) {
    if (isFirst) {
      isFirst = false;
      const bom = byteOrderOf(piece);
      const label = encoding ?? bom?.encoding ?? "utf-8";
      const isUtf8 = new TextDecoder(label).encoding === "utf-8";
      if (!isUtf8) decoder = new TextDecoder(label, { fatal: true });
      if (isUtf8 && bom?.encoding === "utf-8") {
        yield piece.subarray(bom.length);
        continue;
      }
    }
    yield decoder ? encoder.encode(decoded(name, decoder, piece)) : piece;
  }
  if (decoder) yield encoder.encode(decoded(name, decoder, null));
}

const encoder = new TextEncoder();

function decoded(name: string, decoder: TextDecoder, piece: Uint8Array | null): string {
  try {
    return piece === null ? decoder.decode() : decoder.decode(piece, { stream: true });
  } catch (cause) {
    throw new AppError(
      "upstream",
      `${name} is not ${decoder.encoding}. Set file.encoding to the encoding that it has.`,
      {
        cause,
        details: { file: name },
      },
    );
  }
}

/** Returns what bytes are by their byte order mark, and how long that is. */
export function byteOrderOf(bytes: Uint8Array): { encoding: string; length: number } | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { encoding: "utf-8", length: 3 };
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: "utf-16le", length: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf-16be", length: 2 };
  return null;
}
