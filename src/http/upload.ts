import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { checkAnnounced } from "./body.ts";
import type { Visit } from "./operation.ts";

/** An upload has no time limit, but a limit on silence. */
const IDLE_MS = 30_000;

/**
 * Returns the raw body as a stream. Throws `bad_request`, `payload_too_large` and `unsupported_media_type` because of
 * the headers. The stream fails with `request_timeout` after 30 s without a byte, and when the sender disconnects.
 */
export function readUpload(app: App, visit: Visit, maxBytes: number): ReadableStream<Uint8Array> {
  checkAnnounced(visit.request, maxBytes);
  visit.keepOpen(); // this limit is reported to the sender, while the server's own would only close the connection
  const reader = visit.request.body?.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (!reader) return controller.close();
      const { done, value } = await nextChunk(app, reader);
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader?.cancel(reason),
  });
}

async function nextChunk(app: App, reader: Bytes) {
  const arrived = new AbortController();
  const idle = app.clock.limit(IDLE_MS, arrived.signal).then(() => null);
  const chunk = reader.read().catch((cause: unknown) => {
    throw new AppError("cancelled", "The upload was interrupted. Nothing was stored.", { cause });
  });
  try {
    const first = await Promise.race([chunk, idle]);
    if (first !== null) return first;
    chunk.catch(() => undefined); // rejects when the reader is cancelled below
    reader.cancel().catch(() => undefined); // reported in the response
    throw new AppError("request_timeout", "No data arrived for 30 seconds. Nothing was stored.");
  } finally {
    arrived.abort();
  }
}

type Bytes = ReadableStreamDefaultReader<Uint8Array>;
