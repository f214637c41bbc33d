import type { Clock } from "./clock.ts";
import type { Egress } from "./egress.ts";

/** A span of OpenTelemetry. */
export interface Span {
  name: string;
  kind: "server" | "client" | "internal";
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  /** Null for the root. */
  parentId: string | null;
  /** Milliseconds since the epoch. */
  startMs: number;
  endMs: number;
  attributes: Readonly<Record<string, string | number | boolean | null>>;
  /** The error as a sentence. Null if there was none. */
  error: string | null;
}

/** Receives finished spans. */
export interface Tracer {
  /** False if tracing is off. Then spans needn't be created. */
  readonly isOn: boolean;
  ended(span: Span): void;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

export const silentTracer: Tracer = { isOn: false, ended() {}, async close() {} };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const TRACEPARENT = /^[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-[0-9a-f]{2}(-|$)/;

const digits = (text: string, count: number) =>
  new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, count);

/**
 * Returns the ID of the trace for everything with the same external cause. It is derived from the correlation ID,
 * so that a run has the same trace after a restart and in another process, without storing it.
 */
export function traceIdOf(correlationId: string): string {
  if (UUID.test(correlationId)) return correlationId.replaceAll("-", "").toLowerCase();
  return TRACE_ID.test(correlationId) ? correlationId : digits(correlationId, 32);
}

/**
 * Returns the span ID of something with an ID, such as a run. Others can create child spans of it with the same ID.
 */
export const spanIdOf = (...of: (string | number)[]): string => digits(of.join("/"), 16);

/** Parses W3C's `traceparent`. Null if it is missing or invalid. */
export function readTraceparent(header: string | null): { traceId: string; spanId: string } | null {
  const [, traceId, spanId] = TRACEPARENT.exec(header ?? "") ?? [];
  return traceId && spanId ? { traceId, spanId } : null;
}

/** Parent of new spans. */
export interface SpanParent {
  traceId: string;
  /** Null for root spans. */
  spanId: string | null;
}

/** An egress that creates a span for each exchange and sends `traceparent`. */
export function tracedEgress(egress: Egress, tracer: Tracer, clock: Clock, parent: SpanParent): Egress {
  let count = 0;
  return {
    pin: (host, port) => egress.pin(host, port),
    refuseOwn: (host, port, via) => egress.refuseOwn(host, port, via),
    async fetch(url, request = {}) {
      const spanId = spanIdOf(parent.spanId ?? parent.traceId, ++count, clock.monotonic());
      const startMs = clock.now().getTime();
      const method = (request.method ?? "GET").toUpperCase();
      const end = (status: number | null, error: string | null) =>
        tracer.ended({
          name: method,
          kind: "client",
          traceId: parent.traceId,
          spanId,
          parentId: parent.spanId,
          startMs,
          endMs: clock.now().getTime(),
          attributes: {
            "http.request.method": method,
            "server.address": URL.parse(url)?.hostname ?? "",
            "http.response.status_code": status,
          },
          error,
        });
      const headers = { traceparent: `00-${parent.traceId}-${spanId}-01`, ...request.headers };
      try {
        const reply = await egress.fetch(url, { ...request, headers });
        end(reply.status, reply.status >= 400 ? `The external system returned ${reply.status}.` : null);
        return reply;
      } catch (error) {
        end(null, error instanceof Error ? error.message : "aborted");
        throw error;
      }
    },
  };
}
