import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { artifacts } from "../../src/resources/artifacts/table.ts";
import { type Client, startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  NOBODY,
} from "../support/work.ts";

const echo = () => startReceiver(({ text }) => Response.json(JSON.parse(text)));
const post = (key: string, url: string, body: unknown, more: object = {}) => ({
  key,
  kind: "http_request",
  definition: { method: "POST", url, body, responseExtract: "@" },
  ...more,
});
const tested = async (call: Client, id: string, body: object) =>
  automationRunEnd(call, created(await call("POST", `${AUTOMATIONS}/${id}/test`, body)).id);

describe("a test of an automation", () => {
  test("runs the given config, and leaves the automation unchanged", async () => {
    await using app = await startApp();
    await using receiver = echo();
    const flow = await makeAutomation(app.owner, { steps: [post("a", receiver.url, { n: 1 })] });
    const config = { steps: [post("a", receiver.url, { n: "{{ input.n + 1 }}" })], concurrency: { max: 1 } };
    const run = await tested(app.owner, flow.id, { config, input: { n: 4 } });
    expect(run).toMatchObject({ status: "completed", triggerMethod: "test" });
    expect(run.result.extracted).toEqual({ n: 5 });
    expect((await app.owner("GET", `${AUTOMATIONS}/${flow.id}`)).body.config).toEqual(flow.config);
    expect((await flowToEnd(app.owner, flow.id)).result.extracted).toEqual({ n: 1 });
    const again = await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/retry`, { fromFailed: false });
    expect([again.status, again.body.code]).toEqual([409, "invalid_state"]);
  });

  test("uses pinned results for steps, and ends with a named step", async () => {
    await using app = await startApp();
    await using receiver = echo();
    const steps = [
      post("load", receiver.url, { rows: 9 }),
      {
        key: "route",
        kind: "conditional_branch",
        definition: branch("many", "steps.load.result.rows > 1"),
        dependsOn: ["load"],
      },
      post("tell", receiver.url, "{{steps.load.result}}", { dependsOn: ["route:many"] }),
      post("after", receiver.url, "later", { dependsOn: ["tell"] }),
      post("beside", receiver.url, "beside"),
    ];
    const flow = await makeAutomation(app.owner, { steps });
    const run = await tested(app.owner, flow.id, { pinned: { load: { rows: 2 } }, upTo: "tell" });
    expect(run.steps.map(({ key, status }: { key: string; status: string }) => `${key} ${status}`)).toEqual([
      "load completed",
      "route completed",
      "tell completed",
      "after skipped",
      "beside skipped",
    ]);
    expect(receiver.got.map(({ text }) => JSON.parse(text))).toEqual([{ rows: 2 }]);
    expect(run.result).toMatchObject({ load: { rows: 2 }, route: { branch: "many" } });
  });

  test("reads a pinned result from its artifact, if everyone may read that", async () => {
    await using app = await startApp();
    const script = (source: string, input: unknown = null) => ({
      kind: "run_script",
      definition: { source, input },
    });
    const long = await makeAutomation(app.owner, {
      action: script("export default () => 'SECRET'.repeat(60_000)"),
    });
    const stored = (await flowToEnd(app.owner, long.id)).result;
    const steps = [
      { key: "a", ...script("export default () => 1") },
      { key: "b", dependsOn: ["a"], ...script("export default (x) => x", "{{steps.a.result}}") },
    ];
    const flow = await makeAutomation(app.owner, { steps });
    const read = async (a: object) =>
      JSON.stringify(await tested(app.owner, flow.id, { pinned: { a }, upTo: "b" }));
    expect(stored.artifactId).toBeString();
    const { artifactId } = (await tested(app.owner, flow.id, { pinned: { a: stored }, upTo: "b" })).result.b;
    const { text } = await app.owner("GET", `/api/v1/artifacts/${artifactId}/content`);
    expect(JSON.parse(text).output.output).toHaveLength(360_000);
    const change = (set: object) =>
      app.app.store.write((db) =>
        db.update(artifacts).set(set).where(eq(artifacts.id, stored.artifactId)).run(),
      );
    await change({ privateTo: app.ids.userId });
    expect(await read(stored)).not.toContain("SECRET");
    await change({ privateTo: null, kind: "file" });
    const refused = await read(stored);
    expect(refused).not.toContain("SECRET");
    expect(refused).not.toContain("internal");
  });

  test("uses the results pinned in the config, which other runs don't use", async () => {
    await using app = await startApp();
    await using receiver = echo();
    const steps = [
      post("load", receiver.url, { rows: 9 }, { pinned: { extracted: { rows: 2 } } }),
      post("tell", receiver.url, "{{steps.load.result.extracted}}", { dependsOn: ["load"] }),
    ];
    const flow = await makeAutomation(app.owner, { steps });
    expect((await tested(app.owner, flow.id, {})).result.tell.extracted).toEqual({ rows: 2 });
    expect((await flowToEnd(app.owner, flow.id)).result.tell.extracted).toEqual({ rows: 9 });
  });

  test("uses the input pinned in the config if it gets none, which other runs ignore", async () => {
    await using app = await startApp();
    await using receiver = echo();
    const steps = [post("a", receiver.url, { id: "{{payload.id}}" })];
    const pinnedInput = { id: "12345678901234567890" };
    const hook = await makeHook(app, { steps, pinnedInput, retries: { enabled: false } });
    expect((await tested(app.owner, hook.id, {})).result.extracted).toEqual(pinnedInput);
    expect((await tested(app.owner, hook.id, { input: { id: 1 } })).result.extracted).toEqual({ id: 1 });
    expect((await tested(app.owner, hook.id, { input: null })).status).toBe("failed");
    await flowToEnd(app.owner, hook.id);
    expect(receiver.got.map(({ text }) => JSON.parse(text))).toEqual([pinnedInput, { id: 1 }]);
  });

  test("uses another run's trigger data", async () => {
    await using app = await startApp();
    await using receiver = echo();
    const hook = await makeHook(app, { steps: [post("a", receiver.url, "{{payload.n}}")], debug: true });
    const sent = await send(app, JSON.stringify({ n: 17 }));
    const config = { ...hook.config, steps: [post("a", receiver.url, { twice: "{{ payload.n * 2 }}" })] };
    const run = await tested(app.owner, hook.id, { config, fromRunId: sent.body.automationRunId });
    expect(run.result.extracted).toEqual({ twice: 34 });
    const byInput = await tested(app.owner, hook.id, { config, input: { n: 1 } });
    expect(byInput.result.extracted).toEqual({ twice: 2 });
  });

  test("reports what is wrong, with the field", async () => {
    await using app = await startApp({ engine: false });
    const steps = [{ key: "a", kind: "conditional_branch", definition: branch() }];
    const flow = await makeAutomation(app.owner, { steps });
    const test = (body: object) => app.owner("POST", `${AUTOMATIONS}/${flow.id}/test`, body);
    expect(faultsOf(await test({ config: { steps: [{ key: "a" }] } }))).toEqual([
      "body.config.steps.0.kind missing",
    ]);
    expect(faultsOf(await test({ upTo: "b", pinned: { c: 1 } }))).toEqual([
      "body.upTo unknown_step",
      "body.pinned.c unknown_step",
    ]);
    expect(faultsOf(await test({ fromRunId: NOBODY }))).toEqual(["body.fromRunId not_found"]);
    expect(faultsOf(await test({ fromRunId: NOBODY, input: {} }))).toEqual(["body.input value_error"]);
  });
});

describe("a draft", () => {
  test("is tested up to a complete step, while later ones are incomplete", async () => {
    await using app = await startApp();
    const steps = [
      { key: "a", kind: "conditional_branch", definition: branch() },
      { key: "b", dependsOn: ["a"] },
    ];
    const flow = created(
      await app.owner("POST", AUTOMATIONS, {
        name: "Begun",
        triggerType: "manual",
        status: "draft",
        config: { steps },
      }),
    );
    const refused = await app.owner("POST", `${AUTOMATIONS}/${flow.id}/test`, { input: {} });
    expect(faultsOf(refused)).toEqual(["body.config.steps.1.kind missing"]);
    const run = await tested(app.owner, flow.id, { upTo: "a", input: {} });
    expect([run.status, run.steps.map(({ status }: { status: string }) => status)]).toEqual([
      "completed",
      ["completed", "skipped"],
    ]);
    const test = (list: object[], upTo: string) =>
      app.owner("POST", `${AUTOMATIONS}/${flow.id}/test`, { config: { steps: list }, upTo, input: {} });
    const [a] = steps;
    const circle = [
      { ...a, key: "c", dependsOn: ["zz"] },
      { ...a, dependsOn: ["b"] },
      { ...a, key: "b", dependsOn: ["a"] },
    ];
    expect(faultsOf(await test(circle, "b"))).toEqual(["body.config.steps value_error"]);
    expect(faultsOf(await test([{ key: "c" }, { ...a, dependsOn: ["gone"] }], "a"))).toEqual([
      "body.config.steps.1.dependsOn.0 value_error",
    ]);
    expect(faultsOf(await test([{ ...a, dependsOn: "c" }, { key: "c" }], "a"))).toContain(
      "body.config.steps.0.dependsOn list_type",
    );
    const secret = {
      key: "c",
      kind: "http_request",
      definition: { url: "https://a.example", headers: { authorization: "Bearer 0123456789abcdef" } },
    };
    expect(faultsOf(await test([a ?? {}, secret], "a")).join()).toContain("use_a_connection");
    const unknown = { key: "c", actionId: NOBODY };
    expect(faultsOf(await test([{ key: "b" }, unknown], "c"))).toEqual([
      "body.config.steps.1.actionId not_found",
    ]);
  });

  test("can be unfinished, triggers nothing, and is checked completely when it becomes active", async () => {
    await using app = await startApp();
    const config = { path: "orders", steps: [{ key: "a", kind: "http_request", definition: {} }] };
    const draft = created(
      await app.owner("POST", AUTOMATIONS, {
        name: "Draft",
        triggerType: "webhook",
        status: "draft",
        config,
      }),
    );
    expect(draft.status).toBe("draft");
    expect((await send(app, "{}")).status).toBe(404);
    const at = `${AUTOMATIONS}/${draft.id}`;
    expect((await app.owner("POST", `${at}/run`, {})).body.code).toBe("invalid_state");
    expect(faultsOf(await app.owner("PATCH", at, { status: "active" }))).toEqual([
      "body.config.steps.0.definition.url missing",
    ]);
    expect((await app.owner("PATCH", at, { config: { steps: "x" } })).status).toBe(422);
    const steps = [{ key: "a", kind: "conditional_branch", definition: branch() }];
    expect((await app.owner("PATCH", at, { config: { steps, requireTimestamp: false } })).status).toBe(200);
    expect((await tested(app.owner, draft.id, { input: {} })).status).toBe("completed");
    expect((await app.owner("PATCH", at, { status: "active" })).body.status).toBe("active");
    expect((await app.owner("GET", `${AUTOMATIONS}?status=draft`)).body.total).toBe(0);
  });

  test("whose action was deleted in the meantime doesn't become active", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    const draft = created(
      await app.owner("POST", AUTOMATIONS, {
        name: "Draft",
        triggerType: "manual",
        status: "draft",
        config: { steps: [{ key: "a", actionId: action.id }] },
      }),
    );
    await app.owner("DELETE", `${ACTIONS}/${action.id}`);
    const active = await app.owner("PATCH", `${AUTOMATIONS}/${draft.id}`, { status: "active" });
    expect(faultsOf(active)).toEqual(["body.config.steps.0.actionId not_found"]);
  });
});
