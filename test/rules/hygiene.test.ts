import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { requestExampleOf } from "../../src/resources/openapi/example.ts";
import { operations } from "../../src/server.ts";
import { type Answer, client, startApp } from "../support/app.ts";
import { exchange } from "../support/raw.ts";
import { deepTest } from "../support/scale.ts";
import { ACTIONS, branch, NOBODY } from "../support/work.ts";
import { fill, makeThings } from "./things.ts";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

const SAFE = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "content-security-policy": expect.stringContaining("frame-ancestors 'none'"),
  "x-correlation-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
};
const headersOf = ({ headers }: { headers: Headers }) => Object.fromEntries(headers);

describe("the headers of every response", () => {
  test("are on errors of every status, on pages, and on a 404", async () => {
    const { owner, anonymous } = app;
    const json = { "content-type": "application/json" };
    const replies: [number, Answer][] = [
      [200, await owner("GET", ACTIONS)],
      [200, await anonymous("GET", "/docs")],
      [200, await anonymous("GET", "/health")],
      [401, await anonymous("GET", ACTIONS)],
      [404, await owner("GET", `${ACTIONS}/${NOBODY}`)],
      [404, await anonymous("GET", "/api/nothing")],
      [404, await anonymous("POST", "/webhooks/acme/nothing", "{}", json)],
      [405, await anonymous("PUT", ACTIONS)],
      [405, await anonymous("OPTIONS", ACTIONS)],
      [413, await owner("POST", ACTIONS, Buffer.alloc(11 * 1024 * 1024, " "), json)],
      [415, await owner("POST", ACTIONS, "x", { "content-type": "text/plain" })],
      [422, await owner("POST", ACTIONS, {})],
    ];
    for (const [status, reply] of replies) {
      expect(reply.status).toBe(status);
      expect(headersOf(reply)).toMatchObject(SAFE);
      const policy = reply.headers.get("content-security-policy")?.split("; ");
      expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "base-uri 'none'"]));
      expect(policy?.some((each) => each.startsWith("form-action "))).toBe(true);
      expect(policy?.join()).not.toMatch(/unsafe|\*|https?:/);
      expect(reply.headers.has("strict-transport-security")).toBe(false);
      expect([...reply.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
      expect(reply.headers.has("server") || reply.headers.has("x-powered-by")).toBe(false);
    }
  });

  test("are on a stream", async () => {
    const reply = await fetch(`${app.origin}/api/v1/events/stream`, {
      headers: { authorization: `Bearer ${app.token}` },
    });
    await reply.body?.cancel();
    expect(headersOf(reply)).toMatchObject({ ...SAFE, "x-accel-buffering": "no" });
  });

  test("require https for a year if accessed by https, with subdomains if the host is Weir's own", async () => {
    const year = "max-age=31536000";
    for (const [WEIR_BASE_URL, path, asked] of [
      ["https://weir.example.com", "", `${year}; includeSubDomains`],
      ["https://weir.example.com:8443", "", year],
      ["https://tools.example.com/weir", "/weir", year],
      ["https://example.com", "", year],
      ["https://192.0.2.7", "", year],
    ] as const) {
      await using secure = await startApp({ engine: false, env: { WEIR_BASE_URL } });
      for (const reply of [
        await secure.owner("GET", path + ACTIONS),
        await secure.anonymous("GET", `${path}/docs`),
        await secure.anonymous("GET", `${path}/api/nothing`),
      ])
        expect([WEIR_BASE_URL, reply.headers.get("strict-transport-security")]).toEqual([
          WEIR_BASE_URL,
          asked,
        ]);
    }
  });
});

describe("methods", () => {
  const send = (line: string) =>
    exchange(
      app.origin,
      `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${app.token}\r\nX-Correlation-Id: the-same-for-all\r\n\r\n`,
    );

  test.each(["OPTIONS", "TRACE", "CONNECT", "PROPFIND"])(
    "%s gets the allowed ones, and nothing about other sites",
    async (method) => {
      const reply = await send(`${method} ${ACTIONS}`);
      expect(reply).toStartWith("HTTP/1.1 405 ");
      expect(reply.toLowerCase()).toContain("\r\nallow: get, post, head\r\n");
      expect(reply).not.toMatch(/access-control/i);
      expect(reply).not.toContain(app.token);
    },
  );

  test("HEAD has the status and headers of GET, and no body, also for an error, a page and a stream", async () => {
    const headOf = (text: string) =>
      text
        .slice(0, text.indexOf("\r\n\r\n"))
        .toLowerCase()
        .split("\r\n")
        .filter((line) => !/^(date|content-length|transfer-encoding):/.test(line))
        .sort();
    for (const path of [ACTIONS, `${ACTIONS}/${NOBODY}`, "/api/nothing", "/docs", "/api/v1/events?limit=0"]) {
      const head = await send(`HEAD ${path}`);
      expect(headOf(head)).toEqual(headOf(await send(`GET ${path}`)));
      expect(head).toEndWith("\r\n\r\n");
    }
    expect(await send("HEAD /api/v1/events/stream")).toStartWith("HTTP/1.1 200 ");
  });
});

