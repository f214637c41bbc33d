import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import { getTableName } from "drizzle-orm";
import { LEFT_OUT, NOUNS } from "../../src/resources/organization-export/nouns.ts";
import { openTerminal } from "../cli/terminal.ts";
import { calls } from "../peers/model.ts";
import { type Client, client, startApp } from "../support/app.ts";
import { besideOf } from "../support/beside.ts";
import { ask, makeThread, startChat } from "../support/chat.ts";
import { eventually } from "../support/outbound.ts";
import { browser, join } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { startSqld } from "../support/sqld.ts";
import { putLatin1 } from "../support/sync.ts";
import { created, makeAction, makeAutomation } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const EXPORT = "/api/v1/organizations/current/export";
const SECRET = "correct-horse-secret";
const LONG = "Zürich".repeat(20);

/** An archive, unpacked by the system's own tar. `await using` removes it. */
async function exported(weir: Started, headers: Record<string, string>) {
  const reply = await fetch(weir.origin + EXPORT, { headers });
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/x-tar"]);
  const folder = mkdtempSync(path(tmpdir(), "weir-export-"));
  const bytes = new Uint8Array(await reply.arrayBuffer());
  writeFileSync(path(folder, "all.tar"), bytes);
  const to = path(folder, "all");
  mkdirSync(to);
  const tar = Bun.spawnSync(["tar", "-xf", path(folder, "all.tar"), "-C", to]);
  expect([tar.exitCode, tar.stderr.toString()]).toEqual([0, ""]);
  const manifest = JSON.parse(readFileSync(path(to, "manifest.json"), "utf8"));
  return {
    bytes,
    manifest,
    to,
    rows: (name: string) =>
      readFileSync(path(to, `${name}.jsonl`), "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

const definition = (canary: string) => ({ sql: `select '${canary}' as told` });

/** Creates some of everything, with `canary` in it. */
async function fill(weir: Started, call: Client, canary: string, organizationId: string) {
  const connection = created(
    await call("POST", "/api/v1/connections", {
      name: `Warehouse ${canary}`,
      provider: "postgres",
      config: { host: "127.0.0.1", port: 1, database: canary },
      credentials: { user: "ada", password: `${SECRET}-${canary}` },
    }),
  );
  const files = created(
    await call("POST", "/api/v1/connections", {
      name: "Files",
      provider: "local_files",
      config: { root: "in" },
    }),
  );
  const put = (name: string, text: string) =>
    call("PUT", `/api/v1/connections/${files.id}/files?path=${encodeURIComponent(name)}`, text, {
      "content-type": "application/octet-stream",
    });
  expect((await put(`deep/${LONG}.txt`, `${canary} in a file`)).status).toBeLessThan(300);
  await put("empty.txt", "");
  await call("PUT", "/api/v1/datasets/raw/shop/upload?format=csv", `id,name\n1,${canary}\n`, {
    "content-type": "text/csv",
  });
  const action = created(
    await call("POST", "/api/v1/actions", {
      name: `Load ${canary}`,
      kind: "duckdb_transform",
      definition: definition(canary),
    }),
  );
  const run = created(await call("POST", `/api/v1/actions/${action.id}/run`));
  await eventually(
    async () => (await call("GET", `/api/v1/action-runs/${run.id}`)).body.status === "completed",
  );
  created(
    await call("POST", "/api/v1/artifacts", {
      actionRunId: run.id,
      kind: "text",
      title: canary,
      content: canary.repeat(100_000),
    }),
  );
  const automation = created(
    await call("POST", "/api/v1/automations", {
      name: `Hook ${canary}`,
      triggerType: "webhook",
      config: {
        path: "orders",
        auth: { type: "bearer", token: `${SECRET}-token-${canary}` },
        steps: [{ key: "s", actionId: action.id }],
      },
    }),
  );
  const sent = await weir.anonymous(
    "POST",
    `/webhooks/${organizationId}/orders`,
    { order: canary },
    { authorization: `Bearer ${SECRET}-token-${canary}` },
  );
  expect(sent.status).toBe(200);
  await eventually(
    async () =>
      (await call("GET", `/api/v1/automations/${automation.id}/runs`)).body.runs[0]?.status === "completed",
  );
  created(
    await call("POST", "/api/v1/webhooks", {
      url: `https://example.com/${canary}`,
      events: ["action.created"],
    }),
  );
  const key = created(await call("POST", "/api/v1/api-keys", { name: `Key ${canary}` }));
  const invited = created(
    await call("POST", "/api/v1/organizations/invitations", {
      email: `${canary}@example.com`,
      roleSlug: "viewer",
    }),
  );
  const markdown = `---\nname: Agent\n---\nYou help ${canary}.`;
  const spec = created(await call("POST", "/api/v1/agents/specs", { markdown }));
  const thread = created(
    await call("POST", "/api/v1/chat/threads", { agentSpecId: spec.id, title: `Chat ${canary}` }),
  );
  return { connection, action, run, automation, key, invited, spec, thread };
}

test("an organization's archive has all of its data, nothing of another, and no credential", async () => {
  await using weir = await startApp();
  const other = created(await weir.owner("POST", "/api/v1/organizations", { name: "Other" }));
  const there = client(weir.origin, {
    authorization: `Bearer ${weir.token}`,
    "x-organization-id": other.id,
  });
  const own = await fill(weir, weir.owner, "nightingale", weir.ids.organizationId);
  await fill(weir, there, "cormorant", other.id);
  const colleague = await join(weir, "member");
  created(
    await colleague.call("POST", "/api/v1/chat/threads", {
      agentSpecId: own.spec.id,
      title: "Between us: kingfisher",
    }),
  );

  using archive = await exported(weir, { authorization: `Bearer ${weir.token}` });
  const { manifest, rows, bytes, to } = archive;
  expect(manifest).toMatchObject({ format: 1, organization: { id: weir.ids.organizationId, name: "Acme" } });

  // All sums and counts are right, and every file is in the manifest.
  const there_ = readdirSync(to, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path(entry.parentPath, entry.name).slice(to.length + 1));
  const listed = manifest.files.map((file: { path: string }) => file.path);
  expect(there_.sort()).toEqual([...listed, "manifest.json"].sort());
  for (const file of manifest.files) {
    const content = readFileSync(path(to, file.path));
    expect([file.path, content.length]).toEqual([file.path, file.bytes]);
    expect(createHash("sha256").update(content).digest("hex")).toBe(file.sha256);
    if (file.rows !== undefined)
      expect(content.toString().split("\n").filter(Boolean)).toHaveLength(file.rows);
  }

  // Nothing of the other organization, no secret, nothing private.
  const text = Buffer.from(bytes).toString("latin1");
  for (const hidden of ["cormorant", other.id, SECRET, own.key.key, weir.token, "kingfisher"])
    expect([hidden, text.includes(hidden)]).toEqual([hidden, false]);
  expect(/"sealed[A-Z]|okenHash|[$]argon2/.test(text)).toBe(false);
  const token = new URL(own.invited.inviteUrl).searchParams.get("token") ?? "";
  expect(text).not.toContain(token);

  // As many rows as the database has for this organization.
  await using beside = await besideOf(weir);
  for (const { name, table, where } of NOUNS) {
    if (where !== undefined || name === "events") continue;
    const [count] = await beside.rows<{ n: number }>(
      `SELECT count(*) AS n FROM "${getTableName(table)}" WHERE organization_id = ?`,
      weir.ids.organizationId,
    );
    expect([name, rows(name).length]).toEqual([name, count?.n ?? 0]);
  }
  expect(rows("members").map(({ email }) => email)).toContain("ada@example.com");
  expect(rows("connections").map(({ name }) => name)).toContain("Warehouse nightingale");
  expect(rows("actions")[0]).toMatchObject({ id: own.action.id, definition: definition("nightingale") });
  expect(rows("action-runs").map(({ id }) => id)).toContain(own.run.id);
  expect(rows("run-logs").length).toBeGreaterThan(0);
  expect(rows("webhook-deliveries")).toHaveLength(1);
  expect(rows("automation-runs")[0]).toMatchObject({ automationId: own.automation.id, status: "completed" });
  expect(rows("chat-threads")).toEqual([expect.objectContaining({ id: own.thread.id })]);
  const events = rows("events");
  expect(events.at(-1)).toMatchObject({
    type: "organization.exported",
    entity: { type: "organization", id: weir.ids.organizationId },
    actor: { id: weir.ids.userId },
  });
  const { items } = (await weir.owner("GET", `/api/v1/events?limit=200&order=asc`)).body;
  expect(events).toEqual(items.slice(0, events.length));

  // Files: the lake's Parquet, artifacts, and those of local_files with names of any length.
  const [parquet] = readdirSync(path(to, "lake/raw/shop"), { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile(),
  );
  const file = readFileSync(path(parquet?.parentPath ?? "", parquet?.name ?? ""));
  expect(file.subarray(0, 4).toString()).toBe("PAR1");
  expect(readFileSync(path(to, `files/in/deep/${LONG}.txt`), "utf8")).toBe("nightingale in a file");
  expect(readFileSync(path(to, "files/in/empty.txt"), "utf8")).toBe("");
  const [artifact] = readdirSync(path(to, "artifacts"));
  expect(readFileSync(path(to, "artifacts", artifact ?? ""), "utf8")).toBe("nightingale".repeat(100_000));
}, 120_000);

deepTest(
  "what private chats ran is only in their own user's archive",
  async () => {
    const told = "moonlighting";
    await using chat = await startChat([
      calls("action_sum", { a: told }),
      calls("automation_flow", { input: { n: told } }),
      calls("action_send", { to: told }),
    ]);
    const { app: weir } = chat;
    const other = await join(weir, "owner");
    await makeAction(weir.owner, {
      slug: "sum",
      kind: "duckdb_transform",
      definition: { sql: "SELECT {{input.a}} AS told" },
    });
    const flow = { kind: "duckdb_transform", definition: { sql: "SELECT {{input.n}} AS told" } };
    await makeAutomation(weir.owner, { action: flow }, { name: "flow" });
    await makeAction(weir.owner, {
      slug: "send",
      kind: "http_request",
      definition: { method: "POST", url: "http://127.0.0.1:1/", body: { to: "{{input.to}}" } },
    });
    const { at } = await makeThread(chat, ["action:sum", "automation:flow", "action:send"]);
    await ask(chat, at, { content: `Of my ${told}` });

    using mine = await exported(weir, { authorization: `Bearer ${weir.token}` });
    expect(Buffer.from(mine.bytes).includes(told)).toBe(true);
    expect([mine.rows("action-runs").length, mine.rows("automation-runs").length]).toEqual([3, 1]);
    expect(JSON.stringify(mine.rows("decisions"))).toContain(told);
    using theirs = await exported(weir, { authorization: `Bearer ${other.token}` });
    expect(Buffer.from(theirs.bytes).includes(told)).toBe(false);
    const runs = theirs.rows("action-runs");
    expect(runs.map((run) => Object.keys(run).sort())).toEqual(
      runs.map(() => ["completedAt", "createdAt", "id", "kind", "startedAt", "status", "triggerMethod"]),
    );
    for (const noun of ["action-runs", "automation-runs", "decisions"])
      expect(theirs.rows(noun)).toHaveLength(mine.rows(noun).length);
  },
  120_000,
);

test("only an owner exports an organization, with a token of every scope at most", async () => {
  await using weir = await startApp({ engine: false });
  const admin = await join(weir, "admin");
  expect((await admin.call("GET", EXPORT)).status).toBe(403);
  const reader = created(
    await weir.owner("POST", "/api/v1/access-tokens", { name: "reads", scopes: ["read"] }),
  );
  const refused = await client(weir.origin, { authorization: `Bearer ${reader.token}` })("GET", EXPORT);
  expect([refused.status, refused.body.code]).toEqual([403, "scope_missing"]);
  const tab = browser(weir.origin);
  await tab.signIn();
  expect((await tab.call("GET", EXPORT)).status).toBe(200);
  expect((await weir.owner("GET", "/api/v1/events?type=organization.exported")).body.items).toHaveLength(1);
  for (let n = 0; n < 4; n++) expect((await weir.owner("GET", EXPORT)).status).toBe(200);
  const many = await weir.owner("GET", EXPORT);
  expect([many.status, many.body.code]).toEqual([429, "rate_limited"]);
});

test("many rows continue in further files, and rows of any size are complete", async () => {
  await using weir = await startApp({ engine: false });
  const at = weir.app.clock.now().toISOString();
  const { organizationId } = weir.ids;
  const big = "x".repeat(600_000);
  await weir.app.store.write(async (db) => {
    const insert = db.statement(
      `INSERT INTO webhook_deliveries (id, organization_id, automation_id, status, attempts, received_at, updated_at, headers, payload, is_kept)
       VALUES (?, ?, 'a', 'processed', 1, ?, ?, ?, ?, 1)`,
    );
    for (let n = 0; n < 12; n++) {
      const headers = JSON.stringify({ authorization: SECRET, note: n === 0 ? big : "" });
      await insert([`d${n}`, organizationId, at, at, headers, JSON.stringify({ n, big })]);
    }
    const log = db.statement(
      "INSERT INTO delivery_attempts (delivery_id, number, started_at) VALUES (?, ?, ?)",
    );
    for (let n = 0; n < 12; n++) for (let k = 1; k <= 40; k++) await log([`d${n}`, k, at]);
  });
  using archive = await exported(weir, { authorization: `Bearer ${weir.token}` });
  const { rows, to, manifest } = archive;
  const names = readdirSync(to).filter((name) => name.startsWith("webhook-deliveries"));
  expect(names.length).toBeGreaterThan(1);
  const all = names.sort().flatMap((name) => rows(name.replace(".jsonl", "")));
  expect(all.map(({ payload }) => payload.n).sort((a, b) => a - b)).toEqual([...Array(12).keys()]);
  expect(all.every(({ payload, headers }) => payload.big === big && headers.authorization === "***")).toBe(
    true,
  );
  expect(all.find(({ id }) => id === "d0").headers.note).toBe(big);
  expect(rows("webhook-delivery-attempts")).toHaveLength(12 * 40);
  expect(manifest.leftOut.map(({ what }: { what: string }) => what)).not.toContain("webhook-deliveries");
}, 120_000);

test("the archive's audit log says which events are redacted", async () => {
  await using weir = await startApp({ engine: false });
  const { call, user } = await join(weir, "member");
  created(await call("POST", "/api/v1/access-tokens", { name: "hers" }));
  await weir.owner("DELETE", `/api/v1/installation/users/${user.id}`, { confirm: user.email });
  using archive = await exported(weir, { authorization: `Bearer ${weir.token}` });
  const [made] = archive.rows("events").filter(({ actor }) => actor.id === user.id);
  expect(made).toMatchObject({
    actor: { type: "user", id: user.id },
    data: {},
    redactedAt: expect.any(String),
  });
  expect(Buffer.from(archive.bytes).includes(user.email)).toBe(false);
});

deepTest("an organization on a libSQL server is exported too", async () => {
  await using server = await startSqld();
  await using weir = await startApp({ engine: false, env: { WEIR_DATABASE_URL: server.url } });
  created(
    await weir.owner("POST", "/api/v1/actions", {
      name: "A",
      kind: "duckdb_transform",
      definition: definition("a"),
    }),
  );
  using archive = await exported(weir, { authorization: `Bearer ${weir.token}` });
  expect(archive.rows("actions")).toHaveLength(1);
  expect(archive.rows("events").length).toBeGreaterThan(2);
});

test("files whose names can't be decoded, and deleted ones, are left out with a reason, and the rest is complete", async () => {
  await using weir = await startApp();
  const folder = path(weir.dataFolder, "files", weir.ids.organizationId);
  mkdirSync(path(folder, "in"), { recursive: true });
  writeFileSync(path(folder, "in", "a.bin"), "");
  truncateSync(path(folder, "in", "a.bin"), 64 * 1024 * 1024);
  writeFileSync(path(folder, "in", "late.txt"), "late");
  writeFileSync(path(folder, "in", "z.txt"), "kept");
  putLatin1(folder, "in/Müller.txt", "a");
  putLatin1(folder, "in/Köln/b.txt", "b");

  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${weir.token}` };
    get(weir.origin + EXPORT, { headers }, resolve).on("error", reject);
  });
  let tail = Buffer.alloc(0);
  let isGone = false;
  for await (const chunk of reply) {
    tail = Buffer.concat([tail, chunk]).subarray(-64 * 1024);
    if (isGone || !tail.includes("files/in/a.bin")) continue;
    rmSync(path(folder, "in", "late.txt")); // the large file before it isn't read yet
    isGone = true;
  }
  const text = tail.toString("latin1");
  expect(text).toContain("files/in/z.txt");
  const manifest = JSON.parse(
    Buffer.from(
      text.slice(text.lastIndexOf('{\n  "format"'), text.lastIndexOf("}") + 1),
      "latin1",
    ).toString(),
  );
  expect(manifest.leftOut.filter(({ what }: { what: string }) => what.startsWith("files/"))).toEqual([
    { what: "files/in/K\ufffdln", why: "Its name is not valid UTF-8. Rename it." },
    { what: "files/in/M\ufffdller.txt", why: "Its name is not valid UTF-8. Rename it." },
    { what: "files/in/late.txt", why: "It was deleted during the export." },
  ]);
});

test("weir organization export writes the archive to a new file", async () => {
  await using weir = await startApp({ engine: false });
  using shell = openTerminal(weir.origin, weir.token);
  const folder = mkdtempSync(path(tmpdir(), "weir-export-"));
  const file = path(folder, "acme.tar");
  const { code, json } = await shell.run("organization", "export", "-o", file, "--json");
  expect([code, json]).toEqual([0, { output: file, bytes: readFileSync(file).length }]);
  const listed = Bun.spawnSync(["tar", "-tf", file]).stdout.toString().trim().split("\n");
  expect([listed[0], listed.at(-1)]).toEqual(["organization.jsonl", "manifest.json"]);
  const again = await shell.run("organization", "export", "-o", file);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining("already")]);
  rmSync(folder, { recursive: true });
});

test("every table with rows of organizations is exported, or left out with a reason", async () => {
  await using weir = await startApp({ engine: false });
  await using beside = await besideOf(weir);
  const owned = await beside.rows<{ name: string }>(
    `SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'organization_id'
     WHERE m.type = 'table' ORDER BY m.name`,
  );
  expect(owned.length).toBeGreaterThan(30);
  const known = new Set([...NOUNS.map(({ table }) => getTableName(table)), ...Object.keys(LEFT_OUT)]);
  expect(owned.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
});
