import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { openCompute } from "../../src/compute/compute.ts";
import type { ComputeJob } from "../../src/compute/contract.ts";
import type { ExtractRequest } from "../../src/providers/contract.ts";
import { httpTemplateProvider } from "../../src/providers/http-template/http-template.ts";
import { type Asked, SECRETS, startJsonApi, type TestJsonApi } from "../peers/json-api.ts";
import { pagesOf, request, rowsOf, toldLink } from "../support/extract.ts";
import {
  credentialsOf,
  definitionOf,
  instant,
  many,
  order,
  SINCE,
  WAYS,
  type Way,
} from "../support/json-api.ts";
import { failure } from "../support/link.ts";
import { freePort } from "../support/postgres.ts";
import { PROGRAM } from "../support/program.ts";
import { startReceiver } from "../support/receiver.ts";

let peer: TestJsonApi;
let fresh: TestJsonApi["state"];
beforeAll(async () => {
  peer = await startJsonApi();
  fresh = { ...peer.state };
});
afterAll(async () => peer[Symbol.asyncDispose]());
beforeEach(() => {
  Object.assign(peer.state, fresh);
  peer.orders.length = 0;
  peer.asked.length = 0;
});

const to = (way: Way = "bearer", config: JsonObject = {}, secrets: Record<string, string> = SECRETS) =>
  toldLink({ baseUrl: peer.baseUrl, tokenUrl: peer.tokenUrl, ...config }, credentialsOf(way, secrets));
const providerOf = (way: Way = "bearer") => httpTemplateProvider(definitionOf(way));
const asks = (spec: string, endpoint: object = {}, more: Partial<ExtractRequest> = {}): ExtractRequest =>
  request(spec, { endpoint: endpoint as JsonObject, ...more });
const read = (spec: string, endpoint: object = {}, more: Partial<ExtractRequest> = {}, link = to()) =>
  rowsOf(providerOf(), link, asks(spec, endpoint, more));
const refused = (spec: string, endpoint: object = {}, more: Partial<ExtractRequest> = {}, link = to()) =>
  failure(read(spec, endpoint, more, link));
/** Pages in the text format, and whether they had it. */
async function texts(spec: string, endpoint: object, link = to()) {
  const extraction = await providerOf().extract?.(link, asks(spec, endpoint));
  if (extraction?.kind !== "rows" || !extraction.texts) throw new Error("It gives no texts.");
  const pages: { isText: boolean; rows: JsonObject[] }[] = [];
  for await (const page of extraction.texts) {
    if (Array.isArray(page)) pages.push({ isText: false, rows: page });
    else {
      const rows = JSON.parse(`[${new TextDecoder().decode(page.bytes.subarray(page.from, page.to))}]`);
      expect(rows).toHaveLength(page.rows);
      pages.push({ isText: true, rows });
    }
  }
  return pages;
}
const ids = (rows: JsonObject[]) => rows.map(({ id }) => id as number);
const upTo = (n: number) => many(n, (id) => id);
/** Sends these responses in order, then normal ones. */
const first = (...replies: ReturnType<typeof peer.state.instead>[]) => {
  peer.state.instead = () => replies.shift() ?? null;
};
const json = (value: unknown) => ({ status: 200, body: JSON.stringify(value) });

test("rows that echo the request's credentials are returned without them", async () => {
  const echo = { data: [{ id: 1, note: `Hello ${SECRETS.token}`, plain: "x" }] };
  for (const body of [JSON.stringify(echo), JSON.stringify(echo).replaceAll("/", "\\/")]) {
    const endpoint = { dataPath: "data" };
    first({ status: 200, body });
    expect(await read("/echo", endpoint)).toEqual([{ id: 1, note: "Hello ***", plain: "x" }]);
    first({ status: 200, body });
    const pages = await texts("/echo", endpoint);
    expect(pages.flatMap(({ rows }) => rows)).toEqual([{ id: 1, note: "Hello ***", plain: "x" }]);
  }
});

