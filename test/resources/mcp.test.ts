import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { contextFor } from "../../src/context.ts";
import { outsideTool } from "../../src/resources/mcp/tools.ts";
import { startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { join, neighbour } from "../support/people.ts";
import { branch, makeAction, makeAutomation, RUNS, until } from "../support/work.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp();
  const ctx = contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "member",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "test-chain",
  });
  await loadTable(ctx, { layer: "raw", dataset: "shop", table: "orders", select: "SELECT 42 AS total" });
  await makeAction(weir.owner, { slug: "nightly", name: "Nightly", definition: branch() });
  await makeAction(weir.owner, { slug: "off" });
  await makeAutomation(
    weir.owner,
    {
      action: {
        kind: "conditional_branch",
        definition: { branches: [{ key: "big", when: "input.n > 1" }], else: "small" },
      },
    },
    { slug: "sorted" },
  );
});
afterAll(() => weir[Symbol.asyncDispose]());

/** The official client, signed in with a token. */
async function connect(token = weir.token) {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`${weir.origin}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  return client;
}

type Called = { isError?: boolean; structuredContent?: Record<string, unknown>; content: { text: string }[] };
const called = async (client: Client, name: string, args: Record<string, unknown> = {}) =>
  (await client.callTool({ name, arguments: args })) as unknown as Called;

describe("the official client", () => {
  test("finds the organization's tools, with their descriptions", async () => {
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...["query", "datasets", "list_approvals"],
      ...["action_nightly", "action_off", "automation_sorted"],
    ]);
    expect(tools.find(({ name }) => name === "query")).toMatchObject({
      inputSchema: { required: ["sql"] },
      annotations: { readOnlyHint: true },
    });
    expect(client.getServerVersion()?.name).toBe("weir");
    await client.close();
  });

  test("reads datasets, runs and artifacts by their URIs", async () => {
    const client = await connect();
    const done = await called(client, "action_nightly");
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "weir://datasets/{layer}/{dataset}",
      "weir://runs/{id}",
      "weir://artifacts/{id}",
    ]);
    const { body: artifact } = await weir.owner("POST", "/api/v1/artifacts", {
      actionRunId: done.structuredContent?.runId,
      kind: "text",
      title: "Note",
      content: "All is there",
    });
    const { resources } = await client.listResources();
    const uris = resources.map(({ uri }) => uri);
    const run = `weir://runs/${done.structuredContent?.runId}`;
    expect(uris).toEqual(
      expect.arrayContaining(["weir://datasets/raw/shop", run, `weir://artifacts/${artifact.id}`]),
    );
    const read = async (uri: string) =>
      ((await client.readResource({ uri })).contents[0] as unknown as { text: string }).text;
    expect(JSON.parse(await read("weir://datasets/raw/shop")).tables).toMatchObject([
      { table: "raw.shop__orders", rows: 1, columns: [{ name: "total" }] },
    ]);
    expect(JSON.parse(await read(run))).toMatchObject({ status: "completed", result: { branch: "a" } });
    expect(await read(`weir://artifacts/${artifact.id}`)).toBe("All is there");
    const other = await neighbour(weir);
    for (const uri of [run, `weir://artifacts/${artifact.id}`, "weir://datasets/raw/shop"])
      expect(
        (await (await connect(other.token)).readResource({ uri }).catch(String)) as unknown as string,
      ).toContain("not found");
    for (const uri of ["weir://runs/x", "weir://nothing/at/all", "file:///etc/passwd"])
      expect(await client.readResource({ uri }).catch(String)).toContain("not found");
    await client.close();
  });

  test("gets the progress of a long call", async () => {
    await makeAction(weir.owner, { slug: "asks", kind: "approval_gate", definition: { title: "Go on?" } });
    const client = await connect();
    const heard: { progress: number; message?: string }[] = [];
    const call = client.callTool(
      { name: "action_asks", arguments: {} },
      { onprogress: (progress) => void heard.push(progress) },
    );
    await until(weir.owner, "/api/v1/approvals", () => heard.some(({ message }) => message === "waiting"));
    const { items } = (await weir.owner("GET", "/api/v1/approvals")).body;
    await weir.owner("POST", `/api/v1/decisions/${items[0].id}/decide`, { decisionValue: "approved" });
    expect(await call).toMatchObject({ structuredContent: { status: "completed" } });
    expect(heard.map(({ progress }) => progress)).toEqual(heard.map((_, at) => at + 1));
    await client.close();
  });

  test("runs actions and automations as the token's user, and gets the result", async () => {
    const client = await connect();
    const done = await called(client, "action_nightly");
    expect(done.structuredContent).toMatchObject({ status: "completed", result: { branch: "a" } });
    const run = (await weir.owner("GET", `${RUNS}/${done.structuredContent?.runId}`)).body;
    expect(run).toMatchObject({ triggerMethod: "agent", status: "completed" });
    const sorted = await called(client, "automation_sorted", { input: { n: 2 } });
    expect(JSON.stringify(sorted.structuredContent)).toContain("big");
    await client.close();
  });

  test("reads the lake with SQL, and gets its errors as a tool's errors", async () => {
    const client = await connect();
    expect(
      (await called(client, "query", { sql: "SELECT total FROM raw.shop__orders" })).structuredContent,
    ).toMatchObject({ rows: [{ total: 42 }] });
    for (const [name, args, told] of [
      ["query", { sql: "SELECT nope FROM raw.shop__orders" }, "nope"],
      ["query", {}, "sql"],
      ["query", { sql: "DROP TABLE raw.shop__orders; SELECT * FROM read_csv('/etc/passwd')" }, ""],
      ["action_nightly", { extra: 1 }, "extra"],
      ["action_gone", {}, "There is no tool action_gone."],
      ["decide_approval", { id: "x", decision: "approved" }, "There is no tool decide_approval."],
    ] as const) {
      const answer = await called(client, name, args);
      expect([name, answer.isError]).toEqual([name, true]);
      expect(answer.content[0]?.text).toContain(told);
    }
    await client.close();
  });

  test("reads at most 100,000 characters of rows, and learns that others were left out", async () => {
    const client = await connect();
    const sql = "SELECT n, repeat('x', n * 30_000) AS text FROM generate_series(1, 3) _(n) ORDER BY n";
    const { structuredContent } = await called(client, "query", { sql });
    expect(structuredContent).toMatchObject({ rowCount: 2, truncated: true, rows: [{ n: 1 }, { n: 2 }] });
    expect(structuredContent?.note).toStartWith("Rows from number 3 on were left out");
    await client.close();
  });

  test("sees pending decisions, which users make elsewhere", async () => {
    const flow = await makeAutomation(
      weir.owner,
      { steps: [{ key: "ask", kind: "approval_gate", definition: { title: "Go?" } }] },
      { slug: "asked" },
    );
    await weir.owner("POST", `/api/v1/automations/${flow.id}/run`, {});
    const { items } = await until(weir.owner, "/api/v1/approvals", (page) => page.items.length > 0);
    const client = await connect();
    expect((await called(client, "list_approvals")).structuredContent).toMatchObject({
      total: 1,
      items: [{ id: items[0].id, title: "Go?" }],
    });
    await client.close();
  });

  test("of a viewer can only read", async () => {
    const viewer = await join(weir, "viewer");
    const client = await connect(viewer.token);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      "query",
      "datasets",
      "list_approvals",
    ]);
    expect((await called(client, "action_nightly")).content[0]?.text).toBe(
      "There is no tool action_nightly.",
    );
    await client.close();
  });

  test("of another organization sees nothing of this one", async () => {
    const other = await neighbour(weir);
    const client = await connect(other.token);
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("action_nightly");
    expect((await called(client, "query", { sql: "SELECT * FROM raw.shop__orders" })).isError).toBe(true);
    await client.close();
  });
});

