import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { openEgress } from "../../src/base/egress.ts";
import { AppError } from "../../src/base/errors.ts";
import { type McpClient, openMcp } from "../../src/mcp/client.ts";
import type { Patience } from "../../src/mcp/limits.ts";
import { readResult } from "../../src/mcp/result.ts";
import type { McpServer } from "../../src/mcp/wire.ts";
import { startEverything } from "../peers/mcp-everything.ts";
import { startLegacy } from "../peers/mcp-legacy.ts";
import { ECHO, type ModernOptions, startModern } from "../peers/mcp-modern.ts";
import { LONG_JSON } from "../support/long-json.ts";
import { eventually } from "../support/outbound.ts";

const egress = openEgress({ allow: ["127.0.0.0/8"], self: () => null, clock: systemClock });
const placeOf = (url: string, more: Partial<McpServer> = {}): McpServer => ({
  url,
  transport: "http",
  egress,
  authority: null,
  signal: new AbortController().signal,
  ...more,
});

async function using<T>(
  options: ModernOptions,
  work: (peer: ReturnType<typeof startModern>) => Promise<T>,
): Promise<T> {
  const peer = startModern(options);
  try {
    return await work(peer);
  } finally {
    await peer.stop();
  }
}

const named = (client: McpClient) =>
  client.listTools().then(({ tools }) => tools.map((tool) => tool.upstreamName));
const failureOf = (work: Promise<unknown>): Promise<AppError> =>
  work.then(
    () => {
      throw new Error("It did not fail.");
    },
    (error) => {
      if (error instanceof AppError) return error;
      throw error;
    },
  );

describe.each([
  ["streamableHttp", "http", "legacy"],
  ["sse", "sse", "sse"],
  ["sse", "http", "sse"],
] as const)("the reference server over %s, with %s", (kind, transport, era) => {
  let server: Awaited<ReturnType<typeof startEverything>>;
  let client: McpClient;
  beforeAll(async () => {
    server = await startEverything(kind);
    client = await openMcp(placeOf(server.url, { transport }));
  }, 120_000);
  afterAll(async () => {
    await client.close();
    await server.stop();
  });

  test("is used in its own revision, and lists its tools", async () => {
    expect(client.era).toBe(era);
    const { tools, warnings } = await client.listTools();
    expect(warnings).toEqual([]);
    expect(tools.length).toBeGreaterThan(5);
    expect(tools.find(({ upstreamName }) => upstreamName === "echo")).toMatchObject({
      name: "echo",
      description: expect.any(String),
      inputSchema: { type: "object", properties: { message: { type: "string" } } },
    });
  });

  test("executes calls, one after the other and at once", async () => {
    const echo = { upstreamName: "echo", inputSchema: null };
    const result = readResult(await client.callTool(echo, { message: "hello" }));
    expect(result).toMatchObject({ isError: false, truncated: false });
    expect(result.text).toContain("hello");
    const said = ["a1", "b2", "c3"];
    const all = await Promise.all(said.map((message) => client.callTool(echo, { message })));
    expect(all.map((each, index) => readResult(each).text.includes(said[index] ?? "?"))).toEqual([
      true,
      true,
      true,
    ]);
    const refused = await client.callTool(echo, { message: 7 } as never).catch((error) => error);
    expect(refused instanceof AppError || refused.isError === true).toBe(true);
  });
});

