/**
 * The neighbor of neighbour.bench.ts: attacks the server at `origin`, as the cookie's organization,
 * until it is stopped. Reports the results of each attack.
 */
import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";

const [origin = "", cookie = "", organization = "", ...ways] = process.argv.slice(2);
/** Whether to use this attack: all of them, or the named ones. */
const does = (way: string) => ways.length === 0 || ways.includes(way);
const SOCKETS = 8_000;
const QUEUED = 10_000;
const STATEMENTS = 40;
const BRANCHES = 100;
const BRANCH_RUNS = 100;
const BOMB_RUNS = 8;
/** Number of runs of each script. */
const SCRIPT_RUNS = 20;
const SCRIPTS = [
  "export default () => { for (;;); }",
  "export default () => [].indexOf.call({ length: 2 ** 53 - 1 }, 1)",
  "export default () => { const all = []; for (;;) all.push('x'.repeat(1e6) + all.length); }",
  "export default () => /^(a+)+$/.test('a'.repeat(40) + 'b')",
  "export default async () => { for (;;) await Promise.all(Array.from({ length: 1e5 }, async () => 1)); }",
];
const BOMB_BYTES = 95_000_000;

const NESTED = "[[],[],[],[]],";
const bomb = gzipSync(`[${NESTED.repeat(BOMB_BYTES / NESTED.length)}[]]`, { level: 9 });
const rows = JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id })));

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/never") await new Promise(() => undefined);
    const headers = { "content-type": "application/json" };
    if (pathname === "/bomb")
      return new Response(bomb, { headers: { ...headers, "content-encoding": "gzip" } });
    if (pathname === "/rows") return new Response(rows, { headers });
    return Response.json(Object.fromEntries(told));
  },
});
const own = `http://127.0.0.1:${server.port}`;

async function call(method: string, path: string, body?: unknown) {
  const reply = await fetch(origin + path, {
    method,
    headers: {
      cookie,
      "content-type": "application/json",
      "sec-fetch-site": "same-origin",
      "x-organization-id": organization,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text.slice(0, 300)}`);
  return JSON.parse(text) as { id: string };
}

const action = (kind: string, definition: object) =>
  call("POST", "/api/v1/actions", {
    kind,
    name: `${kind} ${createHash("md5").update(JSON.stringify(definition)).digest("hex")}`,
    definition,
  });

const told = new Map<string, number>();
const count = (what: string) => told.set(what, (told.get(what) ?? 0) + 1);

/** Repeats the work until the process ends. What is rejected is tried again a little later. */
async function keepOn(what: string, work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    await work().then(
      () => count(`${what} done`),
      async (error: Error) => {
        count(`${what} ${/: (\d{3}) /.exec(error.message)?.[1] ?? error.message.slice(0, 80)}`);
        await Bun.sleep(250);
      },
    );
  }
}

async function slowSockets(): Promise<void> {
  const { hostname, port } = new URL(origin);
  const sockets: Socket[] = [];
  for (let n = 0; n < SOCKETS; n++) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => count("socket refused"));
    socket.write(`POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\nX-${n}: `);
    sockets.push(socket);
    if (n % 100 === 0) await Bun.sleep(5);
  }
  for (;;) {
    for (const socket of sockets) if (socket.writable) socket.write("a");
    await Bun.sleep(2_000);
  }
}

const run = ({ id }: { id: string }) => call("POST", `/api/v1/actions/${id}/run`);

// Queued one behind the other, so that what follows isn't queued behind them.
const endless = await action("http_request", { url: `${own}/never`, concurrencyKey: "one" });
for (let n = 0; n < QUEUED && does("queue"); n += 20)
  await Promise.all(Array.from({ length: 20 }, () => run(endless))).then(
    () => told.set("queued", n + 20),
    (error: Error) => count(error.message.slice(0, 80)),
  );

if (does("deliveries"))
  for (const url of ["http://127.0.0.1:9/dead", `${own}/never`])
    await call("POST", "/api/v1/webhooks", { url, events: ["*"] });

for (let n = 0; n < STATEMENTS && does("statements"); n++) {
  const endless = "SELECT sum(a.i * b.i) FROM range(100000000) a(i), range(100000000) b(i)";
  const sql = n % 2 ? "SELECT sleep_ms(300000)" : endless;
  void keepOn("statement", () => call("POST", "/api/v1/query", { sql }));
}
if (does("sockets")) void slowSockets();

const large = await action("http_request", {
  url: `${own}/bomb`,
  maxBytes: 100_000_000,
  responseExtract: "length(@)",
});
for (let n = 0; n < BOMB_RUNS && does("bombs"); n++) await run(large);

const pages = await action("http_request", {
  url: `${own}/rows`,
  responseExtract: "[].[length($[?id > `1`])]",
  pagination: { type: "page", maxPages: 40 },
});
if (does("pages")) await run(pages);

const list = `[${Array.from({ length: 60 }, (_, n) => n)}]`;
const slow = `${list}.all(a, ${list}.all(b, ${list}.all(c, a + b + c < 1000))) && false`;
const conditions = await action("conditional_branch", {
  branches: Array.from({ length: BRANCHES }, (_, n) => ({ key: `b${n}`, when: `${slow} || ${n} < 0` })),
  else: "none",
});
for (let n = 0; n < BRANCH_RUNS && does("conditions"); n++) await run(conditions);

const scripts = await Promise.all(
  SCRIPTS.map((source) => action("run_script", { source, timeoutSeconds: 60 })),
);
for (let n = 0; n < SCRIPT_RUNS && does("scripts"); n++) for (const script of scripts) await run(script);

console.log(JSON.stringify({ origin: own }));
