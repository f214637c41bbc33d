import { expect, test } from "bun:test";
import { type Answer, startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
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
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const work = { kind: "conditional_branch", definition: branch() };
const ask = { kind: "approval_gate", definition: { title: "Ship?" } };
const chain = (id: string) => ({ "x-correlation-id": id });

/** Starts what `path` names, in a chain of its own. */
const begin = async (app: Started, path: string, correlationId: string) =>
  created(await app.owner("POST", `${path}/run`, {}, chain(correlationId))) as Answer["body"];

/** The cancellations of a chain, each with its actor and the chain of the request. */
async function cancellations(app: Started, correlationId: string): Promise<string[]> {
  const { items } = (await app.owner("GET", `/api/v1/events?correlationId=${correlationId}&limit=200`)).body;
  return items
    .filter(({ type }: { type: string }) => type.endsWith(".cancelled"))
    .map(
      ({ type, actor, data }: { type: string; actor: { type: string }; data: Record<string, unknown> }) =>
        `${type} by ${actor.type} for ${data.requestCorrelationId}`,
    )
    .sort();
}

test("the cancellation of an action run belongs to the run's chain and names the request", async () => {
  await using app = await startApp();
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
  const definition = { url: receiver.url };
  const slow = await makeAction(app.owner, { kind: "http_request", name: "Slow", definition });
  const gate = await makeAction(app.owner, { ...ask, name: "Gate" });

  const running = await begin(app, `${ACTIONS}/${slow.id}`, "chain-running");
  await until(app.owner, `${RUNS}/${running.id}`, () => receiver.got.length > 0);
  const waiting = await begin(app, `${ACTIONS}/${gate.id}`, "chain-waiting");
  await until(app.owner, `${RUNS}/${waiting.id}`, ({ status }) => status === "waiting");
  for (const { id } of [running, waiting])
    await app.owner("POST", `${RUNS}/${id}/cancel`, undefined, chain("cancel-by-hand"));
  await until(app.owner, `${RUNS}/${running.id}`, ({ status }) => status === "cancelled");

  expect(await cancellations(app, "chain-running")).toEqual(["action.cancelled by user for cancel-by-hand"]);
  expect(await cancellations(app, "chain-waiting")).toEqual([
    "action.cancelled by user for cancel-by-hand",
    "decision.cancelled by user for cancel-by-hand",
  ]);
  expect(await cancellations(app, "cancel-by-hand")).toEqual([]);
  open.resolve();
});

test("the cancellation of an automation run and of its steps belongs to the run's chain", async () => {
  await using app = await startApp();
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
  const slow = { key: "slow", kind: "http_request", definition: { url: receiver.url } };
  const flow = await makeAutomation(app.owner, {
    steps: [slow, { key: "gate", ...ask }, { key: "later", dependsOn: ["slow"], ...work }],
  });
  const run = await begin(app, `${AUTOMATIONS}/${flow.id}`, "chain-of-run");
  await until(
    app.owner,
    `${AUTOMATION_RUNS}/${run.id}`,
    ({ steps }) => receiver.got.length > 0 && steps[1].status === "waiting",
  );
  await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/cancel`, undefined, chain("cancel-by-hand"));
  await until(
    app.owner,
    `${RUNS}?automation_run_id=${run.id}&statuses=cancelled`,
    ({ total }) => total === 2,
  );
  expect(await cancellations(app, "chain-of-run")).toEqual([
    "action.cancelled by user for cancel-by-hand",
    "action.cancelled by user for cancel-by-hand",
    "automation.cancelled by user for cancel-by-hand",
    "decision.cancelled by user for cancel-by-hand",
  ]);
  expect(await cancellations(app, "cancel-by-hand")).toEqual([]);
  open.resolve();
});

test.each(["running", "waiting"])(
  "cancelling a step that is %s cancels its automation run in its chain, and names the request there",
  async (status) => {
    await using app = await startApp();
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
    const slow = { kind: "http_request", definition: { url: receiver.url } };
    const flow = await makeAutomation(app.owner, { action: status === "waiting" ? ask : slow });
    const run = await begin(app, `${AUTOMATIONS}/${flow.id}`, "chain-of-run");
    const { steps } = await until(
      app.owner,
      `${AUTOMATION_RUNS}/${run.id}`,
      (shown) => shown.steps[0].status === status,
    );
    const path = `${RUNS}/${steps[0].actionRunId}/cancel`;
    await app.owner("POST", path, undefined, chain("cancel-by-hand"));
    expect((await automationRunEnd(app.owner, run.id)).status).toBe("cancelled");
    expect(await cancellations(app, "chain-of-run")).toEqual([
      "action.cancelled by user for cancel-by-hand",
      "automation.cancelled by system for cancel-by-hand",
      ...(status === "waiting" ? ["decision.cancelled by user for cancel-by-hand"] : []),
    ]);
    expect(await cancellations(app, "cancel-by-hand")).toEqual([]);
    open.resolve();
  },
);

deepTest(
  "what a run continues with after one of its steps was cancelled belongs to the run's chain",
  async () => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, {
      steps: [
        { key: "quick", ...work },
        { key: "gate", onError: "continue", ...ask },
        { key: "after", dependsOn: ["quick", "gate"], ...work },
      ],
    });
    const run = await begin(app, `${AUTOMATIONS}/${flow.id}`, "chain-of-run");
    const path = `${AUTOMATION_RUNS}/${run.id}`;
    const { steps } = await until(app.owner, path, (shown) => shown.steps[1].status === "waiting");
    await app.owner("POST", `${RUNS}/${steps[1].actionRunId}/cancel`, undefined, chain("cancel-by-hand"));
    const ended = await automationRunEnd(app.owner, run.id);
    expect([ended.status, ended.steps[2].status]).toEqual(["completed", "completed"]);
    expect((await app.owner("GET", "/api/v1/events?correlationId=cancel-by-hand")).body.items).toEqual([]);
  },
);

test("a called automation that is cancelled with its caller stays in its chain and names the first request", async () => {
  await using app = await startApp();
  const inner = await makeAutomation(app.owner, { action: ask }, { name: "Inner" });
  const outer = await makeAutomation(app.owner, {
    action: { kind: "call_automation", definition: { automationId: inner.id } },
  });
  const run = await begin(app, `${AUTOMATIONS}/${outer.id}`, "chain-of-run");
  await until(app.owner, "/api/v1/decisions/pending", ({ total }) => total === 1);
  await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/cancel`, undefined, chain("cancel-by-hand"));
  expect(await cancellations(app, "chain-of-run")).toEqual([
    "action.cancelled by user for cancel-by-hand",
    "action.cancelled by user for cancel-by-hand",
    "automation.cancelled by user for cancel-by-hand",
    "automation.cancelled by user for cancel-by-hand",
    "decision.cancelled by user for cancel-by-hand",
  ]);
  expect(await cancellations(app, "cancel-by-hand")).toEqual([]);
});

test("a run that a newer one replaces is cancelled in its own chain, and names the newer one's", async () => {
  await using app = await startApp();
  const flow = await makeAutomation(app.owner, {
    action: ask,
    concurrency: { max: 1, policy: "cancel_previous" },
  });
  const path = `${AUTOMATIONS}/${flow.id}`;
  const first = await begin(app, path, "chain-of-first");
  await until(app.owner, `${AUTOMATION_RUNS}/${first.id}`, ({ status }) => status === "waiting");
  await begin(app, path, "chain-of-second");
  expect(await cancellations(app, "chain-of-first")).toEqual([
    "action.cancelled by user for chain-of-second",
    "automation.cancelled by user for chain-of-second",
    "decision.cancelled by user for chain-of-second",
  ]);
  expect(await cancellations(app, "chain-of-second")).toEqual([]);
});