describe("pages", () => {
  test.each(Object.entries(WAYS))(
    "of %s are followed to their end, even with equal times",
    async (spec, endpoint) => {
      peer.orders.push(...many(95, (n) => order(n, { updated_at: instant(Math.ceil(n / 7)) })));
      const link = to();
      const rows = await read(spec, endpoint, {}, link);
      expect(ids(rows)).toEqual(upTo(95));
      expect(rows[3] as unknown).toEqual(order(4, { updated_at: instant(1) }));
      expect(link.warnings).toEqual([]);
      for (const { headers } of peer.asked) expect(headers.authorization).toBe(`Bearer ${SECRETS.token}`);
    },
  );

  test.each(Object.entries(WAYS))(
    "of %s return the same rows as text, page by page",
    async (spec, endpoint) => {
      peer.orders.push(...many(95, (n) => order(n, { updated_at: instant(Math.ceil(n / 7)) })));
      const link = to();
      const pages = await texts(spec, endpoint, link);
      expect(pages.map(({ isText }) => isText)).toEqual(pages.map(() => true));
      expect(pages.length).toBeGreaterThan(1);
      expect(pages.flatMap(({ rows }) => rows)).toEqual(await read(spec, endpoint));
      expect(link.warnings).toEqual([]);
    },
  );

  test("are returned as text if that is a list of objects in UTF-8, otherwise as rows; both in one list", async () => {
    const endpoint = { dataPath: "rows", paginator: { type: "page" } };
    const body = { rows: [{ id: 1 }] };
    const latin = Buffer.from('{"rows":[{"id":"\xfc"}]}', "latin1");
    first(
      json(body),
      json({ rows: [{ id: 2 }, null] }),
      { status: 200, body: latin, headers: { "content-type": "application/json; charset=iso-8859-1" } },
      {
        status: 200,
        body: '{"rows":[{"id":"\u00fc"}]}',
        headers: { "content-type": "application/json; charset=iso-8859-1" },
      },
      { status: 200, body: `\ufeff${JSON.stringify(body)}` },
      json({ ok: false, rows: [{ id: 3 }] }),
      json({ rows: [] }),
    );
    const link = to();
    expect((await texts("/x", endpoint, link)) as unknown[]).toEqual([
      { isText: true, rows: [{ id: 1 }] },
      { isText: false, rows: [{ id: 2 }] },
      { isText: false, rows: [{ id: "ü" }] },
      { isText: true, rows: [{ id: "ü" }] },
      { isText: false, rows: [{ id: 1 }] },
      { isText: true, rows: [{ id: 3 }] },
    ]);
    expect(link.warnings).toEqual([
      "1 items were null. They were omitted.",
      "The API gave rows and an error: it says that it is not ok",
    ]);
    first(json(body), json(body));
    expect((await failure(texts("/x", endpoint))).message).toContain("the same rows of /x for two pages");
    first(...Array.from({ length: 5 }, () => ({ status: 200, body: '{"rows":[{"id":1}],"next":' })));
    expect((await failure(texts("/x", endpoint))).message).toContain("breaks off or can't be read");
  });

  test("have no text if the rows include something else of the response, or are derived from others", async () => {
    for (const endpoint of [
      { dataPath: "rows[?id]" },
      { dataPath: "rows[*].order" },
      { dataPath: "rows", totalPath: "length(rows)" },
      {
        dataPath: "rows",
        paginator: { type: "cursor", cursorPath: "rows[-1].id", cursorParam: "after" },
      },
      { dataPath: "rows", paginator: { type: "page", hasNextPath: "rows" } },
    ]) {
      const extraction = await providerOf().extract?.(to(), asks("/x", endpoint));
      expect(extraction).not.toHaveProperty("texts");
    }
    const limited = await providerOf().extract?.(to(), asks("/x", { dataPath: "rows" }, { maxRows: 5 }));
    expect(limited).not.toHaveProperty("texts");
  });

  test("are searched in a child process if that is expensive, and keep all of their digits", async () => {
    const compute = openCompute(PROGRAM);
    const done: string[] = [];
    const link = {
      ...to(),
      compute(job: ComputeJob) {
        done.push(job.name);
        return compute.run(job, { organizationId: "one", signal: new AbortController().signal });
      },
    };
    const text = "x".repeat(1000);
    const rows = many(2000, (id) => `{"id":${id},"amount":12345678901234567890,"text":"${text}"}`).join();
    first({ status: 200, body: `{"rows":[${rows}]}` });
    const found = await read("/x", { dataPath: "rows[?id > `0`]" }, {}, link);
    expect(found).toHaveLength(2000);
    expect(found[1999]).toEqual({ id: 2000, amount: 12345678901234567890n as never, text });
    expect(done).toEqual(["search"]);
  });

  test("can be one: a list, an object that is a row, a list of plain values, no content", async () => {
    peer.orders.push(...many(3, order));
    expect(ids(await read("/orders"))).toEqual([1, 2, 3]);
    expect(await read("/me", { dataPath: "@" })).toEqual([{ name: "A shop" }]);
    first(json([1, "two", null, [3]]));
    const link = to();
    expect(await read("/orders", {}, {}, link)).toEqual([{ value: 1 }, { value: "two" }, { value: [3] }]);
    expect(link.warnings).toEqual(["1 items were null. They were omitted."]);
    first({ status: 204, body: "" });
    expect(await read("/orders")).toEqual([]);
    first(json([]));
    expect(await read("/orders")).toEqual([]);
  });

  test("have the size of pageSize or batchSize, whichever is smaller, and count what arrived", async () => {
    peer.orders.push(...many(50, order));
    peer.state.maxSize = 7; // Whatever is requested.
    const sizes = (path: string, name: string) =>
      new Set(peer.of(path).map(({ parameters }) => parameters.get(name)));
    expect(ids(await read("/offsets", WAYS["/offsets"], { batchSize: 10 }))).toEqual(upTo(50));
    expect(sizes("offsets", "limit")).toEqual(new Set(["10"]));
    expect(
      ids(
        await read(
          "/linked",
          { paginator: { type: "link_header", sizeParam: "per_page" } },
          { batchSize: 5 },
        ),
      ),
    ).toEqual(upTo(50));
    expect(sizes("linked", "per_page")).toEqual(new Set(["5"]));
  });

  test("end when the paginator says so: a short page, a status, nothing more", async () => {
    peer.orders.push(...many(65, order));
    const pages = { type: "page", sizeParam: "per_page", pageSize: 30 };
    const asked = async (paginator: object) => {
      peer.asked.length = 0;
      expect(ids(await read("/pages", { dataPath: "results", paginator }))).toEqual(upTo(65));
      return peer.asked.map(({ parameters }) => parameters.get("page"));
    };
    expect(await asked(pages)).toEqual(["1", "2", "3", "4"]);
    expect(await asked({ ...pages, stopOnShortPage: true })).toEqual(["1", "2", "3"]);
    peer.state.instead = ({ parameters }) => (parameters.get("page") === "4" ? { status: 404 } : null);
    expect(await asked({ ...pages, stopOnStatus: [404] })).toEqual(["1", "2", "3", "4"]);
    expect((await refused("/pages", { dataPath: "results", paginator: pages })).message).toContain(
      "nothing at /pages (404)",
    );
    peer.state.instead = () => ({ status: 404 });
    expect(
      (await refused("/pages", { dataPath: "results", paginator: { ...pages, stopOnStatus: [404] } }))
        .details,
    ).toMatchObject({ status: 404 });
    peer.state.instead = fresh.instead;
    const cursors = { ...WAYS["/cursors"].paginator, hasNextPath: "meta.has_more" };
    expect(ids(await read("/cursors", { dataPath: "data.orders", paginator: cursors }))).toEqual(upTo(65));
  });

  test("are requested only until there are enough rows, except for a range, whose greatest must be left out", async () => {
    peer.orders.push(...many(95, order));
    expect((await read("/linked", WAYS["/linked"], { maxRows: 40 })).length).toBe(60);
    expect(peer.asked).toHaveLength(2);
    const range = { field: "updated_at", from: null, to: null };
    expect((await read("/linked", WAYS["/linked"], { maxRows: 40, range })).length).toBe(95);
  });

  test("that a total or a number of pages promises are reported", async () => {
    const rows = [{ id: 1 }];
    for (const [more, warnings] of [
      [{ totalCount: 5 }, ["one page of several (totalCount: 5)"]],
      [{ meta: { total: 2 } }, ["one page of several (meta.total: 2)"]],
      [{ pagination: { total_pages: 3 } }, ["one page of several (pagination.total_pages: 3)"]],
      [{ total: 99, pages: 320, meta: { total_size: 123, total: "9" }, total_count: 1 }, []],
    ] as const) {
      peer.state.instead = () => ({ status: 200, body: JSON.stringify({ rows, ...more }) });
      const link = to();
      await read("/x", { dataPath: "rows" }, {}, link);
      expect(link.warnings).toEqual(warnings.map((words) => expect.stringContaining(words)));
    }
  });

  test("that weren't requested are reported", async () => {
    peer.orders.push(...many(35, order));
    for (const [spec, dataPath, words] of [
      ["/linked", "@", "the Link header"],
      ["/addressed", "items", "links.next"],
      ["/cursors", "data.orders", "meta.next_cursor"],
    ] as const) {
      const link = to();
      expect(await read(spec, { dataPath }, {}, link)).toHaveLength(20);
      expect([spec, link.warnings]).toEqual([spec, [expect.stringContaining(`name a next page (${words})`)]]);
      const told = to();
      await read(spec, { dataPath, paginator: { type: "none" } }, {}, told);
      expect(told.warnings).toEqual([]);
    }
    const link = to();
    await read(
      "/cursors",
      { dataPath: "data.orders", paginator: { ...WAYS["/cursors"].paginator, hasNextPath: "meta.more" } },
      {},
      link,
    );
    expect(link.warnings).toEqual([expect.stringContaining("nothing at hasNextPath")]);
  });
});

