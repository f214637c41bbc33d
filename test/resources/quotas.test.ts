import { describe, expect, test } from "bun:test";
import { startDueSchedules } from "../../src/flows/due.ts";
import { says, startModel } from "../peers/model.ts";
import { startApp } from "../support/app.ts";
import { eventually } from "../support/outbound.ts";
import { startReceiver } from "../support/receiver.ts";
import { runToEnd } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const allow = async (app: Started, quotas: object) => {
  const place = `/api/v1/installation/organizations/${app.ids.organizationId}`;
  expect((await app.owner("PATCH", place, { quotas })).status).toBe(200);
};

const made = async (app: Started, kind: string, definition: object) =>
  (await app.owner("POST", "/api/v1/actions", { name: "A", kind, definition })).body.id as string;
const run = (app: Started, id: string) => app.owner("POST", `/api/v1/actions/${id}/run`);
const statusOf = async (app: Started, id: string) =>
  (await app.owner("GET", `/api/v1/action-runs/${id}`)).body.status as string;

const past = (quota: string) => ({
  status: 429,
  body: expect.objectContaining({ code: "quota_exceeded", detail: expect.stringContaining(quota) }),
});

describe("beyond its quota", () => {
  test("of queued runs, an organization starts no more, and a schedule's run says so", async () => {
    await using app = await startApp({ engine: false });
    await allow(app, { queuedRuns: 2 });
    const id = await made(app, "duckdb_transform", { sql: "select 1 as one" });
    expect([(await run(app, id)).status, (await run(app, id)).status]).toEqual([201, 201]);
    expect(await run(app, id)).toMatchObject(past("queuedRuns"));
    const automation = await app.owner("POST", "/api/v1/automations", {
      name: "A",
      triggerType: "manual",
      config: { steps: [{ key: "s", actionId: id }] },
    });
    const started = await app.owner("POST", `/api/v1/automations/${automation.body.id}/run`);
    expect(started).toMatchObject(past("queuedRuns"));
    const scheduled = await app.owner("POST", "/api/v1/automations", {
      name: "S",
      triggerType: "schedule",
      config: { schedule: { cron: "* * * * *" }, steps: [{ key: "s", actionId: id }] },
    });
    app.clock.turn(61_000);
    await startDueSchedules(app.app, 120_000);
    const [refused] = (await app.owner("GET", `/api/v1/automations/${scheduled.body.id}/runs`)).body.runs;
    expect([refused.status, refused.error.code]).toEqual(["failed", "quota_exceeded"]);
    await allow(app, { queuedRuns: null });
    expect((await run(app, id)).status).toBe(201);
  });

  test("of running runs, the others wait for their turn, and none fails", async () => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    let most = 0;
    let now = 0;
    await using receiver = startReceiver(async () => {
      most = Math.max(most, ++now);
      await gate;
      now--;
      return Response.json({});
    });
    await using app = await startApp();
    await allow(app, { concurrentRuns: 2 });
    const id = await made(app, "http_request", { url: receiver.url });
    const ids = await Promise.all([1, 2, 3, 4, 5].map(async () => (await run(app, id)).body.id as string));
    await eventually(() => now === 2);
    const statuses = await Promise.all(ids.map((each) => statusOf(app, each)));
    expect(statuses.filter((status) => status === "pending")).toHaveLength(3);
    open();
    for (const each of ids) await eventually(async () => (await statusOf(app, each)) === "completed");
    expect(most).toBe(2);
  });

  test("of queries, another one is rejected, and accepted when one has ended", async () => {
    await using app = await startApp({ engine: false });
    await allow(app, { concurrentQueries: 1 });
    const ask = (sql: string) => app.owner("POST", "/api/v1/query", { sql });
    const leave = new AbortController();
    const begin = () =>
      fetch(`${app.origin}/api/v1/query`, {
        method: "POST",
        headers: { authorization: `Bearer ${app.token}`, "content-type": "application/json" },
        body: JSON.stringify({ sql: "select count(*) as n from range(9000000000) a where sin(a.range) > 2" }),
        signal: leave.signal,
      }).catch(() => undefined);
    const hold = async () => {
      while ((await begin())?.status === 429); // A short one had the slot.
    };
    const long = hold();
    const refusal = past("concurrentQueries");
    await eventually(async () => (await ask("select 1 as one")).status === 429);
    expect(await ask("select 1 as one")).toMatchObject(refusal);
    leave.abort();
    await long;
    await eventually(async () => (await ask("select 1 as one")).status === 200);
  });

  test("of storage, loads, uploads and artifacts are rejected, but not what reduces it", async () => {
    await using app = await startApp();
    const upload = (rows: number) =>
      app.owner(
        "PUT",
        "/api/v1/datasets/raw/shop/upload?format=csv&writeDisposition=replace",
        `id,text\n${Array.from({ length: rows }, () => `${Math.random()},${crypto.randomUUID()}`).join("\n")}\n`,
        { "content-type": "text/csv" },
      );
    expect((await upload(2000)).status).toBe(201);
    await allow(app, { storageBytes: 1000 });
    expect(await upload(3000)).toMatchObject(past("storageBytes"));
    expect((await upload(10)).status).toBe(201);
    const load = await made(app, "duckdb_transform", {
      sql: "select range as n, uuid() as u from range(5000)",
      output: { layer: "marts", dataset: "numbers" },
    });
    const ended = await runToEnd(app.owner, load);
    expect([ended.status, ended.error.code]).toEqual(["failed", "quota_exceeded"]);
    expect(ended.error.message).toContain("storageBytes");
    const content = "x".repeat(5000);
    const artifact = { actionRunId: ended.id, kind: "text", title: "t", content };
    expect(await app.owner("POST", "/api/v1/artifacts", artifact)).toMatchObject(past("storageBytes"));
    const files = await app.owner("POST", "/api/v1/connections", {
      name: "Files",
      provider: "local_files",
      config: { root: "in" },
    });
    const put = await app.owner("PUT", `/api/v1/connections/${files.body.id}/files?path=a.txt`, content, {
      "content-type": "application/octet-stream",
    });
    expect(put).toMatchObject(past("storageBytes"));
  });

  test("of storage, files are written up to it, by concurrent requests and by runs", async () => {
    await using app = await startApp();
    const folder = async (root: string) =>
      (
        await app.owner("POST", "/api/v1/connections", {
          name: root,
          provider: "local_files",
          config: { root },
        })
      ).body.id as string;
    const [from, to] = [await folder("from"), await folder("to")];
    const put = (name: string, bytes: number) =>
      app.owner("PUT", `/api/v1/connections/${from}/files?path=${name}`, "x".repeat(bytes), {
        "content-type": "application/octet-stream",
      });
    expect((await put("first", 4000)).status).toBe(201);
    await allow(app, { storageBytes: 7000 });
    const many = await Promise.all(Array.from({ length: 10 }, (_, n) => put(`more-${n}`, 900)));
    expect(many.filter(({ status }) => status === 201)).toHaveLength(3);
    for (const each of many.filter(({ status }) => status !== 201))
      expect(each).toMatchObject(past("storageBytes"));
    const write = {
      sql: "select range as n from range(5000)",
      output: { connectionId: to, path: "numbers.csv", format: "csv" },
    };
    const ended = await runToEnd(app.owner, await made(app, "duckdb_transform", write));
    expect([ended.status, ended.error.code]).toEqual(["failed", "quota_exceeded"]);
    const copy = { source: { connectionId: from, path: "/" }, destination: { connectionId: to, path: "/" } };
    const copied = await runToEnd(app.owner, await made(app, "file_sync", copy));
    expect(JSON.stringify(copied)).toContain("storageBytes");
    expect((await app.owner("GET", `/api/v1/connections/${to}/files`)).body.items).toEqual([]);
    await allow(app, { storageBytes: null });
    expect((await put("last", 9000)).status).toBe(201);
  });

  test("of tokens, no model is called", async () => {
    let asked = 0;
    await using model = await startModel(() => {
      asked++;
      return says("Yes.");
    });
    await using app = await startApp({ env: model.env });
    await allow(app, { llmTokensPerDay: 0 });
    const spec = await app.owner("POST", "/api/v1/agents/specs", {
      markdown: "---\nname: Helper\n---\nYou help.",
    });
    const id = await made(app, "call_agent", { agent: spec.body.slug ?? "helper", prompt: "Hello" });
    const ended = await runToEnd(app.owner, id);
    expect([ended.status, ended.error?.code, asked]).toEqual(["failed", "quota_exceeded", 0]);
    expect(ended.error.message).toContain("llmTokensPerDay");
  });
});

test("private addresses are open to the organization that an operator allows them, and to no other", async () => {
  await using receiver = startReceiver(() => Response.json({ ok: true }));
  await using app = await startApp({ env: { WEIR_EGRESS_ALLOW: "" } });
  const id = await made(app, "http_request", { url: receiver.url });
  const refused = await runToEnd(app.owner, id);
  expect([refused.status, refused.error.code]).toEqual(["failed", "egress_blocked"]);
  const other = (await app.owner("POST", "/api/v1/organizations", { name: "Other" })).body;
  const place = (organizationId: string) => `/api/v1/installation/organizations/${organizationId}`;
  await app.owner("PATCH", place(other.id), { egressAllow: ["127.0.0.0/8"] });
  expect((await runToEnd(app.owner, id)).error.code).toBe("egress_blocked");
  await app.owner("PATCH", place(app.ids.organizationId), { egressAllow: ["127.0.0.0/8"] });
  expect((await runToEnd(app.owner, id)).status).toBe("completed");
  await app.owner("PATCH", place(app.ids.organizationId), { egressAllow: [] });
  expect((await runToEnd(app.owner, id)).error.code).toBe("egress_blocked");
});
