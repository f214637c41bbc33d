import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { refusalOf } from "../support/refusal.ts";
import { deepTest } from "../support/scale.ts";

interface Sent {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code: number; message?: string };
}

/** Instead of a status: the response never arrives. */
const HANGS = 0;

/** A collector that records requests. Responds with the next of `answers`, otherwise 200. */
function startCollector(answers: number[] = []) {
  const spans: Sent[] = [];
  const requests: { headers: Headers; resource: unknown }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (request.url.endsWith("/target")) {
        return Response.json({ traceparent: request.headers.get("traceparent") });
      }
      if (!request.url.endsWith("/v1/traces")) return new Response("nothing here", { status: 404 });
      const status = answers.shift() ?? 200;
      // biome-ignore lint/suspicious/noExplicitAny: what came, as it came
      const body: any = await request.json();
      requests.push({ headers: request.headers, resource: body.resourceSpans[0].resource.attributes });
      if (status === HANGS) await new Promise(() => {});
      if (status === 200) spans.push(...body.resourceSpans[0].scopeSpans[0].spans);
      return new Response("{}", { status });
    },
  });
  return {
    url: server.url.origin,
    spans,
    requests,
    async span(name: string): Promise<Sent> {
      for (;;) {
        const found = spans.find((span) => span.name === name);
        if (found) return found;
        await Bun.sleep(20);
      }
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
}

const factsOf = (span: Sent) =>
  Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

const traced = (url: string, more: Record<string, string> = {}) => ({
  env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, WEIR_EGRESS_ALLOW: new URL(url).host, ...more },
});

const caller = (url: string) => ({
  name: "Call",
  triggerType: "manual",
  config: { steps: [{ key: "call", kind: "http_request", definition: { url: `${url}/target` } }] },
});

describe("traces", () => {
  test.each(["nonsense", "=value", "na me=value", "x-key=%"])(
    "aren't started with the headers %s",
    async (headers) => {
      const started = startApp(traced("http://127.0.0.1:1", { OTEL_EXPORTER_OTLP_HEADERS: headers }));
      expect(await refusalOf(started)).toContain("Invalid OTEL_EXPORTER_OTLP_HEADERS");
    },
  );

  test("lead from the request through the automation and its step to the call", async () => {
    using collector = startCollector();
    await using app = await startApp(traced(collector.url, { OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20b" }));
    const made = await app.owner("POST", "/api/v1/automations", caller(collector.url));
    const run = await app.owner("POST", `/api/v1/automations/${made.body.id}/run`, {});
    const trace = run.headers.get("x-correlation-id")?.replaceAll("-", "");

    const request = await collector.span("POST /api/v1/automations/{automation_id}/run");
    const automation = await collector.span("automation");
    const step = await collector.span("http_request");
    const call = await collector.span("GET");
    expect([request, automation, step, call].map(({ traceId }) => traceId)).toEqual(Array(4).fill(trace));
    expect(request).not.toHaveProperty("parentSpanId");
    expect([automation, step, call].map(({ parentSpanId }) => parentSpanId)).toEqual(
      [request, automation, step].map(({ spanId }) => spanId),
    );
    expect([request, automation, step, call].map(({ kind }) => kind)).toEqual([2, 1, 1, 3]);
    expect(factsOf(request)).toMatchObject({ "http.response.status_code": "201" });
    expect(factsOf(step)).toMatchObject({
      "weir.status": "completed",
      "weir.step": "call",
      "weir.attempt": "1",
    });
    expect(factsOf(call)).toMatchObject({
      "server.address": "127.0.0.1",
      "http.response.status_code": "200",
    });
    expect(Number(step.endTimeUnixNano)).toBeGreaterThanOrEqual(Number(call.endTimeUnixNano));

    const [row] = (await app.owner("GET", `/api/v1/action-runs?automation_run_id=${run.body.id}`)).body.runs;
    expect(row.result.body.traceparent).toBe(`00-${trace}-${call.spanId}-01`);
    expect(collector.requests[0]?.headers.get("x-key")).toBe("a b");
    expect(collector.requests[0]?.resource).toContainEqual({
      key: "service.name",
      value: { stringValue: "weir" },
    });
  }, 120_000);

  deepTest(
    "continue from the caller's own, which is then the correlation ID",
    async () => {
      using collector = startCollector();
      await using app = await startApp(traced(collector.url));
      const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
      const answer = await app.owner("GET", "/api/v1/meta", undefined, {
        traceparent: `00-${trace}-00f067aa0ba902b7-01`,
      });
      expect(answer.headers.get("x-correlation-id")).toBe(trace);
      expect(await collector.span("GET /api/v1/meta")).toMatchObject({
        traceId: trace,
        parentSpanId: "00f067aa0ba902b7",
      });
    },
    120_000,
  );

  deepTest(
    "are sent along with delivered events",
    async () => {
      using collector = startCollector();
      await using app = await startApp(traced(collector.url));
      await app.owner("POST", "/api/v1/webhooks", {
        url: `${collector.url}/target`,
        events: ["action.created"],
      });
      const made = await app.owner("POST", "/api/v1/actions", { kind: "http_request", name: "Some" });
      const trace = made.headers.get("x-correlation-id")?.replaceAll("-", "");
      expect(await collector.span("POST")).toMatchObject({ traceId: trace, kind: 3 });
    },
    120_000,
  );

  deepTest(
    "show what failed, and why",
    async () => {
      using collector = startCollector();
      await using app = await startApp(traced(collector.url));
      const made = await app.owner("POST", "/api/v1/actions", {
        kind: "http_request",
        name: "Call nobody",
        definition: { url: `${collector.url}/nobody` },
      });
      await app.owner("POST", `/api/v1/actions/${made.body.id}/run`);
      expect(await collector.span("http_request")).toMatchObject({
        status: { code: 2, message: expect.stringContaining("404") },
      });
    },
    120_000,
  );

  deepTest(
    "that the collector rejects are logged, and block nothing",
    async () => {
      using collector = startCollector([503]);
      await using app = await startApp(traced(collector.url));
      await app.owner("GET", "/api/v1/meta");
      while (collector.requests.length === 0) await Bun.sleep(20);
      await app.owner("GET", "/api/v1/actions");
      await collector.span("GET /api/v1/actions");
      expect(collector.spans.map(({ name }) => name)).not.toContain("GET /api/v1/meta");
    },
    120_000,
  );

  deepTest(
    "don't block stopping if the collector accepts them and never responds",
    async () => {
      using collector = startCollector([HANGS, HANGS, HANGS]);
      const app = await startApp(traced(collector.url));
      for (let n = 0; n < 22; n++)
        await Promise.all(Array.from({ length: 50 }, () => app.owner("GET", "/api/v1/meta")));
      while (collector.requests.length === 0) await Bun.sleep(20);
      await app[Symbol.asyncDispose]();
      expect(app.logged.join("\n")).toContain("sending traces failed");
    },
    15_000,
  );

  test("aren't created without a collector: nothing of them is sent", async () => {
    using collector = startCollector();
    await using app = await startApp({ env: { WEIR_EGRESS_ALLOW: new URL(collector.url).host } });
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const answer = await app.owner("GET", "/api/v1/meta", undefined, {
      traceparent: `00-${trace}-00f067aa0ba902b7-01`,
    });
    expect(answer.headers.get("x-correlation-id")).not.toBe(trace);
  });
});
