import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  branch,
  flowToEnd,
  makeAction,
  makeAutomation,
  RUNS,
  runToEnd,
} from "../support/work.ts";

const steps = (when: string) => [{ key: "a", kind: "conditional_branch", definition: branch("a", when) }];

describe("versions", () => {
  test("of an automation show who changed what, and an earlier one can be restored", async () => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { steps: steps("true"), expect: { minRows: 1 } });
    const at = `${AUTOMATIONS}/${flow.id}`;
    const first = await flowToEnd(app.owner, flow.id);
    await app.owner("PATCH", at, { name: "Other", config: { steps: steps("1 == 1"), expect: null } });
    const second = await flowToEnd(app.owner, flow.id);
    expect([first.automationVersion, second.automationVersion]).toEqual([1, 2]);
    const list = (await app.owner("GET", `${at}/versions`)).body;
    expect(list).toMatchObject({ total: 2, hasNext: false });
    expect(list.versions[0]).toMatchObject({ version: 2, createdBy: flow.createdBy });
    expect(list.versions[0].changes.map(({ field }: { field: string }) => field)).toEqual(["name", "config"]);
    expect(list.users[flow.createdBy]).toBeDefined();
    const one = (await app.owner("GET", `${at}/versions/1`)).body;
    expect(one.content).toEqual({ name: flow.name, description: null, config: flow.config });
    const restored = (await app.owner("POST", `${at}/versions/1/restore`)).body;
    expect([restored.name, restored.config]).toEqual([flow.name, flow.config]);
    expect((await flowToEnd(app.owner, flow.id)).automationVersion).toBe(3);
    await app.owner("POST", `${at}/versions/1/restore`);
    expect((await app.owner("GET", `${at}/versions`)).body.total).toBe(3);
    expect((await app.owner("GET", `${at}/versions/9`)).status).toBe(404);
    expect((await app.owner("GET", `${at}/versions/x`)).status).toBe(422);
  });

  test("of a webhook are restored without the secrets that changed since", async () => {
    await using app = await startApp({ engine: false });
    const slack = (name: string) => ({ slack: `https://hooks.slack.com/services/T0/${name}/secret` });
    const alerts = (name: string) => ({ onFailure: true, notify: [slack(name)] });
    const token = "token-of-the-sender";
    const auth = { type: "basic", username: "u", password: "password-of-the-sender" };
    const flow = await makeAutomation(
      app.owner,
      { path: "hook", steps: steps("true"), auth: { type: "bearer", token }, alerts: alerts("B1") },
      { triggerType: "webhook" },
    );
    const at = `${AUTOMATIONS}/${flow.id}`;
    await app.owner("PATCH", at, { config: { auth, steps: steps("false") } });
    const restored = await app.owner("POST", `${at}/versions/1/restore`);
    expect(restored.body.config).toEqual({ ...flow.config, auth: { type: "basic", username: "u" } });
    const moved = (await app.owner("PATCH", at, { config: { steps: steps("false"), alerts: alerts("B2") } }))
      .body;
    expect((await app.owner("POST", `${at}/versions/1/restore`)).body.config).toEqual({
      ...restored.body.config,
      alerts: moved.config.alerts,
    });
  });

  test("of a webhook are restored with the way in which its sender authenticates now", async () => {
    await using app = await startApp({ engine: false });
    const header = (name: string) => ({ type: "header", name, value: `secret-of-${name}` });
    const flow = await makeAutomation(
      app.owner,
      { path: "hook", steps: steps("true"), auth: header("x-first") },
      { triggerType: "webhook" },
    );
    const at = `${AUTOMATIONS}/${flow.id}`;
    await app.owner("PATCH", at, { config: { auth: header("x-second"), steps: steps("false") } });
    const restored = (await app.owner("POST", `${at}/versions/1/restore`)).body.config;
    expect(restored).toEqual({ ...flow.config, auth: { type: "header", name: "x-second" } });
    const sent = (name: string) =>
      fetch(flow.webhookUrl, { method: "POST", body: "{}", headers: { [name]: `secret-of-${name}` } });
    expect([(await sent("x-first")).status, (await sent("x-second")).status]).toEqual([401, 200]);
  });

  test("of an action are in its runs", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    const at = `${ACTIONS}/${action.id}`;
    await app.owner("PATCH", at, { definition: branch("b") });
    const run = await runToEnd(app.owner, action.id);
    expect([run.actionVersion, run.result]).toEqual([2, { branch: "b" }]);
    expect((await app.owner("POST", `${at}/versions/1/restore`)).body.definition).toEqual(branch());
    expect((await runToEnd(app.owner, action.id)).actionVersion).toBe(3);
    const flow = await makeAutomation(app.owner, { steps: [{ key: "a", actionId: action.id }] });
    const { steps } = await flowToEnd(app.owner, flow.id);
    expect((await app.owner("GET", `${RUNS}/${steps[0].actionRunId}`)).body.actionVersion).toBe(3);
    expect((await app.owner("GET", `${at}/versions`)).body.versions).toHaveLength(3);
  });

  test("of an agent have its text", async () => {
    await using app = await startApp({ engine: false });
    const specs = "/api/v1/agents/specs";
    const text = (prompt: string) => `---\nname: Helper\n---\n${prompt}`;
    const spec = (await app.owner("POST", specs, { markdown: text("One") })).body;
    await app.owner("PATCH", `${specs}/${spec.id}`, { markdown: text("Two") });
    expect((await app.owner("GET", `${specs}/${spec.id}/versions/2`)).body.content).toEqual({
      markdown: text("Two"),
    });
    expect((await app.owner("POST", `${specs}/${spec.id}/versions/1/restore`)).body.markdown).toBe(
      text("One"),
    );
    expect((await app.owner("GET", `${specs}/${spec.id}/versions`)).body.total).toBe(3);
  });
});
