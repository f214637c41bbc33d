import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { systemClock } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import type { Claimed } from "../../src/queue/room.ts";
import { startApp } from "../support/app.ts";
import { eventually } from "../support/outbound.ts";
import { neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  created,
  makeAction,
  makeAutomation,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

/** A receiver that holds back its responses until it is opened. */
function startHeld() {
  const open = Promise.withResolvers<void>();
  const receiver = startReceiver(async () => {
    await open.promise;
    return Response.json({});
  });
  return Object.assign(receiver, { open: () => open.resolve() });
}

/** An automation of one request, with the number of the call in its path. */
const makeCaller = ({ owner }: Started, url: string, step: object = {}) =>
  makeAutomation(owner, {
    steps: [{ key: "call", kind: "http_request", definition: { url: `${url}/{{input.n}}` }, ...step }],
  });

const startRun = async ({ owner }: Started, id: string, n: number): Promise<string> =>
  created(await owner("POST", `${AUTOMATIONS}/${id}/run`, { input: { n } })).id;

/** The worker has looked for runs and found none. */
async function warmUp(app: Started, url: string): Promise<void> {
  const flow = await makeCaller(app, url);
  await automationRunEnd(app.owner, await startRun(app, flow.id, 0));
}

/** The first step of an automation run now. */
const stepOf = async ({ owner }: Started, id: string) =>
  (await owner("GET", `${AUTOMATION_RUNS}/${id}`)).body.steps[0];

/** IDs of the runs that claims have leased since this call. */
function watchClaims({ app: { store } }: Started): string[] {
  const claimed: string[] = [];
  const { write } = store;
  Object.assign(store, {
    write: async (...given: Parameters<typeof write>) => {
      const value = await write.apply(store, given);
      for (const { id } of (value as Partial<Claimed> | undefined)?.runs ?? []) claimed.push(id);
      return value;
    },
  });
  return claimed;
}

test("the run of a step is stored as claimed if there is room, and claimed later if there isn't", async () => {
  await using quick = startReceiver();
  await using held = startHeld();
  await using app = await startApp({ env: { WEIR_CONCURRENCY: "4" } });
  await warmUp(app, quick.url);
  const flow = await makeCaller(app, held.url);
  const claimed = watchClaims(app);
  const first = [await startRun(app, flow.id, 1), await startRun(app, flow.id, 2)]; // a claim that looks for runs has the other two slots
  const steps = await Promise.all(first.map((id) => stepOf(app, id)));
  expect(steps.map(({ status }) => status)).toEqual(["running", "running"]);
  const others = [];
  for (let n = 3; n < 6; n++) others.push(await startRun(app, flow.id, n));
  const last = others[2] ?? "";
  expect((await stepOf(app, last)).status).toBe("pending");
  held.open();
  for (const id of [...first, ...others]) {
    const { status, steps } = await automationRunEnd(app.owner, id);
    expect([status, steps[0].status]).toEqual(["completed", "completed"]);
  }
  expect(held.got).toHaveLength(5);
  for (const { actionRunId } of steps) expect(claimed).not.toContain(actionRunId);
  expect(claimed).toContain((await stepOf(app, last)).actionRunId);
});

test("of two organizations, one holds at most half of the slots, however its runs are started", async () => {
  let now = 0;
  let most = 0;
  const open = Promise.withResolvers<void>();
  await using held = startReceiver(async () => {
    most = Math.max(most, ++now);
    await open.promise;
    now--;
    return Response.json({});
  });
  await using quick = startReceiver();
  await using app = await startApp();
  await neighbour(app);
  await warmUp(app, quick.url);
  const flow = await makeCaller(app, held.url);
  const action = await makeAction(app.owner, { kind: "http_request", definition: { url: held.url } });
  await Promise.all([1, 2, 3].map(() => app.owner("POST", `${ACTIONS}/${action.id}/run`)));
  // the claim of the actions and the starts of the automations then share a transaction
  void app.app.store.write(() => systemClock.sleep(30));
  const flows = Array.from({ length: 8 }, (_, n) => startRun(app, flow.id, n));
  await eventually(() => now >= 4);
  open.resolve();
  for (const id of await Promise.all(flows)) await automationRunEnd(app.owner, id);
  expect(most).toBe(4);
});

test("a step whose run can't be stored leaves no slot taken", async () => {
  await using receiver = startReceiver();
  await using app = await startApp({ env: { WEIR_CONCURRENCY: "1" } });
  await warmUp(app, receiver.url);
  const flow = await makeCaller(app, receiver.url);
  const run = (text: string) => app.app.store.write((db) => db.run(sql.raw(text)));
  await run("CREATE TRIGGER refused BEFORE INSERT ON action_runs BEGIN SELECT RAISE(ABORT, 'refused'); END");
  const broken = await startRun(app, flow.id, 1);
  expect((await automationRunEnd(app.owner, broken)).status).toBe("failed");
  await run("DROP TRIGGER refused");
  const next = await automationRunEnd(app.owner, await startRun(app, flow.id, 2));
  expect(next.status).toBe("completed");
});

test("a transaction that fails after it reserved a slot returns it", async () => {
  await using receiver = startReceiver();
  await using app = await startApp({ env: { WEIR_CONCURRENCY: "1" } });
  await warmUp(app, receiver.url);
  const flow = await makeCaller(app, receiver.url);
  const { store } = app.app;
  const { write } = store;
  let isFull = false;
  Object.assign(store, {
    write: (work: Parameters<typeof write>[0]) =>
      write.call(store, async (...given: Parameters<typeof work>) => {
        const value = await work(...given);
        if (isFull) throw new AppError("disk_full", "The disk is full.");
        return value;
      }),
  });
  isFull = true;
  expect((await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: { n: 1 } })).status).toBe(503);
  isFull = false;
  const next = await startRun(app, flow.id, 2);
  expect((await automationRunEnd(app.owner, next)).status).toBe("completed");
  expect(receiver.got.map(({ path }) => path)).toEqual(["/0", "/2"]);
});