describe("a server of 2026-07-28", () => {
  test("is called without a session, and each request is self-contained", () =>
    using({}, async (peer) => {
      const client = await openMcp(placeOf(peer.url));
      expect(client.era).toBe("modern");
      const { tools } = await client.listTools();
      expect(tools).toEqual([
        {
          upstreamName: "echo",
          name: "echo",
          title: "Echo",
          description: "Says what it hears.",
          inputSchema: ECHO.inputSchema as never,
          outputSchema: null,
          annotations: null,
        },
      ]);
      const result = await client.callTool(tools[0] as never, { text: "grüß" });
      expect(readResult(result).body).toEqual({ text: "grüß" });
      const call = peer.heard.at(-1);
      expect(call?.headers).toMatchObject({
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "echo",
        accept: "application/json, text/event-stream",
      });
      expect(call?.headers["mcp-session-id"]).toBeUndefined();
      expect(call?.params._meta).toMatchObject({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "weir" },
      });
      expect(peer.heard.map(({ method }) => method)).toEqual(["server/discover", "tools/list", "tools/call"]);
    }));

  test("may respond with a stream, with other messages first", () =>
    using({ streams: true }, async (peer) => {
      const client = await openMcp(placeOf(peer.url));
      expect(await named(client)).toEqual(["echo"]);
      expect(
        readResult(await client.callTool({ ...ECHO, upstreamName: "echo" } as never, { text: "x" })).body,
      ).toEqual({
        text: "x",
      });
    }));

  test("returns its tools page by page", () => {
    const tools = Array.from({ length: 7 }, (_, n) => ({ ...ECHO, name: `tool${n}` }));
    return using({ tools, pageSize: 3 }, async (peer) => {
      expect(await named(await openMcp(placeOf(peer.url)))).toEqual(tools.map(({ name }) => name));
      expect(peer.heard.filter(({ method }) => method === "tools/list")).toHaveLength(3);
    });
  });

  test("that returns the same page again isn't followed forever", () =>
    using({ repeatsCursor: true }, async (peer) => {
      const { tools, warnings } = await (await openMcp(placeOf(peer.url))).listTools();
      expect(tools).toHaveLength(1);
      expect(warnings.join()).toContain("same next page twice");
      expect(peer.heard.filter(({ method }) => method === "tools/list").length).toBeLessThan(4);
    }));

  test("gets arguments in headers if its schema says so; a tool with an invalid one is left out", () => {
    const property = (type: string, header: unknown) => ({ type, "x-mcp-header": header });
    const tool = (name: string, properties: object) => ({
      name,
      inputSchema: { type: "object", properties },
    });
    const tools = [
      tool("good", {
        region: property("string", "Region"),
        n: property("integer", "Count"),
        on: property("boolean", "On"),
      }),
      tool("number", { n: property("number", "N") }),
      tool("blank", { a: property("string", "no good") }),
      tool("empty", { a: property("string", "") }),
      tool("twice", { a: property("string", "X"), b: property("string", "x") }),
      tool("deep", { list: { type: "array", items: property("string", "Item") } }),
    ];
    return using({ tools }, async (peer) => {
      const client = await openMcp(placeOf(peer.url));
      const { tools: found, warnings } = await client.listTools();
      expect(found.map(({ upstreamName }) => upstreamName)).toEqual(["good"]);
      expect(warnings).toHaveLength(5);
      await client.callTool(found[0] as never, { region: "ütrecht", n: 3, on: true });
      const { headers } = peer.heard.at(-1) ?? { headers: {} as Record<string, string> };
      expect(headers["mcp-param-region"]).toBe(`=?base64?${Buffer.from("ütrecht").toString("base64")}?=`);
      expect([headers["mcp-param-count"], headers["mcp-param-on"]]).toEqual(["3", "true"]);
      await client.callTool(found[0] as never, { n: 3 });
      expect(peer.heard.at(-1)?.headers["mcp-param-region"]).toBeUndefined();
    });
  });

  test("that drips and never responds is left after the timeout, by closing the connection", () =>
    using({ drips: true }, async (peer) => {
      const patience: Patience = { idleMs: 60_000, totalMs: 2_000 };
      const client = await openMcp(placeOf(peer.url), patience);
      const failure = await failureOf(
        client.callTool({ upstreamName: "echo", inputSchema: null }, { text: "x" }),
      );
      expect(failure.code).toBe("timeout");
      await eventually(() => peer.closed() === 1);
    }));

  test("is left immediately when the caller leaves", () =>
    using({ drips: true }, async (peer) => {
      const control = new AbortController();
      const client = await openMcp(placeOf(peer.url, { signal: control.signal }));
      const call = failureOf(client.callTool({ upstreamName: "echo", inputSchema: null }, { text: "x" }));
      await Bun.sleep(50);
      control.abort(new AppError("cancelled", "Enough."));
      expect((await call).code).toBe("cancelled");
    }));

  test("that asks a user is declined once, gets its own state back, and then responds", () =>
    using(
      {
        asks: {
          inputRequests: {
            who: { method: "elicitation/create", params: { mode: "form", message: "Who\u202e are\n you?" } },
            where: { method: "roots/list" },
          },
          requestState: "opaque {state}",
        },
      },
      async (peer) => {
        const client = await openMcp(placeOf(peer.url));
        const tool = { upstreamName: "echo", inputSchema: null };
        expect(readResult(await client.callTool(tool, { text: "x" })).body).toEqual({ text: "x" });
        const [first, second] = peer.heard.filter(({ method }) => method === "tools/call");
        expect(first?.params).not.toContainAnyKeys(["inputResponses", "requestState"]);
        expect(second?.params).toMatchObject({
          name: "echo",
          arguments: { text: "x" },
          inputResponses: { who: { action: "decline" }, where: { roots: [] } },
          requestState: "opaque {state}",
        });
        expect(client.declined).toEqual([
          expect.stringMatching(/asked for a person's answer \("Who are you\?"\) and was declined/),
          expect.stringMatching(/asked for folders of this machine and was declined/),
        ]);
        await client.callTool(tool, { text: "y" }); // Another call starts again.
        const third = peer.heard.filter(({ method }) => method === "tools/call")[2];
        expect(third?.params).not.toContainAnyKeys(["inputResponses", "requestState"]);
      },
    ));

  test("that keeps asking is left after a few rounds, with a sentence about what it wanted", () =>
    using(
      {
        asks: {
          inputRequests: { who: { method: "elicitation/create", params: { message: "Who are you?" } } },
          isNeverContent: true,
        },
      },
      async (peer) => {
        const client = await openMcp(placeOf(peer.url));
        const failure = await failureOf(client.callTool({ upstreamName: "echo", inputSchema: null }, {}));
        expect(failure.code).toBe("upstream");
        expect(failure.message).toContain('asked for a person\'s answer ("Who are you?") and was declined');
        expect(peer.heard.filter(({ method }) => method === "tools/call")).toHaveLength(3);
      },
    ));

  test("that wants a model's answer gets none, immediately", () =>
    using(
      { asks: { inputRequests: { think: { method: "sampling/createMessage", params: { messages: [] } } } } },
      async (peer) => {
        const client = await openMcp(placeOf(peer.url));
        const failure = await failureOf(client.callTool({ upstreamName: "echo", inputSchema: null }, {}));
        expect(failure.message).toContain("asked for a language model's answer and was declined");
        expect(peer.heard.filter(({ method }) => method === "tools/call")).toHaveLength(1);
      },
    ));

  test("that asks to be called again later is, with its state and nothing else", () =>
    using({ asks: { requestState: "step 2" } }, async (peer) => {
      const client = await openMcp(placeOf(peer.url));
      await client.callTool({ upstreamName: "echo", inputSchema: null }, { text: "x" });
      const second = peer.heard.filter(({ method }) => method === "tools/call")[1];
      expect(second?.params.requestState).toBe("step 2");
      expect(second?.params).not.toContainAnyKeys(["inputResponses"]);
      expect(client.declined).toEqual([]);
    }));

  test("that redirects to a private address isn't followed", () =>
    using({ redirectsTo: "http://169.254.169.254/latest/meta-data" }, async (peer) => {
      expect((await failureOf(openMcp(placeOf(peer.url)))).code).toBe("egress_blocked");
    }));

  test("that requires a sign-in is reported, with its challenge", () =>
    using({ token: "secret-token" }, async (peer) => {
      const failure = await failureOf(openMcp(placeOf(peer.url)));
      expect(failure.code).toBe("upstream");
      expect(failure.details).toMatchObject({ status: 401, challenge: 'Bearer realm="tools"' });
      const grant = {
        headers: { authorization: "Bearer secret-token" },
        query: {},
        secrets: ["secret-token"],
      };
      const authority = {
        authorize: async () => grant,
        refused: async () => false,
        secrets: () => grant.secrets,
      };
      const client = await openMcp(placeOf(peer.url, { authority }));
      expect(await named(client)).toEqual(["echo"]);
    }));

  test("with another error of its own revision isn't mistaken for an older one", () =>
    using(
      {
        refuses: {
          status: 400,
          body: { jsonrpc: "2.0", id: 0, error: { code: -32021, message: "Roots wanted" } },
        },
      },
      async (peer) => {
        const failure = await failureOf(openMcp(placeOf(peer.url)));
        expect(failure.message).toContain("Roots wanted");
      },
    ));

  test("that only supports future revisions is rejected with a reason", () =>
    using(
      {
        refuses: {
          status: 400,
          body: {
            jsonrpc: "2.0",
            id: 0,
            error: { code: -32022, message: "No", data: { supported: ["2031-01-01"] } },
          },
        },
      },
      async (peer) => {
        const failure = await failureOf(openMcp(placeOf(peer.url)));
        expect(failure.code).toBe("upstream");
      },
    ));
});

