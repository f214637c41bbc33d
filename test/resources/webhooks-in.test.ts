import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { eq } from "drizzle-orm";
import { timestamp } from "../../src/base/clock.ts";
import { openLimiter } from "../../src/base/limit.ts";
import { startEngine } from "../../src/engine/start.ts";
import { automationRuns } from "../../src/resources/automations/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { webhookDeliveries } from "../../src/resources/inbound/table.ts";
import { notices } from "../../src/resources/notices/table.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import vectors from "../crypto/vectors.json" with { type: "json" };
import { endLeases, startApp, turnableClock } from "../support/app.ts";
import { makeHook, SECRET, send, sign } from "../support/hook.ts";
import { eventually } from "../support/outbound.ts";
import { neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { AUTOMATION_RUNS, AUTOMATIONS, branch, chainOf, created, faultsOf, until } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const DELIVERIES = "/api/v1/webhook-deliveries";
const quick = { action: { kind: "conditional_branch", definition: branch() } };
/** Sends the payload to `url`. */
const forward = (url: string, more: object = {}) => ({
  action: {
    kind: "http_request",
    definition: { url, method: "POST", body: { got: "{{payload}}" }, ...more },
  },
});
const { body } = vectors.inbound;
const deliveryOf = async ({ owner }: Started, id: string) => (await owner("GET", `${DELIVERIES}/${id}`)).body;
const stored = ({ app }: Started) => app.store.db.$count(webhookDeliveries);

describe("a signed webhook", () => {
  test("runs its automation with the payload, and gets the result", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => Response.json({ done: true }));
    const hook = await makeHook(app, forward(receiver.url));
    const answer = await send(app, body, { "x-correlation-id": "webhook-4711" });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      status: "processed",
      deliveryId: expect.any(String),
      automationRunId: expect.any(String),
      result: expect.objectContaining({ status: 200, body: { done: true } }),
    });
    expect(answer.headers.get("x-correlation-id")).toBe("webhook-4711");
    expect(JSON.parse(receiver.got[0]?.text ?? "")).toEqual({ got: JSON.parse(body) });
    const run = (await app.owner("GET", `${AUTOMATION_RUNS}/${answer.body.automationRunId}`)).body;
    expect(run).toMatchObject({
      automationId: hook.id,
      status: "completed",
      triggerMethod: "webhook",
      triggerSourceType: "system",
    });
    const chain = await chainOf(app, "webhook-4711");
    expect(chain.filter((type) => type !== "action.progress")).toEqual([
      "automation.triggered",
      "action.started",
      "action.completed",
      "automation.completed",
    ]);
  });

  test("is found by the organization's ID, and by its slug in any case", async () => {
    await using app = await startApp();
    await makeHook(app, { ...quick, path: "a/b.c" });
    for (const organization of [
      app.ids.organizationId,
      app.ids.organizationId.toUpperCase(),
      "acme",
      "ACME",
    ]) {
      expect((await send(app, body, {}, `/webhooks/${organization}/a/b.c`)).status).toBe(200);
    }
  });

  test("can be signed in hex or base64, with or without the prefix", async () => {
    await using app = await startApp();
    await makeHook(app, quick);
    const { hex, base64 } = vectors.inbound;
    for (const signature of [hex, hex.toUpperCase(), base64, `sha256=${hex}`, `sha256=${base64}`]) {
      expect((await send(app, body, { "x-svc-signature": signature })).status).toBe(200);
    }
  });

  test("can be signed with another algorithm, in a custom header", async () => {
    await using app = await startApp();
    for (const [index, algorithm] of (["sha1", "sha256", "sha512"] as const).entries()) {
      const path = `p${index}`;
      await makeHook(app, {
        ...quick,
        path,
        signatureAlgorithm: algorithm,
        signatureHeader: "X-Hub-Signature-256",
      });
      const digest = createHmac(algorithm, SECRET).update(body).digest();
      for (const text of [
        digest.toString("hex"),
        `${algorithm}=${digest.toString("hex")}`,
        digest.toString("base64"),
      ]) {
        const headers = { "x-svc-signature": "", "x-hub-signature-256": text };
        expect((await send(app, body, headers, `/webhooks/acme/${path}`)).status).toBe(200);
      }
      const wrongPlace = await send(
        app,
        body,
        { "x-svc-signature": digest.toString("hex") },
        `/webhooks/acme/${path}`,
      );
      expect(wrongPlace.status).toBe(401);
    }
  });

  test("with a timestamp is signed over both, and is valid for five minutes", async () => {
    await using app = await startApp();
    await makeHook(app, quick);
    const now = Math.floor(app.clock.now().getTime() / 1000);
    const at = (seconds: number | string) => ({
      "x-svc-timestamp": String(seconds),
      "x-svc-signature": `sha256=${sign(`${seconds}.${body}`)}`,
    });
    for (const good of [now, now - 290, now + 290])
      expect((await send(app, body, at(good))).status).toBe(200);
    for (const bad of [now - 310, now + 310, `${now}.0`, "now", -now]) {
      expect([bad, (await send(app, body, at(bad))).status]).toEqual([bad, 401]);
    }
    const { "x-svc-signature": signature } = at(now);
    expect((await send(app, body, { "x-svc-signature": signature })).status).toBe(401);
    expect((await send(app, body, { "x-svc-timestamp": String(now) })).status).toBe(401);
  });

  test("passes on its query and headers, without credentials", async () => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const seen = {
      q: "{{query.shop}}",
      all: "{{query.tag}}",
      h: "{{headers.x-topic}}",
      c: "{{headers.authorization}}",
    };
    await makeHook(app, { ...forward(receiver.url, { body: seen }), debug: true });
    const headers = { "x-topic": "orders", authorization: "Bearer very-secret-token" };
    const answer = await send(app, body, headers, "/webhooks/acme/orders?shop=7&tag=a&tag=b");
    expect(JSON.parse(receiver.got[0]?.text ?? "")).toEqual({
      q: "7",
      all: ["a", "b"],
      h: "orders",
      c: "***",
    });
    expect(JSON.stringify(await deliveryOf(app, answer.body.deliveryId))).not.toContain("very-secret");
  });
});