describe("an endless list fails with a sentence:", () => {
  const cursors = { dataPath: "rows", paginator: { type: "cursor", cursorPath: "next", cursorParam: "at" } };

  test("a cursor that doesn't move", async () => {
    let n = 0;
    peer.state.instead = () => json({ rows: [{ id: n++ }], next: "same" });
    expect(await refused("/x", cursors)).toMatchObject({
      code: "upstream",
      retryable: false,
      message: expect.stringContaining("named the same next page twice"),
    });
    expect(peer.asked).toHaveLength(2);
  });

  test("the same page twice, if the parameter is ignored", async () => {
    peer.orders.push(...many(5, order));
    const error = await refused("/orders", { paginator: { type: "page" } });
    expect(error.message).toContain("gave the same rows of /orders for two pages");
    expect(error.message).toContain("hasNextPath");
    expect(peer.asked).toHaveLength(2);
    let n = 0;
    peer.state.instead = () => json({ rows: [{ id: 1 }, { id: 2 }], next: n++ });
    expect((await refused("/x", cursors)).message).toContain("the same rows of /x");
  });

  test("always a different cursor", async () => {
    let n = 0;
    peer.state.instead = () => json({ rows: [{ id: n++ }], next: `c${n}` });
    const error = await refused("/x", { ...cursors, maxPages: 12 });
    expect(error.message).toContain("returned 12 pages of /x, and there are more");
    expect(peer.asked).toHaveLength(12);
  });

  test("pages without rows, again and again", async () => {
    let n = 0;
    peer.state.instead = () => json({ rows: [], next: `c${++n}` });
    expect((await refused("/x", cursors)).message).toContain("1000 pages of /x without a row");
    n = 0;
    peer.state.instead = () => json({ rows: n === 3 ? [{ id: 9 }] : [], next: ++n > 4 ? null : `c${n}` });
    expect(await read("/x", cursors)).toEqual([{ id: 9 }]);
  });
});

