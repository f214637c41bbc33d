import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join as path } from "node:path";
import { Glob } from "bun";
import { sweeper } from "../../src/engine/sweeper.ts";
import { client, startApp } from "../support/app.ts";
import { besideOf } from "../support/beside.ts";
import { eventually } from "../support/outbound.ts";
import { join } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const CURRENT = "/api/v1/organizations/current";
const INSTALLATION = "/api/v1/installation/organizations";
const DAY = 24 * 60 * 60 * 1000;
const MINUTE = 60_000;

/** Another organization of the operator, with a client for it. */
async function second(app: Started) {
  const { body } = await app.owner("POST", "/api/v1/organizations", { name: "Second", slug: "second" });
  const inside = client(app.origin, {
    authorization: `Bearer ${app.token}`,
    "x-organization-id": body.id,
  });
  return { id: body.id as string, call: inside };
}

const slow = {
  name: "Gate",
  kind: "approval_gate",
  definition: { title: "Go on?" },
};

test("an owner removes an organization with its name, and everything of it ends immediately", async () => {
  await using receiver = startReceiver(() => new Response());
  await using app = await startApp();
  const { id, call } = await second(app);
  const admin = await join(app, "admin", id);
  const bearer = (token: string) => client(app.origin, { authorization: `Bearer ${token}` });
  const pat = bearer((await call("POST", "/api/v1/access-tokens", { name: "p" })).body.token);
  const key = (await call("POST", "/api/v1/api-keys", { name: "k" })).body.key;
  const byKey = client(app.origin, { "x-api-key": key });
  const action = (await call("POST", "/api/v1/actions", slow)).body;
  const hook = await call("POST", "/api/v1/automations", {
    name: "A",
    triggerType: "webhook",
    config: {
      path: "orders",
      auth: { type: "bearer", token: "a-long-enough-token" },
      steps: [{ key: "s", actionId: action.id }],
    },
  });
  expect([hook.status, hook.text]).toEqual([201, expect.any(String)]);
  await call("POST", "/api/v1/webhooks", { url: receiver.url, events: ["organization.*", "action.*"] });
  const run = (await call("POST", `/api/v1/actions/${action.id}/run`)).body;
  await eventually(
    async () => (await call("GET", `/api/v1/action-runs/${run.id}`)).body.status === "waiting",
  );

  expect((await admin.call("DELETE", CURRENT, { confirm: "Second" })).status).toBe(403);
  const wrong = await call("DELETE", CURRENT, { confirm: "second" });
  expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ["body", "confirm"]]);
  const removed = await call("DELETE", CURRENT, { confirm: "Second" });
  expect([removed.status, removed.text]).toEqual([204, ""]);

  expect((await pat("GET", "/api/v1/actions")).status).toBe(401);
  expect((await byKey("GET", "/api/v1/actions")).status).toBe(401);
  expect((await call("GET", "/api/v1/actions")).status).toBe(403);
  expect((await admin.call("GET", "/api/v1/actions")).status).toBe(403);
  const mine = (await app.owner("GET", "/api/v1/organizations")).body.items;
  expect(mine.map(({ slug }: { slug: string }) => slug)).not.toContain("second");
  const sent = await app.anonymous(
    "POST",
    `/webhooks/${id}/orders`,
    {},
    { authorization: "Bearer a-long-enough-token" },
  );
  expect(sent.status).toBe(404);
  const taken = await app.owner("POST", "/api/v1/organizations", { name: "Other", slug: "second" });
  expect([taken.status, taken.body.code]).toEqual([409, "slug_taken"]);

  const shown = (await app.owner("GET", `${INSTALLATION}/${id}`)).body;
  expect(shown.removedAt).toMatch(/Z$/);
  const restored = await app.owner("POST", `${INSTALLATION}/${id}/restore`);
  expect([restored.status, restored.body.removedAt]).toEqual([200, null]);
  expect((await call("GET", `/api/v1/action-runs/${run.id}`)).body.status).toBe("cancelled");
  for (const each of [pat, byKey, admin.call])
    expect((await each("GET", "/api/v1/actions")).status).toBe(200);
  const told = (await call("GET", "/api/v1/events?type=organization.restored")).body.items;
  expect(told.map(({ entity }: { entity: object }) => entity)).toEqual([{ type: "organization", id }]);
  const again = await app.owner("POST", `${INSTALLATION}/${id}/restore`);
  expect([again.status, again.body.code]).toEqual([409, "invalid_state"]);
});

test("an organization that many requests remove at once is removed once, and restored with its members", async () => {
  await using app = await startApp({ engine: false });
  const { id, call } = await second(app);
  const remove = () => call("DELETE", CURRENT, { confirm: "Second" });
  const removed = await Promise.all(Array.from({ length: 5 }, remove));
  for (const { status } of removed) expect([204, 403]).toContain(status);
  expect((await app.owner("POST", `${INSTALLATION}/${id}/restore`)).status).toBe(200);
  const told = (await call("GET", "/api/v1/events?type=organization.removed")).body.items;
  expect(told).toHaveLength(1);
});