describe("the payload", () => {
  const sent = async (text: string, type: string) => {
    await using app = await startApp();
    await using receiver = startReceiver();
    await makeHook(app, forward(receiver.url));
    const answer = await send(app, text, { "content-type": type });
    return answer.status === 200 ? JSON.parse(receiver.got[0]?.text ?? "").got : answer;
  };

  test.each<[string, string, unknown]>([
    ['{"a":[1]}', "application/json", { a: [1] }],
    ['{"a":[1]}', "application/vnd.shop+json; charset=utf-8", { a: [1] }],
    ["a=1&b=2&b=3&c=%C3%A9+x", "application/x-www-form-urlencoded", { a: "1", b: ["2", "3"], c: "é x" }],
    ["a=%EF%BF%BD", "application/x-www-form-urlencoded; charset=iso-8859-1", { a: "\ufffd" }],
    ["just <text>", "text/plain", "just <text>"],
    ['{"name":"Zoë"}', "application/json; charset=iso-8859-1", { name: "Zoë" }],
    ['{"name":"Zoë"}', "text/json", { name: "Zoë" }],
    ["<a/>", "application/xml", "<a/>"],
    ["7", "application/json", 7],
    ["", "application/json", null],
  ])("%j as %s is parsed as %j", async (text, type, payload) => {
    expect(await sent(text, type)).toEqual(payload);
  });

  const sentBytes = async (bytes: Buffer, type: string) => {
    await using app = await startApp();
    await using receiver = startReceiver();
    await makeHook(app, forward(receiver.url));
    const signature = createHmac("sha256", SECRET).update(bytes).digest("hex");
    const headers = { "x-svc-signature": signature, ...(type === "" ? {} : { "content-type": type }) };
    const answer = await app.anonymous("POST", "/webhooks/acme/orders", new Uint8Array(bytes), headers);
    return answer.status === 200 ? JSON.parse(receiver.got[0]?.text ?? "").got : answer;
  };

  test.each<[string, unknown]>([
    ['{"a":[1]}', { a: [1] }],
    ["[2026-01-31] Disk full", "[2026-01-31] Disk full"],
    ["{name} has joined", "{name} has joined"],
    ['{"a":1,"a":2}', expect.objectContaining({ status: 422 })],
  ])("%j without a content type is JSON, or else text", async (text, payload) => {
    expect(await sentBytes(Buffer.from(text), "")).toEqual(payload);
  });

  test("with invalid JSON, more than 64 levels or a duplicate key is rejected", async () => {
    for (const text of ["{", '{"a":1,"a":2}', `${"[".repeat(65)}${"]".repeat(65)}`]) {
      expect((await sent(text, "application/json")).status).toBe(422);
    }
  });

  describe("with bytes that aren't UTF-8", () => {
    const latin = (text: string) => Buffer.from(text, "latin1");

    test.each<[string, string, unknown]>([
      ['{"name":"Zoë"}', "application/json; charset=iso-8859-1", { name: "Zoë" }],
      ["Zoë €", "text/plain; charset=windows-1252", "Zoë \u20ac"],
      [
        "name=Zo%EB&a=%26%3d+b%",
        "application/x-www-form-urlencoded; charset=windows-1252",
        { name: "Zoë", a: "&= b%" },
      ],
      ["name=Zoë", "application/x-www-form-urlencoded; charset=iso-8859-1", { name: "Zoë" }],
      ["name=%83A", "application/x-www-form-urlencoded; charset=shift_jis", { name: "ア" }],
    ])("is decoded with the charset of its content type: %j as %s", async (text, type, payload) => {
      const bytes = Buffer.from([...text].map((sign) => (sign === "€" ? 0x80 : sign.charCodeAt(0))));
      expect(await sentBytes(bytes, type)).toEqual(payload);
    });

    test.each<[Buffer, string]>([
      [latin('{"name":"Zoë"}'), "application/json"],
      [latin("name=Zoë"), "application/x-www-form-urlencoded"],
      [latin("name=Zo%EB"), "application/x-www-form-urlencoded"],
      [latin("name=%EF%BF%BD&b=Zo%EB"), "application/x-www-form-urlencoded; charset=utf-8"],
      [latin("Zoë"), "text/plain"],
      [
        latin('--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nZoë\r\n--x--\r\n'),
        "multipart/form-data; boundary=x",
      ],
    ])("is rejected if nothing says what it is: %s as %s", async (bytes, type) => {
      const answer = await sentBytes(bytes, type);
      expect([answer.status, faultsOf(answer)]).toEqual([422, ["body string_unicode"]]);
    });

    test("is rejected in the query too", async () => {
      await using app = await startApp({ engine: false });
      await makeHook(app, quick);
      const sentTo = (query: string) => send(app, "{}", {}, `/webhooks/acme/orders?${query}`);
      const refused = await sentTo("name=Zo%EB");
      expect([refused.status, faultsOf(refused)]).toEqual([422, ["query string_unicode"]]);
      expect((await sentTo("name=Zo%C3%AB&sale=50%25")).status).toBe(200);
    });

    test.each(["application/octet-stream", "image/png", ""])("is a file in base64 as %p", async (type) => {
      const bytes = Buffer.from([0x89, 0x50, 0, 0xff, 0xfe]);
      expect(await sentBytes(bytes, type)).toEqual({
        fileName: null,
        mimeType: type || null,
        data: bytes.toString("base64"),
      });
    });
  });

  test("is deleted once it is processed, and kept with debug", async () => {
    await using app = await startApp();
    await makeHook(app, quick);
    await makeHook(app, { ...quick, path: "debug", debug: true });
    const plain = await send(app, body);
    expect(await deliveryOf(app, plain.body.deliveryId)).toMatchObject({
      status: "processed",
      payload: null,
      headers: null,
      query: null,
    });
    const kept = await send(app, body, {}, "/webhooks/acme/debug?a=1");
    expect(await deliveryOf(app, kept.body.deliveryId)).toMatchObject({
      status: "processed",
      payload: JSON.parse(body),
      headers: { "content-type": "application/json" },
      query: { a: "1" },
    });
  });
});

