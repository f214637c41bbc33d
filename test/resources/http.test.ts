import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { startApp } from "../support/app.ts";
import { join, neighbour } from "../support/people.ts";
import { exchange } from "../support/raw.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  branch,
  chainOf,
  created,
  faultsOf,
  makeAction,
  NOBODY,
} from "../support/work.ts";

const JSON_TYPE = { "content-type": "application/json" };

describe("an error", () => {
  test("has a sentence, a code and the correlation ID, and nothing else", async () => {
    await using app = await startApp({ engine: false });
    const missing = await app.owner("GET", `${ACTIONS}/${NOBODY}`);
    expect([missing.status, missing.body]).toEqual([
      404,
      {
        detail: "Action not found.",
        code: "not_found",
        correlationId: missing.headers.get("x-correlation-id"),
      },
    ]);
  });

  test("401 says how to sign in; an invalid credential isn't skipped for the next", async () => {
    await using app = await startApp({ engine: false });
    for (const headers of [
      {},
      { authorization: "Basic abc" },
      { authorization: "Bearer svc_pat_x" },
      { "x-api-key": "k" },
    ]) {
      const refused = await app.anonymous("GET", ACTIONS, undefined, headers as Record<string, string>);
      expect([refused.status, refused.body.code]).toEqual([401, "unauthenticated"]);
      expect(refused.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  test("403 comes before any fault of the input", async () => {
    await using app = await startApp({ engine: false });
    const viewer = await join(app, "viewer");
    for (const [method, path, body] of [
      ["POST", ACTIONS, {}],
      ["PATCH", `${ACTIONS}/no-uuid`, { nothing: 1 }],
      ["POST", AUTOMATIONS, undefined],
    ] as const) {
      const refused = await viewer.call(method, path, body);
      expect([path, refused.status, refused.body.code]).toEqual([path, 403, "forbidden"]);
    }
  });

  test("for another organization's resource is the same as for one that never existed", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    const theirs = await makeAction(other.call);
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["PATCH", "", { name: "Mine" }],
      ["DELETE", "", undefined],
      ["POST", "/run", undefined],
      ["GET", "/state", undefined],
      ["POST", "/state/reset", undefined],
    ] as const) {
      const headers = { "x-correlation-id": "same-for-both" };
      const [real, made] = [
        await app.owner(method, `${ACTIONS}/${theirs.id}${path}`, body, headers),
        await app.owner(method, `${ACTIONS}/${NOBODY}${path}`, body, headers),
      ];
      expect([real.status, real.text]).toEqual([404, made.text]);
    }
    expect((await other.call("GET", `${ACTIONS}/${theirs.id}`)).body.name).toBe("Branch");
  });
});

describe("validation", () => {
  test("names every field that fails, in path, query and body", async () => {
    await using app = await startApp({ engine: false });
    const wrong = {
      kind: "nothing",
      name: "n".repeat(256),
      slug: "Not A Slug",
      colour: "red",
      connectionId: "x",
    };
    expect(faultsOf(await app.owner("POST", ACTIONS, wrong))).toEqual([
      "body.kind enum",
      "body.name string_too_long",
      "body.connectionId uuid_parsing",
      "body.slug string_pattern_mismatch",
      "body.colour extra_forbidden",
    ]);
    expect(faultsOf(await app.owner("PATCH", `${ACTIONS}/not-an-id`, { status: "gone" }))).toEqual([
      "path.action_id uuid_parsing",
      "body.status enum",
    ]);
    expect(
      faultsOf(await app.owner("GET", `${ACTIONS}?limit=0&offset=-1&order=up&colour=red&kinds=a`)),
    ).toEqual([
      "query.kinds.0 enum",
      "query.order enum",
      "query.limit greater_than_equal",
      "query.offset greater_than_equal",
      "query.colour extra_forbidden",
    ]);
    const [fault] = (await app.owner("POST", ACTIONS, { kind: "http_request" })).body.detail;
    expect(fault).toEqual({ loc: ["body", "name"], msg: "Field required", type: "missing" });
  });

  test.each([
    ["", "missing"],
    ["{", "json_invalid"],
    ["null", "dict_type"],
    ["[]", "dict_type"],
    ['{"name":"a","name":"b"}', "json_invalid"],
    ["\xff\xfe", "json_invalid"],
  ])("reports for the body %j", async (text, type) => {
    await using app = await startApp({ engine: false });
    const bytes = Buffer.from(text, "latin1");
    const refused = await app.owner("POST", ACTIONS, bytes, JSON_TYPE);
    expect([refused.status, refused.body.detail]).toEqual([
      422,
      [{ loc: ["body"], msg: expect.any(String), type }],
    ]);
  });

  test("names the field with half a surrogate pair, and accepts any other text unchanged", async () => {
    await using app = await startApp({ engine: false });
    const half = {
      name: "a",
      kind: "http_request",
      definition: { url: "https://a.example", method: "POST", body: "\ud800" },
    };
    const { status, body } = await app.owner("POST", "/api/v1/actions", half);
    expect([status, body.detail]).toEqual([
      422,
      [
        {
          loc: ["body", "definition", "body"],
          msg: "Input should be valid Unicode text",
          type: "string_unicode",
        },
      ],
    ]);
    const odd = { ...half, definition: { ...half.definition, body: "\u0001\u0002 😀\uffff" } };
    const made = await app.owner("POST", "/api/v1/actions", { ...odd, name: odd.definition.body });
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    const { name, definition } = (await app.owner("GET", `/api/v1/actions/${made.body.id}`)).body;
    expect([name, definition.body]).toEqual([odd.definition.body, odd.definition.body]);
  });

  test("accepts JSON 64 levels deep and no deeper", async () => {
    await using app = await startApp({ engine: false });
    const body = (levels: number) => {
      const inner = `${'{"a":'.repeat(levels - 2)}1${"}".repeat(levels - 2)}`;
      return `{"kind":"http_request","name":"x","definition":{"url":"http://a.test","method":"POST","body":${inner}}}`;
    };
    expect((await app.owner("POST", ACTIONS, body(64), JSON_TYPE)).status).toBe(201);
    expect((await app.owner("POST", ACTIONS, body(65), JSON_TYPE)).body.detail[0].loc).toEqual(["body"]);
  });
});

describe("the correlation id", () => {
  test("is taken from the request, and is in the response and in every event of the chain", async () => {
    await using app = await startApp({ engine: false });
    const given = { "x-correlation-id": "order.4711_A-1" };
    const made = await app.owner(
      "POST",
      ACTIONS,
      { kind: "conditional_branch", name: "x", definition: branch() },
      given,
    );
    expect(made.headers.get("x-correlation-id")).toBe("order.4711_A-1");
    expect(await chainOf(app, "order.4711_A-1")).toEqual(["action.created"]);
  });

  test("is generated if it is missing or not suitable for a log", async () => {
    await using app = await startApp({ engine: false });
    const seen = new Set<string | null>();
    for (const headers of [
      {},
      { "x-correlation-id": "short" },
      { "x-correlation-id": "with spaces in it" },
      { "x-correlation-id": "x".repeat(129) },
    ]) {
      const reply = await app.anonymous(
        "GET",
        "/api/v1/nothing",
        undefined,
        headers as Record<string, string>,
      );
      seen.add(reply.headers.get("x-correlation-id"));
    }
    expect([...seen].every((id) => /^[0-9a-f-]{36}$/.test(id ?? ""))).toBe(true);
    expect(seen.size).toBe(4);
  });
});

describe("methods and paths", () => {
  test("a known path with another method is 405 and lists the allowed ones", async () => {
    await using app = await startApp({ engine: false });
    const refused = await app.owner("PUT", ACTIONS, {});
    expect([refused.status, refused.body.code]).toEqual([405, "method_not_allowed"]);
    expect(refused.headers.get("allow")?.split(", ").sort()).toEqual(["GET", "HEAD", "POST"]);
    expect(
      (await app.owner("POST", `${ACTIONS}/${NOBODY}`, {})).headers.get("allow")?.split(", ").sort(),
    ).toEqual(["DELETE", "GET", "HEAD", "PATCH"]);
  });

  test("a path between others with an ID rejects the methods that only those have", async () => {
    await using app = await startApp({ engine: false });
    for (const [method, path, allowed] of [
      ["GET", "/api/v1/api-catalog/discover", "POST"],
      ["HEAD", "/api/v1/api-catalog/http", "POST"],
      ["PUT", "/api/v1/api-catalog/mcp", "POST"],
      ["PATCH", "/api/v1/chat/threads/bulk-delete", "POST"],
      ["DELETE", "/api/v1/chat/threads/bulk-delete/", "POST"],
      ["DELETE", "/api/v1/dead-letters/replay", "POST"],
      ["POST", "/api/v1/decisions/pending", "GET, HEAD"],
      ["POST", `${ACTIONS}/slug/run`, "GET, HEAD"],
    ] as const) {
      const refused = await app.owner(method, path);
      expect([method, path, refused.status, refused.headers.get("allow")]).toEqual([
        method,
        path,
        405,
        allowed,
      ]);
    }
  });

  test("an unknown path is a JSON 404", async () => {
    await using app = await startApp({ engine: false });
    for (const path of [
      "/api/v1/nothing",
      "/api/nothing",
      `${ACTIONS}/${NOBODY}/nothing`,
      "/api/v1/actions/%ZZ",
    ]) {
      const reply = await app.owner("GET", path);
      expect(reply.headers.get("content-type")).toStartWith("application/json");
      expect([404, 422]).toContain(reply.status);
    }
    expect((await app.anonymous("GET", "/api/v1/nothing")).body).toMatchObject({ code: "not_found" });
  });

  test("every response says that it is data and must not be stored", async () => {
    await using app = await startApp({ engine: false });
    for (const reply of [await app.owner("GET", ACTIONS), await app.owner("GET", "/api/v1/nothing")]) {
      expect(Object.fromEntries(reply.headers)).toMatchObject({
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "content-security-policy": expect.stringContaining("default-src 'none'"),
      });
    }
  });

  test("HEAD responds like GET, without the body", async () => {
    await using app = await startApp({ engine: false });
    const head = await app.owner("HEAD", ACTIONS);
    expect([head.status, head.text]).toEqual([200, ""]);
  });
});

describe("bodies", () => {
  const MEBIBYTE = 1024 * 1024;

  test("of more than 10 MiB are rejected by their announced and their actual size", async () => {
    await using app = await startApp({ engine: false });
    const big = Buffer.alloc(11 * MEBIBYTE, " ");
    const said = await app.owner("POST", ACTIONS, big, JSON_TYPE);
    expect([said.status, said.body.code]).toEqual([413, "payload_too_large"]);
    const chunks = async function* () {
      for (let sent = 0; sent < 11; sent++) yield Buffer.alloc(MEBIBYTE, " ");
    };
    const streamed = await fetch(app.origin + ACTIONS, {
      method: "POST",
      headers: { ...JSON_TYPE, authorization: `Bearer ${app.token}` },
      body: chunks() as unknown as ReadableStream,
    });
    expect([streamed.status, ((await streamed.json()) as { code: string }).code]).toEqual([
      413,
      "payload_too_large",
    ]);
    expect((await app.owner("GET", ACTIONS)).status).toBe(200);
  });

  test("of a size that the operator has set", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_MAX_BODY_BYTES: "2048" } });
    const body = (length: number) => JSON.stringify({ kind: "http_request", name: "x".repeat(length) });
    expect((await app.owner("POST", ACTIONS, body(2100), JSON_TYPE)).status).toBe(413);
    expect((await app.owner("POST", ACTIONS, body(1900), JSON_TYPE)).status).toBe(422);
  });

  test("that are compressed are rejected", async () => {
    await using app = await startApp({ engine: false });
    for (const coding of ["gzip", "br", "deflate", "GZIP", "identity, gzip"]) {
      const headers = { ...JSON_TYPE, "content-encoding": coding };
      const refused = await app.owner("POST", ACTIONS, gzipSync('{"name":"x"}'), headers);
      expect([refused.status, refused.body.code]).toEqual([415, "unsupported_media_type"]);
    }
  });

  test("of another media type are rejected, and JSON with any of its names is accepted", async () => {
    await using app = await startApp({ engine: false });
    const body = JSON.stringify({ kind: "conditional_branch", name: "x" });
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/jsonx",
    ]) {
      expect((await app.owner("POST", ACTIONS, body, { "content-type": type })).status).toBe(415);
    }
    for (const type of [
      "application/json; charset=utf-8",
      "application/merge-patch+json",
      "APPLICATION/JSON",
    ]) {
      expect((await app.owner("POST", ACTIONS, body, { "content-type": type })).status).toBe(201);
    }
  });

  test("that don't arrive in time aren't waited for", async () => {
    await using app = await startApp({ engine: false, hurryLimits: 100 });
    const head = `POST ${ACTIONS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.token}\r\n`;
    const reply = await exchange(
      app.origin,
      `${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"kind"`,
      (text) => text.includes("correlationId"),
    );
    expect(reply).toStartWith("HTTP/1.1 408 ");
    expect(reply).toContain("didn't arrive within 30 seconds");
  });
});

