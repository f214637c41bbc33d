import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { ask, DECISIONS, gate, openDecision } from "../support/decisions.ts";
import { startInstallation } from "../support/process.ts";
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

type Step = { key: string; status: string };

const approve = { decisionValue: "approved" };
const gateStep = (more: object = {}) => ({ key: "gate", kind: "approval_gate", definition: gate(), ...more });

/** The only open decision, once there is one. */
const onlyOpen = async (app: { owner: Parameters<typeof until>[0] }) =>
  (await until(app.owner, `${DECISIONS}/pending`, ({ total }) => total === 1)).decisions[0];

test("an automation waits where its step waits, and continues from there", async () => {
  await using app = await startApp();
  const flow = await makeAutomation(app.owner, {
    steps: [
      { key: "first", kind: "conditional_branch", definition: branch() },
      gateStep({ dependsOn: ["first"], definition: gate({ onReject: "continue" }) }),
      {
        key: "yes",
        kind: "conditional_branch",
        definition: branch("took"),
        dependsOn: ["gate"],
        when: 'steps.gate.result.decisionValue == "approved"',
      },
      {
        key: "no",
        kind: "conditional_branch",
        definition: branch(),
        dependsOn: ["gate"],
        when: 'steps.gate.result.decisionValue == "rejected"',
      },
    ],
  });
  const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
  const waiting = await until(
    app.owner,
    `${AUTOMATION_RUNS}/${run.id}`,
    ({ status }) => status === "waiting",
  );
  expect([waiting.displayStatus, waiting.completedAt]).toEqual(["Waiting for approval", null]);
  expect(waiting.steps.map(({ key, status }: Step) => [key, status])).toEqual([
    ["first", "completed"],
    ["gate", "waiting"],
    ["yes", "pending"],
    ["no", "pending"],
  ]);
  const step = waiting.steps[1];
  expect(step).toEqual({
    key: "gate",
    status: "waiting",
    actionRunId: expect.any(String),
    startedAt: expect.any(String),
    completedAt: null,
    error: null,
  });
  const listed = (await app.owner("GET", `${AUTOMATIONS}/${flow.id}/runs?status=waiting`)).body;
  expect(listed.runs).toEqual([waiting]);
  const decision = await openDecision(app, step.actionRunId);
  expect(decision.subjectId).toBe(step.actionRunId);
  await app.owner("POST", `${DECISIONS}/${decision.id}/decide`, approve);
  const ended = await automationRunEnd(app.owner, run.id);
  expect(ended.steps.map(({ key, status }: Step) => [key, status])).toEqual([
    ["first", "completed"],
    ["gate", "completed"],
    ["yes", "completed"],
    ["no", "skipped"],
  ]);
  expect(ended.result).toMatchObject({ gate: { decisionId: decision.id }, yes: { branch: "took" } });
});

test("an automation runs as long as another of its steps does", async () => {
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
  await using app = await startApp();
  const steps = [gateStep(), { key: "call", kind: "http_request", definition: { url: receiver.url } }];
  const flow = await makeAutomation(app.owner, { steps });
  const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
  const decision = await onlyOpen(app);
  expect((await app.owner("GET", `${AUTOMATION_RUNS}/${run.id}`)).body.status).toBe("running");
  open.resolve();
  const waiting = await until(
    app.owner,
    `${AUTOMATION_RUNS}/${run.id}`,
    ({ status }) => status === "waiting",
  );
  expect(waiting.steps.map(({ status }: Step) => status)).toEqual(["waiting", "completed"]);
  await app.owner("POST", `${DECISIONS}/${decision.id}/decide`, { decisionValue: "rejected" });
  expect(await automationRunEnd(app.owner, run.id)).toMatchObject({
    status: "failed",
    error: { code: "rejected", details: { step: "gate" } },
  });
});

