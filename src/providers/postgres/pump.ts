import type { Readable } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { QUIET_MS } from "../files/streams.ts";

/** Approximate size of blocks in bytes: row by row, the overhead would exceed the server's work. */
const BLOCK_BYTES = 262_144;

/** Maximum number of buffered blocks before the source has to wait. */
const MAX_WAITING_BLOCKS = 4;

/**
 * Joins a stream of small pieces to blocks. The source pauses while the reader is slow.
 * Throws the stream's error, also one from before the first read, and `timeout` after five minutes without data.
 */
export function pump(stream: Readable, clock: Clock): AsyncGenerator<Uint8Array> {
  const waiting: Uint8Array[] = [];
  let block = Buffer.allocUnsafe(BLOCK_BYTES);
  let used = 0;
  let done = false;
  let fault: unknown = null;
  let heard = false; // since the last check
  let heardAt = clock.monotonic();
  let wake: () => void = () => undefined;

  const cut = () => {
    if (used > 0) waiting.push(block.subarray(0, used));
    block = Buffer.allocUnsafe(BLOCK_BYTES);
    used = 0;
  };
  const finish = (error: unknown) => {
    if (done) return;
    done = true;
    fault = error;
    wake();
  };
  stream.on("data", (piece: Buffer) => {
    heard = true;
    if (used + piece.length > BLOCK_BYTES) cut();
    // A row of many megabytes arrives in one piece. Code that scans it has to yield in between.
    if (piece.length > BLOCK_BYTES) waiting.push(...pieces(piece));
    else used += piece.copy(block, used);
    if (waiting.length === 0) return;
    if (waiting.length >= MAX_WAITING_BLOCKS) stream.pause();
    wake();
  });
  stream.once("end", () => finish(null));
  stream.once("error", finish);
  stream.once("close", () => finish(cutOff()));
  stream.pause();

  return (async function* () {
    const watch = setInterval(() => {
      if (heard || stream.isPaused()) heardAt = clock.monotonic();
      heard = false;
      if (clock.monotonic() - heardAt > QUIET_MS) stream.destroy(silence());
    }, 5_000);
    try {
      for (;;) {
        const next = waiting.shift();
        if (next) {
          yield next;
          continue;
        }
        if (done) break;
        heardAt = clock.monotonic();
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        stream.resume();
        await promise;
      }
      if (fault) throw fault;
      cut();
      const last = waiting.shift();
      if (last) yield last;
    } finally {
      clearInterval(watch);
      stream.destroy();
    }
  })();
}

function* pieces(row: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < row.length; at += BLOCK_BYTES) yield row.subarray(at, at + BLOCK_BYTES);
}

const silence = () =>
  new AppError("timeout", `The source sent nothing for ${QUIET_MS / 1000} seconds.`, { retryable: true });

const cutOff = () => new AppError("upstream", "The source ended before its last row.", { retryable: true });
