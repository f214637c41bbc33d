import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { ACTIONS, makeAction, runToEnd } from "../support/work.ts";

/** Three engines in one: each is at its own path, as documented. */
let engines: Bun.Server<undefined>;
const asked: { path: string; query: Record<string, string>; headers: Headers; body: unknown }[] = [];
let answer: () => Response;

beforeAll(() => {
  engines = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const url = new URL(request.url);
      const body = request.method === "POST" ? await request.json() : null;
      asked.push({
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body,
      });
      return answer();
    },
  });
});
afterAll(() => engines.stop(true));

async function search(env: Record<string, string>, definition: object = { query: "tea & cake" }) {
  await using weir = await startApp({ env: { WEIR_EGRESS_ALLOW: "", ...env } });
  const action = await makeAction(weir.owner, { kind: "web_search", name: "Search", definition });
  return await runToEnd(weir.owner, action.id);
}
const origin = () => engines.url.origin;

describe("web_search", () => {
  test("asks SearXNG at the operator's private address, and keeps web URLs", async () => {
    answer = () =>
      Response.json({
        results: [
          {
            title: "One",
            url: "https://one.example/",
            content: "First",
            publishedDate: "2026-01-02T00:00:00",
          },
          { title: "Evil", url: "javascript:alert(1)", content: "x" },
          { title: "Two", url: "https://two.example/", content: "Second" },
          { title: "Three", url: "https://three.example/", content: "Third" },
        ],
      });
    const run = await search(
      { WEIR_SEARCH_URL: origin() },
      { query: "tea & cake", maxResults: 2, freshness: "month" },
    );
    expect(run.result).toEqual({
      provider: "searxng",
      results: [
        {
          title: "One",
          url: "https://one.example/",
          snippet: "First",
          publishedAt: "2026-01-02T00:00:00.000Z",
        },
        { title: "Two", url: "https://two.example/", snippet: "Second", publishedAt: null },
      ],
    });
    expect(asked.at(-1)).toMatchObject({
      path: "/search",
      query: { q: "tea & cake", format: "json", time_range: "month" },
    });
  });

  test("asks Brave with its key", async () => {
    answer = () =>
      Response.json({
        web: {
          results: [
            {
              title: "A <strong>tea</strong>",
              url: "https://a.example/",
              description: "It&#x27;s &lt;hot&gt;",
              page_age: "2026-03-01T10:00:00",
            },
          ],
        },
      });
    const run = await search(
      { BRAVE_API_KEY: "brave-key-0123456789", BRAVE_BASE_URL: origin() },
      { query: "tea", freshness: "day" },
    );
    expect(run.result).toEqual({
      provider: "brave",
      results: [
        {
          title: "A tea",
          url: "https://a.example/",
          snippet: "It's <hot>",
          publishedAt: "2026-03-01T10:00:00.000Z",
        },
      ],
    });
    const last = asked.at(-1);
    expect(last).toMatchObject({
      path: "/res/v1/web/search",
      query: { q: "tea", count: "10", freshness: "pd" },
    });
    expect(last?.headers.get("x-subscription-token")).toBe("brave-key-0123456789");
  });

  test("asks Tavily with its key", async () => {
    answer = () =>
      Response.json({ results: [{ title: "T", url: "https://t.example/", content: "c", score: 0.9 }] });
    const run = await search(
      { TAVILY_API_KEY: "tvly-0123456789", TAVILY_BASE_URL: origin() },
      { query: "tea", maxResults: 3 },
    );
    expect(run.result.results).toEqual([
      { title: "T", url: "https://t.example/", snippet: "c", publishedAt: null },
    ]);
    expect(asked.at(-1)).toMatchObject({ path: "/search", body: { query: "tea", max_results: 3 } });
    expect(asked.at(-1)?.headers.get("authorization")).toBe("Bearer tvly-0123456789");
  });

  test.each<[string, () => Response, string, boolean]>([
    ["a wrong key", () => new Response("no", { status: 401 }), "rejected the key", false],
    [
      "a limit that is reached",
      () => new Response("slow", { status: 429 }),
      "its rate limit is exceeded",
      true,
    ],
    ["an engine that fails", () => new Response("oops", { status: 502 }), "it answered 502", true],
    ["a page in place of JSON", () => new Response("<html>"), "didn't return JSON", false],
  ])("fails at %s, and reports it", async (_, reply, message, retryable) => {
    answer = reply;
    const run = await search({ BRAVE_API_KEY: "brave-key-0123456789", BRAVE_BASE_URL: origin() });
    expect(run.error).toMatchObject({
      code: "upstream",
      message: expect.stringContaining(message),
      retryable,
    });
    expect(JSON.stringify(run)).not.toContain("brave-key");
  });

  test("fails without a configured engine, and names the settings", async () => {
    const run = await search({});
    expect(run.error).toMatchObject({
      code: "search_not_configured",
      message: expect.stringContaining("WEIR_SEARCH_URL"),
    });
  });

  test.each(["UTC", "America/St_Johns", "Asia/Kolkata"])(
    "treats a time without a zone as UTC, even on a machine in %s",
    (TZ) => {
      const texts = [
        "2026-03-01T10:00:00",
        "2026-03-01 10:00",
        "March 1, 2026 10:00",
        "2026-03-01",
        "2026-03",
        "03-01-2026",
        "2026-03-01T10:00:00Z",
        "2026-03-01T10:00:00.5-03:30",
        "Sun, 01 Mar 2026 10:00:00 GMT",
        "Sun, 01 Mar 2026 10:00 +0000",
        "2 days ago",
      ];
      const script = `import { parseInstant } from ${JSON.stringify(join(import.meta.dir, "../../src/base/clock.ts"))};
        console.log(JSON.stringify(${JSON.stringify(texts)}.map(parseInstant)));`;
      const { stdout } = Bun.spawnSync([process.execPath, "-e", script], { env: { TZ } });
      expect(JSON.parse(stdout.toString())).toEqual([
        ...Array(3).fill("2026-03-01T10:00:00.000Z"),
        ...Array(3).fill("2026-03-01T00:00:00.000Z"),
        "2026-03-01T10:00:00.000Z",
        "2026-03-01T13:30:00.500Z",
        ...Array(2).fill("2026-03-01T10:00:00.000Z"),
        null,
      ]);
    },
  );

  test("is rejected when saved without a query", async () => {
    await using weir = await startApp({ engine: false });
    const { status, body } = await weir.owner("POST", ACTIONS, {
      kind: "web_search",
      name: "x",
      definition: { query: "" },
    });
    expect([status, body.detail[0].loc]).toEqual([422, ["body", "definition", "query"]]);
  });
});
