import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { AppError } from "../../src/base/errors.ts";
import { LOOPS, openLoop } from "../../src/engine/loops.ts";
import { instantAfter } from "../../src/flows/schedule.ts";
import { automationRuns, automations } from "../../src/resources/automations/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { startApp } from "../support/app.ts";
import { AUTOMATIONS, branch, makeAutomation } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const action = { kind: "conditional_branch", definition: branch() };

/** Without an engine, and with a stopped clock: the test turns it and runs each round. */
const start = () => startApp({ engine: false, stands: true });

/** Sets the clock, forward or back. */
const setClock = ({ clock }: Started, instant: string) =>
  clock.turn(Date.parse(instant) - clock.now().getTime());

const schedule = (app: Started, cron: string, more: object = {}) =>
  makeAutomation(app.owner, { schedule: { cron, ...more }, action }, { triggerType: "schedule" });

async function tickAll(loop: ReturnType<typeof openLoop>) {
  const { signal } = new AbortController();
  while ((await loop.tick(signal)) === "more");
}

/** Scheduled times that have run, oldest first. Read from the store, since the token isn't valid in other years. */
async function instantsOf({ app }: Started, id: string): Promise<(string | null)[]> {
  const rows = await app.store.db
    .select({ at: automationRuns.scheduledAt })
    .from(automationRuns)
    .where(eq(automationRuns.automationId, id))
    .orderBy(automationRuns.scheduledAt);
  return rows.map(({ at }) => at);
}

const nextOf = async ({ app }: Started, id: string) => {
  const [row] = await app.store.db.select().from(automations).where(eq(automations.id, id));
  return row?.nextRunAt ?? null;
};

/** An active schedule, as if created at `instant`. */
async function scheduleAt(app: Started, instant: string, cron: string, more: object = {}) {
  const { id } = await schedule(app, cron, more);
  setClock(app, instant);
  const nextRunAt = instantAfter({ cron, ...more }, app.clock.now());
  await app.app.store.write((db) => db.update(automations).set({ nextRunAt }).where(eq(automations.id, id)));
  return id as string;
}