describe("the checks", () => {
  test("have the same 404 for every cause, before anything else is checked", async () => {
    await using app = await startApp();
    await makeHook(app, { ...quick, path: "off", allowedIps: ["203.0.113.0/24"] });
    const [hook] = (await app.owner("GET", AUTOMATIONS)).body.automations;
    await app.owner("PATCH", `${AUTOMATIONS}/${hook.id}`, { status: "disabled" });
    const gone = await makeHook(app, { ...quick, path: "gone" });
    await app.owner("DELETE", `${AUTOMATIONS}/${gone.id}`);
    const other = await neighbour(app);
    await other.call("POST", AUTOMATIONS, {
      name: "x",
      triggerType: "webhook",
      config: { ...quick, path: "theirs" },
    });
    const texts = new Set<string>();
    for (const path of [
      "acme/off",
      "acme/gone",
      "acme/never",
      "acme/theirs",
      "nobody/orders",
      "acme/%ZZ",
      "%E0%A4%A/orders",
    ]) {
      const answer = await send(
        app,
        "x".repeat(100),
        { "x-svc-signature": "", "x-correlation-id": "the-same" },
        `/webhooks/${path}`,
      );
      expect([path, answer.status]).toEqual([path, 404]);
      texts.add(answer.text);
    }
    expect(texts.size).toBe(1);
    expect(await stored(app)).toBe(0);
  });

  test("an organization whose slug looks like another's ID doesn't get its webhooks", async () => {
    await using app = await startApp();
    await makeHook(app, quick);
    const other = await neighbour(app);
    await other.call("POST", AUTOMATIONS, {
      name: "x",
      triggerType: "webhook",
      config: { ...quick, path: "orders" },
    });
    const { organizations } = await import("../../src/resources/organizations/table.ts");
    await app.app.store.write(async (db) => {
      await db
        .update(organizations)
        .set({ slug: app.ids.organizationId })
        .where(eq(organizations.id, other.organization.id));
    });
    const answer = await send(app, body, {}, `/webhooks/${app.ids.organizationId}/orders`);
    expect(answer.status).toBe(200);
    const [delivery] = await app.app.store.db.select().from(webhookDeliveries);
    expect(delivery?.organizationId).toBe(app.ids.organizationId);
  });

  test("then the size, then the address, then the signature, then the rate", async () => {
    await using app = await startApp({ env: { WEIR_MAX_BODY_BYTES: "1024" } });
    await makeHook(app, { ...quick, allowedIps: ["203.0.113.0/24"] });
    await makeHook(app, { ...quick, path: "open" });
    const big = "x".repeat(2000);
    expect((await send(app, big, { "x-svc-signature": "" })).body.code).toBe("payload_too_large");
    const outside = await send(app, body, { "x-svc-signature": "" });
    expect([outside.status, outside.body.code]).toEqual([403, "forbidden"]);
    for (const signature of ["", "sha256=00", "nonsense", sign(`${body} `), sign(body, "another-secret-x")]) {
      const forged = await send(app, body, { "x-svc-signature": signature }, "/webhooks/acme/open");
      expect([forged.status, forged.body.code]).toEqual([401, "unauthenticated"]);
    }
    expect(await stored(app)).toBe(0);
    expect((await send(app, body, { "content-encoding": "gzip" }, "/webhooks/acme/open")).status).toBe(415);
    expect((await send(app, body, {}, "/webhooks/acme/open")).status).toBe(200);
  });

  test("the address is the forwarded one behind a trusted proxy, and no other", async () => {
    await using app = await startApp({ env: { WEIR_TRUSTED_PROXIES: "127.0.0.0/8,10.0.0.0/8" } });
    await using plain = await startApp();
    for (const each of [app, plain])
      await makeHook(each, { ...quick, allowedIps: ["203.0.113.0/24", "2001:db8::/32"] });
    const from = async (where: Started, forwarded: string) =>
      (await send(where, body, { "x-forwarded-for": forwarded })).status;
    expect(await from(app, "203.0.113.9")).toBe(200);
    expect(await from(app, "2001:db8::7")).toBe(200);
    expect(await from(app, "1.2.3.4, 203.0.113.9, 10.1.1.1")).toBe(200);
    expect(await from(app, "1.2.3.4:80, 203.0.113.9:4711, 10.1.1.1:4712")).toBe(200);
    expect(await from(app, "[2001:db8::7]:4711")).toBe(200);
    expect(await from(app, "[2001:db8::7]")).toBe(200);
    expect(await from(app, "203.0.113.9, 198.51.100.1")).toBe(403);
    expect(await from(app, "203.0.113.9:4711, 198.51.100.1:4712")).toBe(403);
    expect(await from(app, "nonsense")).toBe(403);
    expect(await from(app, "")).toBe(403);
    expect(await from(plain, "203.0.113.9")).toBe(403);
  });

  test("only addresses and ranges are accepted in allowedIps", async () => {
    await using app = await startApp();
    const config = {
      ...quick,
      path: "x",
      allowedIps: ["10.0.0.0/8", "10.0.0.1", "::1", "10.0.0.0/33", "localhost"],
    };
    expect(
      faultsOf(await app.owner("POST", AUTOMATIONS, { name: "x", triggerType: "webhook", config })),
    ).toEqual(["body.config.allowedIps.3 value_error", "body.config.allowedIps.4 value_error"]);
  });
});

