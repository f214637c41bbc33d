import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { AUTOMATION_RUNS, flowToEnd, makeAutomation, RUNS } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const script = (source: string) => ({ kind: "run_script", definition: { source } });
const fails = (message: string) =>
  script(`export default () => { throw new Error(${JSON.stringify(message)}) }`);
const call = (slug: string) => ({ kind: "call_automation", definition: { slug } });

/** Creates an automation that completes although these steps fail. */
const makeChild = (app: Started, messages: string[]) =>
  makeAutomation(
    app.owner,
    { steps: messages.map((message, n) => ({ key: `f${n}`, onError: "continue", ...fails(message) })) },
    { name: "Child" },
  );

test("warnings of a called automation are in its caller's warnings and in the call's result", async () => {
  await using app = await startApp();
  await makeChild(app, ["lost"]);
  await makeAutomation(app.owner, { steps: [{ key: "b", ...call("child") }] }, { name: "Middle" });
  const flow = await makeAutomation(app.owner, { steps: [{ key: "a", ...call("middle") }] });
  const run = await flowToEnd(app.owner, flow.id);
  const message = expect.stringMatching(/^Step b: Step f0: .*lost/);
  expect(run).toMatchObject({
    status: "completed",
    warnings: [{ step: "a", message }],
    result: { status: "completed", warnings: [message] },
  });
  expect(Object.keys(run.steps[0])).not.toContain("warnings");
  const { body } = await app.owner("GET", `${AUTOMATION_RUNS}/${run.result.automationRunId}`);
  expect(body.warnings).toEqual([{ step: "b", message: expect.stringMatching(/^Step f0: .*lost/) }]);
});

test("a call without warnings has none", async () => {
  await using app = await startApp();
  await makeAutomation(app.owner, { action: script("export default () => 1") }, { name: "Child" });
  const flow = await makeAutomation(app.owner, { action: call("child") });
  const run = await flowToEnd(app.owner, flow.id);
  expect(run.warnings).toBeUndefined();
  expect(Object.keys(run.result)).toEqual(["automationRunId", "status", "result"]);
});

test("many and long warnings are shortened", async () => {
  await using app = await startApp();
  await makeChild(
    app,
    Array.from({ length: 25 }, () => "x".repeat(2000)),
  );
  const flow = await makeAutomation(app.owner, { steps: [{ key: "a", ...call("child") }] });
  const run = await flowToEnd(app.owner, flow.id);
  const messages = run.warnings.map(({ message }: { message: string }) => message);
  expect(messages).toHaveLength(21);
  expect(messages[20]).toBe(`5 more warnings are in run ${run.result.automationRunId}.`);
  for (const message of messages) expect(message.length).toBeLessThanOrEqual(510);
});

test("warnings of the calls of a list name their items", async () => {
  await using app = await startApp();
  await makeChild(app, ["lost"]);
  const steps = [{ key: "e", forEach: "{{lists.range(30)}}", ...call("child") }];
  const flow = await makeAutomation(app.owner, { steps });
  const run = await flowToEnd(app.owner, flow.id);
  const messages = run.warnings.map(({ message }: { message: string }) => message);
  expect(messages[0]).toMatch(/^Item \d+: Step f0: .*lost/);
  expect(messages).toHaveLength(20);
  expect((await app.owner("GET", `${RUNS}?automation_run_id=${run.id}`)).body.total).toBe(30);
});
