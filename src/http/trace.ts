import { readTraceparent, spanIdOf, traceIdOf } from "../base/trace.ts";
import type { App } from "../context.ts";
import { requestSpanOf } from "../queue/trace.ts";
import type { Operation, Visit } from "./operation.ts";

/** Returns the caller's trace to continue. Null if it has none, or tracing is off. */
export const tracedBy = (app: App, headers: Headers): string | null =>
  app.tracer.isOn ? (readTraceparent(headers.get("traceparent"))?.traceId ?? null) : null;

export function traceRequest(
  app: App,
  { method, path }: Operation,
  visit: Visit,
  startMs: number,
  status: number,
) {
  if (!app.tracer.isOn) return;
  const { correlationId, request } = visit;
  const traceId = traceIdOf(correlationId);
  const caller = readTraceparent(request.headers.get("traceparent"));
  const isOurs = request.headers.get("x-correlation-id") !== correlationId;
  app.tracer.ended({
    name: `${method} ${path}`,
    kind: "server",
    traceId,
    spanId: (isOurs ? requestSpanOf(correlationId) : null) ?? spanIdOf(app.ids.uuid()),
    parentId: caller?.traceId === traceId ? caller.spanId : null,
    startMs,
    endMs: app.clock.now().getTime(),
    attributes: {
      "http.request.method": method,
      "http.route": path,
      "http.response.status_code": status,
      "weir.correlation_id": correlationId,
    },
    error: status >= 500 ? `Answered ${status}.` : null,
  });
}
