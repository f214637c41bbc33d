import { Reply, type Visit } from "./operation.ts";

/** A quiet stream says so at least this often, so that no proxy or server cuts it. */
const HEARTBEAT_MS = 8_000;

export interface ServerEvent {
  id?: string | number;
  event: string;
  data: unknown;
}

/**
 * Server-sent events from `source`, with a comment line whenever it is quiet for 8 s. When the client
 * goes or may not follow any more, or the process ends, `signal` aborts and the source's `finally` runs.
 */
export function eventStream(visit: Visit, make: (signal: AbortSignal) => AsyncIterable<ServerEvent>): Reply {
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
  let next: Promise<IteratorResult<ServerEvent>> | null = null;

  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(": open\n\n")),
    async pull(controller) {
      next ??= source.next();
      let timer: Timer | undefined;
      const quiet = new Promise<null>((resolve) => {
        timer = setTimeout(() => resolve(null), HEARTBEAT_MS);
      });
      const step = await Promise.race([next, quiet]).finally(() => clearTimeout(timer));
      if ((await visit.isStillAdmitted?.()) === false) {
        gone.abort();
        await source.return?.();
        return controller.close();
      }
      if (step === null) return controller.enqueue(encoder.encode(": still here\n\n"));
      next = null;
      if (step.done) {
        end();
        return controller.close();
      }
      controller.enqueue(encoder.encode(format(step.value)));
    },
    async cancel() {
      gone.abort();
      await source.return?.();
    },
  });
  return new Reply(200, body, {
    "content-type": "text/event-stream; charset=utf-8",
    "x-accel-buffering": "no",
  });
}

function format({ id, event, data }: ServerEvent): string {
  const head = id === undefined ? "" : `id: ${id}\n`;
  return `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