describe("the rate", () => {
  const burst = async (app: Started, times: number, headers = {}) => {
    const statuses: Record<string, number> = {};
    const answers = await Promise.all(Array.from({ length: times }, () => send(app, body, headers)));
    for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
    return { statuses, answers };
  };

  test("is that of the plan: 10 at once and 60 a minute for free", async () => {
    await using app = await startApp({ stands: true });
    await makeHook(app, quick);
    const { statuses, answers } = await burst(app, 12);
    expect(statuses).toEqual({ 200: 10, 429: 2 });
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.code).toBe("rate_limited");
    expect(refused?.headers.get("retry-after")).toBe("1");
    expect(await stored(app)).toBe(10);
    app.clock.turn(3_000);
    expect((await burst(app, 5)).statuses).toEqual({ 200: 3, 429: 2 });
  });

  test("is 50 at once for pro, and configurable for enterprise", async () => {
    await using app = await startApp({ stands: true });
    await makeHook(app, quick);
    await app.owner("PATCH", "/api/v1/organizations/current", { plan: "pro" });
    expect((await burst(app, 52)).statuses).toEqual({ 200: 50, 429: 2 });
    await app.owner("PATCH", "/api/v1/organizations/current", {
      plan: "enterprise",
      webhookRate: { perMinute: 60, burst: 3 },
    });
    app.clock.turn(60_000);
    expect((await burst(app, 5)).statuses).toEqual({ 200: 3, 429: 2 });
  });

  test("of a better plan applies at once, less what was used", async () => {
    await using app = await startApp({ stands: true });
    await makeHook(app, quick);
    expect((await burst(app, 12)).statuses).toEqual({ 200: 10, 429: 2 });
    await app.owner("PATCH", "/api/v1/organizations/current", { plan: "pro" });
    expect((await burst(app, 42)).statuses).toEqual({ 200: 40, 429: 2 });
    await app.owner("PATCH", "/api/v1/organizations/current", { plan: "free" });
    expect((await burst(app, 2)).statuses).toEqual({ 429: 2 });
  });

  test("can't be used up by a forger, who has a separate limit", async () => {
    const standing = { ...turnableClock(), monotonic: () => 0 };
    await using app = await startApp({ overrides: { limiter: openLimiter(standing) } });
    await makeHook(app, quick);
    const forged = { "x-svc-signature": "sha256=00" };
    const first = await burst(app, 300, forged);
    expect(first.statuses).toEqual({ 401: 300 });
    expect((await send(app, body)).status).toBe(200);
    const more = await burst(app, 320, forged);
    expect(more.statuses).toEqual({ 401: 300, 429: 20 });
    expect(more.answers.find(({ status }) => status === 429)?.headers.get("retry-after")).toBe("1");
    expect((await send(app, body, {}, "/webhooks/acme/nothing")).status).toBe(429);
    expect((await send(app, body)).status).toBe(200);
  });
});

