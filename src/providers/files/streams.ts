import { AppError } from "../../base/errors.ts";

/** Timeout of a source that sends nothing. */
export const QUIET_MS = 300_000;

/** A web stream over an iterable, which is read only on demand. */
export function toStream(bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

/** The chunks of a stream. Throws the signal's reason immediately when aborted, even while waiting for a chunk. */
export async function* readChunks(
  bytes: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  const reader = bytes.getReader();
  // Ends a pending read. Racing with a promise of the signal would keep every chunk until the stream ends.
  const abort = () => void reader.cancel(signal.reason).catch(() => undefined); // the signal's reason is thrown instead
  signal.addEventListener("abort", abort, { once: true });
  let whole = false;
  try {
    for (;;) {
      const next = await reader.read().catch((error: unknown) => {
        signal.throwIfAborted();
        throw error;
      });
      signal.throwIfAborted();
      if (next.done) break;
      yield next.value;
    }
    whole = true;
  } finally {
    signal.removeEventListener("abort", abort);
    if (!whole) await reader.cancel(signal.reason).catch(() => undefined); // the first error is the one to report
    reader.releaseLock();
  }
}

/**
 * Decodes chunks to text; a call without a chunk ends the text. Throws `upstream` for bytes that are invalid in the
 * charset, retryable if the end is missing; `what` starts the sentence.
 */
export function textReader(what: string, charset = "utf-8"): (chunk?: Uint8Array) => string {
  const decoder = new TextDecoder(charset as Bun.Encoding, { fatal: true });
  return (chunk) => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
    } catch (cause) {
      const how = chunk
        ? `has bytes that are no ${decoder.encoding.toUpperCase()}`
        : "ends within a character";
      throw new AppError("upstream", `${what} ${how}.`, { retryable: chunk === undefined, cause });
    }
  };
}

/** Error for a file that has changed since it was listed. */
export const changedFile = (path: string): AppError =>
  new AppError("upstream", `${JSON.stringify(path)} was changed while it was read.`, {
    retryable: true,
    details: { rule: "changed" },
  });

/** Whether an error says that a file has changed. */
export const isChanged = (error: unknown): boolean =>
  error instanceof AppError && error.details?.rule === "changed";

/** The bytes as a stream of exactly this length, null for any. Throws `upstream` (retryable) for another length. */
export function exactly(
  bytes: ReadableStream<Uint8Array> | Uint8Array,
  size: number | null,
  path: string,
): ReadableStream<Uint8Array> {
  if (bytes instanceof Uint8Array) {
    if (size !== null && bytes.length !== size) throw changedFile(path);
    return new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  }
  if (size === null) return bytes;
  let read = 0;
  return bytes.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        read += chunk.length;
        if (read > size) throw changedFile(path);
        controller.enqueue(chunk);
      },
      flush() {
        if (read < size) throw changedFile(path);
      },
    }),
  );
}

/** The bytes, with a first chunk of at least this size if there are that many. */
export async function* atLeast(bytes: AsyncIterable<Uint8Array>, least: number): AsyncGenerator<Uint8Array> {
  let start: Uint8Array | null = new Uint8Array();
  for await (const piece of bytes) {
    if (start === null) {
      yield piece;
      continue;
    }
    start = start.length === 0 ? piece : Buffer.concat([start, piece]);
    if (start.length < least) continue;
    yield start;
    start = null;
  }
  if (start && start.length > 0) yield start;
}
