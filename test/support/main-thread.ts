import { startModern } from "../peers/mcp-modern.ts";
import { published } from "./bundles.ts";
import { addMcp, mcpApi } from "./catalog.ts";
import { connect } from "./connections.ts";
import { SECRET, sign } from "./hook.ts";
import { definitionOf } from "./json-api.ts";
import { LONG_JSON } from "./long-json.ts";
import { startInstallation } from "./process.ts";
import { ACTIONS, AUTOMATIONS, created } from "./work.ts";

/** About the size limit of a body. */
const BODY_BYTES = 9_500_000;
/** About the size limit of a response of an MCP server. */
const REPLY_BYTES = 14_000_000;
const LISTED = 10;
const PAGE_ROWS = 300_000;
const SETTLE_MS = 150;
/** A thread that nothing blocked for longer in that time has ended its work. */
const QUIET_MS = 10;
const POLL_MS = 50;

/** A request that a tenant may send, close to the limits. */
export interface WorstInput {
  name: string;
  /** Resolves when everything that follows from it is done. Rejects if it doesn't go as it should. */
  ask(): Promise<void>;
}

/** A server in a separate process that reports how long its main thread was blocked, and inputs that block it. */
export async function startMonitored() {
  const installation = await startInstallation();
  const server = await installation.serve({ isMonitored: true });
  const page = pageOf();
  const peer = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => answer(request, page) });
  const { owner } = server;
  const sink = `http://127.0.0.1:${peer.port}/sink`;

  const hook = async (path: string, config: object) =>
    created(
      await owner("POST", AUTOMATIONS, {
        name: path,
        triggerType: "webhook",
        config: { path, secret: SECRET, requireTimestamp: false, ...config },
      }),
    );
  const send = async (path: string, body: string, type = "application/json", status = 200): Promise<void> => {
    const headers = { "content-type": type, "x-svc-signature": `sha256=${sign(body)}` };
    const reply = await owner("POST", `/webhooks/acme/${path}`, Buffer.from(body), headers);
    expectStatus(reply, status);
  };
  const run = async (definition: object, kind: string, more: object = {}): Promise<void> => {
    const name = crypto.randomUUID();
    const { id } = created(await owner("POST", ACTIONS, { name, kind, definition, ...more }));
    const { id: runId } = created(await owner("POST", `${ACTIONS}/${id}/run`));
    for (;;) {
      const { body } = await owner("GET", `/api/v1/action-runs/${runId}`);
      if (body.status === "completed") return;
      if (body.status === "failed") throw new Error(JSON.stringify(body.error));
      await Bun.sleep(POLL_MS);
    }
  };

  await hook("plain", { action: branch("has(headers.nothing)") });
  await hook("condition", { action: branch("has(payload.nothing)") });
  await hook("pattern", { waitSeconds: 30, action: branch("payload.text.matches('^(ab)+$')") });
  await hook("whole", {
    waitSeconds: 30,
    action: { kind: "http_request", definition: { url: sink, method: "POST", body: "{{payload}}" } },
  });
  await hook("each", {
    waitSeconds: 30,
    steps: [
      { key: "each", forEach: "{{payload.list}}", maxParallel: 100, ...branch("item.n >= 0") },
      { key: "all", dependsOn: ["each"], ...branch("size(steps.each.result) == 10000") },
    ],
  });
  const manual = created(
    await owner("POST", AUTOMATIONS, {
      name: "m",
      triggerType: "manual",
      config: { action: branch("true") },
    }),
  );
  const longest = action(LONG_JSON["texts that differ"]?.(240_000) ?? "");
  const items = Array.from({ length: 10_000 }, (_, n) => ({ n, text: "x".repeat(900) }));
  const template = { ...definitionOf("bearer"), credentialsSchema: { type: "object", properties: {} } };
  template.http = { ...template.http, auth: { type: "none" } };
  const slugged = { slug: "an-api", displayName: "An API", templateType: "connection" };
  const { id: templateId } = await published(owner, { ...slugged, definition: template });
  const config = { baseUrl: `http://127.0.0.1:${peer.port}` };
  const { id: connectionId } = await connect(owner, { name: "api", templateId, config, credentials: {} });
  const tools = { reply: {} };
  const mcp = startModern({ result: () => tools.reply });
  const echo = { url: mcp.url, tools: [{ upstreamName: "echo" }] };
  const entry = await addMcp(owner, mcpApi("Tools", echo));
  const extract = (dataset: string, spec: string, endpoint: object) =>
    run({ dataset, resources: [{ name: "rows", spec, endpoint }] }, "dlt_extract", { connectionId });

  const inputs: WorstInput[] = [
    ...Object.entries(LONG_JSON).flatMap(([sort, make]): WorstInput[] => [
      { name: `a webhook of ${sort}`, ask: () => send("plain", make(BODY_BYTES)) },
      { name: `a condition over a webhook of ${sort}`, ask: () => send("condition", make(BODY_BYTES)) },
    ]),
    {
      name: "a hundred long conditions",
      ask: () => run({ branches: longConditions(), else: "no" }, "conditional_branch"),
    },
    {
      name: "a definition of numbers",
      ask: async () =>
        expectStatus(
          await owner("POST", ACTIONS, action(LONG_JSON.numbers?.(BODY_BYTES) ?? ""), keyed()),
          422,
        ),
    },
    {
      name: "a definition of one long text",
      ask: async () =>
        expectStatus(
          await owner("POST", ACTIONS, action(JSON.stringify("a b".repeat(3_000_000))), keyed()),
          201,
        ),
    },
    {
      name: "a definition of as many values as are allowed",
      ask: async () =>
        expectStatus(
          await owner("POST", ACTIONS, action(LONG_JSON["texts that differ"]?.(240_000) ?? ""), keyed()),
          201,
        ),
    },
    {
      name: "a list of actions with as many values as are allowed",
      ask: async () => {
        for (let n = 0; n < LISTED; n++) created(await owner("POST", ACTIONS, longest, keyed()));
        expectStatus(await owner("GET", `${ACTIONS}?limit=100`), 200);
      },
    },
    {
      name: "an MCP server's reply",
      ask: async () => {
        tools.reply = {
          structuredContent: JSON.parse(LONG_JSON["texts that differ"]?.(REPLY_BYTES) ?? ""),
          content: [],
        };
        await run({ api: { apiId: entry.id, tool: "echo", arguments: { text: "hi" } } }, "http_request");
      },
    },
    {
      name: "a selection of as many files as are told apart",
      ask: async () => {
        const files = Array.from({ length: 14_000 }, (_, n) => ({
          id: `${n}`,
          path: `/${n}`,
          name: "a",
          size: 1,
          kind: "file",
        }));
        const path = `/api/v1/connections/${connectionId}/files/validate`;
        expectStatus(await owner("POST", path, { selectedItems: files, rootPath: 1 }), 422);
      },
    },
    {
      name: "a pattern over a webhook of one long text",
      ask: () => send("pattern", JSON.stringify({ text: "ab".repeat(BODY_BYTES / 2) })),
    },
    {
      name: "a definition of as many templates as fit",
      ask: async () =>
        expectStatus(
          await owner("POST", ACTIONS, action(JSON.stringify("{{a.b}}".repeat(BODY_BYTES / 7))), keyed()),
          422,
        ),
    },
    {
      name: "a definition of as many templates as are allowed",
      ask: async () =>
        expectStatus(
          await owner("POST", ACTIONS, action(JSON.stringify("{{a.b}}".repeat(10_000))), keyed()),
          201,
        ),
    },
    {
      name: "a webhook of a form with as many fields as fit",
      ask: () => send("plain", "a=1&".repeat(BODY_BYTES / 4), "application/x-www-form-urlencoded", 422),
    },
    {
      name: "a webhook of a form with as many fields as are allowed",
      ask: () => send("plain", `a=${"1".repeat(900)}&`.repeat(9_999), "application/x-www-form-urlencoded"),
    },
    {
      name: "a webhook of a form in as many parts as fit",
      ask: () => {
        const part = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n';
        return send(
          "plain",
          `${part.repeat(BODY_BYTES / part.length)}--x--\r\n`,
          "multipart/form-data; boundary=x",
          422,
        );
      },
    },
    {
      name: "a request for a token with as many fields as fit",
      ask: async () => {
        const headers = { "content-type": "application/x-www-form-urlencoded" };
        await owner("POST", "/api/v1/auth/device/token", "a=1&".repeat(BODY_BYTES / 4), headers);
      },
    },
    {
      name: "a payload that is passed on whole",
      ask: () => send("whole", LONG_JSON["texts that differ"]?.(BODY_BYTES) ?? ""),
    },
    { name: "a list of 10,000 items", ask: () => send("each", `{"list":${JSON.stringify(items)}}`) },
    {
      name: "runs with as much input as is allowed, and a list of them",
      ask: async () => {
        const input = `{"input":${LONG_JSON["texts that differ"]?.(990_000)}}`;
        for (let n = 0; n < LISTED; n++)
          created(
            await owner("POST", `${AUTOMATIONS}/${manual.id}/run`, input, {
              "content-type": "application/json",
            }),
          );
        expectStatus(await owner("GET", `${AUTOMATIONS}/${manual.id}/runs?limit=100`), 200);
      },
    },
    {
      name: "a query with 10,000 wide rows",
      ask: async () => {
        const columns = Array.from({ length: 200 }, (_, n) => `i + ${n} as c${n}`).join(", ");
        const sql = `select ${columns} from range(10000) t(i)`;
        expectStatus(await owner("POST", "/api/v1/query", { sql, limit: 10_000 }), 200);
      },
    },
    { name: "an extract of a page that is a list", ask: () => extract("list", "/list", {}) },
    {
      name: "an extract of a page with a list in it",
      ask: () => extract("inside", "/inside", { dataPath: "data" }),
    },
    {
      name: "an extract of what an expression finds in a page",
      ask: () => extract("found", "/inside", { dataPath: "data[?id > `5`]" }),
    },
  ];

  /** Waits until what was begun has ended. Returns how long the main thread was blocked at most until then. */
  const settle = async () => {
    let longest = 0;
    for (let ms = Number.POSITIVE_INFINITY; ms > QUIET_MS; longest = Math.max(longest, ms)) {
      await Bun.sleep(SETTLE_MS);
      ms = await server.measure("longest");
    }
    return longest;
  };

  return {
    inputs,
    /** Milliseconds that a fixed task takes the main thread now. */
    yardstick: () => server.measure("yardstick"),
    /** How long the main thread was blocked at most during this, in milliseconds. */
    async longest({ ask }: WorstInput): Promise<number> {
      await settle();
      await ask();
      return settle();
    },
    async [Symbol.asyncDispose]() {
      await peer.stop(true);
      await mcp.stop();
      await installation[Symbol.asyncDispose]();
    },
  };
}

