import { describe, expect, test } from "bun:test";
import { eq, sql } from "drizzle-orm";
import { LOOPS, openLoop } from "../../src/engine/loops.ts";
import { startEngine } from "../../src/engine/start.ts";
import { automationRuns, automations } from "../../src/resources/automations/table.ts";
import { startApp } from "../support/app.ts";
import { openDecision } from "../support/decisions.ts";
import { makeHook, send } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  makeAction,
  makeAutomation,
  runEnd,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const work = { kind: "conditional_branch", definition: branch() };
const gate = { kind: "approval_gate", definition: { title: "Go on?" } };
const MANY = 60;

/** Removes what these runs depend on, as a bug might: no later attempt can succeed. */
const breakRun = ({ app }: Started, runId: string) =>
  app.store.write(async (db) => {
    await db.update(automationRuns).set({ automationVersion: 99 }).where(eq(automationRuns.id, runId));
  });

const begin = async ({ owner }: Started, id: string) =>
  created(await owner("POST", `${AUTOMATIONS}/${id}/run`)).id as string;
const runOf = async ({ owner }: Started, id: string) => (await owner("GET", `${AUTOMATION_RUNS}/${id}`)).body;
const tick = (loop: { tick(signal: AbortSignal): Promise<unknown> }) =>
  loop.tick(new AbortController().signal);

/** A webhook's run that waits for its retry, due now, and this many broken copies of it that are due earlier. */
async function waitingWithMany(app: Started, receiver: string) {
  const definition = { url: receiver, method: "POST" };
  const retries = { maxAttempts: 2, backoffSeconds: [1] };
  await makeHook(app, { action: { kind: "http_request", definition }, retries, waitSeconds: 0 });
  const engine = await startEngine(app.app);
  const { automationRunId } = (await send(app, "{}")).body;
  await until(app.owner, `${AUTOMATION_RUNS}/${automationRunId}`, ({ status }) => status === "waiting");
  await engine.stop(0);
  const [row] = await app.app.store.db
    .select()
    .from(automationRuns)
    .where(eq(automationRuns.id, automationRunId));
  if (!row) throw new Error("The run is gone.");
  const dueAt = "2020-01-01T00:00:00.000Z";
  const copies = Array.from({ length: MANY }, () => {
    const id = app.app.ids.uuid();
    return { ...row, id, dueAt, deliveryId: null, automationVersion: 99 };
  });
  await app.app.store.write(async (db) => {
    await db.insert(automationRuns).values(copies);
  });
  app.clock.turn(60_000);
  return { sound: automationRunId as string, broken: copies.map(({ id }) => id) };
}

describe("runs whose pause is over and that can't continue", () => {
  test("fail and say so, and block none behind them", async () => {
    await using app = await startApp({ engine: false });
    await using receiver = startReceiver(() => new Response("no", { status: 503 }));
    const { sound, broken } = await waitingWithMany(app, receiver.url);
    const loop = openLoop(LOOPS.runContinuer, app.app);
    for (let round = 0; round < 3; round++) await tick(loop);
    expect((await runOf(app, sound)).status).toBe("running");
    for (const id of broken) {
      const run = await runOf(app, id);
      expect(run).toMatchObject({ status: "failed", error: { code: "internal", retryable: false } });
      expect(run.completedAt).not.toBeNull();
    }
    const { items } = (await app.owner("GET", "/api/v1/events?type=automation.failed&limit=100")).body;
    expect(items.map(({ data }: { data: { runId: string } }) => data.runId).sort()).toEqual(broken.sort());
  });

  test("stay if they can't even be failed, and block none behind them", async () => {
    await using app = await startApp({ engine: false });
    await using receiver = startReceiver(() => new Response("no", { status: 503 }));
    const { sound, broken } = await waitingWithMany(app, receiver.url);
    const refuse = sql.raw(
      "CREATE TRIGGER refused BEFORE UPDATE ON automation_runs WHEN OLD.automation_version = 99 BEGIN SELECT RAISE(ABORT, 'refused'); END",
    );
    await app.app.store.write((db) => db.run(refuse));
    const loop = openLoop(LOOPS.runContinuer, app.app);
    for (let round = 0; round < 3; round++) await tick(loop);
    expect((await runOf(app, sound)).status).toBe("running");
    await app.app.store.write((db) => db.run(sql.raw("DROP TRIGGER refused")));
    app.clock.turn(60_000);
    for (let round = 0; round < 3; round++) await tick(loop);
    expect((await runOf(app, broken[0] ?? "")).status).toBe("failed");
  });
});

