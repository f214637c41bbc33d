/** Wall clocks that jump. Those that are set back an hour by hand are in `regressions.test.ts`. */
import { describe, expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { LOOPS, openLoop } from "../../src/engine/loops.ts";
import { rescuer } from "../../src/engine/rescuer.ts";
import { timekeeper } from "../../src/engine/timekeeper.ts";
import { openWorker } from "../../src/engine/worker.ts";
import { automationRuns } from "../../src/resources/automations/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { startApp, turnableClock } from "../support/app.ts";
import { faketimeLibrary, openFaketime } from "../support/faketime.ts";
import { eventually, subscribe, tellOf } from "../support/outbound.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { startSqld } from "../support/sqld.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  branch,
  created,
  makeAction,
  makeAutomation,
  RUNS,
  runEnd,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** The tests' access token is valid for a day. */
const NEARLY_A_DAY_MS = 23 * 60 * MINUTE_MS;
const { signal } = new AbortController();
const work = { kind: "conditional_branch", definition: branch() };
const call = (url: string) => ({
  kind: "http_request",
  definition: { url, method: "POST", timeoutSeconds: 300 },
});

/** A clock that can be set forward and back without time passing. */
function settableClock(hurry = 1) {
  let ahead = 0;
  const clock = turnableClock(hurry);
  return {
    ...clock,
    now: () => new Date(clock.now().getTime() + ahead),
    set: (ms: number) => {
      ahead += ms;
    },
  };
}

/** A receiver whose responses wait until it is opened. */
function startClosed() {
  const door = Promise.withResolvers<void>();
  const receiver = startReceiver(() => door.promise.then(() => Response.json({})));
  return Object.assign(receiver, { open: () => door.resolve() });
}

async function tickAll(loop: { tick(signal: AbortSignal): Promise<"more" | "idle"> }): Promise<void> {
  while ((await loop.tick(signal)) === "more");
}

const instants = async ({ app }: Pick<Started, "app">) =>
  (await app.store.db.select({ at: automationRuns.scheduledAt }).from(automationRuns)).map(({ at }) => at);

describe("a clock that is set a day ahead", () => {
  test.each<["none" | "last", number]>([
    ["none", 0],
    ["last", 1],
  ])(
    "runs no scheduled time twice, with catchUp %s, and reports the skipped ones",
    async (catchUp, madeUp) => {
      const clock = settableClock();
      await using app = await startApp({ engine: false, overrides: { clock } });
      clock.turn(11 * MINUTE_MS - (clock.now().getTime() % (10 * MINUTE_MS))); // A minute after a scheduled time.
      const [keeper, loop] = [timekeeper(app.app), openLoop(LOOPS.scheduler, app.app)];
      await keeper.tick(signal);
      const config = { schedule: { cron: "*/10 * * * *", catchUp }, action: work };
      await makeAutomation(app.owner, config, { triggerType: "schedule" });
      const minutes = async (count: number) => {
        for (let minute = 0; minute < count; minute++) {
          clock.turn(MINUTE_MS);
          await keeper.tick(signal);
          await tickAll(loop);
        }
      };
      await minutes(20);
      expect(await instants(app)).toHaveLength(2);
      clock.set(DAY_MS);
      await minutes(20);
      const after = await instants(app);
      expect([after.length, new Set(after).size]).toEqual([4 + madeUp, 4 + madeUp]);
      const told = (await app.app.store.db.select().from(events)).filter(
        ({ type }) => type === "automation.schedule_missed",
      );
      expect(told.map(({ data }) => data.missed)).toEqual([144 - madeUp]);
    },
  );

  test("interrupts nothing, and what is queued continues", async () => {
    const clock = settableClock(20);
    await using receiver = startClosed();
    await using app = await startApp({ overrides: { clock }, env: { WEIR_CONCURRENCY: "1" } });
    const action = await makeAction(app.owner, call(receiver.url));
    const start = async () => created(await app.owner("POST", `${ACTIONS}/${action.id}/run`)).id as string;
    const ids = [await start(), await start()];
    await eventually(() => receiver.got.length === 1);
    clock.set(NEARLY_A_DAY_MS);
    ids.push(await start());
    await systemClock.sleep(600); // The loops for renewing and rescuing have run.
    receiver.open();
    for (const id of ids)
      expect(await runEnd(app.owner, id)).toMatchObject({ status: "completed", interruptCount: 0 });
    expect(receiver.got).toHaveLength(3);
  });

  deepTest("takes no run from another process that is running it", async () => {
    const clock = settableClock();
    await using server = await startSqld();
    await using receiver = startClosed();
    const env = {
      WEIR_DATABASE_URL: server.url,
      WEIR_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
    };
    await using one = await startApp({ env, overrides: { clock } });
    await using two = await startApp({ env, overrides: { clock }, owner: false, engine: false });
    const other = rescuer(two.app, () => []);
    await other.tick(signal);
    const action = await makeAction(one.owner, call(receiver.url));
    const run = created(await one.owner("POST", `${ACTIONS}/${action.id}/run`));
    await eventually(() => receiver.got.length === 1);
    clock.set(NEARLY_A_DAY_MS);
    for (let n = 0; n < 3; n++) await other.tick(signal);
    expect((await one.owner("GET", `${RUNS}/${run.id}`)).body).toMatchObject({
      status: "running",
      interruptCount: 0,
    });
    receiver.open();
    expect(await runEnd(one.owner, run.id)).toMatchObject({ status: "completed", interruptCount: 0 });
  });

  test("resends no delivery in progress", async () => {
    const clock = settableClock();
    await using receiver = startClosed();
    await using app = await startApp({ overrides: { clock } });
    await subscribe(app, receiver.url, { events: ["action.completed"] });
    await tellOf(app, 5);
    await eventually(() => receiver.got.length === 5);
    clock.set(DAY_MS);
    await systemClock.sleep(700); // Longer than the deliverer pauses.
    const asked = receiver.got.length;
    receiver.open();
    expect(asked).toBe(5);
  });
});

test("a clock that is set back in many small steps blocks nothing either", async () => {
  const clock = settableClock();
  await using app = await startApp({ engine: false, overrides: { clock } });
  const keeper = timekeeper(app.app);
  await keeper.tick(signal);
  const { id } = created(await app.owner("POST", `${ACTIONS}/${(await makeAction(app.owner)).id}/run`));
  for (let step = 0; step < 100; step++) {
    clock.set(-900);
    await keeper.tick(signal);
  }
  const worker = openWorker(app.app);
  await tickAll(worker);
  await worker.idle();
  expect((await app.owner("GET", `${RUNS}/${id}`)).body.status).toBe("completed");
});

/** Requires Debian's package `libfaketime`. */
describe.skipIf(faketimeLibrary === null)("a server whose wall clock is set", () => {
  test.each([
    ["back an hour", -3600],
    ["forward a day", 86_400],
  ])(
    "%s continues: each scheduled time runs once, and no run is lost or duplicated",
    async (_, seconds) => {
      using time = openFaketime(faketimeLibrary ?? "");
      await using receiver = startClosed();
      await using installation = await startInstallation({ ...time.env, WEIR_CONCURRENCY: "1" });
      const server = await installation.serve();
      const action = await makeAction(server.owner, call(receiver.url));
      const start = async () =>
        created(await server.owner("POST", `${ACTIONS}/${action.id}/run`)).id as string;
      const before = [await start(), await start()];
      await eventually(() => receiver.got.length === 1);
      const config = { schedule: { cron: "* * * * * *" }, action: { ...work, definition: branch() } };
      const { id } = await makeAutomation(server.owner, config, { triggerType: "schedule" });
      const path = `${AUTOMATIONS}/${id}/runs?limit=100`;
      const count = (least: number) => until(server.owner, path, ({ total }) => total >= least);
      const { total } = await count(2);
      time.set(seconds);
      const after = await start();
      const last = created(
        await server.owner("POST", `${ACTIONS}/${(await makeAction(server.owner)).id}/run`),
      );
      expect(Math.abs(Date.parse(last.createdAt) - Date.now() - seconds * SECOND_MS)).toBeLessThan(MINUTE_MS);
      const { runs } = await count(total + 3);
      const told = runs.map(({ input }: { input: { scheduledAt: string } }) => input.scheduledAt);
      expect(new Set(told).size).toBe(told.length);
      receiver.open();
      for (const run of [...before, after, last.id])
        expect(await runEnd(server.owner, run)).toMatchObject({
          status: "completed",
          interruptCount: 0,
          retryCount: 0,
        });
      expect(receiver.got).toHaveLength(3);
    },
    120_000,
  );
});
