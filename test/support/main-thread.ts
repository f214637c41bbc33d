import { published } from "./bundles.ts";
import { connect } from "./connections.ts";
import { SECRET, sign } from "./hook.ts";
import { definitionOf } from "./json-api.ts";
import { LONG_JSON } from "./long-json.ts";
import { startInstallation } from "./process.ts";
import { ACTIONS, AUTOMATIONS, created } from "./work.ts";

/** About the limit of a body. */
const BODY_BYTES = 9_500_000;
const PAGE_ROWS = 300_000;
const SETTLE_MS = 300;
const POLL_MS = 50;

/** Something that a tenant may ask for, at about the limit of what is allowed. */
export interface WorstInput {
  name: string;
  /** Resolves when all that follows from it is done; rejects where it does not go as it should. */
  ask(): Promise<void>;
}

/** A server in a process of its own that tells how long its main thread was busy, and what keeps it so. */
export async function startMonitored() {
  const installation = await startInstallation();
  const server = await installation.serve({ isMonitored: true });
  const page = pageOf();
  const peer = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => answer(request, page) });
  const { owner } = server;

  const hook = async (path: string, config: object) =>
    created(
      await owner("POST", AUTOMATIONS, {
        name: path,
        triggerType: "webhook",
        config: { path, secret: SECRET, requireTimestamp: false, ...config },
      }),
    );
  const send = async (path: string, body: string): Promise<void> => {
    const headers = { "content-type": "application/json", "x-svc-signature": `sha256=${sign(body)}` };
    const reply = await owner("POST", `/webhooks/acme/${path}`, Buffer.from(body), headers);
    expectStatus(reply, 200);
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
  const template = { ...definitionOf("bearer"), credentialsSchema: { type: "object", properties: {} } };
  template.http = { ...template.http, auth: { type: "none" } };
  const slugged = { slug: "an-api", displayName: "An API", templateType: "connection" };
  const { id: templateId } = await published(owner, { ...slugged, definition: template });
  const config = { baseUrl: `http://127.0.0.1:${peer.port}` };
  const { id: connectionId } = await connect(owner, { name: "api", templateId, config, credentials: {} });
  const extract = (dataset: string, spec: string, endpoint: object) =>
    run({ dataset, resources: [{ name: "rows", spec, endpoint }] }, "dlt_extract", { connectionId });

  const inputs: WorstInput[] = [
    ...Object.entries(LONG_JSON).flatMap(([sort, make]): WorstInput[] => [
      { name: `a webhook of ${sort}`, ask: () => send("plain", make(BODY_BYTES)) },
      { name: `a condition over a webhook of ${sort}`, ask: () => send("condition", make(BODY_BYTES)) },
      {
        name: `a definition of ${sort}`,
        ask: async () => expectStatus(await owner("POST", ACTIONS, action(make(BODY_BYTES)), keyed()), 422),
      },
    ]),
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

  return {
    inputs,
    /** Milliseconds that a fixed piece of work takes the main thread now. */
    yardstick: () => server.measure("yardstick"),
    /** Milliseconds that the main thread was busy at most, without a turn for others, while this was done. */
    async longest({ ask }: WorstInput): Promise<number> {
      await Bun.sleep(SETTLE_MS); // what went before has its own end
      await server.measure("longest");
      await ask();
      await Bun.sleep(SETTLE_MS);
      return server.measure("longest");
    },
    async [Symbol.asyncDispose]() {
      await peer.stop(true);
      await installation[Symbol.asyncDispose]();
    },
  };
}

const branch = (when: string) => ({
  kind: "conditional_branch",
  definition: { branches: [{ key: "yes", when }], else: "no" },
});

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