test("a run that waits for a slot starts before newer ones", async () => {
  await using quick = startReceiver();
  await using held = startHeld();
  await using app = await startApp({ env: { WEIR_CONCURRENCY: "1" } });
  await warmUp(app, quick.url);
  const [slow, flow] = [await makeCaller(app, held.url), await makeCaller(app, quick.url)];
  const first = await startRun(app, slow.id, 1);
  const ids = [];
  for (let n = 2; n < 8; n++) ids.push(await startRun(app, flow.id, n));
  held.open();
  for (let n = 8; n < 14; n++) ids.push(await startRun(app, flow.id, n));
  for (const id of [first, ...ids]) await automationRunEnd(app.owner, id);
  expect(quick.got.map(({ path }) => path).slice(0, 7)).toEqual(["/0", "/2", "/3", "/4", "/5", "/6", "/7"]);
  expect(quick.got).toHaveLength(13);
});

test("a run that is cancelled right after its step was stored as claimed leaves its slot", async () => {
  await using quick = startReceiver();
  await using held = startHeld();
  await using app = await startApp({ env: { WEIR_CONCURRENCY: "1" } });
  await warmUp(app, quick.url);
  const [flow, other] = [await makeCaller(app, held.url), await makeCaller(app, quick.url)];
  const id = await startRun(app, flow.id, 1);
  expect((await app.owner("POST", `${AUTOMATION_RUNS}/${id}/cancel`)).status).toBeLessThan(300);
  const ended = await automationRunEnd(app.owner, id);
  expect([ended.status, ended.steps[0].status]).toEqual(["cancelled", "cancelled"]);
  const next = await automationRunEnd(app.owner, await startRun(app, other.id, 2));
  expect(next.status).toBe("completed");
});
