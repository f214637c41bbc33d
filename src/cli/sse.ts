import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { readEvents, type SseEvent } from "../base/sse.ts";
import type { Host } from "./host.ts";
import type { Api } from "./verbs.ts";

/** The server says something at least every 8 s; longer silence is a dead connection. */
const SILENCE_MS = 30_000;

/**
 * Opens a stream of the server, after the message `lastId`. Resolves once the server has begun it; the messages end when
 * the server ends them or `signal` aborts. Throws `upstream` or `timeout` (retryable) where the connection is lost.
 */
export async function openStream(
  api: Api,
  path: string,
  { lastId, signal }: { lastId: string | null; signal?: AbortSignal | undefined },
): Promise<AsyncGenerator<SseEvent>> {
  const silent = new AbortController();
  const lost = () =>
    silent.abort(new AppError("timeout", `${api.server} stopped responding.`, { retryable: true }));
  let timer = setTimeout(lost, SILENCE_MS);
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(lost, SILENCE_MS);
  };
  try {
    const reply = await api.open("GET", path, {
      headers: { accept: "text/event-stream", ...(lastId === null ? {} : { "last-event-id": lastId }) },
      signal: signal ? AbortSignal.any([signal, silent.signal]) : silent.signal,
    });
    return messagesOf(reply.body, heard, () => clearTimeout(timer));
  } catch (error) {
    clearTimeout(timer);
    throw error;
  }
}

async function* messagesOf(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
  done: () => void,
): AsyncGenerator<SseEvent> {
  try {
    yield* readEvents(body, { heard });
  } finally {
    done();
  }
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 3_000;
/** So long a server may be away while someone follows a run. */
const PATIENCE_MS = 300_000;

/** Waits for a server that is away: it may start again, and what it was asked for goes on then. */
export function openPatience(
  host: Host,
  { signal, isEndless = false }: { signal?: AbortSignal; isEndless?: boolean } = {},
) {
  let waitMs = FIRST_WAIT_MS;
  let awaySince: number | null = null;
  return {
    /** The server has answered. */
    reward(): void {
      waitMs = FIRST_WAIT_MS;
      awaySince = null;
    },
    /** Sleeps a while before another try, longer each time; throws what no other try mends, and when it was too long. */
    async wait(error: unknown): Promise<void> {
      const isPassing = error instanceof AppError && error.retryable;
      awaySince ??= systemClock.monotonic();
      const isOver = !isEndless && systemClock.monotonic() - awaySince > PATIENCE_MS;
      if (error !== null && (!isPassing || isOver)) throw error;
      if (isPassing) host.status(`${error.message} Retrying…`);
      await systemClock.sleep(waitMs, signal);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    },
  };
}
