import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  branch,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  RUNS,
  runEnd,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const script = (source: string, more: object = {}) => ({
  kind: "run_script",
  definition: { source: `export default ${source}`, ...more },
});
const keyed = (concurrencyKey: string) => script("() => 1", { concurrencyKey });

const keysOf = async (app: Started, automationRunId: string, stepKey: string) =>
  (await app.owner("GET", `${RUNS}?automation_run_id=${automationRunId}`)).body.runs
    .filter((run: { stepKey: string }) => run.stepKey === stepKey)
    .map(({ concurrencyKey }: { concurrencyKey: string }) => concurrencyKey)
    .sort();

describe("the concurrencyKey of a step", () => {
  test.each([
    [42, "42"],
    [true, "true"],
    ["a{{b}}", "a{{b}}"],
  ])("is the text of %j", async (customerId, key) => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { steps: [{ key: "s", ...keyed("{{input.customerId}}") }] });
    const run = await flowToEnd(app.owner, flow.id, { input: { customerId } });
    expect(run).toMatchObject({ status: "completed" });
    expect(await keysOf(app, run.id, "s")).toEqual([key]);
  });

  test.each([
    [null, "null"],
    [{ id: 1 }, "an object"],
    [[1], "a list"],
    ["", "empty"],
    ["x".repeat(501), "longer than 500 characters"],
  ])("can't be %j", async (customerId, what) => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { steps: [{ key: "s", ...keyed("{{input.customerId}}") }] });
    const run = await flowToEnd(app.owner, flow.id, { input: { customerId } });
    expect(run.error).toMatchObject({
      code: "template_error",
      message: `The concurrencyKey {{input.customerId}} is ${what}. Use a text of at most 500 characters, a number or a boolean.`,
      details: { path: ["concurrencyKey"] },
    });
  });

  test("reads the run and long results", async () => {
    await using app = await startApp();
    const long = script("() => ({ pad: 'x'.repeat(300 * 1024), c: 'cust' })");
    const flow = await makeAutomation(app.owner, {
      steps: [
        { key: "long", ...long },
        { key: "s", dependsOn: ["long"], ...keyed("{{run.id}}-{{steps.long.result.output.c}}") },
        {
          key: "each",
          dependsOn: ["long"],
          forEach: "{{[1, 2, 3]}}",
          maxParallel: 1,
          ...keyed("{{run.id}}-{{steps.long.result.output.c}}-{{item}}"),
        },
      ],
    });
    const run = await flowToEnd(app.owner, flow.id);
    expect(run).toMatchObject({ status: "completed" });
    expect(await keysOf(app, run.id, "s")).toEqual([`${run.id}-cust`]);
    expect(await keysOf(app, run.id, "each")).toEqual([1, 2, 3].map((item) => `${run.id}-cust-${item}`));
  });
});

test("the concurrencyKey of an action can be a number, and not an object", async () => {
  await using app = await startApp();
  const action = await makeAction(app.owner, keyed("{{1 + 1}}"));
  const run = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
  expect(await runEnd(app.owner, run.id)).toMatchObject({ status: "completed", concurrencyKey: "2" });
  const other = await makeAction(app.owner, keyed('{{ {"a": 1} }}'));
  const refused = await app.owner("POST", `${ACTIONS}/${other.id}/run`);
  expect(faultsOf(refused)).toEqual(["body.definition.concurrencyKey template_error"]);
  expect(refused.body.detail[0].msg).toContain("is an object");
});

test("a concurrencyKey with uuid() is rejected", async () => {
  await using app = await startApp({ engine: false });
  for (const key of ["{{uuid()}}", "a-{{[1].map(x, uuid())[0]}}"]) {
    const action = await app.owner("POST", ACTIONS, { name: "x", ...keyed(key) });
    expect(faultsOf(action)).toEqual(["body.definition.concurrencyKey template_error"]);
    const body = { name: "x", config: { steps: [{ key: "s", ...keyed(key) }] } };
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, body))).toEqual([
      "body.config.steps.0.definition.concurrencyKey template_error",
    ]);
  }
  created(
    await app.owner("POST", ACTIONS, {
      name: "x",
      kind: "conditional_branch",
      definition: { ...branch(), concurrencyKey: "uuid()" },
    }),
  );
});
