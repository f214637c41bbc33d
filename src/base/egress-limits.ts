import { AppError } from "./errors.ts";

/** In milliseconds. 0 means no limit. */
export interface Limits {
  /** Limit for the whole exchange. */
  timeoutMs: number;
  /** Limit for the wait for the headers, and for each chunk after them. */
  idleMs: number;
}

/** The longest delay of a JavaScript timer. Longer ones fire immediately. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Time limits of an exchange, combined with the caller's signal.
 * Uses real timers instead of a `Clock`, since the network takes real time.
 */
export class Deadline {
  /** Aborts with the caller's reason or with a `timeout`. */
  readonly signal: AbortSignal;
  /** True if there is a limit on silence. */
  readonly isIdleLimited: boolean;
  readonly #controller = new AbortController();
  readonly #limits: Limits;
  readonly #name: string;
  readonly #timer: Timer | undefined;
  /** All deadlines with the same signal. */
  readonly #together: Set<Deadline> | null;

  constructor(signal: AbortSignal | undefined, limits: Limits, name: string) {
    this.signal = this.#controller.signal;
    this.isIdleLimited = limits.idleMs > 0;
    this.#limits = limits;
    this.#name = name;
    this.#timer = endAfter(limits.timeoutMs, () => this.#end("didn't respond within", limits.timeoutMs));
    if (signal?.aborted) this.abort(signal.reason);
    this.#together = signal ? deadlinesOf(signal) : null;
    this.#together?.add(this);
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Awaits data from the other side, with the limit on silence. */
  hear<T>(wait: Promise<T>): Promise<T> {
    if (!this.isIdleLimited) return wait;
    const { idleMs } = this.#limits;
    const idle = endAfter(idleMs, () => this.#end("sent nothing for", idleMs));
    return wait.finally(() => clearTimeout(idle));
  }

  /** Releases the timer and the listener. Call it when the exchange is over. */
  close(): void {
    clearTimeout(this.#timer);
    this.#together?.delete(this);
  }

  #end(how: string, ms: number): void {
    this.abort(new AppError("timeout", `${this.#name} ${how} ${ms / 1000} s.`, { retryable: true }));
  }
}

const endAfter = (ms: number, end: () => void): Timer | undefined =>
  ms > 0 ? setTimeout(end, Math.min(ms, MAX_TIMER_MS)) : undefined;

type Timer = ReturnType<typeof setTimeout>;

const deadlinesBySignal = new WeakMap<AbortSignal, Set<Deadline>>();

/** Deadlines that a signal ends. One listener serves all exchanges of a signal. */
function deadlinesOf(signal: AbortSignal): Set<Deadline> {
  const known = deadlinesBySignal.get(signal);
  if (known) return known;
  const deadlines = new Set<Deadline>();
  deadlinesBySignal.set(signal, deadlines);
  const endAll = () => {
    for (const deadline of deadlines) deadline.abort(signal.reason);
  };
  signal.addEventListener("abort", endAll, { once: true });
  return deadlines;
}

/** Wraps a body with the deadline and with errors from `explain`. Reads only on demand. */
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

/** Reads until there are more than `maxBytes`, then cancels the rest. */
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

/** Host and port as in the Host header, without a trailing dot. */
export const nameOf = (url: URL): string => url.host.replace(/\.(?=:\d+$|$)/, "");

/** Translates error codes of Bun's `fetch` for a request to `url`. */
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
