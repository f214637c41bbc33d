import type { Clock } from "./clock.ts";
import type { Egress } from "./egress.ts";

/** A stretch of work, as OpenTelemetry has it. */
export interface Span {
  name: string;
  kind: "server" | "client" | "internal";
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  /** Null at the root. */
  parentId: string | null;
  /** Milliseconds since the epoch. */
  startMs: number;
  endMs: number;
  attributes: Readonly<Record<string, string | number | boolean | null>>;
  /** What went wrong, as a sentence; null where nothing did. */
  error: string | null;
}

/** Where ended spans go. */
export interface Tracer {
  /** False where nobody listens: then spans need not be made. */
  readonly isOn: boolean;
  ended(span: Span): void;
  /** Sends what is left. */
  close(): Promise<void>;
}

export const silentTracer: Tracer = { isOn: false, ended() {}, async close() {} };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const TRACEPARENT = /^[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-[0-9a-f]{2}(-|$)/;

const digits = (text: string, count: number) =>
  new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, count);

/**
 * The trace of all that one outside cause leads to. It follows from the correlation id alone, so that a run finds its
 * trace after a restart and in another process, and nothing has to be kept for that.
 */
export function traceIdOf(correlationId: string): string {
  if (UUID.test(correlationId)) return correlationId.replaceAll("-", "").toLowerCase();
  return TRACE_ID.test(correlationId) ? correlationId : digits(correlationId, 32);
}

/** The span of a thing with an id, such as a run: whoever knows the id can hang something below it. */
export const spanIdOf = (...of: (string | number)[]): string => digits(of.join("/"), 16);

/** What W3C's `traceparent` says; null where there is none, or none that can be read. */
export function readTraceparent(header: string | null): { traceId: string; spanId: string } | null {
  const [, traceId, spanId] = TRACEPARENT.exec(header ?? "") ?? [];
  return traceId && spanId ? { traceId, spanId } : null;
}

/** What spans of one stretch of work hang from. */
export interface SpanParent {
  traceId: string;
  /** Null where they stand by themselves. */
  spanId: string | null;
}

/** An egress with a span for each exchange and `traceparent` on its request. */
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