describe("credentials", () => {
  test.each(["bearer", "basic", "header", "query", "oauth2_client_credentials"] as Way[])(
    "%s",
    async (way) => {
      peer.orders.push(...many(45, order));
      for (const spec of ["/linked", "/addressed"] as const) {
        expect(ids(await rowsOf(providerOf(way), to(way), asks(spec, WAYS[spec])))).toEqual(upTo(45));
      }
      const wrong = Object.fromEntries(Object.keys(SECRETS).map((name) => [name, "wrong-secret-1"]));
      const error = await failure(rowsOf(providerOf(way), to(way, {}, wrong), asks("/orders")));
      expect(error).toMatchObject({ code: "upstream", retryable: false });
      expect(error.message).toMatch(/rejected the credentials \(401\): unauthorized|gave no token/);
      expect(error.message).not.toContain("wrong-secret");
    },
  );

  test("an expired token is replaced in the middle of a list, without losing rows", async () => {
    peer.orders.push(...many(95, order));
    peer.state.tokenUses = 2;
    const before = peer.tokens();
    const way = "oauth2_client_credentials";
    expect(ids(await rowsOf(providerOf(way), to(way), asks("/linked", WAYS["/linked"])))).toEqual(upTo(95));
    expect(peer.tokens() - before).toBe(2);
    peer.state.tokenUses = 0;
    const error = await failure(rowsOf(providerOf(way), to(way), asks("/orders")));
    expect(error.message).toContain("rejected the credentials (401)");
  });

  test("runs that need a token at the same time request one", async () => {
    peer.orders.push(order(1));
    const way = "oauth2_client_credentials";
    const link = to(way);
    const before = peer.tokens();
    await Promise.all(many(4, () => rowsOf(providerOf(way), { ...link }, asks("/orders"))));
    expect(peer.tokens() - before).toBe(1);
  });

  test("are sent to no other server: neither by a link, nor by a redirect, nor by the path", async () => {
    await using elsewhere = startReceiver(() => Response.json([]));
    peer.orders.push(...many(35, order));
    for (const way of ["bearer", "header", "query"] as Way[]) {
      for (const base of [
        elsewhere.url,
        peer.origin.replace("http://", "https://"),
        peer.origin.replace("127.0.0.1", "localhost"),
        peer.origin.replace("http://", "http://user:x@"),
      ]) {
        peer.state.linkBase = base;
        for (const spec of ["/linked", "/addressed"] as const) {
          const error = await failure(rowsOf(providerOf(way), to(way), asks(spec, WAYS[spec])));
          expect(error).toMatchObject({ code: "upstream", retryable: false });
          expect(error.message).toContain("is on another server");
        }
      }
      peer.state.instead = () => ({ status: 302, headers: { location: `${elsewhere.url}/moved` } });
      const error = await failure(rowsOf(providerOf(way), to(way), asks("/orders")));
      expect(error.message).toContain("is on another server");
      Object.assign(peer.state, fresh);
    }
    for (const spec of [
      `//${new URL(elsewhere.url).host}/x`,
      elsewhere.url,
      "@evil.test/x",
      "/../x",
      "/a/%2e%2e/x",
      "/a\\b",
      "orders",
    ]) {
      expect([spec, (await refused(spec)).code]).toEqual([spec, "definition_invalid"]);
    }
    expect(elsewhere.got).toEqual([]);
  });

  test("a redirect on the same server is followed, with the credentials", async () => {
    peer.orders.push(order(1));
    const moved = ({ path }: Asked) =>
      path === "old" ? { status: 301, headers: { location: "/v1/orders" } } : null;
    for (const way of ["bearer", "query"] as Way[]) {
      peer.state.instead = moved;
      expect(ids(await rowsOf(providerOf(way), to(way), asks("/old")))).toEqual([1]);
    }
    peer.state.instead = () => ({ status: 307, headers: { location: "/v1/orders" } });
    expect((await refused("/old")).message).toContain("redirects again and again");
    peer.state.instead = moved;
    expect((await refused("/old", { method: "POST", body: {} })).message).toContain(
      "redirects a POST request",
    );
  });

  test("appear in nothing that is reported, even if the API echoes them", async () => {
    const echo = JSON.stringify({
      message: `You are ${SECRETS.apiKey} and ${SECRETS.token}`,
      errors: [{ detail: SECRETS.token }],
    });
    for (const [status, body] of [
      [400, echo],
      [200, echo],
      [200, `{"error": "${SECRETS.token}"`],
    ] as const) {
      peer.state.instead = () => ({ status, body });
      const error = await refused("/orders", { dataPath: "rows" });
      expect(JSON.stringify([error.message, error.details])).not.toContain(SECRETS.token);
    }
    first(json({ rows: [{ id: 1 }], errors: [{ message: `no ${SECRETS.token}` }] }));
    const link = to();
    await read("/orders", { dataPath: "rows" }, {}, link);
    expect(link.warnings).toEqual(["The API gave rows and an error: no ***"]);
  });
});

