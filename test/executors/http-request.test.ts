import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { AppError } from "../../src/base/errors.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { read } from "../../src/base/shape.ts";
import type { Done } from "../../src/executors/contract.ts";
import { httpRequest } from "../../src/executors/http/request.ts";
import type { Link, Provider } from "../../src/providers/contract.ts";
import { link } from "../support/link.ts";
import { testContext } from "../support/run-context.ts";

interface Seen {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

let seen: Seen[] = [];
let answer: (request: Request, url: URL) => Response | Promise<Response>;

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const url = new URL(request.url);
    seen.push({
      method: request.method,
      path: url.pathname + url.search,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
    });
    return answer(request, url);
  },
});
const base = server.url.origin;

beforeEach(() => {
  seen = [];
  answer = () => Response.json({ ok: true });
});
afterAll(() => server.stop(true));

async function run(definition: JsonObject, ctx = testContext()): Promise<JsonObject> {
  expect(read(httpRequest.definition, definition, []).faults).toEqual([]);
  const done = await httpRequest.execute(ctx, definition);
  if (!("result" in done)) throw new Error("The request waits.");
  const { result } = done;
  expect(read(httpRequest.result, result, []).faults).toEqual([]);
  return result;
}

async function failure(definition: JsonObject, ctx = testContext()): Promise<AppError> {
  try {
    await httpRequest.execute(ctx, definition);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("The request did not fail.");
}

describe("a request", () => {
  test("is a GET by default and returns the server's response", async () => {
    const result = await run({ url: `${base}/a?x=1` });
    expect(result).toEqual({
      status: 200,
      headers: expect.any(Object),
      body: { ok: true },
      extracted: null,
      pages: 1,
      bytes: 11,
      truncated: false,
    });
    expect(result.headers).toMatchObject({ "content-type": "application/json;charset=utf-8" });
    expect(seen[0]).toMatchObject({ method: "GET", path: "/a?x=1", body: "" });
    expect(seen[0]?.headers).toMatchObject({ "user-agent": "Weir" });
    expect(seen[0]?.headers).not.toHaveProperty("idempotency-key");
  });

  test("adds its query, lists as repeated names, null as nothing", async () => {
    await run({ url: `${base}/a?x=1`, query: { q: "a b&c", n: 2, on: true, ids: [1, "z"], no: null } });
    expect(seen[0]?.path).toBe("/a?x=1&q=a+b%26c&n=2&on=true&ids=1&ids=z");
  });

  test("sends JSON, forms and text as such", async () => {
    const send = async (fields: JsonObject) => {
      await run({ url: base, method: "POST", ...fields });
      const { headers, body } = seen.at(-1) as Seen;
      return [headers["content-type"], body];
    };
    expect(await send({ body: { a: [1] } })).toEqual(["application/json", '{"a":[1]}']);
    expect(await send({ body: "hello" })).toEqual(["text/plain; charset=utf-8", "hello"]);
    expect(await send({ body: "hello", bodyType: "json" })).toEqual(["application/json", '"hello"']);
    expect(await send({ body: '{"a": 1}', bodyType: "json" })).toEqual(["application/json", '{"a": 1}']);
    expect(await send({ body: null })).toEqual(["application/json", "null"]);
    expect(await send({ body: { a: "x y", b: [1, 2], c: null, d: { e: 1 } }, bodyType: "form" })).toEqual([
      "application/x-www-form-urlencoded",
      "a=x+y&b=1&b=2&d=%7B%22e%22%3A1%7D",
    ]);
    expect(await send({ body: "<a/>", headers: { "Content-Type": "application/xml" } })).toEqual([
      "application/xml",
      "<a/>",
    ]);
  });

  test("that changes something names its run, so that a second attempt is recognized", async () => {
    const ctx = testContext();
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) await run({ url: base, method }, ctx);
    expect(seen.map(({ headers }) => headers["idempotency-key"])).toEqual(Array(4).fill(ctx.run.id));
    await run({ url: base, method: "POST", headers: { "Idempotency-Key": "mine", "X-N": 5 } });
    expect(seen.at(-1)?.headers).toMatchObject({ "idempotency-key": "mine", "x-n": "5" });
  });

  test.each([1, 600_000])("warns of text that its charset lacks, %d times", async (times) => {
    const bytes = Buffer.from("caf\u00e9 ".repeat(times), "latin1");
    const warnings = async (type: string) => {
      answer = () => new Response(bytes, { headers: { "content-type": type } });
      const ctx = testContext();
      const result = await run({ url: base }, ctx);
      expect(result.bytes).toBe(bytes.length);
      return ctx.logs.filter(({ level }) => level === "warn").map(({ message }) => message);
    };
    expect(await warnings("text/csv")).toEqual([
      "The reply isn't valid utf-8, and its Content-Type names no other charset. Invalid bytes are replaced in `body`; saveAs keeps them.",
    ]);
    expect(await warnings("text/csv; charset=iso-8859-1")).toEqual([]);
    expect(await warnings("application/octet-stream")).toEqual([]);
  });

  test.each([1, 600_000])("reads UTF-8 JSON as such, whatever its label says, %d times", async (times) => {
    const read = async (text: string, encoding: BufferEncoding, charset: string) => {
      const bytes = new Uint8Array(
        Buffer.from(JSON.stringify({ of: text, in: text.repeat(times) }), encoding),
      );
      answer = () =>
        new Response(bytes, { headers: { "content-type": `application/json; charset=${charset}` } });
      const ctx = testContext();
      const done = (await httpRequest.execute(ctx, { url: base })) as Done;
      expect(ctx.logs.filter(({ level }) => level === "warn")).toEqual([]);
      const result = done.whole ? JSON.parse(Buffer.from(done.whole.json).toString()) : done.result;
      return result.body.of;
    };
    expect(await read("Zoë", "utf8", "iso-8859-1")).toBe("Zoë");
    expect(await read("Zoë", "latin1", "iso-8859-1")).toBe("Zoë");
    expect(await read("Zoë", "utf16le", "utf-16le")).toBe("Zoë");
  });

  test("returns text as text, bytes as base64, and nothing as null", async () => {
    answer = () => new Response("<p>é</p>", { headers: { "content-type": "text/html; charset=utf-8" } });
    expect(await run({ url: base })).toMatchObject({ body: "<p>é</p>" });
    answer = () =>
      new Response(new Uint8Array([0x63, 0x61, 0x66, 0xe9]), {
        headers: { "content-type": "text/plain; charset=iso-8859-1" },
      });
    expect(await run({ url: base })).toMatchObject({ body: "café", bytes: 4 });
    answer = () => new Response(new Uint8Array([137, 80, 78, 71, 0, 255]));
    expect(await run({ url: base })).toMatchObject({ body: "iVBORwD/" });
    answer = () => new Response("{not json", { headers: { "content-type": "application/problem+json" } });
    expect(await run({ url: base })).toMatchObject({ body: "{not json" });
    const deep = "[".repeat(65) + "]".repeat(65);
    answer = () => new Response(deep, { headers: { "content-type": "application/json" } });
    expect(await run({ url: base })).toMatchObject({ body: deep });
    answer = () => new Response(null, { status: 204 });
    expect(await run({ url: base, method: "DELETE" })).toMatchObject({ status: 204, body: null, bytes: 0 });
  });

  test("keeps UTF-8 in JSON with another label that maxBytes cuts in a character", async () => {
    answer = () =>
      new Response('"Zoë, é"', { headers: { "content-type": "application/json; charset=iso-8859-1" } });
    expect(await run({ url: base, maxBytes: 9 })).toMatchObject({ body: '"Zoë, é', truncated: true });
    expect(await run({ url: base, maxBytes: 8 })).toMatchObject({ body: '"Zoë, ', truncated: true });
  });

  test("finds what responseExtract names", async () => {
    answer = () => Response.json({ data: [{ id: 1 }, { id: 2 }] });
    expect(await run({ url: base, responseExtract: "data[].id" })).toMatchObject({ extracted: [1, 2] });
    expect(await run({ url: base, responseExtract: "nothing" })).toMatchObject({ extracted: null });
  });

  test.each([1, 100_000])("says that a key in a response repeats, of %d objects", async (count) => {
    const text = `[${Array.from({ length: count }, () => '{"id":1, "id" : 2}').join(",")}]`;
    answer = () => new Response(text, { headers: { "content-type": "application/json" } });
    const ctx = testContext();
    const done = (await httpRequest.execute(ctx, { url: base })) as { result: JsonObject };
    expect(JSON.stringify(done.result.body ?? null).slice(0, 9)).toBe('[{"id":2}');
    expect(ctx.logs).toContainEqual({
      level: "warn",
      message: expect.stringContaining(`have a key twice (${count} times: `),
    });
  });

  test("fails if responseExtract finds nothing since the response isn't JSON", async () => {
    const extract = (responseExtract: string, more: JsonObject = {}) => ({
      url: base,
      responseExtract,
      ...more,
    });
    const deep = `${'{"a":'.repeat(65)}1${"}".repeat(65)}`;
    for (const [body, type, why] of [
      ['{"id": 1}', "text/plain;charset=utf-8", "isn't JSON (text/plain)"],
      ['{"id": 1}', "text/javascript", "isn't JSON (text/javascript)"],
      ["<p>Maintenance</p>", "application/json", "isn't JSON (application/json)"],
      [new Uint8Array([0, 255]), "image/png", "isn't JSON (image/png)"],
      [deep, "application/json", "has more than 64 levels"],
    ] as const) {
      answer = () => new Response(body, { headers: { "content-type": type } });
      for (const definition of [extract("id"), extract("id", { pagination: { type: "link_header" } })]) {
        const { code, message } = await failure(definition);
        expect([code, message]).toEqual([
          "upstream",
          `The response ${why}, so responseExtract can't be applied.`,
        ]);
      }
    }
    answer = () => new Response("ready", { headers: { "content-type": "text/plain" } });
    expect(await run(extract("contains(@, 'ready')"))).toMatchObject({ extracted: true });
    answer = () => new Response(null, { status: 204 });
    expect(await run(extract("id"))).toMatchObject({ extracted: null });
    answer = () => new Response("Not found", { status: 404, headers: { "content-type": "text/plain" } });
    expect(await run(extract("id", { expectStatus: [200, 404] }))).toMatchObject({ extracted: null });
    answer = () => Response.json("text");
    expect(await run(extract("id"))).toMatchObject({ extracted: null });
  });

  test("says that a redirect dropped the body of a POST", async () => {
    answer = (request, url) =>
      url.pathname === "/old" ? Response.redirect("/new", 302) : Response.json(request.method);
    const ctx = testContext();
    const message = expect.stringContaining("turned the POST into a GET without its body");
    expect(await run({ url: `${base}/old`, method: "POST", body: { a: 1 } }, ctx)).toMatchObject({
      body: "GET",
    });
    expect(ctx.logs).toContainEqual({ level: "warn", message });
  });

  test("truncates a long response at maxBytes and says so", async () => {
    answer = () => Response.json({ text: "x".repeat(1000) });
    const ctx = testContext();
    const result = await run({ url: base, maxBytes: 20 }, ctx);
    expect(result).toMatchObject({ truncated: true, bytes: 20, body: '{"text":"xxxxxxxxxxx' });
    expect(ctx.logs).toContainEqual({ level: "warn", message: expect.stringContaining("maxBytes (20)") });
    const error = await failure({ url: base, maxBytes: 20, responseExtract: "text" });
    expect(error.code).toBe("response_too_large");
  });

  test("follows redirects, unless told not to", async () => {
    answer = (_, url) =>
      url.pathname === "/old"
        ? new Response(null, { status: 302, headers: { location: "/new" } })
        : Response.json(1);
    expect(await run({ url: `${base}/old` })).toMatchObject({ status: 200, body: 1 });
    const still = await run({ url: `${base}/old`, followRedirects: false });
    expect(still).toMatchObject({ status: 302, headers: { location: "/new" } });
  });
});