describe("the rate limit of a credential", () => {
  test("is reported in every response, at n and n + 1", async () => {
    await using slow = await startApp({ engine: false, stands: true, env: { WEIR_API_RATE: "60:3" } });
    const seen = [];
    for (const path of [ACTIONS, `${ACTIONS}/${NOBODY}`, `${ACTIONS}?limit=0`, ACTIONS]) {
      const { status, headers } = await slow.owner("GET", path);
      seen.push([status, headers.get("ratelimit-limit"), headers.get("ratelimit-remaining")]);
      const reset = Number(headers.get("ratelimit-reset"));
      expect(reset >= 1 && reset <= 3).toBe(true);
      expect(headers.has("retry-after")).toBe(status === 429);
    }
    expect(seen).toEqual([
      [200, "3", "2"],
      [404, "3", "1"],
      [422, "3", "0"],
      [429, "3", "0"],
    ]);
    const wrong = await client(slow.origin, { authorization: "Bearer svc_pat_x" })("GET", ACTIONS);
    expect([wrong.status, wrong.headers.has("ratelimit-limit")]).toEqual([401, false]);
    slow.clock.turn(1_000);
    expect((await slow.owner("GET", ACTIONS)).status).toBe(200);
  });

  test("is 300 at once by default, and not reported if it is off", async () => {
    await using usual = await startApp({ engine: false, stands: true, env: { WEIR_API_RATE: "1200:300" } });
    const { headers } = await usual.owner("GET", ACTIONS);
    expect([headers.get("ratelimit-limit"), headers.get("ratelimit-remaining")]).toEqual(["300", "299"]);
    expect((await app.owner("GET", ACTIONS)).headers.has("ratelimit-limit")).toBe(false);
  });

  deepTest("is separate from that of the address that signs in, ten a minute", async () => {
    await using one = await startApp({ engine: false, stands: true });
    const seen = [];
    for (let i = 1; i <= 11; i++) {
      const { status, headers } = await one.anonymous("POST", "/api/v1/auth/login", {
        email: `nobody${i}@example.com`,
        password: "not the password",
      });
      seen.push(
        `${status} ${headers.get("ratelimit-limit")} ${headers.get("ratelimit-remaining")} ${headers.has("retry-after")}`,
      );
    }
    expect(seen.slice(8)).toEqual(["401 10 1 false", "401 10 0 false", "429 10 0 true"]);
  });
});

describe("an idempotency key", () => {
  /** Each of its calls is a separate attempt, whose result is the response. */
  const TRIES = ["/api/v1/webhooks/{webhook_id}/test"];
  const creating = operations.filter(
    ({ method, path, status, audience }) =>
      method === "POST" &&
      status === 201 &&
      !["public", "signature"].includes(audience) &&
      !TRIES.includes(path),
  );

  test("is accepted by every operation that creates", () => {
    expect(creating.filter(({ idempotent }) => !idempotent).map(({ path }) => path)).toEqual([]);
  });

  test.each(creating.map((operation) => [operation.path, operation] as const))(
    "%s",
    async (path, operation) => {
      const side = { app, organizationId: app.ids.organizationId, userId: app.ids.userId, call: app.owner };
      const at = fill(path, await makeThings(side, path));
      const body = { ...exampleOf(operation) };
      const key = { "idempotency-key": `once:${path}` };
      const first = await app.owner("POST", at, body, key);
      const again = await app.owner("POST", at, body, key);
      expect(again.status).toBe(first.status);
      if (first.status !== 201) {
        expect(again.headers.has("idempotency-replayed")).toBe(false); // A failed response isn't stored.
        return;
      }
      expect(first.headers.has("idempotency-replayed")).toBe(false);
      expect([again.headers.get("idempotency-replayed"), again.text]).toEqual(["true", first.text]);
      const other = await app.owner("POST", `${at}?other=1`, body, key);
      expect([other.status, other.body.code]).toEqual([409, "idempotency_mismatch"]);
    },
  );
});

function exampleOf({ path, body, bodyExample }: (typeof operations)[number]): object {
  if (path === ACTIONS) return { kind: "conditional_branch", name: "Once", definition: branch() };
  return (bodyExample ?? (body ? requestExampleOf(body) : {})) as object;
}

test("a duplicate field is rejected at any depth", async () => {
  for (const text of [
    '{"kind":"conditional_branch","name":"a","name":"b"}',
    '{"kind":"conditional_branch","name":"a","definition":{"x":[{"k":1,"k":1}]}}',
  ]) {
    const { status, body } = await app.owner("POST", ACTIONS, text, { "content-type": "application/json" });
    expect([status, body.detail[0].type]).toEqual([422, "json_invalid"]);
  }
});