describe("a queued run that can't continue", () => {
  test("blocks neither the end of the one before it nor the start of the one after it", async () => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { action: gate, concurrency: { max: 1 } });
    const [first, broken, last] = [
      await begin(app, flow.id),
      await begin(app, flow.id),
      await begin(app, flow.id),
    ];
    await breakRun(app, broken);
    const [step] = (
      await until(app.owner, `${AUTOMATION_RUNS}/${first}`, ({ status }) => status === "waiting")
    ).steps;
    const { id } = await openDecision(app, step.actionRunId);
    const answer = await app.owner("POST", `/api/v1/decisions/${id}/decide`, { decisionValue: "approved" });
    expect(answer.status).toBe(200);
    expect((await automationRunEnd(app.owner, first)).status).toBe("completed");
    expect(await automationRunEnd(app.owner, broken)).toMatchObject({
      status: "failed",
      error: { code: "internal" },
      steps: [{ status: "skipped" }],
    });
    await until(app.owner, `${AUTOMATION_RUNS}/${last}`, ({ status }) => status === "waiting");
  });

  test("blocks no other queue", async () => {
    await using app = await startApp({ engine: false });
    const lines = [];
    for (const name of ["Broken", "Sound"]) {
      const flow = await makeAutomation(app.owner, { action: gate, concurrency: { max: 1 } }, { name });
      lines.push({ flow, first: await begin(app, flow.id), second: await begin(app, flow.id) });
    }
    const [broken, sound] = lines;
    const refuse = `CREATE TRIGGER refused BEFORE UPDATE ON automation_runs WHEN OLD.id = '${broken?.second}' BEGIN SELECT RAISE(ABORT, 'refused'); END`;
    await app.app.store.write((db) => db.run(sql.raw(refuse)));
    for (const { flow } of lines)
      await app.owner("PATCH", `${AUTOMATIONS}/${flow.id}`, { config: { concurrency: { max: 2 } } });
    await tick(openLoop(LOOPS.runContinuer, app.app));
    expect((await runOf(app, sound?.second ?? "")).status).toBe("running");
  });
});

test("a step that ends while its run can't continue has ended, and the run fails", async () => {
  await using app = await startApp({ engine: false });
  const steps = [
    { key: "a", kind: "http_request", definition: { url: "http://127.0.0.1:9/" }, onError: "continue" },
    { key: "b", ...work, dependsOn: ["a"] },
    { key: "ask", ...gate },
  ];
  const flow = await makeAutomation(app.owner, { steps });
  const id = await begin(app, flow.id);
  await breakRun(app, id);
  const engine = await startEngine(app.app);
  const run = await automationRunEnd(app.owner, id);
  expect(run).toMatchObject({ status: "failed", error: { code: "internal" } });
  for (const { actionRunId } of run.steps) if (actionRunId !== null) await runEnd(app.owner, actionRunId);
  expect((await app.owner("GET", "/api/v1/decisions?status=pending")).body.decisions).toEqual([]);
  await engine.stop(0);
});

test("a webhook delivery whose run can't continue is a dead letter, and works once it is replayed", async () => {
  await using app = await startApp();
  await makeHook(app, { action: gate, waitSeconds: 0 });
  const { automationRunId } = (await send(app, "{}")).body;
  const pass = async (runId: string) => {
    const { steps } = await until(
      app.owner,
      `${AUTOMATION_RUNS}/${runId}`,
      ({ status }) => status === "waiting",
    );
    const { id } = await openDecision(app, steps[0].actionRunId);
    await app.owner("POST", `/api/v1/decisions/${id}/decide`, { decisionValue: "approved" });
    return automationRunEnd(app.owner, runId);
  };
  await until(app.owner, `${AUTOMATION_RUNS}/${automationRunId}`, ({ status }) => status === "waiting");
  await breakRun(app, automationRunId);
  expect(await pass(automationRunId)).toMatchObject({ error: { code: "internal" } });
  const { items } = (await app.owner("GET", "/api/v1/dead-letters")).body;
  expect(items).toMatchObject([{ status: "dead", error: { code: "internal" } }]);
  const again = created(await app.owner("POST", `/api/v1/dead-letters/${items[0].id}/replay`));
  expect((await pass(again.automationRunId)).status).toBe("completed");
});