describe("an unexpected response", () => {
  test("fails permanently below 500", async () => {
    answer = () => Response.json({ why: "no such thing", apiKey: "shh" }, { status: 404 });
    const error = await failure({ url: `${base}/x` });
    expect(error).toMatchObject({ code: "unexpected_status", retryable: false, retryAfterSeconds: null });
    expect(error.message).toBe(`${server.url.host} returned 404 for the GET request.`);
    expect(error.details).toEqual({ status: 404, body: '{"why":"no such thing","apiKey":"***"}' });
  });

  test("can be retried only from 500 on", async () => {
    for (const status of [500, 502, 503]) {
      answer = () => new Response("later", { status });
      expect([status, (await failure({ url: base })).retryable]).toEqual([status, true]);
    }
    for (const status of [400, 401, 403, 408, 409, 410, 422, 425, 429]) {
      answer = () => new Response("never", { status, headers: { "retry-after": "3" } });
      expect(await failure({ url: base })).toMatchObject({ retryable: false, retryAfterSeconds: null });
    }
  });

  test("sets when to retry", async () => {
    answer = () => new Response(null, { status: 503, headers: { "retry-after": "17" } });
    expect((await failure({ url: base })).retryAfterSeconds).toBe(17);
    const clock = { ...testContext().clock, now: () => new Date("2026-01-01T00:00:00Z") };
    const date = "Thu, 01 Jan 2026 00:01:30 GMT";
    answer = () => new Response(null, { status: 503, headers: { "retry-after": date } });
    expect((await failure({ url: base }, testContext({ clock }))).retryAfterSeconds).toBe(90);
    answer = () => new Response(null, { status: 503, headers: { "retry-after": "soon" } });
    expect((await failure({ url: base })).retryAfterSeconds).toBeNull();
  });

  test("is reported with at most 2,000 characters of its body", async () => {
    answer = () => new Response("y".repeat(100_000), { status: 500 });
    expect((await failure({ url: base })).details).toEqual({ status: 500, body: "y".repeat(2_000) });
  });

  test("is what expectStatus says", async () => {
    answer = () => Response.json({ gone: true }, { status: 404 });
    expect(await run({ url: base, expectStatus: [200, 404] })).toMatchObject({
      status: 404,
      body: { gone: true },
    });
    answer = () => Response.json({});
    expect(await failure({ url: base, expectStatus: [201] })).toMatchObject({
      code: "unexpected_status",
      retryable: false,
    });
  });

  test("can be no response at all, which can be retried", async () => {
    const gone = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const url = gone.url.href;
    await gone.stop(true);
    expect(await failure({ url })).toMatchObject({ code: "upstream", retryable: true });
  });

  test("ends immediately when the run is cancelled", async () => {
    const stop = new AbortController();
    const reason = new AppError("cancelled", "Cancelled by Ada.");
    answer = () => {
      stop.abort(reason);
      return new Promise(() => undefined);
    };
    expect(await failure({ url: base }, testContext({ signal: stop.signal }))).toBe(reason);
  });
});

