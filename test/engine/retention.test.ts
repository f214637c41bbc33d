import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { sweeper } from "../../src/engine/sweeper.ts";
import { automationRunItems } from "../../src/resources/automations/table.ts";
import { type Client, client, startApp } from "../support/app.ts";
import { gate, openDecision } from "../support/decisions.ts";
import { makeHook, send } from "../support/hook.ts";
import { deliveriesOf, happen, newest, subscribe } from "../support/outbound.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  flowToEnd,
  makeAction,
  makeAutomation,
  RUNS,
  runToEnd,
} from "../support/work.ts";

const DAY = 86_400_000;
const LETTERS = "/api/v1/dead-letters";
const DELIVERIES = "/api/v1/webhook-deliveries";

/** A server, and its owner with a token that outlasts the test's years. */
async function startLong(env: Record<string, string> = {}) {
  const app = await startApp({ env });
  const { token } = created(
    await app.owner("POST", "/api/v1/access-tokens", { name: "long", expiresInDays: 365 }),
  );
  const owner = client(app.origin, { authorization: `Bearer ${token}` });
  return { ...app, owner };
}
type Long = Awaited<ReturnType<typeof startLong>>;

/** Lets days pass, then sweeps until nothing is left to do. */
async function later(app: Long, days: number) {
  app.clock.turn(days * DAY);
  const loop = sweeper(app.app);
  while ((await loop.tick(new AbortController().signal)) === "more");
  expect(app.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
}

const rowsIn = async ({ app }: Long, table: string) =>
  ((await app.store.db.get(sql.raw(`select count(*) as n from ${table}`))) as { n: number }).n;

const statusOf = async (call: Client, path: string) => (await call("GET", path)).status;

/** Returns which of these still exist, by their responses. */
const found = async (call: Client, path: string, ids: string[]) =>
  Promise.all(ids.map(async (id) => (await statusOf(call, `${path}/${id}`)) === 200));

const failing = { definition: branch("a", "false") };

describe("runs of an action", () => {
  test("are deleted after 30 days, failed ones after 90, and the latest one stays", async () => {
    await using app = await startLong();
    const { owner } = app;
    const action = await makeAction(owner);
    const done = await runToEnd(owner, action.id);
    const failed = await runToEnd(owner, action.id, { definitionOverrides: failing.definition });
    expect([done.status, failed.status]).toEqual(["completed", "failed"]);
    const latest = await runToEnd(owner, action.id);
    const ids = [done.id, failed.id, latest.id];

    await later(app, 29);
    expect(await found(owner, RUNS, ids)).toEqual([true, true, true]);
    await later(app, 2);
    expect(await found(owner, RUNS, ids)).toEqual([false, true, true]);
    expect((await owner("GET", RUNS)).body).toMatchObject({ total: 2, hasNext: false });
    await later(app, 58);
    expect(await found(owner, RUNS, ids)).toEqual([false, true, true]);
    await later(app, 3);
    expect(await found(owner, RUNS, ids)).toEqual([false, false, true]);
    expect((await owner("GET", RUNS)).body.total).toBe(1);
    expect((await owner("GET", `${ACTIONS}/${action.id}`)).body.latestRun ?? latest).toMatchObject({
      id: latest.id,
    });

    await owner("DELETE", `${ACTIONS}/${action.id}`);
    await later(app, 1);
    expect(await rowsIn(app, "action_runs")).toBe(0);
    const trail = (await owner("GET", "/api/v1/events/verify")).body;
    expect(trail.valid).toBe(true);
    expect((await owner("GET", "/api/v1/events?type=action.completed")).body.items).toHaveLength(2);
  });

  test("are deleted with their logs, artifacts and decisions", async () => {
    await using app = await startLong();
    const { owner } = app;
    const sqlAction = await makeAction(owner, {
      kind: "duckdb_transform",
      definition: { sql: "SELECT i FROM range(3) r(i)" },
    });
    const run = await runToEnd(owner, sqlAction.id);
    const action = await makeAction(owner, { kind: "approval_gate", definition: gate(), name: "Gate" });
    const asked = created(await owner("POST", `${ACTIONS}/${action.id}/run`));
    const decision = await openDecision(app, asked.id);
    await owner("POST", `/api/v1/decisions/${decision.id}/decide`, { decisionValue: "approved" });
    await app.app.store.write(async (db) => {
      await db.run(sql`
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 4500)
        insert into run_logs select ${run.id}, 1000 + i, '2026-01-01T00:00:00.000Z', 'info', 'line' from n`);
    });
    expect(await rowsIn(app, "artifacts")).toBe(1);
    await later(app, 31);
    expect(await rowsIn(app, "run_logs")).toBeGreaterThan(4500);
    for (const { id } of [sqlAction, action]) {
      created(await owner("POST", `${ACTIONS}/${id}/run`));
    }
    await later(app, 1);
    expect(await found(owner, RUNS, [run.id, asked.id])).toEqual([false, false]);
    expect(await app.app.store.db.all(sql`select 1 from run_logs where run_id = ${run.id}`)).toEqual([]);
    expect(await statusOf(owner, `/api/v1/decisions/${decision.id}`)).toBe(404);
    expect((await owner("GET", `/api/v1/artifacts?action_run_id=${run.id}`)).body.total).toBe(0);
  });

  test("that wait for a user stay, however long that takes", async () => {
    await using app = await startLong();
    const { owner } = app;
    const flow = await makeAutomation(owner, {
      steps: [
        { key: "quick", kind: "conditional_branch", definition: branch() },
        { key: "ask", kind: "approval_gate", definition: gate(), dependsOn: ["quick"] },
      ],
    });
    const waiting = created(await owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    await flowToEnd(owner, (await makeAutomation(owner, { action: quick })).id);
    const state = async () => (await owner("GET", `${AUTOMATION_RUNS}/${waiting.id}`)).body;
    const asks = (await openDecision(app, await askRun(owner, waiting.id))).id;
    await later(app, 200);
    const { status, steps } = await state();
    expect([status, ...steps.map((step: { status: string }) => step.status)]).toEqual([
      "waiting",
      "completed",
      "waiting",
    ]);
    expect(await statusOf(owner, `${RUNS}/${steps[0].actionRunId}`)).toBe(200);
    await owner("POST", `/api/v1/decisions/${asks}/decide`, { decisionValue: "approved" });
    expect((await automationRunEnd(owner, waiting.id)).status).toBe("completed");
  });
});

test("a run stays if work that continues depends on it: a retry, or a call", async () => {
  await using app = await startLong();
  const { owner } = app;
  const action = await makeAction(owner, { kind: "approval_gate", definition: gate() });
  const first = created(await owner("POST", `${ACTIONS}/${action.id}/run`));
  await openDecision(app, first.id);
  await owner("POST", `${RUNS}/${first.id}/cancel`);
  const again = created(await owner("POST", `${RUNS}/${first.id}/retry`));
  const asks = (await openDecision(app, again.id)).id;
  await owner("POST", `${RUNS}/${created(await owner("POST", `${ACTIONS}/${action.id}/run`)).id}/cancel`);

  const asking = await makeAutomation(owner, { action: { kind: "approval_gate", definition: gate() } });
  const call = { kind: "call_automation", definition: { automationId: asking.id, wait: false } };
  const calling = await makeAutomation(owner, { action: call });
  const caller = await flowToEnd(owner, calling.id);
  await flowToEnd(owner, calling.id);
  expect(caller.status).toBe("completed");

  await later(app, 100);
  expect(await found(owner, RUNS, [first.id, again.id, caller.steps[0].actionRunId])).toEqual([
    true,
    true,
    true,
  ]);
  expect(await found(owner, AUTOMATION_RUNS, [caller.id])).toEqual([true]);
  await owner("POST", `/api/v1/decisions/${asks}/decide`, { decisionValue: "approved" });
  const { runs } = (await owner("GET", `${AUTOMATIONS}/${asking.id}/runs`)).body;
  for (const { id } of runs) await owner("POST", `${AUTOMATION_RUNS}/${id}/cancel`);
  await later(app, 100);
  await later(app, 1);
  expect(await found(owner, RUNS, [first.id, again.id, caller.steps[0].actionRunId])).toEqual([
    false,
    false,
    false,
  ]);
  expect(await found(owner, AUTOMATION_RUNS, [caller.id])).toEqual([false]);
});

const quick = { kind: "conditional_branch", definition: branch() };

async function askRun(owner: Client, automationRunId: string): Promise<string> {
  for (;;) {
    const { body } = await owner("GET", `${RUNS}?automation_run_id=${automationRunId}&kinds=approval_gate`);
    if (body.runs[0]?.status === "waiting") return body.runs[0].id;
    await Bun.sleep(10);
  }
}

describe("runs of an automation", () => {
  deepTest("are deleted with their steps and items, in small writes, and the latest one stays", async () => {
    await using app = await startLong({ WEIR_RETENTION_DAYS: "2", WEIR_RETENTION_FAILED_DAYS: "4" });
    const { owner } = app;
    const flow = await makeAutomation(owner, { action: quick });
    const each = await makeAutomation(owner, { steps: [{ key: "each", forEach: "{{input}}", ...quick }] });
    await Promise.all(
      Array.from({ length: 210 }, () => owner("POST", `${AUTOMATIONS}/${flow.id}/run`, undefined)),
    );
    await flowToEnd(owner, each.id, { input: [1, 2, 3] });
    const last = await flowToEnd(owner, each.id, { input: [1] });
    const latest = (await owner("GET", `${AUTOMATIONS}/${flow.id}/runs?limit=1`)).body.runs[0];
    expect((await owner("GET", RUNS)).body.total).toBe(214);

    const [old] = await app.app.store.db.select().from(automationRunItems);
    await app.app.store.write((db) =>
      db.run(sql`insert into automation_run_items (automation_run_id, step_key, item_index, item, status)
        with recursive n(i) as (select 3 union all select i + 1 from n where i < 5000)
        select ${old?.automationRunId ?? ""}, 'each', i, '1', 'pending' from n`),
    );
    await app.engine?.stop(0); // It would sweep concurrently.
    const sizes: number[] = [];
    const itemSizes: number[] = [];
    const { store } = app.app;
    const { write } = store;
    store.write = async (work) => {
      const before = await Promise.all([rowsIn(app, "automation_runs"), rowsIn(app, "automation_run_items")]);
      const value = await write(work);
      sizes.push(before[0] - (await rowsIn(app, "automation_runs")));
      itemSizes.push(before[1] - (await rowsIn(app, "automation_run_items")));
      return value;
    };
    await later(app, 3);
    store.write = write;
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
    expect(Math.max(...itemSizes)).toBe(2_000);
    expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(2);
    expect((await owner("GET", `${AUTOMATIONS}/${flow.id}/runs`)).body).toMatchObject({
      total: 1,
      runs: [{ id: latest.id }],
    });
    await later(app, 1);
    expect((await owner("GET", RUNS)).body.total).toBe(2);
    expect(await rowsIn(app, "automation_run_items")).toBe(1);
    expect((await owner("GET", `${AUTOMATION_RUNS}/${last.id}`)).body.steps[0].items.total).toBe(1);
  });

  test("stay while a retry of them is kept, which has their results", async () => {
    await using app = await startLong();
    const { owner } = app;
    const steps = [
      { key: "first", ...quick },
      { key: "second", kind: "conditional_branch", definition: failing.definition, dependsOn: ["first"] },
    ];
    const flow = await makeAutomation(owner, { steps });
    const failed = await flowToEnd(owner, flow.id);
    await owner("PATCH", `${AUTOMATIONS}/${flow.id}`, {
      config: {
        steps: [steps[0], { key: "second", kind: "approval_gate", definition: gate(), dependsOn: ["first"] }],
      },
    });
    const again = created(await owner("POST", `${AUTOMATION_RUNS}/${failed.id}/retry`));
    const asks = (await openDecision(app, await askRun(owner, again.id))).id;
    await flowToEnd(owner, (await makeAutomation(owner, { action: quick })).id);
    await later(app, 100);
    expect(await found(owner, AUTOMATION_RUNS, [failed.id, again.id])).toEqual([true, true]);
    await owner("POST", `/api/v1/decisions/${asks}/decide`, { decisionValue: "approved" });
    const { status, result } = await automationRunEnd(owner, again.id);
    expect([status, result.first.branch]).toEqual(["completed", "a"]);
  });
});

describe("webhooks", () => {
  test("are deleted after their time, with their content; a dead letter can be replayed until then", async () => {
    await using app = await startLong();
    const { owner } = app;
    const state = { status: 503 };
    await using receiver = startReceiver(() => Response.json({}, { status: state.status }));
    const definition = { url: receiver.url, method: "POST", body: "{{payload}}" };
    const retries = { maxAttempts: 2, backoffSeconds: [0] };
    await makeHook(app, { action: { kind: "http_request", definition }, retries, debug: true });
    const body = '{"n":1}';
    const died = (await send(app, body)).body.deliveryId;
    state.status = 200;
    const done = (await send(app, body)).body.deliveryId;
    expect((await owner("GET", `${DELIVERIES}/${done}`)).body.payload).toEqual({ n: 1 });

    await later(app, 31);
    expect(await found(owner, DELIVERIES, [died, done])).toEqual([true, false]);
    await later(app, 55);
    const [letter] = (await owner("GET", LETTERS)).body.items;
    const before = receiver.got.length;
    created(await owner("POST", `${LETTERS}/${letter.id}/replay`));
    while ((await owner("GET", LETTERS)).body.items[0].status !== "replayed") await Bun.sleep(10);
    expect(receiver.got.slice(before).map(({ text }) => text)).toEqual([body]);

    await later(app, 91);
    await later(app, 1);
    expect((await owner("GET", LETTERS)).body.items).toEqual([]);
    expect(await rowsIn(app, "webhook_deliveries")).toBe(0);
    expect(await rowsIn(app, "delivery_attempts")).toBe(0);
  });

  test("repeated within 24 hours are recognized, whatever the settings", async () => {
    await using app = await startLong({ WEIR_RETENTION_DAYS: "1", WEIR_RETENTION_FAILED_DAYS: "1" });
    await makeHook(app, { action: quick });
    const sent = async () => (await send(app, "{}", { "idempotency-key": "one" })).body.deliveryId;
    const first = await sent();
    await later(app, 0.99);
    expect(await sent()).toBe(first);
    await later(app, 0.02);
    expect(await sent()).not.toBe(first);
  });
});

test("invitations and notices are deleted a month after their end, and an open one stays", async () => {
  await using app = await startLong();
  const { owner } = app;
  const invite = async (email: string) =>
    created(await owner("POST", "/api/v1/organizations/invitations", { email }));
  await invite("grace@example.com");
  await using receiver = startReceiver();
  await makeHook(app, {
    action: { kind: "conditional_branch", definition: failing.definition },
    alerts: { failureThreshold: 1, failureWindow: 60, notifyUrl: receiver.url },
  });
  await send(app, "{}");
  while ((await rowsIn(app, "notices where due_at is null")) === 0) await Bun.sleep(10);
  expect(receiver.got).toHaveLength(1);
  await later(app, 36);
  await invite("alan@example.com");
  expect(await rowsIn(app, "notices")).toBe(0);
  await later(app, 2);
  const { items } = (await owner("GET", "/api/v1/organizations/invitations")).body;
  expect(items.map(({ email }: { email: string }) => email)).toEqual(["alan@example.com"]);
});

describe("outbound deliveries", () => {
  test("are deleted after their time, and aren't created again", async () => {
    await using app = await startLong();
    await using receiver = startReceiver();
    const { id } = await subscribe(app, receiver.url);
    await happen(app);
    await newest(app, id, "delivered");
    await later(app, 29);
    expect(await deliveriesOf(app, id)).toHaveLength(1);
    await later(app, 2);
    expect(await deliveriesOf(app, id)).toEqual([]);
    await happen(app);
    await newest(app, id, "delivered");
    expect(receiver.got).toHaveLength(2);
  });

  test("that are dead are deleted after 90 days, and those of a deleted subscription with it", async () => {
    await using app = await startLong({ WEIR_WEBHOOK_SCHEDULE: "0,0" });
    await using deaf = startReceiver(() => new Response("", { status: 500 }));
    await using receiver = startReceiver();
    const dying = await subscribe(app, deaf.url);
    const { id } = await subscribe(app, receiver.url);
    await happen(app);
    await newest(app, dying.id, "dead_letter");
    await newest(app, id, "delivered");
    await app.owner("DELETE", `/api/v1/webhooks/${id}`);
    await app.owner("DELETE", `/api/v1/webhooks/${dying.id}`);
    await later(app, 89);
    expect(await rowsIn(app, "outbound_deliveries")).toBe(1);
    expect((await app.owner("GET", LETTERS)).body.items).toHaveLength(1);
    expect(await rowsIn(app, "webhooks")).toBe(1);
    await later(app, 2);
    await later(app, 1);
    const left = ["outbound_deliveries", "outbound_attempts", "dead_letters", "webhooks"];
    expect(await Promise.all(left.map((table) => rowsIn(app, table)))).toEqual([0, 0, 0, 0]);
  });
});