describe("the response", () => {
  test("is 202 if the run takes longer than waitSeconds, and the delivery is stored by then", async () => {
    await using app = await startApp();
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
    await makeHook(app, { ...forward(receiver.url), waitSeconds: 0.1 });
    const answer = await send(app, body);
    expect([answer.status, answer.body]).toEqual([
      202,
      { status: "processing", deliveryId: expect.any(String), automationRunId: expect.any(String) },
    ]);
    expect(await deliveryOf(app, answer.body.deliveryId)).toMatchObject({
      status: "processing",
      payload: JSON.parse(body),
      replyCode: null,
    });
    open.resolve();
    const done = await until(
      app.owner,
      `${DELIVERIES}/${answer.body.deliveryId}`,
      ({ status }) => status === "processed",
    );
    expect(done).toMatchObject({
      replyCode: 200,
      payload: null,
      attempts: [{ number: 1, error: null, completedAt: expect.any(String) }],
    });
  });

  test("is 202 immediately if the next attempt comes later than waitSeconds", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("", { status: 503 }));
    const retries = { backoffSeconds: [60] };
    await makeHook(app, { ...forward(receiver.url), retries, waitSeconds: 30 });
    const answer = await send(app, body);
    expect([answer.status, answer.body.status]).toEqual([202, "processing"]);
    expect(await deliveryOf(app, answer.body.deliveryId)).toMatchObject({
      status: "retrying",
      nextAttemptAt: expect.any(String),
    });
  });

  test("waits for attempts within waitSeconds", async () => {
    await using app = await startApp({ hurry: 20 });
    await using receiver = startReceiver((_, count) =>
      Response.json({ count }, { status: count < 3 ? 503 : 200 }),
    );
    await makeHook(app, { ...forward(receiver.url), retries: { backoffSeconds: [0] } });
    const answer = await send(app, body);
    expect([answer.status, answer.body.result.body]).toEqual([200, { count: 3 }]);
    const { attempts } = await deliveryOf(app, answer.body.deliveryId);
    expect(
      attempts.map(({ number, replyCode }: { number: number; replyCode: number }) => [number, replyCode]),
    ).toEqual([
      [1, 500],
      [2, 500],
      [3, 200],
    ]);
  });

  test("is 500 with the reason if the run fails permanently", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("", { status: 404 }));
    await makeHook(app, forward(receiver.url));
    const answer = await send(app, body, { "x-correlation-id": "failing-1" });
    expect([answer.status, answer.body]).toEqual([
      500,
      {
        status: "failed",
        detail: expect.stringContaining("404"),
        code: "unexpected_status",
        correlationId: "failing-1",
        deliveryId: expect.any(String),
        automationRunId: expect.any(String),
      },
    ]);
    expect(await deliveryOf(app, answer.body.deliveryId)).toMatchObject({
      status: "failed",
      replyCode: 500,
      error: { code: "unexpected_status" },
      attempts: [{ number: 1, replyCode: 500 }],
    });
    expect((await app.owner("GET", "/api/v1/dead-letters")).body.items).toEqual([]);
  });

  test("is 500 if someone cancels the run", async () => {
    await using app = await startApp();
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
    await makeHook(app, forward(receiver.url));
    const sent = send(app, body);
    await until(app.owner, AUTOMATIONS, () => receiver.got.length > 0);
    const [{ latestRun }] = (await app.owner("GET", AUTOMATIONS)).body.automations;
    await app.owner("POST", `${AUTOMATION_RUNS}/${latestRun.id}/cancel`);
    const answer = await sent;
    expect([answer.status, answer.body.code]).toEqual([500, "cancelled"]);
    expect(await deliveryOf(app, answer.body.deliveryId)).toMatchObject({
      status: "failed",
      error: { code: "cancelled", message: "The run was cancelled." },
    });
    open.resolve();
  });
});

describe("a repeat", () => {
  for (const header of ["idempotency-key", "webhook-id"]) {
    test(`with the same ${header} starts nothing and is answered as the first`, async () => {
      await using app = await startApp();
      await using receiver = startReceiver();
      await makeHook(app, forward(receiver.url));
      const first = await send(app, body, { [header]: "msg_1" });
      const other = '{"other":true}';
      const again = await send(app, other, { [header]: "msg_1" });
      expect([again.status, again.text]).toEqual([first.status, first.text]);
      expect([receiver.got.length, await stored(app)]).toEqual([1, 1]);
      expect((await send(app, body, { [header]: "msg_2" })).body.deliveryId).not.toBe(first.body.deliveryId);
      expect((await send(app, body)).body.deliveryId).not.toBe(first.body.deliveryId);
      app.clock.turn(25 * 3_600_000);
      expect((await send(app, body, { [header]: "msg_1" })).body.deliveryId).not.toBe(first.body.deliveryId);
    });
  }

  test("with the same webhook-id is one, although its Idempotency-Key is empty", async () => {
    await using app = await startApp();
    await makeHook(app, quick);
    const sent = () => send(app, body, { "idempotency-key": " ", "webhook-id": "msg_1" });
    expect((await sent()).body).toEqual((await sent()).body);
    expect(await stored(app)).toBe(1);
  });

  test("of a failure is answered as that failure", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("", { status: 400 }));
    await makeHook(app, forward(receiver.url));
    const first = await send(app, body, { "webhook-id": "msg_1" });
    const again = await send(app, body, { "webhook-id": "msg_1" });
    expect([again.status, again.text]).toEqual([500, first.text]);
    expect(receiver.got).toHaveLength(1);
  });

  test("fifty at once with one key start one run", async () => {
    await using app = await startApp({ env: { WEIR_DEFAULT_PLAN: "pro" } });
    await using receiver = startReceiver(async () => {
      await Bun.sleep(50);
      return Response.json({});
    });
    await app.owner("PATCH", "/api/v1/organizations/current", { plan: "pro" });
    await makeHook(app, forward(receiver.url));
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => send(app, body, { "idempotency-key": "one" })),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    expect([receiver.got.length, await stored(app), await app.app.store.db.$count(automationRuns)]).toEqual([
      1, 1, 1,
    ]);
  });

  test("with a key that is too long is rejected", async () => {
    await using app = await startApp();
    await makeHook(app, quick);
    expect(faultsOf(await send(app, body, { "idempotency-key": "k".repeat(256) }))).toEqual([
      "header.Idempotency-Key string_too_long",
    ]);
  });
});