describe("a forbidden part of a request", () => {
  const faults = (definition: JsonObject) =>
    (httpRequest.check?.(definition) ?? []).map(({ path }) => path.join("."));

  test("is reported when it is saved", () => {
    expect(faults({ url: `${base}/{{payload.id}}`, headers: { Accept: "x" } })).toEqual([]);
    expect(faults({ url: "{{payload.url}}" })).toEqual([]);
    expect(faults({ url: "/orders" })).toEqual([]);
    expect(faults({ url: "ftp://h.test/" })).toEqual(["url"]);
    expect(faults({ url: "file:///etc/passwd" })).toEqual(["url"]);
    expect(faults({ url: "h.test" })).toEqual(["url"]);
    for (const name of ["Host", "content-length", "Transfer-Encoding", "Connection", "a b", "x\r\ny"]) {
      expect(faults({ url: base, headers: { [name]: "1" } })).toEqual([`headers.${name}`]);
    }
    expect(faults({ url: base, body: { a: 1 } })).toEqual(["body"]);
    expect(faults({ url: base, responseExtract: "a[" })).toEqual(["responseExtract"]);
    const pagination = { type: "cursor", cursorPath: "a[", cursorParam: "c" };
    expect(faults({ url: base, pagination })).toEqual(["pagination.cursorPath"]);
  });

  test("fails when it runs, if it comes from templates", async () => {
    const wrong: JsonObject[] = [
      { url: "file:///etc/passwd" },
      { url: "not an address" },
      { url: "/orders" },
      { url: base, headers: { "x-a": "1\r\nx-b: 2" } },
      { url: base, headers: { host: "other" } },
      { url: base, method: "GET", body: "x" },
      { url: base, method: "POST", body: [1], bodyType: "form" },
    ];
    for (const definition of wrong) expect((await failure(definition)).code).toBe("definition_invalid");
    expect(seen).toEqual([]);
  });

  test("can be an unknown field", () => {
    const wrong = [
      { url: base, verb: "GET" },
      { url: base, method: "get" },
      { url: base, pagination: { type: "page", cursorPath: "x" } },
      { url: base, pagination: { type: "cursor" } },
    ];
    for (const definition of wrong)
      expect(read(httpRequest.definition, definition, []).faults).toHaveLength(1);
    expect(httpRequest.oneOf).toEqual(["url", "api"]);
  });

  test("can be a private address", async () => {
    expect((await failure({ url: "http://10.0.0.1/" })).code).toBe("egress_blocked");
  });
});

