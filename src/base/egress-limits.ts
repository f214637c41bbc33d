import { AppError } from "./errors.ts";

/** The end of an exchange: the caller's signal or the time that it may take. */
export interface Deadline {
  /** Aborts with the caller's reason or with a `timeout`. */
  readonly signal: AbortSignal;
  /** True where the other side may not be silent for long. */
  readonly isIdleLimited: boolean;
  /** Does a wait for the other side, which has to send something before the idle limit. */
  hear<T>(wait: Promise<T>): Promise<T>;
  /** Lets go of timer and listener; to be called when the exchange is over. */
  close(): void;
}

/** In milliseconds; 0 is no limit. */
export interface Limits {
  /** Of the whole exchange. */
  timeoutMs: number;
  /** Between two pieces of what the other side sends. */
  idleMs: number;
}

/** The longest delay that a JavaScript timer keeps; a longer one fires at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** The network takes real time, so these are real timers and no `Clock`. */
export function openDeadline(
  signal: AbortSignal | undefined,
  { timeoutMs, idleMs }: Limits,
  name: string,
): Deadline {
  const controller = new AbortController();
  const endAfter = (ms: number, how: string) => {
    const late = () => controller.abort(new AppError("timeout", `${name} ${how}.`, { retryable: true }));
    return ms > 0 ? setTimeout(late, Math.min(ms, MAX_TIMER_MS)) : undefined;
  };
  const timer = endAfter(timeoutMs, `didn't respond within ${timeoutMs / 1000} s`);
  const stop = () => controller.abort(signal?.reason);
  if (signal?.aborted) stop();
  const stops = signal ? stopsOf(signal) : null;
  stops?.add(stop);
  return {
    signal: controller.signal,
    isIdleLimited: idleMs > 0,
    async hear(wait) {
      const idle = endAfter(idleMs, `sent nothing for ${idleMs / 1000} s`);
      try {
        return await wait;
      } finally {
        clearTimeout(idle);
      }
    },
    close() {
      clearTimeout(timer);
      stops?.delete(stop);
    },
  };
}

const stopsBySignal = new WeakMap<AbortSignal, Set<() => void>>();

/** What is to be stopped by a signal: it is listened to once, however many exchanges it stands over. */
function stopsOf(signal: AbortSignal): Set<() => void> {
  const known = stopsBySignal.get(signal);
  if (known) return known;
  const stops = new Set<() => void>();
  stopsBySignal.set(signal, stops);
  const stopAll = () => {
    for (const stop of stops) stop();
  };
  signal.addEventListener("abort", stopAll, { once: true });
  return stops;
}

/** A body's bytes, under the deadline, with failures told by `explain`; reads only when asked. */
export function watchBody(
  body: ReadableStream<Uint8Array> | null,
  deadline: Deadline,
  explain: (error: unknown) => unknown,
): ReadableStream<Uint8Array> {
  const reader = body?.getReader();
  if (!reader) deadline.close();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = reader && (await deadline.hear(reader.read()));
          if (next && !next.done) return controller.enqueue(next.value);
          deadline.close();
          controller.close();
        } catch (error) {
          const reason = explain(error);
          deadline.close();
          throw reason;
        }
      },
      async cancel(reason) {
        deadline.close();
        await reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Reads until there is more than `maxBytes`, then lets the rest go. */
export async function readAtMost(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
): Promise<{ bytes: Uint8Array; truncated: boolean }> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length <= maxBytes) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    length += value.length;
  }
  const truncated = length > maxBytes;
  if (truncated) await reader.cancel();
  const bytes = new Uint8Array(Math.min(length, maxBytes));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk.subarray(0, bytes.length - at), at);
    at += Math.min(chunk.length, bytes.length - at);
  }
  return { bytes, truncated };
}

/** Host and port as in the Host header, without the root's dot. */
export const nameOf = (url: URL): string => url.host.replace(/\.(?=:\d+$|$)/, "");

/** What went wrong on the way to `url`, by the codes of Bun's `fetch`. */
export function failureOf(error: unknown, url: URL): unknown {
  if (error instanceof AppError) return error;
  const name = nameOf(url);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const [, message, retryable] = FAILURES.find(([codes]) => codes.test(code)) ?? OTHER;
  return new AppError("upstream", message(name, code), { retryable, cause: error });
}

type Failure = [codes: RegExp, message: (name: string, code: string) => string, retryable: boolean];

const FAILURES: readonly Failure[] = [
  [/^ECONNREFUSED$|ConnectionRefused/, (name) => `${name} refused the connection.`, true],
  [
    /^(ECONNRESET|EPIPE)$|ConnectionClosed/,
    (name) => `${name} closed the connection before it responded.`,
    true,
  ],
  [/^ETIMEDOUT$|^ConnectionTimeout/, (name) => `The connection to ${name} timed out.`, true],
  [/UNREACH/, (name) => `No network route to ${name}.`, true],
  [/^EPROTO$/, (name) => `TLS handshake with ${name} failed. Check that the port uses TLS.`, true],
  [
    /CERT|SELF_SIGNED|ISSUER|SIGNATURE|CRL|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE/,
    (name, code) => `The TLS certificate of ${name} was rejected (${code}).`,
    false,
  ],
  [/TLS|SSL/, (name, code) => `The TLS connection to ${name} failed (${code}).`, true],
  [/Zlib|Brotli|Zstd|Decompress/i, (name) => `${name} sent a body that couldn't be decompressed.`, true],
  [/HTTP|Chunk|Header/i, (name, code) => `${name} sent an invalid HTTP response (${code}).`, true],
];

const OTHER: Failure = [/^/, (name, code) => `Request to ${name} failed${code && ` (${code})`}.`, true];
