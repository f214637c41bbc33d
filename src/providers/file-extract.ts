import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { createGunzip } from "node:zlib";
import { AppError } from "../base/errors.ts";
import type { Extraction, ExtractRequest } from "./contract.ts";
import { formatOf } from "./file-kinds.ts";
import { compileGlob } from "./glob.ts";
import { toStream } from "./streams.ts";

/** A place with files in it, as an extract needs it. Paths are relative to the root, with no slash before. */
export interface FileSource {
  /** All paths that start with `prefix`, in order of their UTF-8 bytes. */
  walk(prefix: string): AsyncIterable<string>;
  open(path: string): Promise<ReadableStream<Uint8Array>>;
}

type SourceFiles = Extract<Extraction, { kind: "files" }>["files"];

/**
 * The files that the pattern `request.spec` means, with the format that their names tell; gzip is undone.
 * A wildcard passes over files that can't be read as a table. Throws `not_found` where none is left.
 */
export async function extractFiles(source: FileSource, request: ExtractRequest): Promise<Extraction> {
  const { spec } = request;
  const glob = compileGlob(spec);
  if (!glob.wild && formatOf(glob.prefix) === null) {
    throw new AppError(
      "definition_invalid",
      `The name ${JSON.stringify(spec)} does not end in .csv, .tsv, .json, .jsonl, .ndjson or .parquet; for a folder write ${spec}/*.csv or the like.`,
    );
  }
  const matching = match(source, glob);
  const first = await matching.next();
  if (first.done) {
    const { skipped } = first.value;
    throw new AppError(
      "not_found",
      skipped > 0
        ? `${JSON.stringify(spec)} means ${skipped} files, and none of them is CSV, JSON, JSONL or Parquet by its name.`
        : `No file is meant by ${JSON.stringify(spec)}.`,
    );
  }
  return { kind: "files", files: rest(first.value, matching), ranged: false };
}

type SourceFile = SourceFiles extends AsyncIterable<infer F> ? F : never;

async function* match(
  source: FileSource,
  glob: ReturnType<typeof compileGlob>,
): AsyncGenerator<SourceFile, { skipped: number }> {
  let skipped = 0;
  for await (const path of source.walk(glob.prefix)) {
    if (!glob.wild && path > glob.prefix) break;
    if (!glob.matches(path)) continue;
    const kind = formatOf(path);
    if (kind === null) {
      skipped++;
      continue;
    }
    const open = () => source.open(path);
    yield {
      name: path,
      format: kind.format,
      open: kind.gzipped ? async () => gunzip(await open(), path) : open,
    };
  }
  return { skipped };
}

async function* rest(first: SourceFile, more: AsyncGenerator<SourceFile>): AsyncGenerator<SourceFile> {
  yield first;
  yield* more;
}

/** Undoes gzip, unless somebody on the way did already: an object store's Content-Encoding does so. */
export function gunzip(packed: ReadableStream<Uint8Array>, path: string): ReadableStream<Uint8Array> {
  return toStream(unpack(packed, path));
}

async function* unpack(packed: ReadableStream<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
  const source = Readable.fromWeb(packed as unknown as NodeStream);
  let stream: Readable | null = null;
  try {
    const start = await head(source);
    if (start[0] !== 0x1f || start[1] !== 0x8b) {
      if (start.length > 0) yield start;
      yield* source;
      return;
    }
    source.unshift(start);
    const gunzip = createGunzip();
    stream = gunzip;
    source.once("error", (error) => gunzip.destroy(error));
    yield* source.pipe(gunzip);
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith("Z_")) {
      throw new AppError("upstream", `The file ${path} is not whole, or not gzip.`, { cause: error });
    }
    throw error;
  } finally {
    stream?.destroy();
    source.destroy();
  }
}

/** The first two bytes or more; fewer where there are no more. */
async function head(source: Readable): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source.iterator({ destroyOnReturn: false })) {
    pieces.push(piece as Uint8Array);
    length += (piece as Uint8Array).length;
    if (length >= 2) break;
  }
  return Buffer.concat(pieces);
}