test("a removed organization starts nothing until it is restored", async () => {
  await using app = await startApp();
  const { id, call } = await second(app);
  const action = (
    await call("POST", "/api/v1/actions", {
      name: "One",
      kind: "duckdb_transform",
      definition: { sql: "select 1 as one" },
    })
  ).body;
  const scheduled = await call("POST", "/api/v1/automations", {
    name: "A",
    triggerType: "schedule",
    config: { schedule: { cron: "* * * * *" }, steps: [{ key: "s", actionId: action.id }] },
  });
  expect([scheduled.status, scheduled.text]).toEqual([201, expect.any(String)]);
  await call("DELETE", CURRENT, { confirm: "Second" });
  const witness = await app.owner("POST", "/api/v1/automations", {
    name: "A",
    triggerType: "schedule",
    config: {
      schedule: { cron: "* * * * *" },
      steps: [
        {
          key: "s",
          actionId: (
            await app.owner("POST", "/api/v1/actions", {
              name: "One",
              kind: "duckdb_transform",
              definition: { sql: "select 1 as one" },
            })
          ).body.id,
        },
      ],
    },
  });
  app.clock.turn(2 * MINUTE);
  const runsOf = async (by: typeof call, automation: string) =>
    (await by("GET", `/api/v1/automations/${automation}/runs`)).body.total as number;
  await eventually(async () => (await runsOf(app.owner, witness.body.id)) > 0);
  await app.owner("POST", `${INSTALLATION}/${id}/restore`);
  expect(await runsOf(call, scheduled.body.id)).toBe(0);
  app.clock.turn(2 * MINUTE);
  await eventually(async () => (await runsOf(call, scheduled.body.id)) > 0);
});

test("seven days after its removal, an organization is erased: rows, audit log and files", async () => {
  await using app = await startApp();
  const { id, call } = await second(app);
  const files = await call("POST", "/api/v1/connections", {
    name: "Files",
    provider: "local_files",
    config: { root: "in" },
  });
  expect(files.status).toBe(201);
  await call("PUT", `/api/v1/connections/${files.body.id}/files?path=a.csv`, "id\n1\n", {
    "content-type": "application/octet-stream",
  });
  const uploaded = await call("PUT", "/api/v1/datasets/raw/shop/upload?format=csv", "id\n1\n", {
    "content-type": "text/csv",
  });
  expect(uploaded.status).toBe(201);
  const parquet = () => [...new Glob("**/*.parquet").scanSync(path(app.dataFolder, "lake"))].length;
  expect(parquet()).toBe(1);
  const action = (await call("POST", "/api/v1/actions", slow)).body;
  const run = (await call("POST", `/api/v1/actions/${action.id}/run`)).body;
  await eventually(
    async () => (await call("GET", `/api/v1/action-runs/${run.id}`)).body.status === "waiting",
  );
  await call("DELETE", CURRENT, { confirm: "Second" });

  const sweep = async () => {
    const loop = sweeper(app.app);
    while ((await loop.tick(new AbortController().signal)) === "more");
  };
  app.clock.turn(6 * DAY);
  await sweep();
  expect((await app.owner("GET", `${INSTALLATION}/${id}`)).status).toBe(200);
  app.clock.turn(DAY);
  await sweep();
  expect((await app.owner("GET", `${INSTALLATION}/${id}`)).status).toBe(404);
  expect((await app.owner("POST", `${INSTALLATION}/${id}/restore`)).status).toBe(404);
  await using beside = await besideOf(app);
  const tables = await beside.rows<{ name: string }>(
    "select m.name from sqlite_master m join pragma_table_info(m.name) c on c.name = 'organization_id' where m.type = 'table'",
  );
  expect(tables.length).toBeGreaterThan(30);
  for (const { name } of tables)
    expect([
      name,
      await beside.rows(`select count(*) as n from "${name}" where organization_id = ?`, id),
    ]).toEqual([name, [{ n: name === "trail_seals" ? 1 : 0 }]]); // the proof of its erasure
  for (const [part, column, whole] of [
    ["run_logs", "run_id", "action_runs"],
    ["automation_versions", "automation_id", "automations"],
  ])
    expect([
      part,
      await beside.rows(`select count(*) as n from ${part} where ${column} not in (select id from ${whole})`),
    ]).toEqual([part, [{ n: 0 }]]);
  expect(existsSync(path(app.dataFolder, "files", id))).toBe(false);
  expect(parquet()).toBe(0);
  const verified = (await app.owner("GET", "/api/v1/events/verify")).body;
  expect(verified.valid).toBe(true);
  const reused = await app.owner("POST", "/api/v1/organizations", { name: "New", slug: "second" });
  expect(reused.status).toBe(201);
});
