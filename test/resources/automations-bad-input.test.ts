/** Mistakes of users and programs in an automation's definition. Each is reported at its place, in one sentence. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { gate, openDecision } from "../support/decisions.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  branch,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
} from "../support/work.ts";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const work = { kind: "conditional_branch", definition: branch() };
const step = (key: string, more: object = {}) => ({ key, ...work, ...more });
const work1 = { action: work };
const million = 1_000_000;
const retrying = (retry: object) => ({ kind: "http_request", definition: { url: "http://a.test", retry } });

test.each<[string, string, object, string[]]>([
  [
    "a schedule whose fields are all wrong",
    "schedule",
    { ...work1, schedule: { cron: "99 * * * *", timezone: "Foo/Bar", catchUp: "zip" } },
    ["schedule.catchUp enum", "schedule.cron value_error", "schedule.timezone value_error"],
  ],
  [
    "a step with several mistakes",
    "manual",
    {
      steps: [
        { key: "a", kind: "http_request", definition: { url: "file:///x" }, when: "payload. ==", onError: 1 },
      ],
    },
    ["steps.0.onError enum", "steps.0.definition.url value_error", "steps.0.when condition_error"],
  ],
  [
    "a circle of steps",
    "manual",
    {
      steps: [
        step("a", { dependsOn: ["c"] }),
        step("b", { dependsOn: ["a"] }),
        step("c", { dependsOn: ["b"] }),
      ],
    },
    ["steps value_error"],
  ],
  [
    "a step that waits for itself",
    "manual",
    { steps: [step("a", { dependsOn: ["a"] })] },
    ["steps value_error"],
  ],
  [
    "a step that is not there",
    "manual",
    { steps: [step("a", { dependsOn: ["b"] })] },
    ["steps.0.dependsOn.0 value_error"],
  ],
  ["a key that stands twice", "manual", { steps: [step("a"), step("a")] }, ["steps.1.key value_error"]],
  [
    "a when that can't be read",
    "manual",
    { steps: [step("a", { when: "payload. ==" })] },
    ["steps.0.when condition_error"],
  ],
  [
    "a when with one bracket",
    "manual",
    { steps: [step("a", { when: "(1 == 1" })] },
    ["steps.0.when condition_error"],
  ],
  [
    "a branch that can't be read",
    "manual",
    { action: { ...work, definition: branch("a", "and and") } },
    ["action.definition.branches.0.when condition_error"],
  ],
  [
    "a form that is no schema",
    "manual",
    {
      action: {
        kind: "approval_gate",
        definition: gate({ decisionType: "form_input", formSchema: { type: "nothing" } }),
      },
    },
    ["action.definition.formSchema.type value_error"],
  ],
  [
    "a cron that is none",
    "schedule",
    { action: work, schedule: { cron: "every day" } },
    ["schedule.cron value_error"],
  ],
  [
    "a cron that never comes",
    "schedule",
    { action: work, schedule: { cron: "0 0 31 6 *" } },
    ["schedule.cron value_error"],
  ],
  [
    "a zone that is none",
    "schedule",
    { action: work, schedule: { cron: "0 6 * * *", timezone: "Europe/Atlantis" } },
    ["schedule.timezone value_error"],
  ],
  [
    "ranges that are none",
    "webhook",
    {
      action: work,
      path: "x",
      allowedIps: ["10.0.0.0/33", "2001:db8::/129", "10.0.0/8", "office", "10.0.0.1-10.0.0.9"],
    },
    [0, 1, 2, 3, 4].map((n) => `allowedIps.${n} value_error`),
  ],
  [
    "a million tries of a webhook",
    "webhook",
    { action: work, path: "x", retries: { maxAttempts: million } },
    ["retries.maxAttempts less_than_equal"],
  ],
  [
    "a million tries of an action",
    "manual",
    { action: retrying({ maxAttempts: million }) },
    ["action.definition.retry.maxAttempts less_than_equal"],
  ],
  [
    "no try at all",
    "webhook",
    { action: work, path: "x", retries: { maxAttempts: 0 } },
    ["retries.maxAttempts greater_than_equal"],
  ],
  [
    "a pause of a year",
    "webhook",
    { action: work, path: "x", retries: { backoffSeconds: [31_536_000] } },
    ["retries.backoffSeconds.0 less_than_equal"],
  ],
])("%s is rejected at its place", async (_, triggerType, config, faults) => {
  const before = (await app.owner("GET", AUTOMATIONS)).body.total;
  const refused = await app.owner("POST", AUTOMATIONS, { name: "x", triggerType, config });
  expect(faultsOf(refused)).toEqual(faults.map((fault) => `body.config.${fault}`));
  for (const { msg } of refused.body.detail) expect(msg.length).toBeGreaterThan(10);
  expect((await app.owner("GET", AUTOMATIONS)).body.total).toBe(before);
});

test("a path that is taken is rejected, even if another automation moves to it", async () => {
  const make = (path: string) =>
    app.owner("POST", AUTOMATIONS, { name: "x", triggerType: "webhook", config: { action: work, path } });
  created(await make("taken"));
  const again = await make("taken");
  expect([again.status, again.body.code]).toEqual([409, "conflict"]);
  expect(again.body.detail).toContain("taken");
  const { id } = created(await make("free"));
  const moved = await app.owner("PATCH", `${AUTOMATIONS}/${id}`, { config: { path: "taken" } });
  expect([moved.status, moved.body.code]).toEqual([409, "conflict"]);
});

describe("a when that compares different types", () => {
  test.each([
    ["input.apples > input.pears", { apples: 3, pears: "three" }],
    ["input.apples > input.pears", { apples: [], pears: {} }],
    ["input.apples && input.pears", { apples: 1, pears: "yes" }],
    ["input.apples + input.pears > 1", { apples: 1, pears: "1" }],
    ["input.apples", { apples: "many" }],
    ["input.plums > 1", { apples: 1 }],
    ["input.apples == input.pears", { apples: 3, pears: "3" }],
    ["input.apples in input.pears", { apples: 3, pears: ["1", "3.0"] }],
  ])("fails its run with a sentence: %s", async (when, input) => {
    const flow = await makeAutomation(app.owner, {
      steps: [step("a", { when }), step("b", { dependsOn: ["a"] })],
    });
    const run = await flowToEnd(app.owner, flow.id, { input });
    expect(run).toMatchObject({
      status: "failed",
      error: { code: "condition_error", retryable: false, details: { step: "a" } },
      steps: [{ status: "failed", actionRunId: null }, { status: "skipped" }],
    });
    expect(run.error.message).toContain(when);
  });

  test("equals nothing else, and so skips", async () => {
    const steps = [step("a", { when: "input.apples == input.pears" }), step("b")];
    const flow = await makeAutomation(app.owner, { steps });
    const run = await flowToEnd(app.owner, flow.id, { input: { apples: 3, pears: "4" } });
    expect(run.steps.map(({ status }: { status: string }) => status)).toEqual(["skipped", "completed"]);
  });
});

describe("a decision", () => {
  const schema = {
    type: "object",
    properties: { amount: { type: "integer", minimum: 1 }, note: { type: "string", maxLength: 3 } },
    required: ["amount"],
    additionalProperties: false,
  };
  const ask = async (more: object = {}) => {
    const action = await makeAction(app.owner, { kind: "approval_gate", definition: gate(more) });
    const run = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
    const { id } = await openDecision(app, run.id);
    return {
      runId: run.id as string,
      decide: (body: object) => app.owner("POST", `/api/v1/decisions/${id}/decide`, body),
    };
  };

  test("with an invalid form reports each field, and stays open", async () => {
    const { decide } = await ask({ decisionType: "form_input", formSchema: schema });
    const say = (formResponse: unknown) => decide({ decisionValue: "approved", formResponse });
    for (const [form, fields] of [
      [{}, ["amount"]],
      [{ amount: 0, note: "four" }, ["amount", "note"]],
      [{ amount: 1.5, other: true }, ["amount", "other"]],
      [{ amount: "1" }, ["amount"]],
    ] as const) {
      const refused = await say(form);
      const places = refused.body.detail.map(({ loc }: { loc: string[] }) => loc.join("."));
      expect([refused.status, places.sort()]).toEqual([
        422,
        fields.map((field) => `body.formResponse.${field}`).sort(),
      ]);
    }
    for (const form of [null, [], "x", 1]) expect([form, (await say(form)).status]).toEqual([form, 422]);
    expect((await say({ amount: 1 })).status).toBe(200);
  });

  test("is made once: a second one, after a cancellation or expiry, is rejected with its status", async () => {
    const twice = await ask();
    expect((await twice.decide({ decisionValue: "approved" })).status).toBe(200);
    const cancelled = await ask();
    await app.owner("POST", `/api/v1/action-runs/${cancelled.runId}/cancel`);
    const expired = await ask({ expiresInSeconds: 60 });
    app.clock.turn(61_000);
    for (const { decide } of [twice, cancelled, expired]) {
      const late = await decide({ decisionValue: "rejected" });
      expect([late.status, late.body.code]).toEqual([409, "invalid_state"]);
      expect(late.body.detail).toMatch(/approved|cancelled|expired/i);
    }
  });
});

test("invalid and unknown IDs of runs and automations are distinguished", async () => {
  expect((await app.owner("GET", `${AUTOMATION_RUNS}/nothing`)).status).toBe(422);
  expect((await app.owner("GET", `${AUTOMATION_RUNS}/01900000-0000-7000-8000-00000000abcd`)).status).toBe(
    404,
  );
});