describe("a scheduled time", () => {
  test("starts one run that names it", async () => {
    await using app = await start();
    const { id, nextRunAt } = await schedule(app, "*/5 * * * *");
    const loop = openLoop(LOOPS.scheduler, app.app);
    await tickAll(loop);
    expect((await app.owner("GET", `${AUTOMATIONS}/${id}/runs`)).body.total).toBe(0);
    setClock(app, nextRunAt);
    await tickAll(loop);
    await tickAll(loop);
    const { runs } = (await app.owner("GET", `${AUTOMATIONS}/${id}/runs`)).body;
    expect(runs).toEqual([
      {
        id: expect.any(String),
        automationId: id,
        automationVersion: 1,
        parentAutomationRunId: null,
        status: "completed",
        displayStatus: "Completed",
        triggerMethod: "schedule",
        triggerSourceType: "system",
        triggerSourceId: null,
        input: { scheduledAt: nextRunAt },
        steps: [expect.objectContaining({ key: "action", status: "completed" })],
        result: { branch: "a" },
        error: null,
        startedAt: expect.any(String),
        completedAt: expect.any(String),
        createdAt: expect.any(String),
      },
    ]);
    const shown = (await app.owner("GET", `${AUTOMATIONS}/${id}`)).body;
    expect(Date.parse(shown.nextRunAt) - Date.parse(nextRunAt)).toBe(5 * MINUTE_MS);
    expect(shown.latestRun.id).toBe(runs[0].id);
    const [triggered] = (await app.owner("GET", "/api/v1/events?type=automation.triggered")).body.items;
    expect(triggered).toMatchObject({
      entity: { type: "automation", id },
      actor: { type: "system", id: "scheduler" },
      data: { runId: runs[0].id, triggerMethod: "schedule", scheduledAt: nextRunAt },
    });
  });

  test("is its run's payload", async () => {
    await using app = await start();
    const when = { branches: [{ key: "seen", when: "payload.scheduledAt == input.scheduledAt" }] };
    const config = {
      schedule: { cron: "*/5 * * * *" },
      action: { kind: "conditional_branch", definition: when },
    };
    const { id, nextRunAt } = await makeAutomation(app.owner, config, { triggerType: "schedule" });
    const loop = openLoop(LOOPS.scheduler, app.app);
    setClock(app, nextRunAt);
    await tickAll(loop);
    expect((await app.owner("GET", `${AUTOMATIONS}/${id}/runs`)).body.runs[0].result).toEqual({
      branch: "seen",
    });
  });

  test("starts one run if two processes check at the same time", async () => {
    await using app = await start();
    const { id, nextRunAt } = await schedule(app, "*/5 * * * *");
    const loops = [
      openLoop(LOOPS.scheduler, app.app),
      openLoop(LOOPS.scheduler, app.app),
      openLoop(LOOPS.scheduler, app.app),
    ];
    setClock(app, nextRunAt);
    await Promise.all(loops.map(tickAll));
    expect(await instantsOf(app, id)).toEqual([nextRunAt]);
  });

  test("starts one run each, in order, if one check finds several", async () => {
    await using app = await start();
    const id = await scheduleAt(app, "2026-05-01T10:02:15Z", "*/20 * * * * *");
    const loop = openLoop(LOOPS.scheduler, app.app);
    setClock(app, "2026-05-01T10:03:10Z");
    await tickAll(loop);
    expect(await instantsOf(app, id)).toEqual([
      "2026-05-01T10:02:20.000Z",
      "2026-05-01T10:02:40.000Z",
      "2026-05-01T10:03:00.000Z",
    ]);
    expect(await nextOf(app, id)).toBe("2026-05-01T10:03:20.000Z");
  });

  test("isn't missed while the server is up and its store can't be written", async () => {
    await using app = await start();
    const id = await scheduleAt(app, "2026-05-01T09:59:30Z", "0 10 * * *");
    let isBroken = false;
    const unwritable = () =>
      Promise.reject(new AppError("unavailable", "The disk is slow.", { retryable: true }));
    const store = new Proxy(app.app.store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === "write" && isBroken) return unwritable;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const loop = openLoop(LOOPS.scheduler, { ...app.app, store });
    await tickAll(loop);
    isBroken = true;
    for (let second = 0; second < 90; second += 10) {
      setClock(app, `2026-05-01T10:0${Math.floor(second / 60)}:${String(second % 60).padStart(2, "0")}Z`);
      await tickAll(loop);
    }
    expect(await instantsOf(app, id)).toEqual([]);
    isBroken = false;
    await tickAll(loop);
    expect(await instantsOf(app, id)).toEqual(["2026-05-01T10:00:00.000Z"]);
  });

  test("isn't repeated when the clock is set back, or the schedule is enabled again", async () => {
    await using app = await start();
    const { id, nextRunAt } = await schedule(app, "* * * * *");
    const loop = openLoop(LOOPS.scheduler, app.app);
    setClock(app, nextRunAt);
    await tickAll(loop);
    app.clock.turn(-10 * SECOND_MS);
    for (const status of ["disabled", "active"]) await app.owner("PATCH", `${AUTOMATIONS}/${id}`, { status });
    expect(await nextOf(app, id)).toBe(nextRunAt);
    app.clock.turn(10 * SECOND_MS);
    await tickAll(loop);
    expect(await instantsOf(app, id)).toEqual([nextRunAt]);
    app.clock.turn(MINUTE_MS);
    await tickAll(loop);
    expect(await instantsOf(app, id)).toHaveLength(2);
  });

  test.each([
    ["catchUp", { catchUp: "last" }],
    ["the times after it", { cron: "*/10 * * * *" }],
  ])("still starts its run if a change of %s comes before it", async (_, change) => {
    await using app = await start();
    const cron = "*/5 * * * *";
    const id = await scheduleAt(app, "2026-05-01T10:08:00Z", cron);
    setClock(app, "2026-05-01T10:10:00Z");
    const config = { schedule: { cron, ...change } };
    expect((await app.owner("PATCH", `${AUTOMATIONS}/${id}`, { config })).status).toBe(200);
    await tickAll(openLoop(LOOPS.scheduler, app.app));
    expect(await instantsOf(app, id)).toEqual(["2026-05-01T10:10:00.000Z"]);
  });

  test("starts no run if the schedule was changed to other times before it", async () => {
    await using app = await start();
    const id = await scheduleAt(app, "2026-05-01T10:08:00Z", "*/5 * * * *");
    setClock(app, "2026-05-01T10:10:00Z");
    for (const schedule of [{ cron: "*/15 * * * *" }, { cron: "*/5 * * * *" }])
      await app.owner("PATCH", `${AUTOMATIONS}/${id}`, { config: { schedule } });
    await tickAll(openLoop(LOOPS.scheduler, app.app));
    expect([await instantsOf(app, id), await nextOf(app, id)]).toEqual([[], "2026-05-01T10:15:00.000Z"]);
  });

  test("starts its run if the clock was set back to before the process began", async () => {
    await using app = await start();
    let backMs = 0;
    const clock = { ...app.clock, now: () => new Date(app.clock.now().getTime() - backMs) };
    const loop = openLoop(LOOPS.scheduler, { ...app.app, clock });
    const { id } = await schedule(app, "* * * * *");
    backMs = 60 * MINUTE_MS;
    const nextRunAt = instantAfter({ cron: "* * * * *" }, clock.now());
    await app.app.store.write((db) =>
      db.update(automations).set({ nextRunAt }).where(eq(automations.id, id)),
    );
    for (let minute = 0; minute < 2; minute++) {
      app.clock.turn(MINUTE_MS);
      await tickAll(loop);
    }
    expect(await instantsOf(app, id)).toEqual([
      nextRunAt,
      instantAfter({ cron: "* * * * *" }, new Date(nextRunAt ?? "")),
    ]);
  });

  test("starts nothing while the schedule is disabled or deleted", async () => {
    await using app = await start();
    const [one, two] = [await schedule(app, "* * * * *"), await schedule(app, "* * * * *")];
    const loop = openLoop(LOOPS.scheduler, app.app);
    await app.owner("PATCH", `${AUTOMATIONS}/${one.id}`, { status: "disabled" });
    await app.owner("DELETE", `${AUTOMATIONS}/${two.id}`);
    app.clock.turn(3 * MINUTE_MS);
    await tickAll(loop);
    expect([await instantsOf(app, one.id), await instantsOf(app, two.id)]).toEqual([[], []]);
  });
});

