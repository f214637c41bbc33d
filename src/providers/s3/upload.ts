import { AppError } from "../../base/errors.ts";
import { mimeTypeOf } from "../files/file-kinds.ts";
import { changedFile, readChunks } from "../files/streams.ts";
import { readReply, send } from "./client.ts";
import { refusal } from "./failure.ts";
import { plainTag } from "./list.ts";
import type { S3Link } from "./shape.ts";
import { textOf } from "./xml.ts";

/** Size of the first parts; it doubles every 1,000 parts, so that S3's 10,000 parts are enough for 5 TiB. */
export const PART_BYTES = 8 * 1024 * 1024;

/** Time in milliseconds to abort an upload after its run has ended. */
const ABORT_TIMEOUT_MS = 10_000;

/** Number of concurrent parts of one object. */
const PARTS_AT_ONCE = 3;

/** Headers of a stored object; the default type depends on its name. */
export type ObjectHeaders = Readonly<Record<string, string>>;

/** A written object. */
export interface Uploaded {
  size: number;
  /** Null if the store returns none. */
  etag: string | null;
}

interface UploadOptions {
  /** Expected number of bytes. Null if unknown. */
  size?: number | null;
  headers?: ObjectHeaders;
}

/**
 * Writes one object and returns its size: small ones in one request, others in parts that become visible together.
 * After a failure or an abort neither object nor parts remain. Throws `payload_too_large`, and `upstream` (retryable)
 * for a wrong number of bytes.
 */
export async function upload(
  link: S3Link,
  key: string,
  bytes: ReadableStream<Uint8Array>,
  maxBytes: number,
  { size = null, headers = {} }: UploadOptions = {},
): Promise<Uploaded> {
  const spare: PartBuffer[] = [];
  const parts = cutParts(counted(readChunks(bytes, link.signal), key, maxBytes, size), spare);
  try {
    if (size !== null && size > PART_BYTES)
      return await uploadParts(link, key, headersOf(key, headers), parts, spare); // no lookahead needed
    const first = (await parts.next()).value ?? new Uint8Array();
    const second = await parts.next();
    if (second.done) return await uploadWhole(link, key, first, headers);
    const all = chain(first, second.value, parts);
    return await uploadParts(link, key, headersOf(key, headers), all, spare);
  } finally {
    await parts.return(undefined);
  }
}

/** Uploads bytes from memory in one request. */
export async function uploadWhole(
  link: S3Link,
  key: string,
  body: Uint8Array<ArrayBuffer>,
  headers: ObjectHeaders = {},
): Promise<Uploaded> {
  const response = await send(link, { method: "PUT", key, headers: headersOf(key, headers), body });
  await response.body.cancel();
  return { size: body.length, etag: plainTag(response.headers.get("etag")) };
}

const headersOf = (key: string, headers: ObjectHeaders): Record<string, string> => ({
  "content-type": mimeTypeOf(key) ?? "application/octet-stream",
  ...headers,
});

async function uploadParts(
  link: S3Link,
  key: string,
  headers: Record<string, string>,
  parts: AsyncIterable<Uint8Array<ArrayBuffer>>,
  spare: PartBuffer[],
): Promise<Uploaded> {
  return inParts(link, key, headers, async (uploadId) => {
    const tags: Promise<string>[] = [];
    const under = new Set<Promise<void>>();
    const broken = new AbortController();
    let size = 0;
    try {
      for await (const body of parts) {
        const query = { partNumber: String(tags.length + 1), uploadId };
        const sent = sendPart(link, key, query, body);
        tags.push(sent);
        const ended: Promise<void> = sent
          .then(
            () => void spare.push(body.buffer),
            (error: unknown) => broken.abort(error),
          )
          .finally(() => under.delete(ended));
        under.add(ended);
        size += body.length;
        if (under.size >= PARTS_AT_ONCE) await Promise.race(under);
        broken.signal.throwIfAborted();
      }
      return { tags: await Promise.all(tags), size };
    } finally {
      await Promise.allSettled(tags); // aborting requires that no part is being sent
    }
  });
}

