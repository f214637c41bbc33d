import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { AUTOMATIONS, branch, faultsOf } from "../support/work.ts";

const steps = [
  { key: "pick", kind: "conditional_branch", definition: branch("a", "payload.lines.size() > 0") },
];
const total = "{{ payload.lines.map(x, x.qty * x.price).sum() }}";
const body = JSON.stringify({
  lines: [
    { qty: 2, price: 1.5 },
    { qty: 1, price: 4 },
  ],
});

describe("the response of a webhook", () => {
  test("is built by the automation from payload and steps, also for a repeat", async () => {
    await using app = await startApp();
    await makeHook(app, {
      steps,
      response: {
        status: "{{ payload.lines.size() > 1 ? 201 : 200 }}",
        headers: { "X-Branch": "{{steps.pick.result.branch}}" },
        body: { total, run: "{{run.id}}" },
      },
    });
    const first = await send(app, body, { "Idempotency-Key": "one" });
    const again = await send(app, body, { "Idempotency-Key": "one" });
    expect([first.status, first.headers.get("x-branch")]).toEqual([201, "a"]);
    const answer = first.body;
    expect(answer).toEqual({ total: 7, run: expect.any(String) });
    expect([again.status, again.body]).toEqual([201, answer]);
  });

  test("reads the result of a single action as that of the step action", async () => {
    await using app = await startApp();
    const { key: _, ...action } = steps[0] ?? { key: "" };
    await makeHook(app, { action, response: { body: { branch: "{{steps.action.result.branch}}" } } });
    expect((await send(app, body)).body).toEqual({ branch: "a" });
  });

  test("is rejected next to invalid steps, with their faults", async () => {
    await using app = await startApp({ engine: false });
    for (const [wrong, fault] of [
      ["abc", "body.config.steps list_type"],
      [{}, "body.config.steps list_type"],
      [[null], "body.config.steps.0 dict_type"],
    ] as const) {
      const config = { path: "wrong", steps: wrong, response: { body: "{{steps.x.result}}" } };
      const refused = await app.owner("POST", AUTOMATIONS, { name: "x", triggerType: "webhook", config });
      expect(faultsOf(refused)).toEqual([fault]);
    }
  });

  test("can be text or a page, which runs nothing", async () => {
    await using app = await startApp();
    const answered = async (path: string, response: object) => {
      await makeHook(app, { path, steps, response });
      return send(app, body, {}, `/webhooks/acme/${path}`);
    };
    const plain = await answered("text", { body: "{{payload.lines.size()}} lines" });
    expect([plain.text, plain.headers.get("content-type")]).toEqual(["2 lines", "text/plain; charset=utf-8"]);
    const page = { headers: { "Content-Type": "text/html" }, body: "<script>alert(1)</script>" };
    const shown = await answered("page", page);
    expect(shown.headers.get("content-security-policy")).toContain("sandbox");
    expect(shown.headers.get("x-content-type-options")).toBe("nosniff");
    const empty = await answered("none", { status: 204 });
    expect([empty.status, empty.text]).toEqual([204, ""]);
  });

  test("that can't be built is a 500 that says why, while the run has completed", async () => {
    await using app = await startApp();
    for (const [path, response, why] of [
      ["missing", { body: "{{payload.nothing}}" }, 'has no "nothing"'],
      ["status", { status: "{{payload.lines.size()}}" }, "Use a status from 200 to 599"],
      ["break", { headers: { "X-A": "{{ 'a\\r\\nb' }}" } }, "response.headers.X-A contains characters"],
      ["control", { headers: { "X-A": "{{ 'a\\u0001b' }}" } }, "response.headers.X-A contains characters"],
      ["beyond", { headers: { "X-A": "{{ '5 \\u20ac' }}" } }, "response.headers.X-A contains characters"],
    ] as const) {
      await makeHook(app, { path, steps, response });
      const answer = await send(app, body, {}, `/webhooks/acme/${path}`);
      expect(answer.status).toBe(500);
      const told = answer.body;
      expect(told).toMatchObject({
        status: "failed",
        code: "template_error",
        automationRunId: expect.any(String),
      });
      expect(told.detail).toContain(why);
    }
  });

  test("isn't sent if the run has failed", async () => {
    await using app = await startApp();
    const failing = [
      { key: "pick", kind: "conditional_branch", definition: branch("a", "payload.lines == 1") },
    ];
    await makeHook(app, {
      steps: failing,
      response: { status: 201 },
      retries: { enabled: false },
    });
    const answer = await send(app, body);
    expect([answer.status, answer.body.code]).toEqual([500, "no_branch"]);
  });

  test("is checked when it is saved", async () => {
    await using app = await startApp({ engine: false });
    const response = {
      status: 99,
      headers: { "Set-Cookie": "a=b", "X-A": "{{ nofunction() }}" },
      body: { a: "{{steps.gone.result}}" },
    };
    const create = (more: object) =>
      app.owner("POST", AUTOMATIONS, {
        name: "x",
        triggerType: "webhook",
        config: { path: "p", steps, ...more },
      });
    expect(faultsOf(await create({ response }))).toEqual([
      expect.stringContaining("body.config.response.status"),
    ]);
    expect(faultsOf(await create({ response: { ...response, status: 201 } }))).toEqual([
      "body.config.response.headers.X-A template_error",
      "body.config.response.headers.Set-Cookie value_error",
      "body.config.response.body.a unknown_step",
    ]);
  });
});
