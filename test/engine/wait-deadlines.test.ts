import { expect, test } from "bun:test";
import { timekeeper } from "../../src/engine/timekeeper.ts";
import { startApp } from "../support/app.ts";
import { ask, DECISIONS, gate, openDecision } from "../support/decisions.ts";
import { startInstallation } from "../support/process.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  makeAutomation,
  RUNS,
  runEnd,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

/** An automation whose run lasts an hour, and one that calls it. */
async function makeCaller({ owner }: Pick<Started, "owner">, more: object) {
  const slow = { key: "s", delay: { seconds: 3600 }, kind: "conditional_branch", definition: branch() };
  const called = await makeAutomation(owner, { steps: [slow] }, { name: "Slow" });
  const action = { kind: "call_automation", definition: { slug: "slow", ...more } };
  return { called, caller: await makeAutomation(owner, { action }, { name: "Caller" }) };
}

const calledRuns = async ({ owner }: Pick<Started, "owner">, id: string) =>
  (await owner("GET", `${AUTOMATIONS}/${id}/runs`)).body.runs;

test("a call ends at its timeout, and the called run is cancelled", async () => {
  await using app = await startApp({ hurry: 5 });
  const { called, caller } = await makeCaller(app, { timeoutSeconds: 1 });
  const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${caller.id}/run`));
  const run = await automationRunEnd(app.owner, id);
  expect(run).toMatchObject({
    status: "failed",
    error: { code: "timeout", message: "The run exceeded its timeout of 1 s.", retryable: true },
  });
  expect(await calledRuns(app, called.id)).toMatchObject([{ status: "cancelled" }]);
  expect(Date.parse(run.completedAt) - Date.parse(run.startedAt)).toBeGreaterThanOrEqual(1_000);
});

test("each attempt of a call has the whole timeout", async () => {
  await using app = await startApp({ hurry: 5 });
  const retry = { maxAttempts: 2, backoffSeconds: [0] };
  const { called, caller } = await makeCaller(app, { timeoutSeconds: 60, retry });
  const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${caller.id}/run`));
  for (const count of [1, 2]) {
    const isWaiting = ({ runs }: { runs: { status: string }[] }) =>
      runs.length === count && runs[0]?.status === "waiting";
    await until(app.owner, `${AUTOMATIONS}/${called.id}/runs`, isWaiting);
    expect((await app.owner("GET", `${AUTOMATION_RUNS}/${id}`)).body.status).toBe("waiting");
    app.clock.turn(61_000);
  }
  expect((await automationRunEnd(app.owner, id)).error).toMatchObject({ code: "timeout", attempt: 2 });
  expect(await calledRuns(app, called.id)).toMatchObject([{ status: "cancelled" }, { status: "cancelled" }]);
});

test("an approval ends at its timeout, and the question is withdrawn", async () => {
  await using app = await startApp({ hurry: 5 });
  const { run, decision } = await ask(app, { timeoutSeconds: 60, onExpire: "cancel" });
  app.clock.turn(61_000);
  expect(await runEnd(app.owner, run.id)).toMatchObject({
    status: "failed",
    error: { code: "timeout", message: "The run exceeded its timeout of 60 s.", retryable: true },
  });
  expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).body.status).toBe("cancelled");
  const late = await app.owner("POST", `${DECISIONS}/${decision.id}/decide`, { decisionValue: "approved" });
  expect(late.status).toBe(409);
});

test("an approval with attempts left asks again", async () => {
  await using app = await startApp({ hurry: 5 });
  const retry = { maxAttempts: 2, backoffSeconds: [0] };
  const { run, decision } = await ask(app, { timeoutSeconds: 60, retry });
  app.clock.turn(61_000);
  await until(app.owner, `${DECISIONS}/${decision.id}`, ({ status }) => status === "cancelled");
  const again = await openDecision(app, run.id);
  expect(again.id).not.toBe(decision.id);
  await app.owner("POST", `${DECISIONS}/${again.id}/decide`, { decisionValue: "approved" });
  expect(await runEnd(app.owner, run.id)).toMatchObject({ status: "completed", retryCount: 1 });
});

test("a rejected approval isn't asked again", async () => {
  await using app = await startApp();
  const { run, decision } = await ask(app, { retry: { maxAttempts: 3, backoffSeconds: [0] } });
  await app.owner("POST", `${DECISIONS}/${decision.id}/decide`, { decisionValue: "rejected" });
  expect(await runEnd(app.owner, run.id)).toMatchObject({ status: "failed", retryCount: 0 });
});

test("the timeout doesn't end a wait that is over, nor one without a timeout", async () => {
  await using app = await startApp({ hurry: 5 });
  const { run, decision } = await ask(app, { timeoutSeconds: 60 });
  const other = await ask(app);
  await app.owner("POST", `${DECISIONS}/${decision.id}/decide`, { decisionValue: "approved" });
  app.clock.turn(86_400_000);
  const last = await ask(app, { timeoutSeconds: 1 });
  expect((await runEnd(app.owner, last.run.id)).error).toMatchObject({ code: "timeout" });
  expect((await app.owner("GET", `${RUNS}/${run.id}`)).body.status).toBe("completed");
  expect((await app.owner("GET", `${RUNS}/${other.run.id}`)).body.status).toBe("waiting");
});

test("the timeout keeps its length if the clock is set back", async () => {
  await using app = await startApp({ hurry: 5 });
  const { run } = await ask(app, { timeoutSeconds: 3600 });
  app.clock.turn(-7_200_000);
  await timekeeper(app.app).tick(new AbortController().signal);
  app.clock.turn(3_601_000);
  expect((await runEnd(app.owner, run.id)).error).toMatchObject({ code: "timeout" });
});

test("killed without warning, waits end at their deadlines", async () => {
  await using installation = await startInstallation();
  let server = await installation.serve();
  const { called, caller } = await makeCaller(server, { timeoutSeconds: 3 });
  const { id } = created(await server.owner("POST", `${AUTOMATIONS}/${caller.id}/run`));
  const gated = await ask(server, gate({ timeoutSeconds: 3 }));
  const isWaiting = ({ status }: { status: string }) => status === "waiting";
  await until(server.owner, `${AUTOMATION_RUNS}/${id}`, isWaiting);
  await server.end("SIGKILL");
  await Bun.sleep(3_000);

  server = await installation.serve();
  expect((await automationRunEnd(server.owner, id)).error).toMatchObject({ code: "timeout" });
  expect(await calledRuns(server, called.id)).toMatchObject([{ status: "cancelled" }]);
  expect((await runEnd(server.owner, gated.run.id)).error).toMatchObject({ code: "timeout" });
  expect((await server.owner("GET", `${DECISIONS}/pending`)).body.total).toBe(0);
  expect((await server.owner("GET", "/api/v1/events/verify")).body.valid).toBe(true);
}, 120_000);