describe("retries", () => {
  test("come after each pause, plus or minus a tenth, and end with a dead letter", async () => {
    await using app = await startApp({ hurry: 20, stands: true });
    await using receiver = startReceiver(() => new Response("", { status: 503 }));
    await makeHook(app, { ...forward(receiver.url), waitSeconds: 0 });
    const { deliveryId, automationRunId } = (await send(app, body, { "x-correlation-id": "dying-slowly" }))
      .body;
    for (const [index, pause] of [5, 30, 120, 600].entries()) {
      const waiting = await until(
        app.owner,
        `${DELIVERIES}/${deliveryId}`,
        ({ status, attempts }) => status === "retrying" && attempts.length === index + 1,
      );
      const left =
        (Date.parse(waiting.nextAttemptAt) - Date.parse(waiting.attempts[index].completedAt)) / 1000;
      expect(left).toBeGreaterThanOrEqual(pause * 0.9);
      expect(left).toBeLessThanOrEqual(pause * 1.1 + 0.01);
      const run = (await app.owner("GET", `${AUTOMATION_RUNS}/${automationRunId}`)).body;
      expect([run.status, run.displayStatus]).toEqual(["waiting", "Retrying"]);
      app.clock.turn(left * 1000 + 1);
    }
    const dead = await until(
      app.owner,
      `${DELIVERIES}/${deliveryId}`,
      ({ status }) => status === "dead_letter",
    );
    expect(dead).toMatchObject({ replyCode: 500, nextAttemptAt: null, payload: JSON.parse(body) });
    expect(dead.attempts).toHaveLength(5);
    expect(receiver.got).toHaveLength(5);
    expect((await app.owner("GET", `${AUTOMATION_RUNS}/${automationRunId}`)).body.status).toBe("failed");
    const chain = await chainOf(app, "dying-slowly");
    expect(chain.filter((type) => type === "action.failed")).toHaveLength(5);
    expect(chain.filter((type) => type === "automation.failed")).toHaveLength(1);
    expect(chain).toContain("webhook.dead_lettered");
  });

  test("repeat only the steps that haven't succeeded", async () => {
    await using app = await startApp({ hurry: 20 });
    await using receiver = startReceiver(({ path }, count) =>
      Response.json({}, { status: path === "/b" && count < 3 ? 500 : 200 }),
    );
    const steps = [
      { key: "a", ...forward(`${receiver.url}/a`).action },
      { key: "b", dependsOn: ["a"], ...forward(`${receiver.url}/b`).action },
    ];
    await makeHook(app, { steps, retries: { backoffSeconds: [0] } });
    const answer = await send(app, body);
    expect(answer.status).toBe(200);
    expect(receiver.got.map(({ path }) => path)).toEqual(["/a", "/b", "/b"]);
    expect(JSON.parse(receiver.got[2]?.text ?? "")).toEqual({ got: JSON.parse(body) });
  });

  test("can be turned off, and limited", async () => {
    await using app = await startApp({ hurry: 20 });
    await using receiver = startReceiver(() => new Response("", { status: 500 }));
    await makeHook(app, { ...forward(receiver.url), path: "off", retries: { enabled: false } });
    await makeHook(app, {
      ...forward(receiver.url),
      path: "two",
      retries: { maxAttempts: 2, backoffSeconds: [0] },
    });
    const off = await send(app, body, {}, "/webhooks/acme/off");
    expect([off.status, receiver.got.length]).toEqual([500, 1]);
    const two = await send(app, body, {}, "/webhooks/acme/two");
    expect([two.status, receiver.got.length]).toEqual([500, 3]);
    expect((await deliveryOf(app, two.body.deliveryId)).status).toBe("dead_letter");
  });

  test("are left to users if the run crashed the process repeatedly", async () => {
    await using app = await startApp({ engine: false });
    await makeHook(app, { ...forward("http://127.0.0.1:9"), waitSeconds: 0 });
    const { deliveryId } = (await send(app, body)).body;
    const orphan = {
      status: "running",
      dueAt: null,
      leaseToken: "dead",
      bootId: "dead",
      leaseUntil: app.clock.now().toISOString(),
      interruptCount: 3,
    } as const;
    await app.app.store.write((db) => db.update(actionRuns).set(orphan));
    const engine = await startEngine(app.app);
    endLeases(app);
    await until(app.owner, `${DELIVERIES}/${deliveryId}`, ({ status }) => status === "dead_letter");
    expect(await deliveryOf(app, deliveryId)).toMatchObject({
      status: "dead_letter",
      error: { code: "interrupted_too_often" },
      payload: JSON.parse(body),
    });
    expect((await app.owner("GET", "/api/v1/dead-letters")).body.items).toMatchObject([
      { deliveryId, status: "dead" },
    ]);
    await engine.stop(0);
  });

  test("end when someone cancels the run that waits for them", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("", { status: 503 }));
    await makeHook(app, { ...forward(receiver.url), waitSeconds: 0, retries: { backoffSeconds: [60] } });
    const { deliveryId, automationRunId } = (await send(app, body)).body;
    await until(app.owner, `${DELIVERIES}/${deliveryId}`, ({ status }) => status === "retrying");
    expect((await app.owner("POST", `${AUTOMATION_RUNS}/${automationRunId}/cancel`)).body.status).toBe(
      "cancelled",
    );
    expect(await deliveryOf(app, deliveryId)).toMatchObject({ status: "failed", nextAttemptAt: null });
    app.clock.turn(120_000);
    await Bun.sleep(700);
    expect(receiver.got).toHaveLength(1);
  });
});