async function sendPart(
  link: S3Link,
  key: string,
  query: Record<string, string>,
  body: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const response = await send(link, { method: "PUT", key, query, body, isUnsigned: true });
  const tag = response.headers.get("etag");
  await response.body.cancel();
  if (!tag) throw new AppError("upstream", "The object store returned no ETag for a part.");
  return tag;
}

/** One object in parts, which `work` uploads; it becomes visible when all are complete. */
export async function inParts(
  link: S3Link,
  key: string,
  headers: ObjectHeaders,
  work: (uploadId: string) => Promise<{ tags: readonly string[]; size: number }>,
): Promise<Uploaded> {
  const begun = await readReply(await send(link, { method: "POST", key, query: { uploads: "" }, headers }));
  const uploadId = textOf(begun, "UploadId");
  if (!uploadId) throw new AppError("upstream", "The object store returned no upload ID.");
  try {
    const { tags, size } = await work(uploadId);
    return { size, etag: await complete(link, key, uploadId, tags) };
  } catch (error) {
    await giveUp(link, key, uploadId);
    throw error;
  }
}

async function complete(
  link: S3Link,
  key: string,
  uploadId: string,
  tags: readonly string[],
): Promise<string | null> {
  const list = tags
    .map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`)
    .join("");
  const request = {
    method: "POST" as const,
    key,
    query: { uploadId },
    headers: { "content-type": "application/xml" },
    body: new TextEncoder().encode(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`),
  };
  const response = await send(link, request);
  const reply = await readReply(response);
  // S3 sends status 200 before it knows the outcome.
  if (reply.name === "Error") {
    const fault = {
      code: textOf(reply, "Code") ?? "",
      message: textOf(reply, "Message") ?? "",
      region: null,
    };
    throw refusal(link, request, 200, response.headers, fault);
  }
  return plainTag(textOf(reply, "ETag"));
}

const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** The first error is the one reported; remaining parts are left to the bucket's lifecycle rules. */
async function giveUp(link: S3Link, key: string, uploadId: string): Promise<void> {
  const signal = AbortSignal.timeout(ABORT_TIMEOUT_MS);
  try {
    const response = await send(link, { method: "DELETE", key, query: { uploadId }, signal });
    await response.body.cancel();
  } catch (error) {
    if (!(error instanceof AppError) && !signal.aborted) throw error;
  }
}

async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  key: string,
  maxBytes: number,
  size: number | null,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of bytes) {
    total += chunk.length;
    if (total > maxBytes) {
      throw new AppError("payload_too_large", `The file is larger than the allowed ${maxBytes} bytes.`);
    }
    if (size !== null && total > size) throw changedFile(key);
    yield chunk;
  }
  if (size !== null && total < size) throw changedFile(key);
}

/** Buffer of a part; reused after sending, because such large buffers are freed late. */
type PartBuffer = ArrayBuffer;

/** Complete parts, each in its own buffer, taken from `spare` if possible; the last part may be shorter. */
async function* cutParts(
  bytes: AsyncIterable<Uint8Array>,
  spare: PartBuffer[],
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let count = 0;
  let used = 0;
  const take = () => {
    const size = PART_BYTES * 2 ** Math.floor(count / 1_000);
    for (let old = spare.pop(); old; old = spare.pop())
      if (old.byteLength === size) return new Uint8Array(old);
    return new Uint8Array(size);
  };
  let part = take();
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + part.length - used);
      part.set(piece, used);
      used += piece.length;
      at += piece.length;
      if (used < part.length) continue;
      yield part;
      count++;
      part = take();
      used = 0;
    }
  }
  if (used > 0) yield part.subarray(0, used);
}

async function* chain<T>(first: T, second: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield second;
  yield* rest;
}
