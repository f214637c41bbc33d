/** Bugs that users report about other engines. The nights of clock changes are in `scheduler.test.ts`. */
import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { systemIds } from "../../src/base/ids.ts";
import { LOOPS, openLoop } from "../../src/engine/loops.ts";
import { startEngine } from "../../src/engine/start.ts";
import { timekeeper } from "../../src/engine/timekeeper.ts";
import { openWorker } from "../../src/engine/worker.ts";
import { automationRuns, automations } from "../../src/resources/automations/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { startApp } from "../support/app.ts";
import { DECISIONS, gate, openDecision } from "../support/decisions.ts";
import { makeHook, send } from "../support/hook.ts";
import { deliveriesOf, eventually, subscribe, WEBHOOKS } from "../support/outbound.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  makeAction,
  makeAutomation,
  RUNS,
  runEnd,
  runToEnd,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const HOUR_MS = 60 * 60 * 1000;
const { signal } = new AbortController();
const approve = { decisionValue: "approved" };
const waits = ({ status }: { status: string }) => status === "waiting";
const call = (url: string, more: object = {}) => ({
  kind: "http_request",
  definition: { url, method: "POST", ...more },
});

/** Ticks a loop until it has nothing left to do. */
async function tickAll(loop: { tick(signal: AbortSignal): Promise<"more" | "idle"> }): Promise<void> {
  while ((await loop.tick(signal)) === "more");
}

/** A gate, and a call that is only sent after it. */
const gated = (app: Started, url: string, more: object = {}) =>
  makeAutomation(app.owner, {
    steps: [
      { key: "gate", kind: "approval_gate", definition: gate(more) },
      { key: "call", ...call(url), dependsOn: ["gate"] },
    ],
  });

const typesAbout = async ({ app }: Started, id: string) =>
  (await app.store.db.select().from(events).where(eq(events.entityId, id)).orderBy(events.seq)).map(
    ({ type }) => type,
  );

describe("an approval", () => {
  test("whose timer fires after the decision stays decided, and its run continues once", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    const flow = await gated(app, receiver.url, { expiresInSeconds: 60 });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const [step] = (await until(app.owner, `${AUTOMATION_RUNS}/${run.id}`, waits)).steps;
    const decision = await openDecision(app, step.actionRunId);
    expect((await app.owner("POST", `${DECISIONS}/${decision.id}/decide`, approve)).status).toBe(200);
    app.clock.turn(HOUR_MS);
    await tickAll(openLoop(LOOPS.decisionExpirer, app.app));
    expect((await automationRunEnd(app.owner, run.id)).status).toBe("completed");
    expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).body).toMatchObject({
      status: "decided",
      decisionValue: "approved",
    });
    expect(await typesAbout(app, decision.id)).toEqual(["decision.requested", "decision.decided"]);
    expect(receiver.got).toHaveLength(1);
  });

  test("that expires isn't approved by a late decision, even before the timer fires", async () => {
    await using app = await startApp({ engine: false });
    const worker = openWorker(app.app);
    const action = await makeAction(app.owner, {
      kind: "approval_gate",
      definition: gate({ expiresInSeconds: 60 }),
    });
    const run = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
    await tickAll(worker);
    await worker.idle();
    const decision = await openDecision(app, run.id);
    app.clock.turn(HOUR_MS);
    const late = () => app.owner("POST", `${DECISIONS}/${decision.id}/decide`, approve);
    expect((await late()).status).toBe(409);
    await tickAll(openLoop(LOOPS.decisionExpirer, app.app));
    expect((await late()).status).toBe(409);
    expect((await app.owner("GET", `${RUNS}/${run.id}`)).body.status).toBe("failed");
  });

  test("that is decided by many at once has one winner, and the run behind it continues once", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    const flow = await gated(app, receiver.url, { onReject: "continue" });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const [step] = (await until(app.owner, `${AUTOMATION_RUNS}/${run.id}`, waits)).steps;
    const { id } = await openDecision(app, step.actionRunId);
    const said = ["approved", "rejected", "approved", "rejected", "approved", "rejected"];
    const answers = await Promise.all(
      said.map((decisionValue) => app.owner("POST", `${DECISIONS}/${id}/decide`, { decisionValue })),
    );
    const won = new Set(answers.flatMap(({ status }, n) => (status === 200 ? [said[n]] : [])));
    expect(won.size).toBe(1); // Repeating the same decision is confirmed again.
    expect((await automationRunEnd(app.owner, run.id)).result.gate.decisionValue).toBe([...won][0]);
    expect(await typesAbout(app, id)).toEqual(["decision.requested", "decision.decided"]);
    expect(receiver.got).toHaveLength(1);
  });
});

