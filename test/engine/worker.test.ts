import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq, sql } from "drizzle-orm";
import { systemClock } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import { openSignals } from "../../src/base/signals.ts";
import { startEngine } from "../../src/engine/start.ts";
import { timekeeper } from "../../src/engine/timekeeper.ts";
import { openWorker } from "../../src/engine/worker.ts";
import type { Claimed } from "../../src/queue/room.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { ConnectionLost } from "../../src/store/faults.ts";
import { client, endLeases, startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  ACTIONS,
  chainOf,
  correlationOf,
  created,
  makeAction,
  RUNS,
  runEnd,
  runToEnd,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const request = (url: string, more: object = {}) => ({ kind: "http_request", definition: { url, ...more } });

async function start({ owner }: Pick<Started, "owner">, body: object) {
  const action = await makeAction(owner, body);
  return created(await owner("POST", `${ACTIONS}/${action.id}/run`)).id as string;
}

/** A receiver whose first response waits until it is opened. */
function startSlow() {
  const open = Promise.withResolvers<void>();
  const receiver = startReceiver(async (_, count) => {
    if (count === 1) await open.promise;
    return Response.json({ count });
  });
  return Object.assign(receiver, { open: () => open.resolve() });
}

const change = ({ app }: Started, id: string, values: Partial<typeof actionRuns.$inferInsert>) =>
  app.store.write((db) => db.update(actionRuns).set(values).where(eq(actionRuns.id, id)));

const rowOf = async ({ app }: Started, id: string) => {
  const [row] = await app.store.db.select().from(actionRuns).where(eq(actionRuns.id, id));
  return row;
};

describe("a worker", () => {
  test("runs alone what was running at two crashes, and delays others by 20 s in total, however many there are", async () => {
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(async ({ path }) => {
      if (path === "/suspect") await open.promise;
      return Response.json({});
    });
    await using app = await startApp({ engine: false, stands: true });
    const queue = async (path: string) =>
      start(app, { ...request(receiver.url + path), name: crypto.randomUUID() });
    const suspects = [];
    for (let n = 0; n < 4; n++) suspects.push(await queue("/suspect"));
    for (const id of suspects) await change(app, id, { processDeaths: 2 });
    const later = await queue("/suspect");
    await change(app, later, {
      processDeaths: 2,
      dueAt: new Date(app.clock.now().getTime() + 60_000).toISOString(),
    });
    const other = await queue("/other");
    const worker = openWorker(app.app);
    const tick = async () => {
      const rest = new AbortController();
      const ticked = worker.tick(rest.signal);
      await systemClock.sleep(50);
      rest.abort();
      await ticked;
    };
    const calls = (wanted: string) => receiver.got.filter(({ path }) => path === wanted).length;
    const underWay = () => worker.leasedRuns().map(({ id }) => id);
    await tick();
    await tick();
    expect(underWay()).toEqual(suspects.slice(0, 1));
    app.clock.turn(5_001);
    await tick();
    await tick();
    expect(underWay()).toEqual(suspects.slice(0, 2));
    expect(calls("/other")).toBe(0);
    app.clock.turn(15_000);
    await tick();
    expect(underWay().slice(0, 4)).toEqual(suspects);
    await until(app.owner, RUNS, () => calls("/other") === 1);
    app.clock.turn(60_000);
    await tick();
    expect(underWay()).toContain(later);
    open.resolve();
    await worker.idle();
    for (const id of [...suspects, other, later])
      expect((await runEnd(app.owner, id)).status).toBe("completed");
  });

  test("is woken by what is queued, without polling", async () => {
    const signals = openSignals();
    const patient = {
      ...signals,
      wait: (topic: string, _: number, until?: AbortSignal) => signals.wait(topic, 2 ** 30, until),
    };
    await using app = await startApp({ overrides: { signals: patient } });
    await using receiver = startReceiver();
    const action = await makeAction(app.owner, request(receiver.url));
    for (let i = 0; i < 5; i++) expect((await runToEnd(app.owner, action.id)).status).toBe("completed");
  });

  test("executes as many runs at once as the setting says", async () => {
    await using app = await startApp({ env: { WEIR_CONCURRENCY: "2" } });
    let now = 0;
    let most = 0;
    const both = Promise.withResolvers<void>();
    await using receiver = startReceiver(async () => {
      most = Math.max(most, ++now);
      if (now === 2) both.resolve();
      await both.promise;
      await Bun.sleep(10);
      now--;
      return Response.json({});
    });
    const action = await makeAction(app.owner, request(receiver.url));
    const runs = await Promise.all(
      Array.from({ length: 9 }, () => app.owner("POST", `${ACTIONS}/${action.id}/run`)),
    );
    for (const run of runs) expect((await runEnd(app.owner, created(run).id)).status).toBe("completed");
    expect(most).toBe(2);
  });

  test("whose run was taken over writes nothing for it, and gives it up", async () => {
    await using app = await startApp({ hurry: 50, env: { WEIR_CONCURRENCY: "1" } });
    await using slow = startSlow();
    const run = await start(app, request(slow.url));
    await until(app.owner, `${RUNS}/${run}`, () => slow.got.length === 1);
    const lease = { leaseToken: "another", bootId: "another", leaseUntil: app.clock.now().toISOString() };
    await change(app, run, {
      ...lease,
      leaseUntil: new Date(app.clock.now().getTime() + 3_600_000).toISOString(),
    });
    const other = await start(app, request(slow.url)); // There is only one slot: it needs the other's.
    expect((await runEnd(app.owner, other)).result.body).toEqual({ count: 2 });
    expect(await rowOf(app, run)).toMatchObject({
      status: "running",
      leaseToken: "another",
      result: null,
      completedAt: null,
    });

    await change(app, run, lease);
    app.clock.turn(1_000);
    expect(await runEnd(app.owner, run)).toMatchObject({
      status: "completed",
      interruptCount: 1,
      result: { body: { count: 3 } },
    });
    slow.open();
  });

  test("that can't write an outcome retries the run once it can", async () => {
    await using app = await startApp({ hurry: 50 });
    await using receiver = startReceiver();
    const refuse = sql.raw(
      "CREATE TRIGGER runs_full BEFORE UPDATE ON action_runs WHEN NEW.completed_at IS NOT NULL BEGIN SELECT RAISE(ABORT, 'full'); END",
    );
    await app.app.store.write((db) => db.run(refuse));
    const run = await start(app, request(receiver.url));
    await until(app.owner, `${RUNS}/${run}`, () => app.logged.some((line) => line.includes(run)));
    await app.app.store.write((db) => db.run(sql.raw("DROP TRIGGER runs_full")));
    const ended = await runEnd(app.owner, run);
    expect(ended.status).toBe("completed");
    expect(ended.interruptCount).toBeGreaterThanOrEqual(1);
  });

  test("retries a run whose success can't be saved while the database server is unreachable", async () => {
    await using app = await startApp({ engine: false, hurry: 50 });
    await using receiver = startReceiver();
    const run = await start(app, request(receiver.url, { retry: { maxAttempts: 1 } }));
    const { store } = app.app;
    let failures = 0; // with other outcomes, and alone
    const lossy: typeof store = Object.assign(Object.create(store), {
      write: (work: Parameters<typeof store.write>[0]) =>
        store.write(async (db, group) => {
          const value = await work(db, group);
          const [row] = await db.select().from(actionRuns).where(eq(actionRuns.id, run));
          if (row?.status !== "completed" || failures === 2) return value;
          failures++;
          const cause = new ConnectionLost("gone");
          throw new AppError("unavailable", "The server is unreachable.", { retryable: true, cause });
        }),
    });
    const engine = await startEngine({ ...app.app, store: lossy });
    expect(await runEnd(app.owner, run)).toMatchObject({ status: "completed", interruptCount: 1 });
    expect(receiver.got).toHaveLength(2);
    await engine.stop(0);
  });

  test("resumes a run that it leased in a commit whose response was lost", async () => {
    await using app = await startApp({ engine: false, hurry: 50 });
    await using receiver = startReceiver();
    const run = await start(app, request(receiver.url));
    const { store } = app.app;
    const lost = Promise.withResolvers<void>();
    let isLost = false;
    const lossy: typeof store = Object.assign(Object.create(store), {
      write: async (...given: Parameters<typeof store.write>) => {
        const value = await store.write(...given);
        const isClaim = (value as Partial<Claimed> | undefined)?.runs?.some(({ id }) => id === run) === true;
        if (isLost || !isClaim) return value;
        isLost = true;
        lost.resolve();
        throw new AppError("unavailable", "The database server is unreachable.", { retryable: true });
      },
    });
    const engine = await startEngine({ ...app.app, store: lossy });
    await lost.promise;
    app.clock.turn(31_000); // Its lease has expired.
    expect(await runEnd(app.owner, run)).toMatchObject({ status: "completed", interruptCount: 1 });
    expect(receiver.got).toHaveLength(1);
    await engine.stop(0);
  });
});

test("a run that can't reach the database server is retried, and ends as if nothing had happened", async () => {
  await using app = await startApp({ hurry: 50 });
  await using receiver = startReceiver();
  const { http_request } = app.app.executors;
  let times = 0;
  const away = new AppError("unavailable", "The database server is unreachable.", {
    retryable: true,
    cause: new ConnectionLost("gone"),
  });
  const execute: typeof http_request.execute = async (...given) => {
    if (times++ === 0) throw away;
    return http_request.execute(...given);
  };
  Object.assign(app.app.executors, { http_request: { ...http_request, execute } });
  const retry = { maxAttempts: 1 };
  const ended = await runEnd(app.owner, await start(app, request(receiver.url, { retry })));
  expect([ended.status, ended.interruptCount, ended.retryCount, times]).toEqual(["completed", 1, 0, 2]);
});

test("a run that writes to a dataset releases it when it can't reach the database server", async () => {
  await using app = await startApp({ hurry: 15 });
  const { duckdb_transform } = app.app.executors;
  let times = 0;
  const away = new AppError("unavailable", "The database server is unreachable.", {
    retryable: true,
    cause: new ConnectionLost("gone"),
  });
  const execute: typeof duckdb_transform.execute = async (...given) => {
    const done = await duckdb_transform.execute(...given);
    if (times++ === 0) throw away;
    return done;
  };
  Object.assign(app.app.executors, { duckdb_transform: { ...duckdb_transform, execute } });
  const definition = { sql: "SELECT 1 AS n", output: { layer: "marts", dataset: "a" } };
  const transform = { name: "A", kind: "duckdb_transform", definition };
  const ended = await runEnd(app.owner, await start(app, transform));
  expect([ended.status, ended.interruptCount, times]).toEqual(["completed", 1, 2]);
});

describe("at boot", () => {
  /** A run that was running in another process when that died. */
  async function orphan(app: Started, url: string, values: Partial<typeof actionRuns.$inferInsert> = {}) {
    const run = await start(app, request(url));
    const leaseUntil = new Date(app.clock.now().getTime() + 30_000).toISOString();
    await change(app, run, {
      status: "running",
      dueAt: null,
      leaseToken: "dead",
      bootId: "dead",
      leaseUntil,
      ...values,
    });
    return run;
  }

  test("runs of earlier processes continue immediately, whatever their lease says", async () => {
    await using app = await startApp({ engine: false });
    await using receiver = startReceiver();
    const run = await orphan(app, receiver.url);
    const engine = await startEngine(app.app);
    endLeases(app);
    expect(await runEnd(app.owner, run)).toMatchObject({
      status: "completed",
      interruptCount: 1,
      retryCount: 0,
    });
    await engine.stop(0);
  });

  test("one that was interrupted three times before fails, and its event says so", async () => {
    await using app = await startApp({ engine: false });
    await using receiver = startReceiver();
    const run = await orphan(app, receiver.url, { interruptCount: 3 });
    const engine = await startEngine(app.app);
    endLeases(app);
    const ended = await runEnd(app.owner, run);
    expect(ended).toMatchObject({
      status: "failed",
      interruptCount: 4,
      error: { code: "interrupted_too_often" },
    });
    expect(await chainOf(app, await correlationOf(app, ended.id))).toEqual(["action.failed"]);
    expect(receiver.got).toEqual([]);
    await engine.stop(0);
  });

  test("one whose failure was lost too isn't counted again", async () => {
    await using app = await startApp({ engine: false });
    await using receiver = startReceiver();
    const run = await orphan(app, receiver.url, { interruptCount: 4 });
    const engine = await startEngine(app.app);
    endLeases(app);
    const ended = await runEnd(app.owner, run);
    expect(ended).toMatchObject({
      status: "failed",
      interruptCount: 4,
      error: { code: "interrupted_too_often" },
    });
    await engine.stop(0);
  });

  test("a lease of a process whose clock is slightly ahead is left alone, without a warning", async () => {
    await using app = await startApp({ engine: false });
    await using receiver = startReceiver();
    const leaseUntil = new Date(app.clock.now().getTime() + 30_700).toISOString();
    const run = await orphan(app, receiver.url, { leaseUntil });
    await timekeeper(app.app).tick(new AbortController().signal);
    expect(await rowOf(app, run)).toMatchObject({ status: "running", leaseUntil });
    expect(app.logged.filter((line) => line.includes("clock set back"))).toEqual([]);
  });

  test("one that was to be cancelled is cancelled", async () => {
    await using app = await startApp({ engine: false });
    await using receiver = startReceiver();
    const run = await orphan(app, receiver.url, { cancelRequestedAt: app.clock.now().toISOString() });
    const engine = await startEngine(app.app);
    endLeases(app);
    expect((await runEnd(app.owner, run)).status).toBe("cancelled");
    expect(receiver.got).toEqual([]);
    await engine.stop(0);
  });
});

describe("stopping", () => {
  test("lets running work finish within the grace period", async () => {
    await using app = await startApp();
    await using slow = startSlow();
    const run = await start(app, request(slow.url));
    await until(app.owner, `${RUNS}/${run}`, () => slow.got.length === 1);
    const stopped = app.engine?.stop(60_000);
    slow.open();
    await stopped;
    expect((await app.owner("GET", `${RUNS}/${run}`)).body.status).toBe("completed");
    const late = await start(app, request(slow.url));
    expect((await app.owner("GET", `${RUNS}/${late}`)).body.status).toBe("pending");
  });

  test("interrupts the rest, without using an attempt", async () => {
    const dataFolder = mkdtempSync(join(tmpdir(), "weir-test-"));
    try {
      await using slow = startSlow();
      const first = await startApp({ dataFolder });
      const run = await start(first, request(slow.url));
      await until(first.owner, `${RUNS}/${run}`, () => slow.got.length === 1);
      await first[Symbol.asyncDispose]();

      await using again = await startApp({ dataFolder, owner: false });
      const owner = client(again.origin, { authorization: `Bearer ${first.token}` });
      const ended = await runEnd(owner, run);
      expect(ended).toMatchObject({
        status: "completed",
        retryCount: 0,
        interruptCount: 1,
        result: { body: { count: 2 } },
      });
      slow.open();
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });
});