describe("a server with sessions", () => {
  test("gets its answers, gets a new session if it forgot the old one, and is notified at the end", async () => {
    const peer = startLegacy();
    try {
      const client = await openMcp(placeOf(peer.url));
      expect(client.era).toBe("legacy");
      expect(await named(client)).toEqual(["echo"]);
      const echo = { upstreamName: "echo", inputSchema: null };
      expect(readResult(await client.callTool(echo, {})).body).toBe("session-1");
      await eventually(() => peer.pongs.length >= 4);
      expect(peer.pongs).toContainEqual({});
      expect(peer.pongs).toContainEqual({ action: "decline" });
      expect(peer.pongs).toContainEqual({ code: -1, message: "User rejected sampling request" });
      expect(client.declined).toEqual([
        expect.stringContaining("folders of this machine"),
        expect.stringContaining('a person\'s answer ("Which region?")'),
        expect.stringContaining("a language model's answer"),
      ]);
      expect(peer.pongs).toContainEqual({ code: -32601, message: "Method not found" });
      peer.forget();
      expect(readResult(await client.callTool(echo, {})).body).toBe("session-2");
      await client.close();
      expect(peer.ended).toEqual(["session-2"]);
      const again = await openMcp(placeOf(peer.url));
      expect(again.era).toBe("legacy");
    } finally {
      await peer.stop();
    }
  });

  test("that asks endlessly isn't answered endlessly", async () => {
    const peer = startLegacy({ pings: 500 });
    try {
      const client = await openMcp(placeOf(peer.url));
      await client.callTool({ upstreamName: "echo", inputSchema: null }, {});
      await eventually(() => peer.pongs.length >= 100);
      await Bun.sleep(200);
      expect(peer.pongs).toHaveLength(100);
    } finally {
      await peer.stop();
    }
  });

  test("that ends a stream before its response is asked for the rest, from the last event", async () => {
    const peer = startLegacy({ breaksOff: 2 });
    try {
      const client = await openMcp(placeOf(peer.url));
      const result = await client.callTool({ upstreamName: "echo", inputSchema: null }, {});
      expect(readResult(result).text).toBe("late");
      expect(peer.resumed).toEqual(["e1", "e2"]);
    } finally {
      await peer.stop();
    }
  });

  test("that wants an unknown version is rejected with a reason", async () => {
    const peer = startLegacy({ version: "1999-01-01" });
    expect((await failureOf(openMcp(placeOf(peer.url)))).message).toContain("version of MCP");
    await peer.stop();
  });
});

