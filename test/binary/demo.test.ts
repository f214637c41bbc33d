import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { calls, says, startModel } from "../peers/model.ts";
import { deepTest } from "../support/scale.ts";
import { bareMachine, type Ended, unshared } from "./executable.ts";

const STEPS = [
  "server",
  "bundle",
  "automation",
  "webhook",
  "receiver",
  "approval",
  "result",
  "forged",
  "arrival",
  "webhook-again",
  "receiver-again",
  "result-again",
  "flashboard",
  "agent",
  "audit",
  "done",
];

/** The details of each step, by its name. */
const stepsOf = (ended: Ended) => Object.fromEntries(ended.lines().map((line) => [line.step, line]));

/** Nobody listens there, so requests through these proxies fail. */
const NO_PROXY_ANSWERS = { HTTP_PROXY: "http://127.0.0.1:9", HTTPS_PROXY: "http://127.0.0.1:9" };

describe("weir demo --once", () => {
  const offline = unshared(["--user", "--map-root-user", "--net"], "ip link set lo up");

  test("does the main work without a network, and leaves nothing behind", async () => {
    await using machine = bareMachine();
    // If the system doesn't allow a separate network, the unreachable proxies are the only obstacle.
    const ended = await machine.run(["demo", "--once", "--json"], {
      through: offline?.() ?? [],
      env: NO_PROXY_ANSWERS,
    });
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.lines().map(({ step, ok }) => [step, ok])).toEqual(STEPS.map((step) => [step, true]));
    expect(stepsOf(ended)).toMatchObject({
      webhook: { status: 200, mode: "initial", inserted: 1240, updated: 0, branch: "big" },
      receiver: { requests: [{ method: "POST", path: "/alerts", body: { newOrders: 1240, days: 60 } }] },
      forged: { status: 401 },
      "webhook-again": {
        status: 200,
        mode: "incremental",
        newRows: 37,
        inserted: 34,
        updated: 3,
        knownRows: 1240,
        branch: "quiet",
      },
      "receiver-again": {
        requests: [{ method: "POST", path: "/reports", body: { newOrders: 34, changedOrders: 3 } }],
      },
      "result-again": { orders: 1274, days: 61 },
      approval: { decisionValue: "approved" },
      agent: { model: null },
      flashboard: { panels: ["Revenue by day", "Revenue by country", "The newest days"], warnings: [] },
      audit: { valid: true },
    });
    expect(readdirSync(machine.here)).toEqual([]);
    expect(readdirSync(machine.temporary)).toEqual([]);
  });

  deepTest("continues where it was when it runs again on the same data", async () => {
    await using machine = bareMachine();
    expect((await machine.run(["demo", "--once", "--data", "shop"])).code).toBe(0);
    const again = await machine.run(["demo", "--once", "--json", "--data", "shop"]);
    expect(again.code).toBe(0);
    expect(stepsOf(again)).toMatchObject({
      bundle: { bundle: "quick-start", isKnown: true },
      automation: { isKnown: true },
      webhook: { mode: "incremental", newRows: 0, knownRows: 1274 },
      "webhook-again": { mode: "incremental", inserted: 34, updated: 3, knownRows: 1274 },
    });
    expect(await machine.run(["events", "verify", "--data", "shop"])).toMatchObject({ code: 0 });
  });

  deepTest("says that the second load is incremental, and where things are", async () => {
    await using machine = bareMachine();
    const { code, out, err } = await machine.run(["demo", "--once"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("incremental: 37 new rows, 1,240 already loaded");
    expect(out).toContain("WEIR_EGRESS_ALLOW=127.0.0.1:");
    expect(out).not.toContain("\x1b");
    expect(out).not.toContain("svc_pat_");
  });

  test("doesn't touch a data directory of the user", async () => {
    await using machine = bareMachine();
    await machine.init();
    const { code, out, err } = await machine.run(["demo", "--once", "--data", "weir-data"]);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(
      /^weir: \S+weir-data contains data that wasn't created by the demo\. Set --data to another directory\.\n$/,
    );
  });
});

deepTest("weir demo keeps serving until it is stopped, and then deletes what it created", async () => {
  await using machine = bareMachine();
  const demo = machine.start(["demo", "--json"], { listen: "stdout" });
  const serving = await demo.line((line) => (line.startsWith('{"step":"serving"') ? JSON.parse(line) : null));
  const authorization = { authorization: `Bearer ${serving.token}` };
  const rows = await fetch(`${serving.origin}/api/v1/datasets/marts/daily_revenue/preview?limit=5`, {
    headers: authorization,
  });
  expect(rows.status).toBe(200);
  expect((await fetch(`${serving.origin}/docs`)).status).toBe(200);
  const signedIn = await fetch(`${serving.origin}/api/v1/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: serving.email, password: serving.password }),
  });
  expect(signedIn.status).toBe(200);
  expect(readdirSync(machine.temporary)).toHaveLength(1);
  expect(await demo.end("SIGINT")).toBe(0);
  expect(readdirSync(machine.temporary)).toEqual([]);
  expect(existsSync(join(machine.here, "weir-data"))).toBe(false);
});

deepTest("weir demo that is interrupted deletes what it created, and doesn't report success", async () => {
  await using model = await startModel([{ moves: [{ hold: new Promise(() => {}) }] }]);
  await using machine = bareMachine();
  const env = { ...model.env, WEIR_SHUTDOWN_GRACE: "1" };
  const demo = machine.start(["demo", "--once", "--json"], { env, listen: "stdout" });
  await demo.line((line) => (line.startsWith('{"step":"flashboard"') ? line : null));
  while (model.heard.length === 0) await Bun.sleep(10); // It gets no further than this.
  expect(await demo.end("SIGTERM")).toBe(1);
  expect(readdirSync(machine.temporary)).toEqual([]);
});

deepTest("in weir demo, an agent answers from the shop's data if a model is configured", async () => {
  await using model = await startModel((_, turn) =>
    turn === 0
      ? calls("query", { sql: "SELECT day, revenue FROM marts.daily_revenue ORDER BY revenue DESC LIMIT 1" })
      : says("The best day was 30 May 2026."),
  );
  await using machine = bareMachine();
  const ended = await machine.run(["demo", "--once", "--json"], { env: model.env });
  expect([ended.code, ended.err]).toEqual([0, ""]);
  expect(stepsOf(ended).agent).toMatchObject({
    ok: true,
    model: "peer-1",
    answer: "The best day was 30 May 2026.",
    toolCalls: 1,
  });
  expect(JSON.stringify(model.heard.at(-1)?.body)).toContain("2981.4");
});
