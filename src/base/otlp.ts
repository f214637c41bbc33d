import type { Clock } from "./clock.ts";
import type { Egress } from "./egress.ts";
import type { Log } from "./log.ts";
import type { Span, Tracer } from "./trace.ts";

export interface OtlpOptions {
  /** URL for spans, such as `http://127.0.0.1:4318/v1/traces`. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Attributes of the process, such as `service.name`. */
  resource: Readonly<Record<string, string>>;
  /** Fraction of traces to send, from 0 to 1. A trace is sent completely or not at all. */
  ratio: number;
  egress: Egress;
  clock: Clock;
  log: Log;
}

/** Maximum number of spans per request. */
const BATCH = 512;
/** Beyond this many waiting spans, new ones are dropped and counted. Work continues whatever the collector does. */
const MAX_WAITING_SPANS = 8_192;
const PAUSE_MS = 2_000;
const TIMEOUT_MS = 10_000;
/** How long an unresponsive collector can delay the end of the process. */
const CLOSE_MS = 3_000;
/** How often an unavailable collector is logged. */
const TELL_MS = 60_000;

const KINDS = { internal: 1, server: 2, client: 3 } as const;

/** Sends spans as OTLP over HTTP in JSON (opentelemetry.io/docs/specs/otlp, 1.9), in the background. */
export function openOtlp(options: OtlpOptions): Tracer {
  const { clock, log, egress } = options;
  let waiting: Span[] = [];
  let dropped = 0;
  let toldMs = Number.NEGATIVE_INFINITY;
  let sending: Promise<void> | null = null;
  const closing = new AbortController();
  const closed = new AbortController();

  const tell = (why: string) => {
    if (clock.monotonic() - toldMs < TELL_MS) return;
    toldMs = clock.monotonic();
    log.write("warn", "sending traces failed", { why, dropped });
    dropped = 0;
  };

  const post = async (spans: readonly Span[]) => {
    const reply = await egress.fetch(options.url, {
      method: "POST",
      headers: { ...options.headers, "content-type": "application/json" },
      body: JSON.stringify(messageOf(spans, options.resource)),
      timeoutMs: TIMEOUT_MS,
      maxRedirects: 0,
      signal: closed.signal,
    });
    const { bytes } = await reply.bytes(1_000);
    if (reply.status < 300) return;
    throw new Error(
      `The collector returned ${reply.status}: ${new TextDecoder().decode(bytes).slice(0, 200)}`,
    );
  };

  const sendAll = async () => {
    await clock.sleep(PAUSE_MS, closing.signal);
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH);
      waiting = waiting.slice(BATCH);
      try {
        await post(batch);
      } catch (error) {
        dropped += batch.length;
        tell(error instanceof Error ? error.message : String(error));
      }
    }
    sending = null;
  };

  return {
    isOn: true,
    ended(span) {
      if (Number.parseInt(span.traceId.slice(-8), 16) / 2 ** 32 >= options.ratio) return;
      if (waiting.length >= MAX_WAITING_SPANS) {
        dropped++;
        return tell("The collector is too slow.");
      }
      waiting.push(span);
      sending ??= sendAll();
    },
    async close() {
      closing.abort();
      const sent = new AbortController();
      void clock.sleep(CLOSE_MS, sent.signal).then(() => {
        dropped += waiting.splice(0).length;
        closed.abort(new Error("The collector didn't respond before shutdown."));
      });
      await sending;
      sent.abort();
    },
  };
}

const messageOf = (spans: readonly Span[], resource: OtlpOptions["resource"]) => ({
  resourceSpans: [
    {
      resource: { attributes: attributesOf(resource) },
      scopeSpans: [{ scope: { name: "weir" }, spans: spans.map(spanOf) }],
    },
  ],
});

const spanOf = (span: Span) => ({
  traceId: span.traceId,
  spanId: span.spanId,
  ...(span.parentId === null ? {} : { parentSpanId: span.parentId }),
  name: span.name,
  kind: KINDS[span.kind],
  startTimeUnixNano: `${Math.round(span.startMs)}000000`,
  endTimeUnixNano: `${Math.round(Math.max(span.startMs, span.endMs))}000000`,
  attributes: attributesOf(span.attributes),
  status: span.error === null ? { code: 0 } : { code: 2, message: span.error.slice(0, 500) },
});

const attributesOf = (facts: Span["attributes"]) =>
  Object.entries(facts).flatMap(([key, value]) => (value === null ? [] : [{ key, value: anyValue(value) }]));

const anyValue = (value: string | number | boolean) =>
  typeof value === "string"
    ? { stringValue: value }
    : typeof value === "boolean"
      ? { boolValue: value }
      : Number.isInteger(value)
        ? { intValue: String(value) }
        : { doubleValue: value };
