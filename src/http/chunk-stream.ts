import { Reply, type Visit } from "./operation.ts";

/** A quiet stream says so at least this often, so that no proxy or server cuts it. */
const HEARTBEAT_MS = 8_000;
/** A comment: clients pass it over. */
const HEARTBEAT = ": ka\n\n";

/** As the AI SDK sends and expects them. */
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no",
} as const;

/**
 * A UI message stream of the AI SDK: `source` gives its events as they go over the wire. Headers go at once. When the
 * client goes, or may not follow any more, or the process ends, only the stream does: `signal` aborts.
 */
export function chunkStream(visit: Visit, source: (signal: AbortSignal) => AsyncIterable<string>): Reply {
  visit.keepOpen();
  const gone = new AbortController();
  const end = () => gone.abort();
  visit.request.signal.addEventListener("abort", end, { once: true });
  visit.closing.addEventListener("abort", end, { once: true });
  gone.signal.addEventListener("abort", () => visit.closing.removeEventListener("abort", end), {
    once: true,
  });
  if (visit.closing.aborted) end();
  const pieces = source(gone.signal)[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<string>> | null = null;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(HEARTBEAT)),
    async pull(controller) {
      next ??= pieces.next();
      let timer: Timer | undefined;
      const quiet = new Promise<null>((resolve) => {
        timer = setTimeout(() => resolve(null), HEARTBEAT_MS);
      });
      const step = await Promise.race([next, quiet]).finally(() => clearTimeout(timer));
      if ((await visit.isStillAdmitted?.()) === false) {
        end();
        return controller.close();
      }
      if (step === null) return controller.enqueue(encoder.encode(HEARTBEAT));
      next = null;
      if (step.done) {
        end();
        return controller.close();
      }
      controller.enqueue(encoder.encode(step.value));
    },
    cancel: end,
  });
  return new Reply(200, body, HEADERS);
}