test("a rejection that lets the run continue runs what depends on the step, and a retry asks again", async () => {
  await using app = await startApp();
  const flow = await makeAutomation(app.owner, { steps: [gateStep()] });
  const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
  const first = await onlyOpen(app);
  await app.owner("POST", `${DECISIONS}/${first.id}/decide`, { decisionValue: "rejected" });
  expect((await automationRunEnd(app.owner, run.id)).status).toBe("failed");
  const again = created(await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/retry`, {}));
  const second = await onlyOpen(app);
  expect(second.id).not.toBe(first.id);
  await app.owner("POST", `${DECISIONS}/${second.id}/decide`, approve);
  expect((await automationRunEnd(app.owner, again.id)).status).toBe("completed");
});

test("waiting runs take no slot, and nothing else ever resumes them", async () => {
  await using app = await startApp({ env: { WEIR_CONCURRENCY: "1" } });
  const asked = [await ask(app), await ask(app), await ask(app)];
  const other = await makeAction(app.owner);
  expect((await runToEnd(app.owner, other.id)).status).toBe("completed");
  app.clock.turn(20 * 60 * 60 * 1000);
  expect((await runToEnd(app.owner, other.id)).status).toBe("completed");
  for (const { run, decision } of asked) {
    const { status, interruptCount, retryCount } = (await app.owner("GET", `${RUNS}/${run.id}`)).body;
    expect([status, interruptCount, retryCount]).toEqual(["waiting", 0, 0]);
    expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).body).toEqual(decision);
  }
});

test("runs of one key wait for the one that waits", async () => {
  await using app = await startApp();
  const { action, run, decision } = await ask(app, { concurrencyKey: "one" });
  const next = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
  const other = await makeAction(app.owner);
  await runToEnd(app.owner, other.id);
  expect((await app.owner("GET", `${RUNS}/${next.id}`)).body.status).toBe("pending");
  await app.owner("POST", `${DECISIONS}/${decision.id}/decide`, approve);
  expect((await runEnd(app.owner, run.id)).status).toBe("completed");
  await openDecision(app, next.id);
});

test("killed without warning, waiting runs keep waiting, and continue once", async () => {
  await using receiver = startReceiver(() => Response.json({}));
  await using installation = await startInstallation();
  let server = await installation.serve();
  const flow = await makeAutomation(server.owner, {
    steps: [
      gateStep(),
      {
        key: "call",
        kind: "http_request",
        definition: { url: receiver.url, method: "POST" },
        dependsOn: ["gate"],
      },
    ],
  });
  const run = created(await server.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
  const decision = await onlyOpen(server);
  const short = await ask(server, { expiresInSeconds: 5, onExpire: "fail" });
  const gone = await ask(server);

  await server.end("SIGKILL");
  await Bun.sleep(Math.max(0, Date.parse(short.decision.expiresAt) - Date.now()));
  server = await installation.serve();
  expect((await runEnd(server.owner, short.run.id)).error).toMatchObject({ code: "expired" });
  expect((await server.owner("GET", `${AUTOMATION_RUNS}/${run.id}`)).body.status).toBe("waiting");
  expect((await server.owner("GET", `${DECISIONS}/${decision.id}`)).body).toEqual(decision);
  const cancelled = await server.owner("POST", `${RUNS}/${gone.run.id}/cancel`);
  expect(cancelled.body.status).toBe("cancelled");
  expect((await server.owner("POST", `${DECISIONS}/${decision.id}/decide`, approve)).status).toBe(200);
  await server.end("SIGKILL"); // What was answered is durable.

  server = await installation.serve();
  expect(await automationRunEnd(server.owner, run.id)).toMatchObject({
    status: "completed",
    steps: [{ status: "completed" }, { status: "completed" }],
  });
  const { runs, total } = (await server.owner("GET", `${RUNS}?automation_run_id=${run.id}`)).body;
  expect([total, runs[1].interruptCount]).toEqual([2, 0]);
  const keys = new Set(receiver.got.map(({ headers }) => headers.get("idempotency-key")));
  expect(keys.size).toBe(1);
  expect((await server.owner("GET", DECISIONS)).body.total).toBe(3);
  expect((await server.owner("GET", `${DECISIONS}/pending`)).body.total).toBe(0);
  expect((await server.owner("GET", "/api/v1/events/verify")).body.valid).toBe(true);
}, 120_000);
