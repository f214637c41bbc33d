import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { readEvents, type SseEvent } from "../base/sse.ts";
import type { Host } from "./host.ts";
import type { Api } from "./verbs.ts";

/** The server sends something at least every 8 s. Longer silence means a dead connection. */
const SILENCE_MS = 30_000;

/**
 * Opens a stream of the server after the message `lastId`. Resolves when the stream starts. The messages end when the
 * server ends them or `signal` aborts. Throws `upstream` or `timeout` (retryable) if the connection is lost.
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
/** How long a server can be unavailable while someone follows a run. */
const PATIENCE_MS = 300_000;

/** Waits for an unavailable server, which may be restarting. */
export function openPatience(
  host: Host,
  { signal, isEndless = false }: { signal?: AbortSignal; isEndless?: boolean } = {},
) {
  let waitMs = FIRST_WAIT_MS;
  let awaySince: number | null = null;
  return {
    /** The server has responded. */
    reward(): void {
      waitMs = FIRST_WAIT_MS;
      awaySince = null;
    },
    /**
     * Sleeps before another attempt, longer each time. Throws errors that a retry can't fix, and when the time is over.
     */
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