const branch = (when: string) => ({
  kind: "conditional_branch",
  definition: { branches: [{ key: "yes", when }], else: "no" },
});

const LIST = `[${Array.from({ length: 60 }, (_, n) => n)}]`;

/** Each takes milliseconds to parse, and more to evaluate. The texts differ each time. */
const longConditions = () =>
  Array.from({ length: 100 }, (_, n) => ({
    key: `b${n}`,
    when: `${LIST}.all(a, ${LIST}.all(b, a + b < 1000)) && "${crypto.randomUUID()}" == ""`,
  }));

const action = (body: string) =>
  `{"name":"long","kind":"http_request","definition":{"url":"http://a.example","method":"POST","body":${body}}}`;

const keyed = () => ({ "content-type": "application/json", "idempotency-key": crypto.randomUUID() });

function expectStatus({ status, text }: { status: number; text: string }, wanted: number): void {
  if (status !== wanted) throw new Error(`${status} instead of ${wanted}: ${text.slice(0, 500)}`);
}

const pageOf = () =>
  JSON.stringify(
    Array.from({ length: PAGE_ROWS }, (_, id) => ({
      id,
      name: `customer ${id}`,
      place: { x: 1, y: [1, 2] },
    })),
  );

function answer(request: Request, page: string): Response {
  const isInside = new URL(request.url).pathname === "/inside";
  const headers = { "content-type": "application/json" };
  return new Response(isInside ? `{"data":${page}}` : page, { headers });
}