describe("what is new", () => {
  const range = (from: Json, to: Json = null) => ({ range: { field: "updated_at", from, to } });

  test("is requested in the API's format, rounded outwards", async () => {
    const from = "2026-05-01T00:10:00.5+00:00";
    const end = "2026-05-02T00:00:00.000400Z";
    for (const [format, start, until] of [
      ["as_is", from, end],
      ["iso", "2026-05-01T00:10:00.500Z", "2026-05-02T00:00:00.001Z"],
      ["epoch_s", "1777594200", "1777680001"],
      ["epoch_ms", "1777594200500", "1777680000001"],
      ["date", "2026-05-01", "2026-05-03"],
    ] as const) {
      peer.asked.length = 0;
      const incremental = { startParam: "updated_since", endParam: "updated_before", format };
      await read("/orders", { incremental }, range(from, end));
      const [{ parameters } = peer.asked[0] as Asked] = peer.asked;
      expect([format, parameters.get("updated_since"), parameters.get("updated_before")]).toEqual([
        format,
        start,
        until,
      ]);
    }
    await read("/orders", { incremental: { ...SINCE, format: "epoch_s" } }, range(1777594200));
    expect(peer.asked.at(-1)?.parameters.get("updated_since")).toBe("1777594200");
    await read("/orders", { incremental: SINCE }, range(null));
    expect(peer.asked.at(-1)?.parameters.has("updated_since")).toBe(false);
    for (const [value, format] of [
      ["yesterday", "iso"],
      [17, "date"],
      [true, "as_is"],
    ] as const) {
      const error = await refused("/orders", { incremental: { ...SINCE, format } }, range(value));
      expect(error.code).toBe("definition_invalid");
    }
  });

  test("continues across all pages, in the query and in a body", async () => {
    peer.orders.push(...many(95, order));
    const linked = { ...WAYS["/linked"], incremental: SINCE };
    expect(ids(await read("/linked", linked, range(instant(10), instant(80))))).toEqual(upTo(79).slice(9));
    const search = { ...WAYS["/search"], incremental: { startParam: "filter.since", in: "body" } };
    expect(ids(await read("/search", search, range(instant(40))))).toEqual(upTo(95).slice(39));
    expect(JSON.parse(peer.of("search").at(-1)?.body ?? "")).toMatchObject({
      first: 30,
      filter: { since: instant(40) },
      variables: { after: expect.any(String) },
    });
  });
});