describe("a cancellation", () => {
  test("isn't undone by a decision, and what is behind the gate is never reached", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    const flow = await gated(app, receiver.url);
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const [step] = (await until(app.owner, `${AUTOMATION_RUNS}/${run.id}`, waits)).steps;
    const decision = await openDecision(app, step.actionRunId);
    expect((await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/cancel`)).body.status).toBe("cancelled");
    expect((await app.owner("POST", `${DECISIONS}/${decision.id}/decide`, approve)).status).toBe(409);
    await runToEnd(app.owner, (await makeAction(app.owner)).id); // Whatever was queued has run.
    const { status, steps } = (await app.owner("GET", `${AUTOMATION_RUNS}/${run.id}`)).body;
    expect([status, ...steps.map((each: { status: string }) => each.status)]).toEqual([
      "cancelled",
      "cancelled",
      "skipped",
    ]);
    expect(receiver.got).toEqual([]);
  });

  test("applies during the pause before another attempt, of a run and of a webhook", async () => {
    await using receiver = startReceiver(() => new Response("no", { status: 503 }));
    await using app = await startApp();
    const retry = { maxAttempts: 5, backoffSeconds: [60] };
    const action = await makeAction(app.owner, call(receiver.url, { retry }));
    const run = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
    await until(app.owner, `${RUNS}/${run.id}`, waits);
    await makeHook(app, {
      waitSeconds: 0,
      retries: { backoffSeconds: [60] },
      action: call(receiver.url),
    });
    const { automationRunId } = (await send(app, "{}")).body;
    await until(app.owner, `${AUTOMATION_RUNS}/${automationRunId}`, waits);
    await app.owner("POST", `${RUNS}/${run.id}/cancel`);
    await app.owner("POST", `${AUTOMATION_RUNS}/${automationRunId}/cancel`);
    app.clock.turn(HOUR_MS);
    await tickAll(openLoop(LOOPS.runContinuer, app.app));
    await runToEnd(app.owner, (await makeAction(app.owner)).id);
    expect((await app.owner("GET", `${RUNS}/${run.id}`)).body.status).toBe("cancelled");
    expect((await app.owner("GET", `${AUTOMATION_RUNS}/${automationRunId}`)).body.status).toBe("cancelled");
    expect(receiver.got).toHaveLength(2);
  });
});

test("a pause that is over is resumed once, however many processes check", async () => {
  await using receiver = startReceiver((_, count) => new Response("", { status: count === 1 ? 503 : 200 }));
  await using app = await startApp({ engine: false });
  const worker = openWorker(app.app);
  await makeHook(app, { waitSeconds: 0, retries: { backoffSeconds: [60] }, action: call(receiver.url) });
  const { automationRunId } = (await send(app, "{}")).body;
  const work = async () => {
    await tickAll(worker);
    await worker.idle();
  };
  await work();
  app.clock.turn(HOUR_MS);
  await Promise.all(Array.from({ length: 5 }, () => tickAll(openLoop(LOOPS.runContinuer, app.app))));
  await work();
  expect((await app.owner("GET", `${AUTOMATION_RUNS}/${automationRunId}`)).body.status).toBe("completed");
  expect((await app.owner("GET", `${RUNS}?automation_run_id=${automationRunId}`)).body.total).toBe(2);
  expect(receiver.got).toHaveLength(2);
});

test("no event is lost while a subscription is disabled, and none is duplicated", async () => {
  await using receiver = startReceiver();
  await using app = await startApp();
  const hook = await subscribe(app, `${receiver.url}/in`, { events: ["action.created"] });
  const made: string[] = [];
  const make = async () => void made.push((await makeAction(app.owner, { name: `A ${made.length}` })).id);
  const heard = () => receiver.got.map(({ text }) => JSON.parse(text).entity.id);
  await make();
  await eventually(async () => heard().length === 1);
  await app.owner("PATCH", `${WEBHOOKS}/${hook.id}`, { status: "disabled" });
  for (let n = 0; n < 5; n++) await make();
  await app.owner("PATCH", `${WEBHOOKS}/${hook.id}`, { status: "active" });
  await make();
  await eventually(async () => heard().length >= made.length);
  await eventually(async () =>
    (await deliveriesOf(app, hook.id)).every(({ status }: { status: string }) => status === "delivered"),
  );
  expect(heard().sort()).toEqual(made.sort());
  expect(new Set(receiver.got.map(({ headers }) => headers.get("webhook-id"))).size).toBe(made.length);
});

test("a webhook that is delivered again, immediately and an hour later, runs once", async () => {
  await using receiver = startReceiver();
  await using app = await startApp();
  await makeHook(app, { action: call(receiver.url) });
  const key = { "idempotency-key": "order-1" };
  const answers = await Promise.all(Array.from({ length: 6 }, () => send(app, '{"n":1}', key)));
  const ids = answers.map(({ body }) => body.automationRunId);
  expect(new Set(ids).size).toBe(1);
  app.clock.turn(HOUR_MS);
  expect((await send(app, '{"n":1}', key)).body.automationRunId).toBe(ids[0]);
  expect(receiver.got).toHaveLength(1);
  expect(await app.app.store.db.$count(automationRuns)).toBe(1);
});

describe("a clock that is set back an hour", () => {
  /** A receiver whose responses wait until it is opened. */
  const startClosed = () => {
    const door = Promise.withResolvers<void>();
    const receiver = startReceiver(() => door.promise.then(() => Response.json({})));
    return Object.assign(receiver, { open: () => door.resolve() });
  };
  const asked = async (app: Started, definition: object) => {
    const action = await makeAction(app.owner, definition);
    return created(await app.owner("POST", `${ACTIONS}/${action.id}/run`)).id as string;
  };

  test("blocks neither running work nor what is queued behind it", async () => {
    await using receiver = startClosed();
    await using app = await startApp({ hurry: 20, env: { WEIR_CONCURRENCY: "1" } });
    const underWay = await asked(app, call(receiver.url));
    await eventually(() => receiver.got.length === 1);
    const inLine = await asked(app, call(receiver.url));
    app.clock.turn(-HOUR_MS);
    const after = await asked(app, call(receiver.url));
    await eventually(async () => (await leaseOf(app, underWay)) < app.clock.now().getTime() + HOUR_MS / 2);
    receiver.open();
    for (const id of [underWay, inLine, after])
      expect(await runEnd(app.owner, id)).toMatchObject({
        status: "completed",
        interruptCount: 0,
        retryCount: 0,
      });
    expect(receiver.got).toHaveLength(3);
  });

  const leaseOf = async ({ app }: Started, id: string) => {
    const [row] = await app.store.db.select().from(actionRuns).where(eq(actionRuns.id, id));
    return Date.parse(row?.leaseUntil ?? "");
  };

  test("blocks nothing that was queued before a restart", async () => {
    await using receiver = startReceiver();
    await using app = await startApp({ engine: false });
    const run = await asked(app, call(receiver.url));
    app.clock.turn(-HOUR_MS);
    const engine = await startEngine(app.app);
    expect((await runEnd(app.owner, run)).status).toBe("completed");
    await engine.stop(0);
  });

  test("doesn't extend the pause before another attempt", async () => {
    await using receiver = startReceiver((_, count) => new Response("", { status: count <= 2 ? 503 : 200 }));
    await using app = await startApp({ engine: false });
    const worker = openWorker(app.app);
    const keeper = timekeeper(app.app);
    await keeper.tick(signal);
    const run = await asked(app, call(receiver.url, { retry: { maxAttempts: 2, backoffSeconds: [60] } }));
    await makeHook(app, { waitSeconds: 0, retries: { backoffSeconds: [60] }, action: call(receiver.url) });
    const { automationRunId } = (await send(app, "{}")).body;
    const work = async () => {
      await tickAll(openLoop(LOOPS.runContinuer, app.app));
      await tickAll(worker);
      await worker.idle();
    };
    await work();
    app.clock.turn(-HOUR_MS);
    await keeper.tick(signal);
    await work();
    expect(receiver.got).toHaveLength(2); // The pause itself is kept.
    app.clock.turn(70_000);
    await work();
    expect((await app.owner("GET", `${RUNS}/${run}`)).body.status).toBe("completed");
    expect((await app.owner("GET", `${AUTOMATION_RUNS}/${automationRunId}`)).body.status).toBe("completed");
  });

  test("lets schedules follow the new time, and runs no scheduled time twice", async () => {
    await using app = await startApp({ engine: false });
    app.clock.turn(660_000 - (app.clock.now().getTime() % 600_000)); // A minute after a scheduled time.
    const keeper = timekeeper(app.app);
    const loop = openLoop(LOOPS.scheduler, app.app);
    await keeper.tick(signal);
    const work = { kind: "conditional_branch", definition: branch() };
    const config = { schedule: { cron: "*/10 * * * *" }, action: work };
    const { id } = await makeAutomation(app.owner, config, { triggerType: "schedule" });
    const minutes = async (count: number) => {
      for (let minute = 0; minute < count; minute++) {
        app.clock.turn(60_000);
        await keeper.tick(signal);
        await tickAll(loop);
      }
    };
    await minutes(30);
    const before = await instants(app);
    app.clock.turn(-HOUR_MS);
    await keeper.tick(signal);
    const [row] = await app.app.store.db.select().from(automations).where(eq(automations.id, id));
    expect(Date.parse(row?.nextRunAt ?? "")).toBeLessThanOrEqual(app.clock.now().getTime() + 10 * 60_000);
    await minutes(80);
    const after = await instants(app);
    expect(new Set(after).size).toBe(after.length);
    expect(after).toEqual(expect.arrayContaining(before));
    // 30 new minutes, 30 repeated ones, and 20 after them.
    expect([before.length, after.length]).toEqual([3, 8]);
  });

  const instants = async ({ app }: Started) =>
    (await app.store.db.select({ at: automationRuns.scheduledAt }).from(automationRuns)).map(({ at }) => at);

  test("doesn't let two runs of one concurrency key run at once, although the newer has the smaller ID", async () => {
    await using receiver = startClosed();
    let backMs = 0;
    const ids = { ...systemIds, uuid: () => Bun.randomUUIDv7("hex", Date.now() - backMs) };
    await using app = await startApp({ overrides: { ids } });
    const action = await makeAction(app.owner, call(receiver.url, { concurrencyKey: "one" }));
    const start = async () => created(await app.owner("POST", `${ACTIONS}/${action.id}/run`)).id as string;
    const older = await start();
    await eventually(() => receiver.got.length === 1);
    backMs = HOUR_MS;
    const newer = await start();
    expect(newer < older).toBe(true);
    await runToEnd(app.owner, (await makeAction(app.owner)).id);
    expect((await app.owner("GET", `${RUNS}/${newer}`)).body.status).toBe("pending");
    receiver.open();
    for (const id of [older, newer]) expect((await runEnd(app.owner, id)).status).toBe("completed");
  });
});

test("an attempt whose lease is checked late isn't considered lost when the next one is already running", async () => {
  const second = Promise.withResolvers<void>();
  await using receiver = startReceiver(async (_, count) => {
    if (count === 2) await second.promise;
    return new Response("", { status: count === 1 ? 503 : 200 });
  });
  await using app = await startApp({ engine: false });
  const late = Promise.withResolvers<void>();
  let isLate = false;
  const { store } = app.app;
  const slow: typeof store = Object.assign(Object.create(store), {
    write: async (...given: Parameters<typeof store.write>) => {
      const waits = isLate;
      isLate = false;
      if (waits) await late.promise;
      return store.write(...given);
    },
  });
  const worker = openWorker({ ...app.app, store: slow });
  const action = await makeAction(
    app.owner,
    call(receiver.url, { retry: { maxAttempts: 3, backoffSeconds: [0] } }),
  );
  const run = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
  await worker.tick(signal);
  isLate = true;
  const renewed = worker.renew(); // Of the first attempt; it is written when the second one is sent.
  await eventually(async () => {
    await worker.tick(signal);
    return receiver.got.length > 1;
  });
  late.resolve();
  await renewed;
  second.resolve();
  await worker.idle();
  await tickAll(worker);
  await worker.idle();
  expect(receiver.got).toHaveLength(2);
  expect((await app.owner("GET", `${RUNS}/${run.id}`)).body).toMatchObject({ status: "completed" });
});