test("two Host headers are rejected", async () => {
  await using app = await startApp({ engine: false });
  for (const second of ["Host: b", "host: a"]) {
    const text = `GET ${ACTIONS} HTTP/1.1\r\nHost: a\r\n${second}\r\nAuthorization: Bearer ${app.token}\r\nConnection: close\r\n\r\n`;
    expect(await exchange(app.origin, text)).toStartWith("HTTP/1.1 400 ");
  }
});

describe("the rate limit", () => {
  test("is reported with the time to wait, for each credential separately", async () => {
    await using app = await startApp({ engine: false, stands: true, env: { WEIR_API_RATE: "60:3" } });
    const other = await neighbour(app);
    const statuses = [];
    for (let i = 0; i < 5; i++) statuses.push((await app.owner("GET", ACTIONS)).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const refused = await app.owner("GET", ACTIONS);
    expect(refused.body.code).toBe("rate_limited");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await other.call("GET", ACTIONS)).status).toBe(200);
    app.clock.turn(60_000);
    expect((await app.owner("GET", ACTIONS)).status).toBe(200);
  });
});

describe("lists", () => {
  test("are paged and include the total", async () => {
    await using app = await startApp({ engine: false });
    for (const name of ["b", "C", "a"]) await makeAction(app.owner, { name });
    const page = async (query: string) => {
      const { body } = await app.owner("GET", `${ACTIONS}?${query}`);
      return [
        body.actions.map(({ name }: { name: string }) => name).join(""),
        body.hasNext,
        body.limit,
        body.offset,
        body.total,
      ];
    };
    expect(await page("")).toEqual(["aCb", false, 100, 0, 3]);
    expect(await page("order=asc&limit=2")).toEqual(["bC", true, 2, 0, 3]);
    expect(await page("order=asc&limit=2&offset=2")).toEqual(["a", false, 2, 2, 3]);
    expect(await page("offset=9007199254740991")).toEqual(["", false, 100, 9007199254740991, 3]);
  });

  test("treat % and _ in a search literally, and ignore case", async () => {
    await using app = await startApp({ engine: false });
    for (const name of ["100% sure", "100 times", "snake_case", "snakeXcase", "ÄRGER"])
      await makeAction(app.owner, { name });
    const found = async (q: string) =>
      (await app.owner("GET", `${ACTIONS}?order=asc&q=${encodeURIComponent(q)}`)).body.actions.map(
        ({ name }: { name: string }) => name,
      );
    expect(await found("100%")).toEqual(["100% sure"]);
    expect(await found("e_c")).toEqual(["snake_case"]);
    expect(await found("SNAKE")).toEqual(["snake_case", "snakeXcase"]);
    expect(await found("ärger")).toEqual(["ÄRGER"]);
    expect(await found("*")).toEqual([]);
    expect(await found("")).toHaveLength(5);
  });
});

