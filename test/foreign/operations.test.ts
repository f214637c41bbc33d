import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { fetchProgram, hasDebian } from "../support/foreign.ts";
import { makeHook, sign } from "../support/hook.ts";
import { freePort } from "../support/postgres.ts";
import { isDeep } from "../support/scale.ts";
import { branch, makeAction, runToEnd } from "../support/work.ts";

const docs = join(import.meta.dir, "../../docs");
const operations = readFileSync(join(docs, "operations.md"), "utf8");

/** The examples of a language in docs/operations.md: one for a separate host name, one for a path. */
const [NGINX, CADDY] = ["nginx", "caddy"].map((language) =>
  [...operations.matchAll(new RegExp(`\`\`\`${language}\n(.+?)\`\`\``, "gs"))].map(([, text = ""]) => text),
);

/** An nginx configuration from the two examples of the documents. */
function nginxConfig(folder: string, port: number, upstream: string): string {
  const lines = /location \/ \{\n[^\n]*proxy_pass [^\n]*\n(.+?)\n {2}\}/s.exec(NGINX?.[0] ?? "")?.[1];
  const place = NGINX?.[1]?.replace("# and the same lines as above", lines ?? "none");
  for (const name of ["body", "proxy", "fastcgi", "uwsgi", "scgi"]) mkdirSync(join(folder, name));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name.replace("client_", "")};`)
    .join(" ");
  return `daemon off; user root; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log; events {}
http { access_log off; ${temporary}
  server { listen 127.0.0.1:${port}; client_max_body_size 1g;
${place?.replaceAll("127.0.0.1:8484", upstream)}
  } }`;
}

/** The same for Caddy, which doesn't request certificates here. */
function caddyConfig(port: number, upstream: string): string {
  const site = CADDY?.[1]?.replace("tools.example.com", `http://127.0.0.1:${port}`);
  return `{\n  admin off\n  auto_https off\n}\n${site?.replaceAll("127.0.0.1:8484", upstream)}`;
}

const PROXIES = [
  { name: "nginx", package: "nginx", program: "usr/sbin/nginx", way: "without its path" },
  { name: "nginx", package: "nginx", program: "usr/sbin/nginx", way: "with its path" },
  { name: "caddy", package: "caddy", program: "usr/bin/caddy", way: "without its path" },
  { name: "caddy", package: "caddy", program: "usr/bin/caddy", way: "with its path" },
];

test.skipIf(!isDeep || !hasDebian).each(PROXIES)(
  "$name, configured as documented, serves Weir below /weir, passed on $way",
  async ({ name, package: debian, program, way }) => {
    using fetched = fetchProgram(debian, program);
    const port = await freePort();
    const site = `http://127.0.0.1:${port}/weir`;
    await using weir = await startApp({
      env: { WEIR_BASE_URL: site, WEIR_TRUSTED_PROXIES: "127.0.0.1/32" },
    });
    const file = join(fetched.folder, "config");
    const upstream = new URL(weir.origin).host;
    const config =
      name === "nginx" ? nginxConfig(fetched.folder, port, upstream) : caddyConfig(port, upstream);
    const passed = config.replace(`${upstream}/;`, `${upstream};`).replace("handle_path", "handle");
    writeFileSync(file, way === "with its path" ? passed : config);
    const args = name === "nginx" ? ["-c", file] : ["run", "--config", file, "--adapter", "caddyfile"];
    const proxy = Bun.spawn([fetched.path, ...args], {
      env: { HOME: fetched.folder, PATH: process.env.PATH ?? "" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    try {
      const health = () =>
        fetch(`${site}/health`)
          .then(({ status }) => status)
          .catch(() => 0);
      while ((await health()) !== 200) {
        if (proxy.exitCode !== null) throw new Error(await new Response(proxy.stderr).text());
        await Bun.sleep(20);
      }
      await exercise(site, weir);
    } finally {
      proxy.kill("SIGTERM");
      await proxy.exited;
    }
  },
  120_000,
);

type Started = Awaited<ReturnType<typeof startApp>>;

/** What a user, a sender, a stream and an agent do at the address. */
async function exercise(site: string, weir: Started) {
  const headers = { authorization: `Bearer ${weir.token}` };
  const page = await (await fetch(`${site}/`, { headers: { accept: "text/html" } })).text();
  expect(page).toContain('<html data-base="/weir" lang="en">');
  for (const [, path] of page.matchAll(/ (?:href|src)="(\/[^"]*)"/g))
    expect([path, (await fetch(new URL(path ?? "", site))).status]).toEqual([path, 200]);

  const action = { kind: "conditional_branch", definition: branch() };
  const hook = await makeHook(weir, { action });
  expect(hook.webhookUrl).toStartWith(`${site}/webhooks/`);
  const events = await fetch(`${site}/api/v1/events/stream`, { headers });
  expect(events.headers.get("content-type")).toStartWith("text/event-stream");
  const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader();
  const sent = await fetch(hook.webhookUrl, {
    method: "POST",
    headers: { "content-type": "application/json", "x-svc-signature": `sha256=${sign("{}")}` },
    body: "{}",
  });
  expect(sent.status).toBe(200);
  // The stream arrives in pieces, while it stays open.
  let seen = "";
  while (!seen.includes("automation.completed")) seen += (await reader?.read())?.value;
  await reader?.cancel();

  const body = `n\n${"1\n".repeat(1_000_000)}`; // More than nginx accepts by default.
  const upload = `${site}/api/v1/datasets/raw/shop/upload?format=csv`;
  const uploaded = await fetch(upload, { method: "PUT", headers, body });
  expect([uploaded.status, await uploaded.text()]).toEqual([201, expect.stringContaining("1000000")]);

  const listed = await fetch(`${site}/mcp`, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  expect(await listed.text()).toContain('"query"');
}

test.skipIf(!isDeep || !hasDebian)(
  "promtool reports nothing for the metrics",
  async () => {
    using fetched = fetchProgram("prometheus", "usr/bin/promtool");
    await using weir = await startApp();
    const { id } = await makeAction(weir.owner, { definition: branch() });
    await runToEnd(weir.owner, id);
    const { text } = await weir.anonymous("GET", "/metrics");
    expect(text).toContain('weir_runs_total{kind="conditional_branch",status="completed"} 1');
    const check = (metrics: string) => {
      const { exitCode, stdout, stderr } = Bun.spawnSync([fetched.path, "check", "metrics"], {
        stdin: Buffer.from(metrics),
      });
      return [exitCode, `${stdout}${stderr}`];
    };
    expect(check(text)).toEqual([0, ""]);
    expect(check(text.replace("weir_queue_depth", "weir queue"))[0]).not.toBe(0);
  },
  120_000,
);