test("only the called tool is opened, however many there are", async () => {
  const ctx = contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "owner",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "test-cost",
  });
  const reads = async (name: string) => {
    let count = 0;
    const db = new Proxy(ctx.db, {
      get(target, key) {
        if (key === "select") count++;
        const value = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const tool = await outsideTool({ ...ctx, db }, { id: "test", name: "MCP" }, name);
    return [tool?.name ?? null, count];
  };
  const before = await reads("action_nightly");
  expect(before[0]).toBe("action_nightly");
  for (let n = 0; n < 5; n++) await makeAction(weir.owner, { slug: `another-${n}` });
  expect(await reads("action_nightly")).toEqual(before);
  expect(await reads("query")).toEqual(["query", 0]);
  expect(await reads("nothing")).toEqual([null, 0]);
});

describe("the protocol", () => {
  const ask = (body: unknown, headers: Record<string, string> = {}) =>
    weir.owner("POST", "/mcp", body, { accept: "application/json, text/event-stream", ...headers });

  test("the revision of 2026-07-28 works without a session", async () => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const { status, text } = await ask(
      { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } },
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
    );
    expect(status).toBe(200);
    expect(text).toContain("action_nightly");
  });

  test.each(["*/*", "application/json, */*;q=0.1"])(
    "Accept: %s is for both types of responses",
    async (accept) => {
      const { status, text } = await ask({ jsonrpc: "2.0", id: 1, method: "ping" }, { accept });
      expect([status, text]).toEqual([200, expect.stringContaining('"result":{}')]);
    },
  );

  test("a notification is answered without a body", async () => {
    const { status, text, headers } = await ask({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect([status, text, headers.get("content-type")]).toEqual([202, "", null]);
  });

  test("another site's page is rejected with any credentials; programs and Weir's own pages aren't", async () => {
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    for (const foreign of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: weir.origin.replace("http:", "https:") },
      { "sec-fetch-site": "cross-site" },
    ] as Record<string, string>[]) {
      const { status, body } = await ask(ping, foreign);
      expect([foreign, status, body.code]).toEqual([foreign, 403, "csrf"]);
      expect(body.detail).toBe("Requests from other sites aren't allowed. Use Weir's own page.");
      expect((await weir.anonymous("POST", "/mcp", ping, foreign)).status).toBe(403);
    }
    for (const own of [{}, { origin: weir.origin }, { origin: new URL(weir.app.baseUrl()).origin }])
      expect([own, (await ask(ping, own as Record<string, string>)).status]).toEqual([own, 200]);
  });

  test("nobody has access without credentials, and other methods are reported", async () => {
    expect((await weir.anonymous("POST", "/mcp", { jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(
      401,
    );
    const got = await weir.owner("GET", "/mcp");
    expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("what isn't JSON or a request of the protocol is rejected", async () => {
    expect((await ask("{")).status).toBe(422);
    expect((await ask([])).status).toBeGreaterThanOrEqual(400);
    expect((await ask({ jsonrpc: "2.0", id: 1, method: "nope" })).text).toContain("-32601");
  });
});
