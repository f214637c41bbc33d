import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { checkAnnounced } from "./body.ts";
import type { Visit } from "./operation.ts";

/** An upload may take its time, but not be silent for longer. */
const IDLE_MS = 30_000;

/**
 * The raw body as it comes. Throws `bad_request`, `payload_too_large` and `unsupported_media_type` for what
 * the headers tell; the stream fails with `request_timeout` after 30 s without a byte, and when the sender goes.
 */
export function readUpload(app: App, visit: Visit, maxBytes: number): ReadableStream<Uint8Array> {
  checkAnnounced(visit.request, maxBytes);
  visit.keepOpen(); // the limit here is told to the sender; the server's own would only cut the line
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
    chunk.catch(() => undefined); // it ends with the cancelling below
    reader.cancel().catch(() => undefined); // the sender is told by the reply
    throw new AppError("request_timeout", "No data arrived for 30 seconds. Nothing was stored.");
  } finally {
    arrived.abort();
  }
}

type Bytes = ReadableStreamDefaultReader<Uint8Array>;