describe("on the nights of a clock change", () => {
  /** Checks each minute from `from` to `to`. */
  async function live(app: Started, from: string, to: string, cron: string) {
    const id = await scheduleAt(app, from, cron, { timezone: "Europe/Berlin" });
    const loop = openLoop(LOOPS.scheduler, app.app);
    while (app.clock.now().getTime() < Date.parse(to)) {
      app.clock.turn(MINUTE_MS);
      await tickAll(loop);
    }
    return instantsOf(app, id);
  }

  test("a job at 02:30 runs in spring at the end of the skipped hour", async () => {
    await using app = await start();
    expect(await live(app, "2026-03-28T23:30:00Z", "2026-03-29T03:00:00Z", "30 2 * * *")).toEqual([
      "2026-03-29T01:00:00.000Z",
    ]);
  });

  test("a job at 02:30 runs once in autumn, at the first of the two", async () => {
    await using app = await start();
    expect(await live(app, "2026-10-24T23:30:00Z", "2026-10-25T03:00:00Z", "30 2 * * *")).toEqual([
      "2026-10-25T00:30:00.000Z",
    ]);
  });

  test("a half-hourly job follows elapsed time: none is lost, and none is duplicated", async () => {
    await using app = await start();
    expect(await live(app, "2026-10-24T23:45:00Z", "2026-10-25T01:45:00Z", "*/30 * * * *")).toEqual([
      "2026-10-25T00:00:00.000Z",
      "2026-10-25T00:30:00.000Z",
      "2026-10-25T01:00:00.000Z",
      "2026-10-25T01:30:00.000Z",
    ]);
  });
});