describe("retrying a webhook's run", () => {
  test("has its payload as long as that is stored", async () => {
    await using app = await startApp();
    let status = 400;
    await using receiver = startReceiver(() => Response.json({}, { status }));
    await makeHook(app, forward(receiver.url));
    const failed = await send(app, body);
    status = 200;
    const again = await app.owner("POST", `${AUTOMATION_RUNS}/${failed.body.automationRunId}/retry`);
    const run = await until(
      app.owner,
      `${AUTOMATION_RUNS}/${created(again).id}`,
      ({ completedAt }) => completedAt !== null,
    );
    expect(run.status).toBe("completed");
    expect(JSON.parse(receiver.got[1]?.text ?? "")).toEqual({ got: JSON.parse(body) });
    const [row] = await app.app.store.db.select().from(automationRuns).where(eq(automationRuns.id, run.id));
    expect(row?.scope).toEqual({});

    const processed = await send(app, body);
    const gone = await app.owner("POST", `${AUTOMATION_RUNS}/${processed.body.automationRunId}/retry`, {
      fromFailed: false,
    });
    expect([gone.status, gone.body.code]).toEqual([410, "gone"]);
  });
});

describe("the deliveries", () => {
  test("are listed newest first, filtered, page by page", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("", { status: 400 }));
    const good = await makeHook(app, quick);
    const bad = await makeHook(app, { ...forward(receiver.url), path: "bad" });
    const ids: string[] = [];
    for (const path of ["orders", "bad", "orders", "orders"])
      ids.unshift((await send(app, body, {}, `/webhooks/acme/${path}`)).body.deliveryId);
    const list = async (query: string) => {
      const { body: page } = await app.owner("GET", `${DELIVERIES}?${query}`);
      return { ids: page.items.map(({ id }: { id: string }) => id), next: page.nextCursor };
    };
    expect(await list("")).toEqual({ ids, next: undefined });
    expect((await list(`automation_id=${bad.id}`)).ids).toEqual([ids[2]]);
    expect((await list("status=failed")).ids).toEqual([ids[2]]);
    const first = await list(`automation_id=${good.id}&limit=2`);
    expect(first.ids).toEqual([ids[0], ids[1]]);
    const cursor = `cursor=${encodeURIComponent(first.next)}`;
    expect(await list(`automation_id=${good.id}&limit=2&${cursor}`)).toEqual({
      ids: [ids[3]],
      next: undefined,
    });
    expect(faultsOf(await app.owner("GET", `${DELIVERIES}?limit=2&${cursor}`))).toEqual([
      "query.cursor cursor_invalid",
    ]);
    const [item] = (await app.owner("GET", `${DELIVERIES}?status=failed`)).body.items;
    expect(item).toEqual({
      id: ids[2],
      automationId: bad.id,
      automationRunId: expect.any(String),
      status: "failed",
      attempts: 1,
      replyCode: 500,
      receivedAt: expect.any(String),
      nextAttemptAt: null,
      error: expect.objectContaining({ code: "unexpected_status" }),
    });
    const other = await neighbour(app);
    expect((await other.call("GET", DELIVERIES)).body.items).toEqual([]);
    expect((await other.call("GET", `${DELIVERIES}/${ids[0]}`)).status).toBe(404);
  });

  test("leave nothing of the secret or of the sender's credentials in the audit log", async () => {
    await using app = await startApp();
    await makeHook(app, quick);
    await send(app, body, { authorization: "Bearer very-secret-token" });
    const trail = JSON.stringify(await app.app.store.db.select().from(events));
    expect(trail).not.toContain(SECRET);
    expect(trail).not.toContain("very-secret");
  });
});

