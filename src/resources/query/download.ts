import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../../context.ts";
import { toStream } from "../../providers/files/streams.ts";
import type { SaveFormat } from "../../sql/contract.ts";
import { beginQuery } from "../usage/quotas.ts";
import { jobOf, rethrowAtSql, rethrowWithTables } from "./service.ts";
import type { QueryRequest } from "./wire.ts";

/** Maximum size of a download: any viewer can request one, and all use the same disk. */
const MAX_DOWNLOAD_BYTES = 1024 ** 3;
const CHUNK_BYTES = 256 * 1024;

/**
 * Runs SQL and returns all of its rows as a file, at most `limit` if given. The file is complete before its first byte
 * is sent, so that errors can still be reported, and is deleted with the stream. Throws as `runQuery` does, and
 * `limit_exceeded` for more than 1 GiB.
 */
export async function downloadQuery(
  ctx: Context,
  { sql, parameters, limit }: QueryRequest,
  format: SaveFormat,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const ended = await beginQuery(ctx);
  try {
    return await save(ctx, { sql, parameters, limit }, format, signal);
  } finally {
    ended();
  }
}

async function save(
  ctx: Context,
  { sql, parameters, limit }: QueryRequest,
  format: SaveFormat,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const job = { ...(await jobOf(ctx, sql, parameters).catch(rethrowAtSql)), signal };
  const work = await ctx.lake.workFolder(ctx.ids.uuid());
  try {
    const into = join(work.path, "rows");
    await mkdir(into, { mode: 0o700 });
    const options = { format, ...(limit === undefined ? {} : { limit }), maxBytes: MAX_DOWNLOAD_BYTES };
    const { path } = await ctx.sql.save(job, into, options).catch(rethrowWithTables(ctx));
    const file = await open(path, "r");
    if (signal.aborted) await file.close();
    signal.throwIfAborted();
    const bytes = chunksOf(file);
    // Cancels the stream if the client disconnects before it is read.
    signal.addEventListener("abort", () => void bytes.return(), { once: true });
    return toStream(bytes);
  } finally {
    await work.dispose(); // The open file stays readable.
  }
}

/** Yields the file to its end. It is closed then, or when the reader stops. */
async function* chunksOf(file: FileHandle): AsyncGenerator<Uint8Array, void> {
  await using _ = file;
  for (;;) {
    const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK_BYTES), 0, CHUNK_BYTES);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}