describe("after a time without a server", () => {
  test.each<["none" | "last" | undefined, string[]]>([
    [undefined, []],
    ["none", []],
    ["last", ["2026-05-01T13:00:00.000Z"]],
  ])("catchUp %s", async (catchUp, madeUp) => {
    await using app = await start();
    const more = catchUp === undefined ? {} : { catchUp };
    const id = await scheduleAt(app, "2026-05-01T10:30:00Z", "0 * * * *", more);
    setClock(app, "2026-05-01T13:30:00Z");
    const loop = openLoop(LOOPS.scheduler, app.app);
    await tickAll(loop);
    expect(await instantsOf(app, id)).toEqual(madeUp);
    expect(await nextOf(app, id)).toBe("2026-05-01T14:00:00.000Z");
    const told = await app.app.store.db
      .select()
      .from(events)
      .where(eq(events.type, "automation.schedule_missed"));
    expect(told.map(({ entityId, data }) => ({ entityId, data }))).toEqual([
      {
        entityId: id,
        data: {
          missed: 3 - madeUp.length,
          isCounted: true,
          from: "2026-05-01T11:00:00.000Z",
          to: "2026-05-01T13:00:00.000Z",
          catchUp: catchUp ?? "none",
          madeUpFor: madeUp[0] ?? null,
        },
      },
    ]);
    setClock(app, "2026-05-01T14:00:00Z");
    await tickAll(loop);
    expect(await instantsOf(app, id)).toEqual([...madeUp, "2026-05-01T14:00:00.000Z"]);
  });

  test.each<["none" | "last" | undefined, string, string[]]>([
    [undefined, "2026-05-01T11:00:01Z", ["2026-05-01T11:00:00.000Z"]],
    ["none", "2026-05-01T11:00:59Z", ["2026-05-01T11:00:00.000Z"]],
    ["none", "2026-05-01T11:01:01Z", []],
    ["last", "2026-05-01T11:00:59Z", ["2026-05-01T11:00:00.000Z"]],
  ])("catchUp %s at %s makes up for a time of less than 60 s ago", async (catchUp, now, made) => {
    await using app = await start();
    const more = catchUp === undefined ? {} : { catchUp };
    const id = await scheduleAt(app, "2026-05-01T10:59:59Z", "0 * * * *", more);
    setClock(app, now);
    await tickAll(openLoop(LOOPS.scheduler, app.app));
    expect(await instantsOf(app, id)).toEqual(made);
    expect(await nextOf(app, id)).toBe("2026-05-01T12:00:00.000Z");
  });

  test("catchUp last starts one run of a job that was due every minute", async () => {
    await using app = await start();
    const id = await scheduleAt(app, "2026-05-01T10:30:30Z", "* * * * *", { catchUp: "last" });
    setClock(app, "2026-05-01T10:40:30Z");
    await tickAll(openLoop(LOOPS.scheduler, app.app));
    expect(await instantsOf(app, id)).toEqual(["2026-05-01T10:40:00.000Z"]);
  });

  test("a schedule that runs every second is calculated over a year without counting", async () => {
    await using app = await start();
    const id = await scheduleAt(app, "2025-05-01T10:30:00Z", "* * * * * *", { catchUp: "last" });
    setClock(app, "2026-05-01T13:30:00.500Z");
    await tickAll(openLoop(LOOPS.scheduler, app.app));
    expect(await instantsOf(app, id)).toEqual(["2026-05-01T13:30:00.000Z"]);
    expect(await nextOf(app, id)).toBe("2026-05-01T13:30:01.000Z");
  });

  test("a process that slept long has missed what was due in between", async () => {
    await using app = await start();
    const id = await scheduleAt(app, "2026-05-01T10:30:00Z", "* * * * *");
    const loop = openLoop(LOOPS.scheduler, app.app);
    setClock(app, "2026-05-01T18:30:30Z");
    await tickAll(loop);
    expect(await instantsOf(app, id)).toEqual(["2026-05-01T18:30:00.000Z"]);
  });
});

test("one schedule that can't be started blocks no other", async () => {
  await using app = await start();
  const [broken, sound] = [await schedule(app, "* * * * *"), await schedule(app, "* * * * *")];
  const config = { schedule: { cron: "no cron" }, action };
  await app.app.store.write((db) =>
    db.update(automations).set({ config }).where(eq(automations.id, broken.id)),
  );
  const loop = openLoop(LOOPS.scheduler, app.app);
  setClock(app, sound.nextRunAt);
  await loop.tick(new AbortController().signal);
  expect(await instantsOf(app, sound.id)).toEqual([sound.nextRunAt]);
  expect(app.logged.some((line) => line.includes(broken.id))).toBe(true);
});
