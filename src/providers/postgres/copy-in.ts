import { once } from "node:events";
import { Writable } from "node:stream";

/** The part of the library's query that settles it: first with the stream, then with the end or the error. */
interface CopyQuery extends PromiseLike<unknown> {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Sends `bytes` to a `COPY … FROM STDIN`, as fast as the server reads them. Returns the number of rows that the server
 * counted. The library resolves its promise with the stream: an error after the last byte is passed only to `reject`.
 */
export async function copyIn(
  query: CopyQuery,
  bytes: AsyncIterable<Uint8Array>,
  start: (query: CopyQuery) => Promise<unknown>,
): Promise<number> {
  const begun = Promise.withResolvers<Writable>();
  const ended = Promise.withResolvers<number>();
  ended.promise.catch(() => undefined); // awaited below, or reported by `begun`
  const { resolve, reject } = query;
  query.resolve = (value) => {
    if (value instanceof Writable) {
      value.on("error", () => undefined); // the server's error is passed to `reject`
      begun.resolve(value);
    } else ended.resolve((value as { count?: number | null }).count ?? 0);
    resolve(value);
  };
  query.reject = (error) => {
    begun.reject(error);
    ended.reject(error);
    reject(error);
  };
  start(query).catch(begun.reject);
  const stream = await begun.promise;
  try {
    for await (const chunk of bytes) {
      if (stream.destroyed) break; // `ended` has the reason
      if (!stream.write(chunk)) await once(stream, "drain");
    }
  } catch (error) {
    stream.destroy();
    throw error;
  }
  stream.end();
  return ended.promise;
}
