import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { automations, WEBHOOKS_TOPIC } from "../../src/resources/automations/table.ts";
import { startApp } from "../support/app.ts";
import { makeHook, send, stamped } from "../support/hook.ts";
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
  });

  test("is empty without a body", async () => {
    await using app = await startApp();
    await app.owner("PATCH", "/api/v1/organizations/current", { plan: "pro" });
    for (const status of [200, 201, 204, 205, 302, 400]) {
      const headers = { Location: "https://example.com/done" };
      await makeHook(app, { path: `none/${status}`, steps, response: { status, headers } });
      const reply = await fetch(`${app.origin}/webhooks/acme/none/${status}`, {
        method: "POST",
        body,
        headers: stamped(body),
        redirect: "manual",
      });
      expect([reply.status, await reply.text(), reply.headers.get("content-type")]).toEqual([
        status,
        "",
        null,
      ]);
      expect(reply.headers.get("location")).toBe("https://example.com/done");
    }
    await makeHook(app, { path: "null", steps, response: { body: null } });
    const written = await send(app, body, {}, "/webhooks/acme/null");
    expect([written.text, written.headers.get("content-type")]).toEqual(["null", "application/json"]);
  });

  test("leaves out a header that was stored with an invalid name, and logs it", async () => {
    await using app = await startApp();
    const hook = await makeHook(app, {
      steps,
      response: { status: 201, headers: { "X-A": "1" }, body: "ok" },
    });
    const headers = { "X-A": "1", "X Trace": "2" };
    await app.app.store.write(async (db) => {
      const [row] = await db.select().from(automations).where(eq(automations.id, hook.id));
      const config = { ...row?.config, response: { status: 201, headers, body: "ok" } };
      await db.update(automations).set({ config }).where(eq(automations.id, hook.id));
    });
    app.app.signals.notify(WEBHOOKS_TOPIC);
    const answer = await send(app, body);
    expect([answer.status, answer.text, answer.headers.get("x-a")]).toEqual([201, "ok", "1"]);
    const line = app.logged.find((each) => each.includes("webhook response header left out"));
    expect(line).toContain('X Trace\\" is not a valid header name');
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
    const headers = { "X Trace": "1", "": "1", "X-Line": "a\nb", "X-Later": "{{payload.a}}" };
    expect(faultsOf(await create({ response: { headers } }))).toEqual([
      "body.config.response.headers.X Trace value_error",
      "body.config.response.headers. value_error",
      "body.config.response.headers.X-Line value_error",
    ]);
  });
});