test("an endless response is cut off", () =>
  using(
    { result: () => ({ content: [{ type: "text", text: "x".repeat(17 * 1024 * 1024) }] }) },
    async (peer) => {
      const client = await openMcp(placeOf(peer.url));
      const call = () => client.callTool({ upstreamName: "echo", inputSchema: null }, { text: "x" });
      expect((await failureOf(call())).code).toBe("response_too_large");
      peer.state.streams = true;
      expect((await failureOf(call())).code).toBe("response_too_large");
    },
  ));

test("a server that isn't an MCP server is reported as such", async () => {
  const page = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("<h1>Hello</h1>") });
  const failure = await failureOf(openMcp(placeOf(`http://127.0.0.1:${page.port}/`)));
  expect(failure.code).toBe("upstream");
  await page.stop(true);
  expect((await failureOf(openMcp(placeOf("http://127.0.0.1:9/mcp")))).code).toBe("upstream");
});

test("a result that is too long is truncated, and says so", () => {
  const result = readResult({ content: [{ type: "text", text: "x".repeat(3 * 1024 * 1024) }] });
  expect(result.truncated).toBe(true);
  expect(result.bytes).toBeLessThanOrEqual(1024 * 1024);
  expect(result.text).toContain("[cut:");
});

test("a result of very many values is truncated as text, and short values are kept", () => {
  const many = JSON.parse(LONG_JSON["texts that differ"]?.(3_000_000) ?? "");
  const content = many.list.slice(0, 100_000).map((text: string) => ({ type: "text", text }));
  const results = [{ structuredContent: many, content: [] }, { structuredContent: many.list }, { content }];
  let turn = 0;
  return using({ result: () => ({ ...results[turn], isError: true }) }, async (peer) => {
    for (const streams of [false, true]) {
      peer.state.streams = streams;
      const client = await openMcp(placeOf(peer.url));
      for (turn = 0; turn < results.length; turn++) {
        const result = readResult(await client.callTool({ upstreamName: "echo", inputSchema: null }, {}));
        const whole = JSON.stringify(results[turn]?.structuredContent ?? content);
        expect(result).toMatchObject({ truncated: true, isError: true });
        expect(result.text.slice(0, 1_000_000)).toBe(whole.slice(0, 1_000_000));
        expect(result.text).toContain("[cut:");
      }
    }
  });
});

test("results are read by their content", () => {
  const text = (value: string) => ({ content: [{ type: "text", text: value }] });
  expect(readResult(text('{"a":1}')).body).toEqual({ a: 1 });
  expect(readResult(text("plain")).body).toBe("plain");
  expect(readResult({ ...text("x"), structuredContent: { b: 2 } }).body).toEqual({ b: 2 });
  const picture = { type: "image", data: "aGk=", mimeType: "image/png" };
  expect(readResult({ content: [picture] }).body).toEqual([picture]);
  expect(readResult({ ...text("no"), isError: true }).isError).toBe(true);
});
