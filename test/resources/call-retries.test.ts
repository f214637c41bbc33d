import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import { AUTOMATION_RUNS, AUTOMATIONS, flowToEnd, makeAutomation, RUNS, until } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const DELIVERIES = "/api/v1/webhook-deliveries";

/** A server that responds with 503 to this many requests. */
const startFlaky = (failures: number) =>
  startReceiver((_, count) => Response.json({}, { status: count > failures ? 200 : 503 }));

const makeHelper = (app: Started, url: string) =>
  makeAutomation(app.owner, { action: { kind: "http_request", definition: { url } } }, { name: "Helper" });

const call = (more: object = {}) => ({
  kind: "call_automation",
  definition: { slug: "helper", ...more },
});

const runsOf = async (app: Started, id: string) =>
  (await app.owner("GET", `${AUTOMATIONS}/${id}/runs`)).body.runs;

test("a call whose failure may be temporary is repeated as its retry says", async () => {
  await using app = await startApp({ hurry: 20 });
  await using receiver = startFlaky(1);
  const helper = await makeHelper(app, receiver.url);
  const retry = { maxAttempts: 3, backoffSeconds: [0.1] };
  const flow = await makeAutomation(app.owner, { action: call({ retry }) });
  const run = await flowToEnd(app.owner, flow.id);
  expect(run).toMatchObject({ status: "completed", result: { result: { status: 200 } } });
  const called = await runsOf(app, helper.id);
  expect(called.map(({ status }: { status: string }) => status)).toEqual(["completed", "failed"]);
  expect(run.result.automationRunId).toBe(called[0].id);
  const { id } = (await app.owner("GET", `${RUNS}?automation_run_id=${run.id}`)).body.runs[0];
  expect((await app.owner("GET", `${RUNS}/${id}`)).body).toMatchObject({ retryCount: 1, error: null });
  const { items } = (await app.owner("GET", `${RUNS}/${id}/logs`)).body;
  expect(items.map(({ message }: { message: string }) => message).join("\n")).toMatch(/503.*Next attempt at/);
});

test("a call waits as retrying between attempts, and fails after the last", async () => {
  await using app = await startApp();
  await using receiver = startFlaky(9);
  const helper = await makeHelper(app, receiver.url);
  const retry = { maxAttempts: 2, backoffSeconds: [3600] };
  const flow = await makeAutomation(app.owner, { steps: [{ key: "ask", ...call({ retry }) }] });
  const { id } = (await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`)).body;
  const isRetrying = ({ runs }: { runs: { displayStatus: string }[] }) =>
    runs[0]?.displayStatus === "Retrying";
  const { runs } = await until(app.owner, `${RUNS}?automation_run_id=${id}`, isRetrying);
  expect(runs[0]).toMatchObject({ status: "waiting", retryCount: 1, error: { retryable: true, attempt: 1 } });
  expect((await app.owner("GET", `${AUTOMATION_RUNS}/${id}`)).body).toMatchObject({
    status: "waiting",
    displayStatus: "Retrying",
    steps: [{ key: "ask", status: "waiting", error: { attempt: 1 } }],
  });
  app.clock.turn(3_600_000);
  const isFailed = ({ status }: { status: string }) => status === "failed";
  expect(await until(app.owner, `${AUTOMATION_RUNS}/${id}`, isFailed)).toMatchObject({
    error: { code: "called_automation_failed", retryable: true, attempt: 2 },
  });
  expect(await runsOf(app, helper.id)).toHaveLength(2);
});

test("a call whose failure lasts isn't repeated", async () => {
  await using app = await startApp();
  await using receiver = startReceiver(() => Response.json({}, { status: 404 }));
  const helper = await makeHelper(app, receiver.url);
  const retry = { maxAttempts: 3, backoffSeconds: [0] };
  const flow = await makeAutomation(app.owner, { action: call({ retry }) });
  expect((await flowToEnd(app.owner, flow.id)).error).toMatchObject({ retryable: false });
  expect(await runsOf(app, helper.id)).toHaveLength(1);
});

test("the items of a list repeat their calls", async () => {
  await using app = await startApp({ hurry: 20 });
  await using receiver = startFlaky(2);
  const helper = await makeHelper(app, receiver.url);
  const retry = { maxAttempts: 3, backoffSeconds: [0] };
  const step = { key: "each", forEach: "{{[1, 2, 3]}}", maxParallel: 1, ...call({ retry }) };
  const flow = await makeAutomation(app.owner, { steps: [step] });
  expect(await flowToEnd(app.owner, flow.id)).toMatchObject({
    status: "completed",
    steps: [{ items: { total: 3, running: 0, completed: 3, failed: 0 } }],
  });
  expect(await runsOf(app, helper.id)).toHaveLength(5);
});

test("a webhook whose work is in a called automation is retried", async () => {
  await using app = await startApp({ hurry: 20 });
  await using receiver = startFlaky(1);
  await makeHelper(app, receiver.url);
  await makeHook(app, { action: call(), retries: { backoffSeconds: [0] } });
  const { deliveryId } = (await send(app, "{}")).body;
  const isDone = ({ status }: { status: string }) => status === "processed";
  const delivery = await until(app.owner, `${DELIVERIES}/${deliveryId}`, isDone);
  expect(delivery.attempts).toHaveLength(2);
});

test("a webhook whose called automation keeps failing becomes a dead letter", async () => {
  await using app = await startApp({ hurry: 20 });
  await using receiver = startFlaky(9);
  await makeHelper(app, receiver.url);
  const middle = await makeAutomation(app.owner, { action: call() }, { name: "Middle" });
  const action = { kind: "call_automation", definition: { automationId: middle.id } };
  await makeHook(app, { action, retries: { maxAttempts: 2, backoffSeconds: [0] } });
  const { deliveryId } = (await send(app, "{}")).body;
  const [letter] = (await app.owner("GET", "/api/v1/dead-letters")).body.items;
  expect(letter).toMatchObject({ deliveryId, attempts: 2, error: { code: "called_automation_failed" } });
  expect(receiver.got).toHaveLength(2);
});
