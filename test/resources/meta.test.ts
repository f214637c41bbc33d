import { describe, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { contextFor, write } from "../../src/context.ts";
import { enqueueRun } from "../../src/queue/enqueue.ts";
import { record } from "../../src/resources/events/service.ts";
import { beat } from "../../src/resources/health/heartbeat.ts";
import { version } from "../../src/version.ts";
import { client, startApp } from "../support/app.ts";
import { eventually, subscribe, tellOf } from "../support/outbound.ts";
import { join as enrol } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { isOnPostgres } from "../support/test-store.ts";

describe("meta", () => {
  test("returns the version and everything that exists", async () => {
    await using weir = await startApp({ engine: false });
    const { status, body } = await weir.owner("GET", "/api/v1/meta");
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual([
      "actionKinds",
      "eventTypes",
      "limits",
      "providers",
      "statuses",
      "version",
    ]);
    expect(body.version).toBe(version);
    expect(body.actionKinds).toEqual(
      (await weir.owner("GET", "/api/v1/action-kinds")).body.kinds.map(({ kind }: { kind: string }) => kind),
    );
    expect(body.providers).toContain("local_files");
    expect(body.eventTypes).toContain("action.completed");
    expect(body.statuses.actionRun).toContain("waiting");
    expect(body.limits).toMatchObject({
      bodyBytes: 10 * 1024 * 1024,
      webhooks: { free: { perMinute: 60, burst: 10 }, pro: { perMinute: 300, burst: 50 } },
    });
    expect((await weir.anonymous("GET", "/api/v1/meta")).status).toBe(401);
  });

  test("returns the language model and its limits, or that none is configured", async () => {
    await using bare = await startApp({ engine: false });
    expect((await bare.owner("GET", "/api/v1/meta")).body.limits.model).toBeNull();
    const env = {
      WEIR_LLM_BASE_URL: "http://127.0.0.1:1/v1",
      WEIR_LLM_MODEL: "small",
      WEIR_LLM_API_KEY: "the-key",
      WEIR_LLM_TOKENS_PER_DAY: "7",
    };
    await using weir = await startApp({ engine: false, env });
    const { body, text } = await weir.owner("GET", "/api/v1/meta");
    expect(body.limits.model).toEqual({
      provider: "openai-compatible",
      model: "small",
      tokensPerDay: 7,
      tokensPerTurn: 1_000_000,
      turnSeconds: 900,
    });
    expect(text).not.toContain("the-key");
  });
});

describe("health", () => {
  test("responds without credentials, and at the plain path without a database", async () => {
    await using weir = await startApp({ engine: false });
    for (const path of ["/health", "/api/v1/health", "/api/v1/health?deep=true"]) {
      const { status, body } = await weir.anonymous("GET", path);
      expect([status, body]).toEqual([200, { status: "ok" }]);
    }
    await weir.app.store.close();
    expect((await weir.anonymous("GET", "/health")).body).toEqual({ status: "ok" });
  });

  test("with details is only for operators", async () => {
    await using weir = await startApp({ engine: false });
    const { body } = await weir.owner("GET", "/api/v1/health?deep=true");
    expect(body).toEqual({
      status: "ok",
      checks: {
        writes: { ok: true, detail: expect.any(String) },
        scheduler: { ok: true, detail: "not started yet" },
        disk: { ok: true, detail: expect.any(String) },
        key: { ok: true },
      },
    });
    const { call: member } = await enrol(weir, "admin");
    expect((await member("GET", "/api/v1/health?deep=true")).body).toEqual({ status: "ok" });
    expect((await weir.owner("GET", "/api/v1/health?deep=perhaps")).status).toBe(422);
  });

  test("is degraded if the scheduler has stopped", async () => {
    await using weir = await startApp({ engine: false, stands: true });
    const deep = () => weir.owner("GET", "/api/v1/health?deep=true");
    beat(weir.app);
    expect((await deep()).body.checks.scheduler).toEqual({ ok: true, detail: "last seen 0 s ago" });
    weir.clock.turn(60_001);
    const { status, body } = await deep();
    expect([status, body.status, body.checks.scheduler.ok]).toEqual([503, "degraded", false]);
  });

  test("is degraded if the data directory is missing", async () => {
    await using weir = await startApp({ engine: false });
    renameSync(weir.dataFolder, `${weir.dataFolder}-away`);
    try {
      const anybody = await weir.anonymous("GET", "/api/v1/health?deep=true");
      expect([anybody.status, anybody.body]).toEqual([503, { status: "degraded" }]);
      const { status, body } = await weir.owner("GET", "/api/v1/health?deep=true");
      expect([status, body.checks.disk.ok]).toEqual([503, false]);
    } finally {
      renameSync(`${weir.dataFolder}-away`, weir.dataFolder);
    }
    weir.clock.turn(2_001);
    expect((await weir.anonymous("GET", "/api/v1/health?deep=true")).status).toBe(200);
  });

  test("is degraded if nothing can be written", async () => {
    await using weir = await startApp({ engine: false });
    await weir.app.store.close();
    const { status, body } = await weir.anonymous("GET", "/api/v1/health?deep=true");
    expect([status, body]).toEqual([503, { status: "degraded" }]);
  });
});

describe("the smoke tests", () => {
  test("stream ticks for the requested time, then end", async () => {
    await using weir = await startApp({ engine: false });
    const { status, headers, text } = await weir.owner(
      "GET",
      "/api/v1/stream-smoke?seconds=2&intervalSeconds=1.5",
    );
    expect([status, headers.get("x-accel-buffering")]).toEqual([200, "no"]);
    expect(headers.get("content-type")).toStartWith("text/event-stream");
    expect([...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name)).toEqual(["tick", "tick", "end"]);
    for (const query of [
      "seconds=0",
      "seconds=901",
      "seconds=1.5",
      "intervalSeconds=0.5",
      "intervalSeconds=31",
    ]) {
      expect((await weir.owner("GET", `/api/v1/stream-smoke?${query}`)).status).toBe(422);
    }
    expect((await weir.anonymous("GET", "/api/v1/stream-smoke")).status).toBe(401);
  });

  test("need no credentials, and are limited by address", async () => {
    await using weir = await startApp({ engine: false, stands: true });
    expect((await weir.anonymous("GET", "/api/observability/smoke")).body).toEqual({ status: "ok" });
    const { status, body } = await weir.anonymous("POST", "/api/observability/simulate-llm-error");
    expect([status, Object.keys(body).sort()]).toEqual([200, ["detail", "status"]]);
    expect(
      weir.logged.some((line) => line.includes('"simulated":true') && line.includes('"level":"error"')),
    ).toBe(true);
    let last = 200;
    for (let n = 0; n < 20 && last === 200; n++)
      last = (await weir.anonymous("GET", "/api/observability/smoke")).status;
    const refused = await weir.anonymous("GET", "/api/observability/smoke");
    expect([last, refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, 429, true]);
    weir.clock.turn(60_000);
    expect((await weir.anonymous("GET", "/api/observability/smoke")).status).toBe(200);
  });
});

describe("metrics", () => {
  const figureOf = (text: string, line: string) =>
    Number(
      text
        .split("\n")
        .find((each) => each.startsWith(`${line} `))
        ?.slice(line.length + 1),
    );

  test("show runs, the queue, deliveries, dead letters, sizes and requests", async () => {
    await using weir = await startApp({ engine: false });
    const ctx = contextFor(weir.app, {
      organizationId: weir.ids.organizationId,
      role: "member",
      actor: { type: "user", id: weir.ids.userId },
      correlationId: "test-chain",
    });
    const trigger = { method: "api", sourceType: "user", sourceId: null } as const;
    await write(ctx, async (tx) => {
      await enqueueRun(tx, { kind: "http_request", definition: {}, trigger });
      const about = { type: "action", id: "a1" } as const;
      for (const durationSeconds of [0.3, 20])
        await record(tx, "action.completed", about, { kind: "dlt_extract", durationSeconds });
      await record(tx, "action.failed", about, { kind: "dlt_extract", durationSeconds: 1 });
      await record(tx, "automation.triggered", { type: "automation", id: "m1" }, { deliveryId: "d1" });
      await record(tx, "automation.completed", { type: "automation", id: "m1" }, {});
    });
    weir.clock.turn(5_000);
    await weir.anonymous("GET", "/health");
    const { status, headers, text } = await weir.anonymous("GET", "/metrics");
    expect([status, headers.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
    expect(figureOf(text, 'weir_runs_total{kind="dlt_extract",status="completed"}')).toBe(2);
    expect(figureOf(text, 'weir_runs_total{kind="dlt_extract",status="failed"}')).toBe(1);
    expect(figureOf(text, 'weir_run_duration_seconds_bucket{kind="dlt_extract",le="1"}')).toBe(2);
    expect(figureOf(text, 'weir_run_duration_seconds_bucket{kind="dlt_extract",le="+Inf"}')).toBe(3);
    expect(figureOf(text, 'weir_run_duration_seconds_sum{kind="dlt_extract"}')).toBeCloseTo(21.3);
    expect(figureOf(text, "weir_queue_depth")).toBe(1);
    expect(figureOf(text, "weir_queue_oldest_seconds")).toBeGreaterThanOrEqual(5);
    expect(figureOf(text, "weir_webhook_deliveries_total")).toBe(1);
    expect(figureOf(text, "weir_dead_lettered_total")).toBe(0);
    expect(figureOf(text, 'weir_automation_last_success_seconds{automation_id="m1"}')).toBeGreaterThanOrEqual(
      5,
    );
    expect(figureOf(text, "weir_database_bytes")).toBeGreaterThan(0);
    expect(figureOf(text, "weir_wal_bytes") > 0).toBe(!isOnPostgres);
    expect(figureOf(text, 'weir_http_requests_total{method="GET",route="/health",status="200"}')).toBe(1);
    const latency = (of: string, more = "") =>
      figureOf(text, `weir_http_request_duration_seconds_${of}{method="GET",route="/health"${more}}`);
    expect([latency("count"), latency("bucket", ',le="30"'), latency("bucket", ',le="+Inf"')]).toEqual([
      1, 1, 1,
    ]);
    expect(latency("sum")).toBeLessThan(30);

    await write(ctx, (tx) =>
      record(tx, "action.completed", { type: "action", id: "a1" }, { kind: "dlt_extract" }),
    );
    const later = (await weir.anonymous("GET", "/metrics")).text;
    expect(figureOf(later, 'weir_runs_total{kind="dlt_extract",status="completed"}')).toBe(3);
    expect(figureOf(later, "weir_event_loop_lag_seconds")).toBeGreaterThanOrEqual(0);
    for (const line of later.trimEnd().split("\n")) {
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z_]+="[^"]*",?)+\})? -?[0-9.e+-]+)$/);
    }
  });

  test("show deliveries to subscriptions, by result", async () => {
    let status = 200;
    await using receiver = startReceiver(() => new Response(null, { status }));
    await using weir = await startApp({ env: { WEIR_WEBHOOK_SCHEDULE: "0,600" } });
    await subscribe(weir, receiver.url, { events: ["action.completed"] });
    const look = async () => (await weir.anonymous("GET", "/metrics")).text;
    const count = async (end: string) =>
      figureOf(await look(), `weir_outbound_deliveries_total{status="${end}"}`);
    expect(figureOf(await look(), "weir_outbound_deliveries_waiting")).toBe(0);
    await tellOf(weir, 3);
    await eventually(async () => (await count("delivered")) === 3);
    status = 503;
    await tellOf(weir, 2);
    await eventually(async () => (await count("retrying")) === 2);
    expect(figureOf(await look(), "weir_outbound_deliveries_waiting")).toBe(2);
    weir.clock.turn(700_000);
    await eventually(async () => (await count("dead_letter")) === 2);
    expect(figureOf(await look(), "weir_dead_lettered_total")).toBe(2);
    expect([await count("delivered"), figureOf(await look(), "weir_outbound_deliveries_waiting")]).toEqual([
      3, 0,
    ]);
  });

  test("are for this machine, and from elsewhere for operators", async () => {
    await using weir = await startApp({ engine: false, env: { WEIR_TRUSTED_PROXIES: "127.0.0.0/8" } });
    const elsewhere = { "x-forwarded-for": "198.51.100.7" };
    expect((await weir.anonymous("GET", "/metrics")).status).toBe(200);
    const wrong = { authorization: "Bearer svc_pat_wrong" };
    expect((await weir.anonymous("GET", "/metrics", undefined, wrong)).status).toBe(401);
    expect((await weir.anonymous("GET", "/metrics", undefined, elsewhere)).status).toBe(401);
    expect((await weir.owner("GET", "/metrics", undefined, elsewhere)).status).toBe(200);
    const { call: admin } = await enrol(weir, "owner");
    expect((await admin("GET", "/metrics", undefined, elsewhere)).status).toBe(403);
    const scoped = async (scope: string) => {
      const made = await weir.owner("POST", "/api/v1/access-tokens", { name: scope, scopes: [scope] });
      const call = client(weir.origin, { authorization: `Bearer ${made.body.token}` });
      return (await call("GET", "/metrics", undefined, elsewhere)).status;
    };
    expect([await scoped("read"), await scoped("write")]).toEqual([200, 403]);
  });

  test("are public if the operator says so", async () => {
    const env = { WEIR_TRUSTED_PROXIES: "127.0.0.0/8", WEIR_METRICS_PUBLIC: "true" };
    await using weir = await startApp({ engine: false, env });
    const elsewhere = { "x-forwarded-for": "198.51.100.7" };
    expect((await weir.anonymous("GET", "/metrics", undefined, elsewhere)).status).toBe(200);
  });

  test("aren't for a page whose host name was made to resolve to this machine", async () => {
    await using weir = await startApp({ engine: false });
    const port = new URL(weir.origin).port;
    const rebound = (path: string) =>
      weir.anonymous("GET", path, undefined, { host: `evil.example:${port}` });
    expect((await rebound("/metrics")).status).toBe(401);
    expect((await rebound("/api/v1/health?deep=true")).body).toEqual({ status: "ok" });
    for (const host of ["localhost", "127.0.0.1", "[::1]"]) {
      const { status } = await weir.anonymous("GET", "/metrics", undefined, { host: `${host}:${port}` });
      expect([host, status]).toEqual([host, 200]);
    }
  });

  test("aren't for those behind an untrusted proxy on this machine", async () => {
    await using weir = await startApp({ engine: false });
    const proxied = client(weir.origin, { "x-forwarded-for": "127.0.0.1" });
    expect((await proxied("GET", "/metrics")).status).toBe(401);
  });
});
