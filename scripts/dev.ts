/**
 * Runs Weir from source with the demo's data: `bun run dev [--port 8484] [--data weir-data/dev]`.
 * It restarts when a file in src/ or web/ changes, and then reloads open pages.
 * Each start of this script gives the owner of the sample workspace a new password and prints it.
 */
import { existsSync, watch } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../test/support/postgres.ts";

const EMAIL = "owner@kettle-and-leaf.example";
const RELOADER = "/__reload";
/** Editors write a file more than once. */
const SETTLE_MS = 100;

const root = join(import.meta.dir, "..");
const { values: flags } = parseArgs({
  options: { port: { type: "string", default: "8484" }, data: { type: "string", default: "weir-data/dev" } },
});
const { port, data } = flags;
const origin = `http://127.0.0.1:${port}`;
const weir = (...words: string[]) => [process.execPath, join(root, "src/main.ts"), ...words, "--data", data];

if (!existsSync(join(data, "weir.db"))) {
  console.log("Making the demo's data, once …");
  const made = Bun.spawnSync(weir("demo", "--once"), { stdio: ["ignore", "ignore", "inherit"] });
  if (made.exitCode !== 0) process.exit(1);
}
const password = Buffer.from(crypto.getRandomValues(new Uint8Array(12))).toString("base64url");
const reset = Bun.spawnSync(weir("reset-password", EMAIL, "--password-stdin"), {
  stdin: Buffer.from(password),
  stdout: "ignore",
  stderr: "inherit",
});
if (reset.exitCode !== 0) process.exit(1);

const own = String(await freePort());
const upstream = `http://127.0.0.1:${own}`;
let server: Bun.Subprocess | null = null;
/** Pages that wait for a change. */
const pages = new Set<ReadableStreamDefaultController<string>>();

/** Replaces the running server, and reloads the pages once it responds. */
async function restart(): Promise<void> {
  server?.kill();
  await server?.exited;
  const started = Bun.spawn(weir("serve", "--port", own), {
    env: { ...process.env, WEIR_BASE_URL: origin },
    stdio: ["ignore", "inherit", "inherit"],
  });
  server = started;
  while (started.exitCode === null) {
    const reply = await fetch(`${upstream}/health`).catch(() => null); // Not up yet.
    if (reply?.ok) break;
    await Bun.sleep(50);
  }
  for (const page of pages) page.enqueue("data: changed\n\n");
}

/** Forwards a request. A page also gets a script that waits for changes. */
async function forward(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const asked = new Headers(request.headers);
  asked.set("accept-encoding", "identity");
  const reply = await fetch(upstream + pathname + search, {
    method: request.method,
    headers: asked,
    body: request.body,
    redirect: "manual",
  });
  if (!reply.headers.get("content-type")?.startsWith("text/html")) return reply;
  const headers = new Headers(reply.headers);
  for (const name of ["content-length", "etag"]) headers.delete(name);
  const html = await reply.text();
  const body = html.replace("</head>", `<script src="${RELOADER}.js"></script></head>`);
  return new Response(body, { status: reply.status, headers });
}

/** Sends `changed` after each restart, until the page disconnects. */
function changes(): ReadableStream<string> {
  let own: ReadableStreamDefaultController<string> | null = null;
  return new ReadableStream({
    start(page) {
      own = page;
      pages.add(page);
    },
    cancel: () => void (own && pages.delete(own)),
  });
}

Bun.serve({
  port: Number(port),
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === RELOADER)
      return new Response(changes().pipeThrough(new TextEncoderStream()), {
        headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
      });
    if (pathname === `${RELOADER}.js`)
      return new Response(`new EventSource("${RELOADER}").onmessage = () => location.reload();`, {
        headers: { "content-type": "text/javascript" },
      });
    return forward(request).catch(() => new Response("Weir is starting; reload this page.", { status: 503 }));
  },
});

let settling: ReturnType<typeof setTimeout> | undefined;
let restarting = restart();
for (const folder of ["src", "web", "migrations"])
  watch(join(root, folder), { recursive: true }, () => {
    clearTimeout(settling);
    settling = setTimeout(() => {
      restarting = restarting.then(restart);
    }, SETTLE_MS);
  });
process.on("SIGINT", () => {
  server?.kill();
  process.exit(0);
});
await restarting;
console.log(`${origin} as ${EMAIL} with the password ${password}`);
