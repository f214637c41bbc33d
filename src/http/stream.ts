import { Reply, type Visit } from "./operation.ts";

/** Interval of comments in a quiet stream, so that no proxy or server closes it. */
const HEARTBEAT_MS = 8_000;

export interface ServerEvent {
  id?: string | number;
  event: string;
  data: unknown;
}

interface Writing<T> {
  headers: Readonly<Record<string, string>>;
  /** Comments, which clients ignore: at the start, and when the stream is quiet. */
  opening: string;
  heartbeat: string;
  /** Encodes an event. */
  write(each: T): string;
}

type Source<T> = (signal: AbortSignal) => AsyncIterable<T>;

/**
 * Server-sent events from `source`, with a comment whenever it is quiet for 8 s. When the client disconnects or loses
 * access, something throws, or the process ends, `signal` aborts and the source's `finally` runs.
 */
export const eventStream = (visit: Visit, source: Source<ServerEvent>): Reply =>
  textStream(visit, source, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
    opening: ": open\n\n",
    heartbeat: ": still here\n\n",
    write: ({ id, event, data }) =>
      `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
  });

/** A UI message stream of the AI SDK, with its headers. `source` yields encoded events. */
export const chunkStream = (visit: Visit, source: Source<string>): Reply =>
  textStream(visit, source, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      connection: "keep-alive",
      "x-vercel-ai-ui-message-stream": "v1",
      "x-accel-buffering": "no",
    },
    opening: ": ka\n\n",
    heartbeat: ": ka\n\n",
    write: (text) => text,
  });

/** Sends headers and the opening immediately. Only the stream ends with the client, not the work that it reports. */
function textStream<T>(
  visit: Visit,
  make: Source<T>,
  { headers, opening, heartbeat, write }: Writing<T>,
): Reply {
  visit.keepOpen();
  const gone = new AbortController();
  const end = () => gone.abort();
  visit.request.signal.addEventListener("abort", end, { once: true });
  visit.closing.addEventListener("abort", end, { once: true });
  gone.signal.addEventListener("abort", () => visit.closing.removeEventListener("abort", end), {
    once: true,
  });
  if (visit.closing.aborted) end();
  const source = make(gone.signal)[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const leave = async () => {
    end();
    await source.return?.();
  };
  let next: Promise<IteratorResult<T>> | null = null;
  const nextOrQuiet = async () => {
    next ??= source.next();
    let timer: Timer | undefined;
    const quiet = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), HEARTBEAT_MS);
    });
    return await Promise.race([next, quiet]).finally(() => clearTimeout(timer));
  };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(opening)),
    async pull(controller) {
      try {
        const step = await nextOrQuiet();
        if ((await visit.isStillAdmitted?.()) === false) {
          await leave();
          return controller.close();
        }
        if (step === null) return controller.enqueue(encoder.encode(heartbeat));
        next = null;
        if (step.done) {
          end();
          return controller.close();
        }
        controller.enqueue(encoder.encode(write(step.value)));
      } catch (error) {
        await leave(); // Bun doesn't cancel the stream or abort the request after an error
        throw error;
      }
    },
    cancel: leave,
  });
  return new Reply(200, body, headers);
}
