import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { LOOPS, openLoop } from "../../src/engine/loops.ts";
import { startApp } from "../support/app.ts";
import { sign } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { AUTOMATIONS, branch, created, faultsOf, flowToEnd, until } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const HOUR = 3_600_000;
/** Timeout of a test that starts SQL processes. */
const LIMIT_MS = 120_000;
const SECRET = "the-secret-of-the-notices";
const quick = { action: { kind: "conditional_branch", definition: branch() } };
/** A step that produces this many rows, with a query. */
const rows = (n: number) => ({
  kind: "duckdb_transform",
  definition: { sql: `SELECT i AS id FROM range(${n}) r(i)` },
});

/** An automation with `expect`. */
const make = async ({ owner }: Started, expect: object, config: object = quick) =>
  created(await owner("POST", AUTOMATIONS, { name: "Nightly", config: { ...config, expect } }));

/** Runs a round of the watcher, as after each second. */
const look = async (app: Started, loop = openLoop(LOOPS.automationWatcher, app.app)) => {
  await loop.tick(new AbortController().signal);
  expect(app.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  return loop;
};

const stale = async ({ owner }: Started) =>
  (await owner("GET", "/api/v1/events?type=automation.stale&order=asc")).body.items;

describe("an automation that is silent for too long", () => {
  test("is reported once, and again after its next silence", async () => {
    await using app = await startApp({ engine: false });
    const { id } = await make(app, { maxSilenceSeconds: 3600 });
    const loop = await look(app);
    app.clock.turn(HOUR - 60_000);
    await look(app, loop);
    expect(await stale(app)).toEqual([]);
    app.clock.turn(61_000);
    await look(app, loop);
    await look(app, loop);
    app.clock.turn(5 * HOUR);
    await look(app, loop);
    const told = await stale(app);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({
      entity: { type: "automation", id },
      actor: { type: "system", id: "watcher" },
      data: {
        name: "Nightly",
        reason: "silent",
        maxSilenceSeconds: 3600,
        silentSince: expect.any(String),
        lastRunId: null,
        lastCompletedAt: null,
      },
    });

    const run = await flowToEnd(app.owner, id);
    app.clock.turn(HOUR - 60_000);
    await look(app, loop);
    expect(await stale(app)).toHaveLength(1);
    app.clock.turn(61_000);
    await look(app, loop);
    expect((await stale(app))[1].data).toMatchObject({
      reason: "silent",
      silentSince: run.completedAt,
      lastRunId: run.id,
      lastCompletedAt: run.completedAt,
    });
  });

  test("is not reported again by another process or after a restart", async () => {
    await using app = await startApp({ engine: false });
    await make(app, { maxSilenceSeconds: 60 });
    await look(app);
    app.clock.turn(61_000);
    await Promise.all([look(app), look(app), look(app)]);
    await look(app);
    expect(await stale(app)).toHaveLength(1);
  });

  test("considers completed runs, not failed ones", async () => {
    await using app = await startApp({ engine: false });
    const failing = { action: { kind: "conditional_branch", definition: branch("a", "false") } };
    const { id } = await make(app, { maxSilenceSeconds: 3600 }, failing);
    const loop = await look(app);
    app.clock.turn(HOUR / 2);
    expect((await flowToEnd(app.owner, id)).status).toBe("failed");
    app.clock.turn(HOUR / 2 + 1000);
    await look(app, loop);
    expect(await stale(app)).toHaveLength(1);
  });

  test("isn't checked while it is disabled, and starts again after", async () => {
    await using app = await startApp({ engine: false });
    const { id } = await make(app, { maxSilenceSeconds: 3600 });
    const loop = await look(app);
    await app.owner("PATCH", `${AUTOMATIONS}/${id}`, { status: "disabled" });
    app.clock.turn(3 * HOUR);
    await look(app, loop);
    await app.owner("PATCH", `${AUTOMATIONS}/${id}`, { status: "active" });
    await look(app, loop);
    app.clock.turn(HOUR - 60_000);
    await look(app, loop);
    expect(await stale(app)).toEqual([]);
    app.clock.turn(61_000);
    await look(app, loop);
    expect(await stale(app)).toHaveLength(1);
  });

  test("is reported by the server itself", async () => {
    await using app = await startApp({ hurry: 20 });
    await make(app, { maxSilenceSeconds: 60 });
    const first = () => app.app.store.db.all("select * from automation_watches");
    await until(app.owner, AUTOMATIONS, () => true);
    while ((await first()).length === 0) await Bun.sleep(10);
    app.clock.turn(61_000);
    await until(app.owner, "/api/v1/events?type=automation.stale", ({ items }) => items.length === 1);
  });
});

describe("an automation whose last run produced too few rows", () => {
  deepTest(
    "is reported at the first such run, and again after one that produced enough",
    async () => {
      await using app = await startApp();
      const steps = (n: number) => [
        { key: "a", ...rows(n) },
        { key: "b", ...rows(1), dependsOn: ["a"] },
      ];
      const { id } = await make(app, { minRows: 5 }, { steps: steps(3) });
      const loop = await look(app);
      const first = await flowToEnd(app.owner, id);
      expect(first.status).toBe("completed");
      await look(app, loop);
      await flowToEnd(app.owner, id);
      await look(app, loop);
      await look(app, await look(app));
      const told = await stale(app);
      expect(told).toHaveLength(1);
      expect(told[0].data).toMatchObject({ reason: "empty", minRows: 5, rows: 4 });

      for (const n of [4, 0]) {
        await app.owner("PATCH", `${AUTOMATIONS}/${id}`, { config: { steps: steps(n) } });
        await flowToEnd(app.owner, id);
        await look(app, loop);
      }
      expect((await stale(app)).map(({ data }: { data: { rows: number } }) => data.rows)).toEqual([4, 1]);
    },
    LIMIT_MS,
  );

  test("counts the rows of all of its items", async () => {
    await using app = await startApp();
    const step = { key: "each", forEach: "{{input}}", kind: "conditional_branch", definition: branch() };
    const { id } = await make(app, { minRows: 1 }, { steps: [step] });
    await flowToEnd(app.owner, id, { input: [1, 2] });
    await look(app, await look(app));
    expect((await stale(app))[0].data).toMatchObject({ reason: "empty", rows: 0 });
    await app.app.store.write(async (db) => {
      await db.run("update action_runs set result = json_set(result, '$.rows', 1)");
    });
    await look(app);
    await flowToEnd(app.owner, id, { input: [] });
    await look(app);
    expect(await stale(app)).toHaveLength(2);
  });
});

describe("a notice", () => {
  test("is sent to notifyUrl, signed with the automation's secret", async () => {
    await using app = await startApp({ hurry: 20 });
    await using receiver = startReceiver((_, count) => new Response("", { status: count < 2 ? 503 : 204 }));
    const notifyUrl = `${receiver.url}/stale`;
    const made = await make(app, { maxSilenceSeconds: 60, notifyUrl }, { ...quick, secret: SECRET });
    expect(made.hasSecret).toBe(true);
    while ((await app.app.store.db.all("select * from automation_watches")).length === 0) await Bun.sleep(10);
    app.clock.turn(61_000);
    await until(app.owner, AUTOMATIONS, () => receiver.got.length >= 1);
    await Bun.sleep(50);
    app.clock.turn(6_000);
    await until(app.owner, AUTOMATIONS, () => receiver.got.length >= 2);
    const [notice, again] = receiver.got;
    expect(again?.text).toBe(notice?.text ?? "");
    const text = notice?.text ?? "";
    expect(JSON.parse(text)).toEqual({
      id: expect.any(String),
      type: "automation.stale",
      timestamp: expect.any(String),
      organizationId: app.ids.organizationId,
      automation: { id: made.id, name: "Nightly" },
      reason: "silent",
      maxSilenceSeconds: 60,
      silentSince: expect.any(String),
      lastRunId: null,
      lastCompletedAt: null,
    });
    const time = notice?.headers.get("x-svc-timestamp");
    expect(notice?.headers.get("x-svc-signature")).toBe(`sha256=${sign(`${time}.${text}`, SECRET)}`);
    expect(notice?.headers.get("webhook-id")).toBe(JSON.parse(text).id);
    expect(await stale(app)).toHaveLength(1);
  });

  test("has a secret that is generated and shown once, if none is given", async () => {
    await using app = await startApp({ engine: false });
    const notifyUrl = "https://example.com/stale";
    const made = await make(app, { minRows: 1, notifyUrl });
    expect(() => new Webhook(made.config.secret)).not.toThrow();
    const shown = (await app.owner("GET", `${AUTOMATIONS}/${made.id}`)).body;
    expect([shown.hasSecret, shown.config]).toEqual([true, { ...quick, expect: { minRows: 1, notifyUrl } }]);

    const plain = await make(app, { minRows: 1 });
    expect([plain.hasSecret, plain.config.secret]).toEqual([false, undefined]);
    const change = (config: object) => app.owner("PATCH", `${AUTOMATIONS}/${plain.id}`, { config });
    expect(faultsOf(await change({ expect: { minRows: 1, notifyUrl } }))).toEqual([
      "body.config.secret missing",
    ]);
    const { body } = await change({ expect: { minRows: 1, notifyUrl }, secret: SECRET });
    expect([body.hasSecret, body.config.secret]).toEqual([true, undefined]);
  });
});

test("expectations have limits, and at least one is required", async () => {
  await using app = await startApp({ engine: false });
  const tried = async (expect: unknown, more: object = {}) =>
    app.owner("POST", AUTOMATIONS, { name: "x", config: { ...quick, ...more, expect } });
  expect(faultsOf(await tried({}))).toEqual(["body.config.expect missing"]);
  expect(faultsOf(await tried("soon"))).toEqual(["body.config.expect dict_type"]);
  expect(
    faultsOf(await tried({ maxSilenceSeconds: 0, minRows: 0, notifyUrl: "file:///etc/passwd", more: 1 })),
  ).toEqual([
    "body.config.expect.maxSilenceSeconds greater_than_equal",
    "body.config.expect.minRows greater_than_equal",
    "body.config.expect.notifyUrl string_pattern_mismatch",
    "body.config.expect.more extra_forbidden",
  ]);
  expect(faultsOf(await tried({ maxSilenceSeconds: 31_536_001 }))).toEqual([
    "body.config.expect.maxSilenceSeconds less_than_equal",
  ]);
  expect((await tried({ maxSilenceSeconds: 31_536_000, minRows: 1 })).status).toBe(201);
  expect(faultsOf(await tried({ minRows: 1 }, { secret: SECRET }))).toEqual([
    "body.config.secret extra_forbidden",
  ]);
  expect(faultsOf(await tried({ minRows: 1, notifyUrl: "https://x.example" }, { secret: "short" }))).toEqual([
    "body.config.secret string_too_short",
  ]);
});