test("parameters, headers and bodies are sent as written", async () => {
  await read("/orders", {
    params: { "filter[status]": ["open", "paid & done"], limit: 5, flag: true, none: null },
    headers: { "X-Version": 2, accept: "application/vnd.shop+json" },
  });
  const [seen] = peer.asked;
  expect([...(seen?.parameters ?? [])]).toEqual([
    ["filter[status]", "open"],
    ["filter[status]", "paid & done"],
    ["limit", "5"],
    ["flag", "true"],
  ]);
  expect(seen?.headers).toMatchObject({
    "x-version": "2",
    accept: "application/vnd.shop+json",
    "user-agent": "Weir",
  });
  peer.state.instead = () => json([]);
  await read("/search", { method: "POST", body: { a: "b c", n: 1 }, bodyType: "form" });
  expect(peer.asked.at(-1)).toMatchObject({
    method: "POST",
    body: "a=b+c&n=1",
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
});

describe("an unexpected response", () => {
  const said = async (reply: ReturnType<typeof peer.state.instead>, endpoint: object = {}) => {
    peer.state.instead = () => reply;
    return refused("/orders", endpoint);
  };

  test("is an error, and never zero rows", async () => {
    for (const [reply, endpoint, words] of [
      [
        { status: 200, headers: { "content-type": "text/html" }, body: "<html>Sign in</html>" },
        {},
        "answered /orders with text/html, which is no JSON",
      ],
      [{ status: 200, body: "" }, {}, "with nothing, which is no JSON"],
      [json({ items: [] }), {}, "is not a list but an object with items; give dataPath"],
      [json(7), {}, "is not a list but neither a list nor an object"],
      [json({ items: [], count: 0 }), { dataPath: "rows" }, 'At dataPath "rows" the reply'],
      [
        json({ items: [], count: 0 }),
        { dataPath: "rows" },
        'has nothing; it is an object with items, count. Where an empty list may be left out, write "rows || `[]`".',
      ],
      [json({ rows: null }), { dataPath: "rows" }, "has nothing"],
      [json({ rows: "x" }), { dataPath: "rows" }, "neither a list nor an object"],
      [
        json({ data: null, errors: [{ message: "Field 'x' doesn't exist" }] }),
        { dataPath: "data.rows" },
        "It says: Field 'x' doesn't exist",
      ],
      [
        json({ rows: [1], next: {} }),
        { dataPath: "rows", paginator: { type: "cursor", cursorPath: "next", cursorParam: "c" } },
        "value at cursorPath",
      ],
      [
        json({ rows: [1], next: "http://" }),
        { dataPath: "rows", paginator: { type: "json_link", nextPath: "next" } },
        "not a valid URL",
      ],
    ] as const) {
      const error = await said(reply, endpoint);
      expect(error).toMatchObject({ code: "upstream", retryable: false });
      expect(error.message).toContain(words);
    }
    peer.state.instead = () => json({ count: 0 });
    expect(await read("/orders", { dataPath: "rows || `[]`" })).toEqual([]);
    expect(await said(json({ rows: [] }), { dataPath: "length(@, @)" })).toMatchObject({
      code: "definition_invalid",
    });
  });

  test("reports what a status means, in the API's own words too", async () => {
    for (const [status, body, words] of [
      [400, { error: { message: "Unknown\n filter" } }, "answered GET /orders with 400: Unknown filter"],
      [403, { errors: [{ detail: "No" }] }, "doesn't let these credentials read /orders (403): No"],
      [404, "<html>", "has nothing at /orders (404); check the path and baseUrl."],
      [422, { message: "x".repeat(1000) }, `with 422: ${"x".repeat(300)}…`],
    ] as const) {
      const error = await said({ status, body: typeof body === "string" ? body : JSON.stringify(body) });
      expect(error).toMatchObject({ code: "upstream", retryable: false, details: { status } });
      expect(error.message).toContain(words);
      expect(peer.asked).toHaveLength(1);
      peer.asked.length = 0;
    }
  });

  test("larger than 64 MiB is rejected", async () => {
    const error = await said({ status: 200, body: `[${" ".repeat(64 * 1024 * 1024)}]` });
    expect(error).toMatchObject({ code: "upstream", retryable: false });
    expect(error.message).toContain("more than 67108864 bytes");
  });
});

describe("temporarily", () => {
  test("a 502, a closed connection and half a response are retried, and change no row", async () => {
    peer.orders.push(...many(65, order));
    const link = to();
    first(
      { status: 502, body: "<html>" },
      null,
      "cut",
      "cut in the middle",
      null,
      { status: 200, body: '[{"id":1' },
      { status: 503, headers: { "retry-after": "30" } },
    );
    expect(ids(await read("/linked", WAYS["/linked"], {}, link))).toEqual(upTo(65));
    expect(link.clock.waits.length).toBeGreaterThan(3);
    expect(link.clock.waits.at(-1)).toBe(30_000);
    peer.state.instead = () => ({ status: 500 });
    expect(await refused("/linked")).toMatchObject({
      retryable: true,
      message: expect.stringContaining("busy or failing"),
    });
  });

  test("nobody responds", async () => {
    const nobody = to("bearer", { baseUrl: `http://127.0.0.1:${await freePort()}` });
    expect(await refused("/orders", {}, {}, nobody)).toMatchObject({ code: "upstream", retryable: true });
  });

  test("a rate limit is waited for as the API says, however often, and reported", async () => {
    peer.orders.push(...many(65, order));
    const told: (string | null)[] = [];
    const link = { ...to(), waits: (until: string | null) => void told.push(until) };
    peer.state.left = 1;
    let refusals = 0;
    peer.state.afterPage = () => {
      peer.state.left = 0;
    };
    peer.state.instead = () => {
      if (peer.state.left <= 0 && ++refusals % 8 === 0) peer.state.left = 1;
      return null;
    };
    expect(ids(await read("/linked", WAYS["/linked"], {}, link))).toEqual(upTo(65));
    expect(link.clock.waits.every((ms) => ms === 7_000)).toBe(true);
    expect(link.clock.waits.length).toBeGreaterThan(10);
    expect(told.length).toBe(2 * link.clock.waits.length);
  });

  test("limits that look like a rejection, or are in the headers of a success, are respected", async () => {
    peer.orders.push(...many(65, order));
    const link = to();
    const now = Date.parse("2026-06-01T00:00:00Z") / 1000;
    first(
      { status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(now + 20) } },
      { status: 403, headers: { "retry-after": "5" } },
      { status: 429 },
      {
        status: 200,
        headers: { "ratelimit-remaining": "0", "ratelimit-reset": "40", link: `</v1/linked>; rel="next"` },
        body: '[{"id":0}]',
      },
    );
    const paginator = { type: "link_header" };
    expect(ids(await read("/linked", { params: { x: 1 }, paginator }, {}, link))).toEqual([0, ...upTo(65)]);
    expect(link.clock.waits).toEqual([20_000, 5_000, 10_000, 40_000]);
    peer.state.instead = () => ({ status: 429, headers: { "retry-after": "7200" } });
    expect(await refused("/linked", {}, {}, to())).toMatchObject({
      retryable: true,
      retryAfterSeconds: 7200,
    });
  });

  test("a resource's own rate is respected, across all runs of the connection", async () => {
    peer.orders.push(...many(95, order));
    const link = to();
    const endpoint = { ...WAYS["/linked"], requestsPerMinute: 30 };
    await Promise.all([read("/linked", endpoint, {}, link), read("/linked", endpoint, {}, link)]);
    expect(peer.asked).toHaveLength(8);
    expect(link.clock.waits.length).toBeGreaterThan(3);
    expect(link.clock.monotonic()).toBeGreaterThanOrEqual(12_000);
  });
});

test("integers beyond 2^53 keep their digits, as cursors too", async () => {
  first(
    { status: 200, body: '{"rows":[{"id":9007199254740993}],"next":9007199254740995}' },
    json({ rows: [], next: null }),
  );
  const rows = await read("/x", {
    dataPath: "rows[*].{id: id}",
    paginator: { type: "cursor", cursorPath: "next", cursorParam: "after" },
  });
  expect(rows as unknown[]).toEqual([{ id: 9007199254740993n }]);
  expect(peer.asked.at(-1)?.parameters.get("after")).toBe("9007199254740995");
});

test("the API's own count is returned once all pages were read", async () => {
  peer.orders.push(...many(45, order));
  const extraction = await providerOf().extract?.(to(), asks("/offsets", WAYS["/offsets"]));
  if (extraction?.kind !== "rows") throw new Error("It gives no rows.");
  for await (const _ of extraction.pages);
  expect(extraction.total).toBe(45);
});

test("pages arrive only as fast as they are consumed, and end with the run", async () => {
  peer.orders.push(...many(95, order));
  const stop = new AbortController();
  const pages = await pagesOf(
    providerOf(),
    { ...to(), signal: stop.signal },
    asks("/linked", WAYS["/linked"]),
  );
  const iterator = pages[Symbol.asyncIterator]();
  await iterator.next();
  expect(peer.asked).toHaveLength(1);
  stop.abort(new Error("over"));
  expect(iterator.next()).rejects.toThrow("over");
});

test("an impossible request is rejected before anything is sent", async () => {
  for (const [endpoint, more, words] of [
    [{ surprise: 1 }, {}, "endpoint.surprise"],
    [{ body: {} }, {}, "endpoint.body: A GET request has no body"],
    [{ dataPath: "a[" }, {}, "endpoint.dataPath"],
    [{}, { where: { sql: "a = 1", parameters: [] } }, "takes no condition"],
  ] as const) {
    const error = await refused("/orders", endpoint, more as Partial<ExtractRequest>);
    expect([words, error.code]).toEqual([words, "definition_invalid"]);
    expect(error.message).toContain(words);
  }
  expect(peer.asked).toEqual([]);
});
