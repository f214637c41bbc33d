import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { Host } from "./host.ts";
import type { Api } from "./verbs.ts";

/** One message of a stream of server-sent events. */
export interface Message {
  id: string | null;
  event: string;
  /** As it came: JSON. */
  data: string;
}

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
): Promise<AsyncGenerator<Message>> {
  const silent = new AbortController();
  const lost = () =>
    silent.abort(new AppError("timeout", `${api.server} has gone silent.`, { retryable: true }));
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
): AsyncGenerator<Message> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done: isOver, value } = await reader.read();
      if (isOver) return;
      heard();
      rest += decoder.decode(value, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const message = parseMessage(block);
        if (message) yield message;
      }
    }
  } finally {
    done();
    await reader.cancel().catch(() => undefined); // a lost connection has nothing to cancel
  }
}

/** Null for a comment. */
function parseMessage(block: string): Message | null {
  const message: Message = { id: null, event: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, field, value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === "id") message.id = value;
    else if (field === "event") message.event = value;
    else if (field === "data") message.data += value;
  }
  return message.data === "" ? null : message;
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 3_000;
/** So long a server may be away while somebody follows a run. */
const PATIENCE_MS = 300_000;

/** Waits for a server that is away: it may start anew, and what it was asked for goes on then. */
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
      if (isPassing) host.status(`${error.message} Trying again …`);
      await systemClock.sleep(waitMs, signal);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    },
  };
}