test("a decision that expires in a run that can't continue has expired, and blocks none behind it", async () => {
  await using app = await startApp();
  const action = { kind: "approval_gate", definition: { title: "Go on?", expiresInSeconds: 3600 } };
  const flow = await makeAutomation(app.owner, { action });
  const [broken, sound] = [await begin(app, flow.id), await begin(app, flow.id)];
  for (const id of [broken, sound])
    await until(app.owner, `${AUTOMATION_RUNS}/${id}`, ({ status }) => status === "waiting");
  await breakRun(app, broken);
  app.clock.turn(3_700_000);
  await tick(openLoop(LOOPS.decisionExpirer, app.app));
  expect(await automationRunEnd(app.owner, sound)).toMatchObject({ error: { code: "rejected" } });
  expect(await automationRunEnd(app.owner, broken)).toMatchObject({ error: { code: "internal" } });
  expect((await app.owner("GET", "/api/v1/decisions?status=expired")).body.decisions).toHaveLength(2);
});

test("schedules that can't be started have a failed run that says so, and block none behind them", async () => {
  await using app = await startApp({ engine: false });
  const schedule = (name: string) =>
    makeAutomation(
      app.owner,
      { schedule: { cron: "* * * * *" }, action: work },
      { name, triggerType: "schedule" },
    );
  const broken: string[] = [];
  for (let at = 0; at < 51; at++) broken.push((await schedule(`Broken ${at}`)).id);
  const sound = await schedule("Sound");
  await app.app.store.write(async (db) => {
    for (const id of broken) {
      const config = { schedule: { cron: "no cron" }, action: work };
      await db
        .update(automations)
        .set({ config, nextRunAt: "2020-01-01T00:00:00.000Z" })
        .where(eq(automations.id, id));
    }
  });
  const loop = openLoop(LOOPS.scheduler, app.app);
  app.clock.turn(60_000);
  for (let round = 0; round < 4; round++) await tick(loop);
  const lastOf = async (id: string) => (await app.owner("GET", `${AUTOMATIONS}/${id}`)).body;
  expect((await lastOf(sound.id)).latestRun.status).toBe("completed");
  for (const id of broken) {
    expect(await lastOf(id)).toMatchObject({ nextRunAt: null, latestRun: { status: "failed" } });
  }
  const { runs } = (await app.owner("GET", `${AUTOMATIONS}/${broken[0]}/runs`)).body;
  expect(runs).toMatchObject([
    { input: { scheduledAt: "2020-01-01T00:00:00.000Z" }, error: { code: "internal" } },
  ]);
}, 120_000);

test("an event that one automation can't handle still reaches the others", async () => {
  await using app = await startApp({ engine: false });
  const listen = (name: string) =>
    makeAutomation(
      app.owner,
      { event: { types: ["action.created"] }, action: work },
      { name, triggerType: "event" },
    );
  const [broken, sound] = [await listen("Broken"), await listen("Sound")];
  const refuse = `CREATE TRIGGER refused BEFORE INSERT ON automation_runs WHEN NEW.automation_id = '${broken.id}' BEGIN SELECT RAISE(ABORT, 'refused'); END`;
  await app.app.store.write((db) => db.run(sql.raw(refuse)));
  for (let at = 0; at < 3; at++) await makeAction(app.owner, { name: `Action ${at}` });
  const loop = openLoop(LOOPS.eventFollower, app.app);
  for (let round = 0; round < 6; round++) await tick(loop);
  expect((await app.owner("GET", `${AUTOMATIONS}/${sound.id}/runs`)).body.total).toBe(3);
  expect((await app.owner("GET", `${AUTOMATIONS}/${broken.id}/runs`)).body.total).toBe(0);
});
