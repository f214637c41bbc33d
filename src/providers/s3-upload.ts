import { AppError } from "../base/errors.ts";
import { mimeTypeOf } from "./file-kinds.ts";
import { readReply, send } from "./s3-client.ts";
import { refusal } from "./s3-failure.ts";
import type { S3Link } from "./s3-shape.ts";
import { textOf } from "./s3-xml.ts";
import { readChunks } from "./streams.ts";

/** The first parts' size; it doubles every thousand parts, so that the 10,000 S3 allows are enough for 5 TiB. */
const PART_BYTES = 8 * 1024 * 1024;

/** Milliseconds that giving up an upload may take after its run has ended. */
const ABORT_TIMEOUT_MS = 10_000;

/**
 * Writes one object and gives its size: small ones in one request, others in parts that appear together at
 * the end. A failure or an abort leaves neither object nor parts. Throws `payload_too_large`.
 */
export async function upload(
  link: S3Link,
  key: string,
  bytes: ReadableStream<Uint8Array>,
  maxBytes: number,
): Promise<number> {
  const headers = { "content-type": mimeTypeOf(key) ?? "application/octet-stream" };
  const parts = cutParts(readChunks(bytes, link.signal), maxBytes);
  try {
    const first = (await parts.next()).value ?? new Uint8Array();
    const second = await parts.next();
    if (second.done) {
      const response = await send(link, { method: "PUT", key, headers, body: first });
      await response.body.cancel();
      return first.length;
    }
    return await uploadParts(link, key, headers, chain(first, second.value, parts));
  } finally {
    await parts.return(undefined);
  }
}

async function uploadParts(
  link: S3Link,
  key: string,
  headers: Record<string, string>,
  parts: AsyncIterable<Uint8Array<ArrayBuffer>>,
): Promise<number> {
  const begun = await readReply(await send(link, { method: "POST", key, query: { uploads: "" }, headers }));
  const uploadId = textOf(begun, "UploadId");
  if (!uploadId) throw new AppError("upstream", "The object store began an upload without naming it.");
  try {
    const tags: string[] = [];
    let size = 0;
    for await (const body of parts) {
      const query = { partNumber: String(tags.length + 1), uploadId };
      const response = await send(link, { method: "PUT", key, query, body });
      const tag = response.headers.get("etag");
      await response.body.cancel();
      if (!tag) throw new AppError("upstream", "The object store took a part without naming it.");
      tags.push(tag);
      size += body.length;
    }
    await complete(link, key, uploadId, tags);
    return size;
  } catch (error) {
    await giveUp(link, key, uploadId);
    throw error;
  }
}

async function complete(link: S3Link, key: string, uploadId: string, tags: readonly string[]): Promise<void> {
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
  // S3 begins to answer 200 before it knows the outcome.
  if (reply.name === "Error") {
    const fault = {
      code: textOf(reply, "Code") ?? "",
      message: textOf(reply, "Message") ?? "",
      region: null,
    };
    throw refusal(link, request, 200, response.headers, fault);
  }
}

const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** The first error is the one to tell; parts that stay behind are for the bucket's own clean-up rule. */
async function giveUp(link: S3Link, key: string, uploadId: string): Promise<void> {
  const signal = AbortSignal.timeout(ABORT_TIMEOUT_MS);
  try {
    const response = await send(link, { method: "DELETE", key, query: { uploadId }, signal });
    await response.body.cancel();
  } catch (error) {
    if (!(error instanceof AppError) && !signal.aborted) throw error;
  }
}

/** Whole parts, each in a buffer of its own; the last one may be short. */
async function* cutParts(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let count = 0;
  let total = 0;
  let used = 0;
  let part = new Uint8Array(PART_BYTES);
  for await (const chunk of bytes) {
    total += chunk.length;
    if (total > maxBytes) {
      throw new AppError(
        "payload_too_large",
        `The file is larger than the ${maxBytes} bytes that are allowed.`,
      );
    }
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + part.length - used);
      part.set(piece, used);
      used += piece.length;
      at += piece.length;
      if (used < part.length) continue;
      yield part;
      count++;
      part = new Uint8Array(PART_BYTES * 2 ** Math.floor(count / 1_000));
      used = 0;
    }
  }
  if (used > 0) yield part.slice(0, used);
}

async function* chain<T>(first: T, second: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield second;
  yield* rest;
}