describe("slugs", () => {
  test("are derived from the name and made unique, for automations too", async () => {
    await using app = await startApp({ engine: false });
    const config = { action: { kind: "conditional_branch", definition: branch() } };
    for (const [path, body] of [
      [ACTIONS, { kind: "conditional_branch" }],
      [AUTOMATIONS, { config }],
    ] as const) {
      const make = (more: object) => app.owner("POST", path, { name: "Daily Öl!", ...body, ...more });
      expect([
        created(await make({})).slug,
        created(await make({})).slug,
        created(await make({})).slug,
      ]).toEqual(["daily-ol", "daily-ol-2", "daily-ol-3"]);
      const taken = await make({ slug: "daily-ol-2" });
      expect([taken.status, taken.body.code]).toEqual([409, "slug_taken"]);
      expect(created(await make({ slug: "my-own" })).slug).toBe("my-own");
    }
  });

  test("can be looked up, and belong to one organization", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    const mine = await makeAction(app.owner, { slug: "same" });
    const theirs = await makeAction(other.call, { slug: "same" });
    expect((await app.owner("GET", `${ACTIONS}/slug/same`)).body.id).toBe(mine.id);
    expect((await other.call("GET", `${ACTIONS}/slug/same`)).body.id).toBe(theirs.id);
    expect((await app.owner("GET", `${ACTIONS}/slug/another`)).status).toBe(404);
    expect((await app.owner("GET", `${ACTIONS}/slug/Not%20One`)).status).toBe(422);
  });
});
