import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { connect, localFiles } from "../support/connections.ts";
import { neighbour } from "../support/people.ts";
import {
  AUTOMATIONS,
  branch,
  created,
  flowToEnd,
  makeAction,
  makeAutomation,
  RUNS,
  runToEnd,
  until,
} from "../support/work.ts";

const good = { key: "good", kind: "conditional_branch", definition: branch() };
const bad = { key: "bad", kind: "conditional_branch", definition: branch("a", "payload.nothing == 1") };

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const overview = async (query = "") => {
  const { status, text, body } = await app.owner("GET", `/api/v1/overview?${query}`);
  if (status !== 200) throw new Error(text);
  return body;
};

test("the overview counts failed, waiting and upcoming work across all automations", async () => {
  const empty = await overview();
  expect(empty).toMatchObject({
    actionRuns: { total: 0, failed: 0, pending: 0, running: 0, waiting: 0 },
    automations: { active: 0, scheduled: 0, failing: 0, late: 0 },
    failing: [],
    next: [],
    pendingApprovals: 0,
    deadLetters: 0,
    connectionErrors: 0,
  });
  expect(empty.timeline).toHaveLength(24);

  const failing = await makeAutomation(app.owner, { steps: [bad] }, { name: "Fails" });
  const mended = await makeAutomation(app.owner, { steps: [bad] }, { name: "Mended" });
  const schedule = { cron: "0 7 * * *" };
  const inHours = (hours: number) => {
    const time = new Date(app.clock.now().getTime() + hours * 3_600_000);
    return { cron: `${time.getUTCMinutes()} ${time.getUTCHours()} * * *` };
  };
  for (let n = 0; n < 12; n++)
    await makeAutomation(
      app.owner,
      { steps: [good], schedule: inHours(12 - n) },
      { name: `Daily ${n}`, triggerType: "schedule" },
    );
  await makeAutomation(
    app.owner,
    { steps: [good], schedule },
    { triggerType: "schedule", status: "disabled" },
  );
  const run = await flowToEnd(app.owner, failing.id);
  await flowToEnd(app.owner, mended.id);
  await app.owner("PATCH", `${AUTOMATIONS}/${mended.id}`, { config: { steps: [good] } });
  await flowToEnd(app.owner, mended.id);
  // A failed test doesn't count as a failure of the automation.
  const tested = created(
    await app.owner("POST", `${AUTOMATIONS}/${mended.id}/test`, { config: { steps: [bad] } }),
  );
  await until(app.owner, `/api/v1/automation-runs/${tested.id}`, ({ status }) => status === "failed");
  const gate = await makeAction(app.owner, {
    kind: "approval_gate",
    name: "Gate",
    definition: { title: "Go on?" },
  });
  const waiting = created(await app.owner("POST", `/api/v1/actions/${gate.id}/run`));
  await until(app.owner, `${RUNS}/${waiting.id}`, ({ status }) => status === "waiting");

  const now = await overview();
  expect(now.automationRuns).toEqual({ total: 4, failed: 3, pending: 0, running: 0, waiting: 0 });
  expect(now.actionRuns).toEqual({ total: 5, failed: 3, pending: 0, running: 0, waiting: 1 });
  expect(now.automations).toEqual({ active: 14, disabled: 1, draft: 0, scheduled: 12, failing: 1, late: 0 });
  expect(now.failing).toEqual([
    {
      automationId: failing.id,
      name: "Fails",
      runId: run.id,
      completedAt: run.completedAt,
      message: run.error.message,
    },
  ]);
  expect(now.next).toHaveLength(10);
  expect(now.next[0].name).toBe("Daily 11");
  expect(now.pendingApprovals).toBe(1);
  const last = now.timeline.at(-1);
  const before = now.timeline.at(-2);
  expect(last.actionRuns + before.actionRuns).toBe(5);
  expect(last.failedActionRuns + before.failedActionRuns).toBe(3);
  expect([before.until, last.until]).toEqual([last.since, now.until]);

  app.clock.turn(3 * 3_600_000);
  expect((await overview("hours=2")).actionRuns).toMatchObject({ total: 0, failed: 0, waiting: 1 });
  expect((await overview("hours=5")).actionRuns.total).toBe(5);
  const other = await neighbour(app);
  expect((await other.call("GET", "/api/v1/overview")).body.automations.active).toBe(0);
});

test("all uses of a connection are listed, and prevent deleting it", async () => {
  const connection = await connect(app.owner, localFiles("Files"));
  const at = `/api/v1/connections/${connection.id}`;
  expect((await app.owner("GET", `${at}/uses`)).body).toEqual({
    actions: [],
    automations: [],
    apis: [],
    total: 0,
  });
  const work = { kind: "dlt_extract", definition: { resources: [{ name: "a.csv" }], dataset: "files" } };
  const action = await makeAction(app.owner, { ...work, name: "Load", connectionId: connection.id });
  const flows = [];
  for (const name of ["Nightly", "Hourly"])
    flows.push(
      await makeAutomation(
        app.owner,
        { steps: [good, { key: "load", ...work, connectionId: connection.id, dependsOn: ["good"] }] },
        { name },
      ),
    );
  const { body } = await app.owner("GET", `${at}/uses`);
  expect(body).toEqual({
    actions: [{ id: action.id, name: "Load" }],
    automations: [
      { id: flows[1].id, name: "Hourly", steps: ["load"] },
      { id: flows[0].id, name: "Nightly", steps: ["load"] },
    ],
    apis: [],
    total: 3,
  });
  const refused = await app.owner("DELETE", at);
  expect([refused.status, refused.body.code]).toEqual([409, "in_use"]);
  for (const name of ["Load", "Hourly", "Nightly"]) expect(refused.body.detail).toContain(`"${name}"`);
  const other = await neighbour(app);
  expect((await other.call("GET", `${at}/uses`)).status).toBe(404);
});

test("a list of runs names the action, or the automation and its step", async () => {
  const action = await makeAction(app.owner, { name: "Alone" });
  await runToEnd(app.owner, action.id);
  const flow = await makeAutomation(app.owner, { steps: [good] }, { name: "Together" });
  const flowRun = await flowToEnd(app.owner, flow.id);
  const { runs } = (await app.owner("GET", `${RUNS}?limit=2`)).body;
  expect(runs[0]).toMatchObject({
    actionId: null,
    actionName: null,
    automationId: flow.id,
    automationName: "Together",
    automationRunId: flowRun.id,
    stepKey: "good",
  });
  expect(runs[1]).toMatchObject({
    actionId: action.id,
    actionName: "Alone",
    automationId: null,
    stepKey: null,
  });
});