describe("alerts", () => {
  const alerts = (notifyUrl: string, more: object = {}) => ({
    failureThreshold: 3,
    failureWindow: 600,
    notifyUrl,
    ...more,
  });

  test("report once per window that failures have reached the threshold, signed", async () => {
    await using app = await startApp({ hurry: 20 });
    await using receiver = startReceiver(() => new Response("", { status: 400 }));
    await using watcher = startReceiver();
    const hook = await makeHook(app, { ...forward(receiver.url), alerts: alerts(`${watcher.url}/alert`) });
    const fail = async (times: number) => {
      for (let i = 0; i < times; i++) expect((await send(app, body)).status).toBe(500);
    };
    const told = (times: number) => until(app.owner, AUTOMATIONS, () => watcher.got.length >= times);
    await fail(2);
    app.clock.turn(601_000);
    await fail(2);
    await Bun.sleep(200);
    expect(watcher.got).toHaveLength(0);
    await fail(3);
    await told(1);
    await Bun.sleep(200);
    expect(watcher.got).toHaveLength(1);
    const [alert] = watcher.got;
    const timestamp = alert?.headers.get("x-svc-timestamp") ?? "";
    expect(alert?.headers.get("x-svc-signature")).toBe(`sha256=${sign(`${timestamp}.${alert?.text}`)}`);
    expect(Math.abs(Number(timestamp) - app.clock.now().getTime() / 1000)).toBeLessThan(60);
    expect(JSON.parse(alert?.text ?? "")).toMatchObject({
      type: "webhook.failing",
      organizationId: app.ids.organizationId,
      automation: { id: hook.id, name: "Hook" },
      failures: 3,
      failureThreshold: 3,
      failureWindow: 600,
      lastFailure: { code: "unexpected_status" },
    });
    app.clock.turn(601_000);
    await fail(3);
    await told(2);
  });

  test("are sent again if the receiver doesn't accept them, a few times", async () => {
    await using app = await startApp({ hurry: 20 });
    await using receiver = startReceiver(() => new Response("", { status: 400 }));
    await using watcher = startReceiver((_, count) => new Response("", { status: count < 3 ? 503 : 204 }));
    await makeHook(app, { ...forward(receiver.url), alerts: alerts(watcher.url, { failureThreshold: 1 }) });
    await send(app, body);
    for (let tries = 1; tries <= 3; tries++) {
      await eventually(async () => {
        const [alert] = await app.app.store.db.select().from(notices);
        return alert?.attempts === tries;
      });
      app.clock.turn(31_000);
    }
    await Bun.sleep(200);
    expect(watcher.got).toHaveLength(3);
    expect(new Set(watcher.got.map(({ text }) => text)).size).toBe(1);
    expect(app.logged.filter((line) => line.includes('"kind":"webhook.failing"'))).toHaveLength(3);
  });

  deepTest(
    "of an organization whose receivers never respond delay no other's",
    async () => {
      await using app = await startApp({ env: { WEIR_WEBHOOK_TIMEOUT: "3" } });
      await using deaf = startReceiver(() => new Promise<Response>(() => {}));
      await using watcher = startReceiver();
      const other = await neighbour(app);
      const flow = await other.call("POST", AUTOMATIONS, {
        name: "x",
        triggerType: "webhook",
        config: { ...quick, path: "x" },
      });
      const at = timestamp(app.clock);
      const rows = Array.from({ length: 60 }, () => ({
        id: app.app.ids.uuid(),
        organizationId: flow.body.tenantId as string,
        automationId: flow.body.id as string,
        kind: "automation.stale" as const,
        createdAt: at,
        thing: app.app.ids.uuid(),
        channel: "url" as const,
        target: deaf.url,
        facts: {},
        count: 1,
        attempts: 0,
        dueAt: at,
      }));
      await app.app.store.write(async (db) => {
        await db.insert(notices).values(rows);
      });
      await until(app.owner, AUTOMATIONS, () => deaf.got.length > 0);
      await makeHook(app, {
        action: { kind: "conditional_branch", definition: branch("a", "false") },
        alerts: alerts(watcher.url, { failureThreshold: 1 }),
      });
      expect((await send(app, body)).status).toBe(500);
      await until(app.owner, AUTOMATIONS, () => watcher.got.length > 0);
      expect(deaf.got.length).toBeLessThan(rows.length);
    },
    120_000,
  );

  test("are subject to egress, and need all of their fields", async () => {
    await using app = await startApp({ hurry: 20, env: { WEIR_EGRESS_ALLOW: "" } });
    await using watcher = startReceiver();
    await makeHook(app, {
      action: { kind: "conditional_branch", definition: branch("a", "false") },
      alerts: alerts(watcher.url, { failureThreshold: 1 }),
    });
    expect((await send(app, body)).status).toBe(500);
    await until(app.owner, AUTOMATIONS, () => app.logged.some((line) => line.includes("WEIR_EGRESS_ALLOW")));
    expect(watcher.got).toEqual([]);
    const config = { ...quick, path: "x", alerts: { failureThreshold: 0, notifyUrl: "file:///etc/passwd" } };
    expect(
      faultsOf(await app.owner("POST", AUTOMATIONS, { name: "x", triggerType: "webhook", config })),
    ).toEqual([
      "body.config.alerts.failureThreshold greater_than_equal",
      "body.config.alerts.notifyUrl string_pattern_mismatch",
      "body.config.alerts.failureWindow missing",
    ]);
  });
});