describe("a request with pages", () => {
  const rows = [1, 2, 3, 4, 5].map((id) => ({ id }));
  const pageOf = (url: URL, size: number) => {
    const page = Number(url.searchParams.get("page") ?? 1);
    return rows.slice((page - 1) * size, page * size);
  };

  test("follows the Link header to its end and joins lists", async () => {
    answer = (_, url) => {
      const page = Number(url.searchParams.get("page") ?? 1);
      const link = `<${base}/items?page=1>; rel="first", </items?page=${page + 1}&x=a,b>; title="a, b"; rel="last next"`;
      return Response.json(pageOf(url, 2), { headers: page < 3 ? { link } : {} });
    };
    const ctx = testContext();
    const result = await run(
      {
        url: `${base}/items`,
        headers: { "X-A": "1" },
        pagination: { type: "link_header" },
        responseExtract: "[].id",
      },
      ctx,
    );
    expect(result).toMatchObject({ body: rows, extracted: [1, 2, 3, 4, 5], pages: 3, truncated: false });
    expect(seen.map(({ path }) => path)).toEqual(["/items", "/items?page=2&x=a,b", "/items?page=3&x=a,b"]);
    expect(seen.every(({ headers }) => headers["x-a"] === "1")).toBe(true);
    expect(ctx.progresses.map(({ current }) => current)).toEqual([0, 1, 2, 3]);
  });

  test("sends a cursor in the query", async () => {
    answer = (_, url) => {
      const from = Number(url.searchParams.get("after") ?? 0);
      return Response.json({
        data: rows.slice(from, from + 2),
        next: from + 2 < rows.length ? from + 2 : null,
      });
    };
    const pagination = { type: "cursor", cursorPath: "next", cursorParam: "after", itemsPath: "data" };
    const result = await run({ url: `${base}/?limit=2`, pagination });
    expect(result).toMatchObject({ extracted: rows, pages: 3 });
    expect(result.body).toHaveLength(3);
    expect(seen.at(-1)?.path).toBe("/?limit=2&after=4");
    expect(await run({ url: base, pagination, responseExtract: "[-1].id" })).toMatchObject({ extracted: 5 });
  });

  test("sends a cursor in the body, with a separate key for each page", async () => {
    answer = () => Response.json({ data: [seen.length], next: seen.length < 3 ? `c${seen.length}` : "" });
    const pagination = {
      type: "cursor",
      cursorPath: "next",
      cursorParam: "after",
      cursorIn: "body",
      itemsPath: "data",
    };
    const ctx = testContext();
    const result = await run({ url: base, method: "POST", body: { q: 1 }, pagination }, ctx);
    expect(result.extracted).toEqual([1, 2, 3]);
    expect(seen.map(({ body }) => JSON.parse(body))).toEqual([
      { q: 1 },
      { q: 1, after: "c1" },
      { q: 1, after: "c2" },
    ]);
    expect(seen.map(({ headers }) => headers["idempotency-key"])).toEqual(
      ["", "-2", "-3"].map((n) => ctx.run.id + n),
    );
  });

  test("follows a URL in the body", async () => {
    answer = (_, url) =>
      Response.json({ items: [url.pathname], links: { next: url.pathname === "/2" ? null : "/2" } });
    const pagination = { type: "cursor", cursorPath: "links.next", itemsPath: "items" };
    expect(await run({ url: `${base}/1`, pagination })).toMatchObject({ extracted: ["/1", "/2"], pages: 2 });
  });

  test("counts pages until one is empty, or until a limit", async () => {
    answer = (_, url) => Response.json(pageOf(url, 2));
    const pagination = { type: "page", sizeParam: "per", pageSize: 2 };
    expect(await run({ url: base, pagination })).toMatchObject({ body: rows, pages: 4 });
    expect(seen.map(({ path }) => path)).toEqual([1, 2, 3, 4].map((page) => `/?page=${page}&per=2`));

    answer = (_, url) => Response.json({ items: pageOf(url, 2), more: url.searchParams.get("page") !== "3" });
    const told = { type: "page", itemsPath: "items", hasNextPath: "more" };
    expect(await run({ url: base, pagination: told })).toMatchObject({ extracted: rows, pages: 3 });
  });

  test("counts items as an offset", async () => {
    answer = (_, url) => {
      const skip = Number(url.searchParams.get("skip"));
      return Response.json({ items: rows.slice(skip, skip + 3) });
    };
    const pagination = { type: "offset", offsetParam: "skip", itemsPath: "items" };
    expect(await run({ url: base, pagination })).toMatchObject({ extracted: rows, pages: 3 });
    expect(seen.map(({ path }) => path)).toEqual(["/?skip=0", "/?skip=3", "/?skip=5"]);
  });

  test("needs to know what an empty page looks like", async () => {
    answer = () => Response.json({ items: [] });
    expect((await failure({ url: base, pagination: { type: "page" } })).message).toContain("Set itemsPath");
  });

  test("stops at maxPages and says that there are more", async () => {
    answer = (_, url) => Response.json([Number(url.searchParams.get("page"))]);
    const ctx = testContext();
    const result = await run({ url: base, pagination: { type: "page", maxPages: 2 } }, ctx);
    expect(result).toMatchObject({ body: [1, 2], pages: 2, truncated: true });
    expect(ctx.logs).toContainEqual({
      level: "warn",
      message: expect.stringContaining("2 pages (maxPages)"),
    });
    answer = (_, url) => Response.json(url.searchParams.get("page") === "1" ? [1] : []);
    const whole = await run({ url: base, pagination: { type: "page", maxPages: 2 } });
    expect(whole).toMatchObject({ pages: 2, truncated: false });
  });

  test("stops before maxBytes with the complete pages", async () => {
    answer = (_, url) => Response.json([url.searchParams.get("page"), "x".repeat(100)]);
    const result = await run({ url: base, maxBytes: 250, pagination: { type: "page" } });
    expect(result).toMatchObject({
      pages: 2,
      truncated: true,
      body: ["1", "x".repeat(100), "2", "x".repeat(100)],
    });
    const error = await failure({ url: base, maxBytes: 50, pagination: { type: "page" } });
    expect(error.code).toBe("response_too_large");
  });

  test("fails at a page without its list, unless its body is empty", async () => {
    const second = { answer: Response.json({ error: "rate limited" }) };
    answer = (_, url) =>
      url.searchParams.get("page") === "2" ? second.answer : Response.json({ items: [1] });
    const definition = { url: base, pagination: { type: "page", itemsPath: "items" } };
    expect(await failure(definition)).toMatchObject({
      code: "upstream",
      message:
        'A page has nothing at itemsPath "items"; it is an object with error. Where an empty page may leave out its list, write "items || `[]`".',
    });
    second.answer = new Response(null, { status: 204 });
    expect(await run(definition)).toMatchObject({ extracted: [1], pages: 2 });
    second.answer = Response.json({ items: null, total: 1 });
    expect(await run(definition)).toMatchObject({ extracted: [1], pages: 2 });
    second.answer = Response.json({ total: 1 });
    const optional = { ...definition, pagination: { type: "page", itemsPath: "items || `[]`" } };
    expect(await run(optional)).toMatchObject({ extracted: [1], pages: 2 });
  });

  test("fails if the same page follows again", async () => {
    answer = () => Response.json({ items: [1], next: "same" });
    const pagination = { type: "cursor", cursorPath: "next", cursorParam: "after", itemsPath: "items" };
    const error = await failure({ url: base, pagination });
    expect(error).toMatchObject({ code: "upstream", retryable: false });
    expect(error.message).toContain("the same next page twice");
    expect(seen).toHaveLength(2);
  });

  test("doesn't send its headers to another server", async () => {
    answer = () =>
      Response.json([1], { headers: { link: `<http://localhost:${server.port}/next>; rel=next` } });
    const pagination = { type: "link_header" };
    const error = await failure({ url: base, headers: { Authorization: "Bearer x" }, pagination });
    expect(error.message).toContain("is on another server");
    expect(seen).toHaveLength(1);
  });

  test("fails with the page that fails", async () => {
    answer = (_, url) =>
      url.searchParams.get("page") === "2" ? new Response(null, { status: 503 }) : Response.json([1]);
    expect(await failure({ url: base, pagination: { type: "page" } })).toMatchObject({
      code: "unexpected_status",
      retryable: true,
    });
  });
});

describe("a request with a connection", () => {
  const provider = (http: Provider["http"]): Provider => ({
    id: "keyed",
    title: "Keyed",
    description: "",
    config: {} as Provider["config"],
    credentials: {} as Provider["credentials"],
    destination: [],
    verify: async () => undefined,
    ...(http ? { http } : {}),
  });
  const access: NonNullable<Provider["http"]> = {
    baseUrl: (opened: Link) => String(opened.config.baseUrl),
    authorize: async (opened) => ({
      headers: { Authorization: `Bearer ${opened.credentials.token}` },
      query: { tenant: "t1" },
      secrets: [],
    }),
  };
  const contextWith = (http: Provider["http"], opened: Link) =>
    testContext({
      hasConnection: true,
      connection: async () => ({ provider: provider(http), link: opened }),
    });

  test("goes below the base URL with the connection's credentials", async () => {
    const opened = link({ baseUrl: `${base}/v1/` }, { token: "k-1" });
    await run(
      { url: "/orders", query: { a: 1 }, headers: { authorization: "mine" } },
      contextWith(access, opened),
    );
    expect(seen[0]).toMatchObject({
      path: "/v1/orders?a=1&tenant=t1",
      headers: { authorization: "Bearer k-1" },
    });
  });

  test("never sends the credentials elsewhere", async () => {
    const opened = link({ baseUrl: "https://api.test/v1" }, { token: "k-1" });
    const error = await failure({ url: `${base}/orders` }, contextWith(access, opened));
    expect(error).toMatchObject({ code: "definition_invalid" });
    expect(error.message).toContain("are sent only to api.test");
    expect(seen).toEqual([]);
  });

  test("returns no credentials that the server echoes, in any form or next to any bytes", async () => {
    const token = "canary>>to?ken";
    const forms = [
      token,
      encodeURIComponent(token),
      Buffer.from(token).toString("base64"),
      Buffer.from(token).toString("base64").replaceAll("=", ""),
      Buffer.from(token).toString("base64url"),
      Buffer.from(token).toString("hex"),
    ];
    const types = [
      "application/json",
      "text/plain",
      "text/plain; charset=utf-16le",
      "application/octet-stream",
    ];
    const keyed = { ...access, authorize: async () => ({ headers: {}, query: {}, secrets: [token] }) };
    for (const type of types) {
      const said = type === "application/json" ? JSON.stringify(forms) : `\0${forms.join(" ")}`;
      using peer = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: () => new Response(said, { headers: { "content-type": type } }),
      });
      const opened = link({ baseUrl: `http://127.0.0.1:${peer.port}` }, { token });
      const result = await run({ url: "/echo", responseExtract: "@" }, contextWith(keyed, opened));
      const { body } = result as { body: unknown };
      const bytes = (encoding: "base64" | "utf16le") =>
        Buffer.from(String(body), encoding).toString("latin1");
      for (const told of [JSON.stringify(result), bytes("base64"), bytes("utf16le")])
        for (const form of forms) expect([type, form, told.includes(form)]).toEqual([type, form, false]);
    }
  });

  test("fails if its provider can't authorize it", async () => {
    const opened = link({}, {});
    const error = await failure({ url: base }, contextWith(undefined, opened));
    expect(error.message).toBe("Provider keyed can't authorize HTTP requests. Remove the connection.");
    expect(error.code).toBe("definition_invalid");
  });
});
