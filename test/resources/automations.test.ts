import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { events } from "../../src/resources/events/table.ts";
import { startApp } from "../support/app.ts";
import { isStored } from "../support/beside.ts";
import { connect, localFiles } from "../support/connections.ts";
import { join, neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  chainOf,
  correlationOf,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  NOBODY,
  RUNS,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const work = (definition: object = branch()) => ({ kind: "conditional_branch", definition });
const step = (key: string, more: object = {}) => ({ key, ...work(), ...more });
const call = (url: string, more: object = {}) => ({
  kind: "http_request",
  definition: { url, method: "POST", ...more },
});
const trail = async (app: Started, id: string) =>
  app.app.store.db.select().from(events).where(eq(events.entityId, id)).orderBy(events.seq);
/** `key:status` of each step. */
const stepsOf = (run: { steps: { key: string; status: string }[] }) =>
  run.steps.map(({ key, status }) => `${key}:${status}`).join(" ");

describe("creating an automation", () => {
  test("responds with 201 and all fields", async () => {
    await using app = await startApp();
    const made = await makeAutomation(app.owner, { action: work() }, { description: "Nightly" });
    expect(made).toEqual({
      id: expect.any(String),
      name: "Flow",
      slug: "flow",
      description: "Nightly",
      config: { action: work() },
      hasSecret: false,
      orchestratorType: "local",
      status: "active",
      triggerType: "manual",
      templateId: null,
      tags: [],
      tenantId: app.ids.organizationId,
      webhookUrl: null,
      formUrl: null,
      nextRunAt: null,
      latestRun: null,
      createdAt: expect.any(String),
      updatedAt: made.createdAt,
      createdBy: app.ids.userId,
      updatedBy: app.ids.userId,
    });
    expect((await app.owner("GET", `${AUTOMATIONS}/${made.id}`)).body).toEqual(made);
    expect(await trail(app, made.id)).toMatchObject([{ type: "automation.created" }]);
  });

  test.each<[object, string[]]>([
    [{}, ["action missing"]],
    [{ action: work(), steps: [step("a")] }, ["steps value_error"]],
    [{ action: {} }, ["action.kind missing"]],
    [{ action: { kind: "http_request", definition: { url: 7 } } }, ["action.definition.url string_type"]],
    [{ action: work(), path: "x" }, ["path extra_forbidden"]],
    [{ action: { ...work(), colour: 1 } }, ["action.colour extra_forbidden"]],
    [{ steps: [] }, ["steps too_short"]],
    [
      { steps: [{ ...step("not a key"), when: "1 +" }, { key: "b" }] },
      ["steps.0.key string_pattern_mismatch", "steps.0.when condition_error", "steps.1.kind missing"],
    ],
    [{ steps: [step("__proto__")] }, ["steps.0.key string_pattern_mismatch"]],
    [{ steps: [step("a", { when: "1 +" })] }, ["steps.0.when condition_error"]],
    [{ steps: [step("a"), step("a")] }, ["steps.1.key value_error"]],
    [{ steps: [step("a", { dependsOn: ["b"] })] }, ["steps.0.dependsOn.0 value_error"]],
    [
      {
        steps: [
          step("a", { dependsOn: ["c"] }),
          step("b", { dependsOn: ["a"] }),
          step("c", { dependsOn: ["b"] }),
        ],
      },
      ["steps value_error"],
    ],
    [{ steps: [step("a"), step("b", { dependsOn: ["a:other"] })] }, ["steps.1.dependsOn.0 value_error"]],
    [
      { steps: [{ key: "a", ...call("http://a.test") }, step("b", { dependsOn: ["a:x"] })] },
      ["steps.1.dependsOn.0 value_error"],
    ],
    [{ schedule: { cron: "* * * * *" }, action: work() }, ["schedule extra_forbidden"]],
  ])("rejects the config %j", async (config, faults) => {
    await using app = await startApp();
    const refused = await app.owner("POST", AUTOMATIONS, { name: "", triggerType: "manual", config });
    expect(faultsOf(refused)).toEqual([
      "body.name string_too_short",
      ...faults.map((fault) => `body.config.${fault}`),
    ]);
    expect((await app.owner("GET", AUTOMATIONS)).body.total).toBe(0);
  });

  test("names the circle and the missing key", async () => {
    await using app = await startApp();
    const told = async (steps: object[]) =>
      (await app.owner("POST", AUTOMATIONS, { name: "x", config: { steps } })).body.detail[0].msg;
    expect(await told([step("a", { dependsOn: ["b"] }), step("b", { dependsOn: ["a"] })])).toContain(
      "a → b → a",
    );
    expect(await told([step("a", { dependsOn: ["gone"] })])).toContain("gone");
    expect(await told([step("a", { dependsOn: ["a"] })])).toContain("a → a");
  });

  test("looks up what it names in its own organization", async () => {
    await using app = await startApp();
    const other = await neighbour(app);
    const theirs = await makeAction(other.call);
    const files = await connect(app.owner, localFiles("Files"));
    const theirFiles = await connect(other.call, localFiles("Files"));
    const steps = [
      { key: "a", actionId: theirs.id },
      { key: "b", actionId: NOBODY },
      step("c", { connectionId: files.id }),
      {
        key: "d",
        kind: "dlt_extract",
        definition: { dataset: "d", resources: [{ spec: "*.csv" }] },
        connectionId: theirFiles.id,
      },
    ];
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, { name: "x", config: { steps } }))).toEqual([
      "body.config.steps.0.actionId not_found",
      "body.config.steps.1.actionId not_found",
      "body.config.steps.2.connectionId value_error",
      "body.config.steps.3.connectionId not_found",
    ]);
    const both = { action: { actionId: (await makeAction(app.owner)).id, ...work() } };
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, { name: "x", config: both }))).toEqual([
      "body.config.action.actionId value_error",
    ]);
  });

  test("rejects an unknown orchestrator and an unknown trigger", async () => {
    await using app = await startApp();
    const make = (more: object) =>
      app.owner("POST", AUTOMATIONS, { name: "x", config: { action: work() }, ...more });
    expect(faultsOf(await make({ orchestratorType: "remote" }))).toEqual(["body.orchestratorType enum"]);
    expect(faultsOf(await make({ triggerType: "often" }))).toEqual(["body.triggerType enum"]);
  });
});

describe("a webhook's secret", () => {
  const hook = { path: "orders", action: work() };

  test("is generated if none is given, shown once, and never again", async () => {
    await using app = await startApp();
    const made = await makeAutomation(app.owner, hook, { triggerType: "webhook" });
    const { secret } = made.config;
    expect(secret.length).toBeGreaterThanOrEqual(32);
    expect(made).toMatchObject({
      hasSecret: true,
      webhookUrl: `${app.origin}/webhooks/${app.ids.organizationId}/orders`,
    });
    const shown = [
      await app.owner("GET", `${AUTOMATIONS}/${made.id}`),
      await app.owner("GET", AUTOMATIONS),
      await app.owner("PATCH", `${AUTOMATIONS}/${made.id}`, { name: "Other" }),
      await app.owner("GET", "/api/v1/events"),
    ];
    for (const { text } of shown) expect(text).not.toContain(secret);
    expect(shown[0]?.body).toMatchObject({ hasSecret: true, config: hook });
    expect(shown[0]?.body.config).not.toHaveProperty("secret");
  });

  test("is stored encrypted, also in the response kept for a repeat", async () => {
    await using app = await startApp();
    const secret = "a-canary-of-a-secret-0123456789";
    const body = { name: "x", triggerType: "webhook", config: { ...hook, secret } };
    const key = { "idempotency-key": "make-it-once" };
    const first = await app.owner("POST", AUTOMATIONS, body, key);
    const again = await app.owner("POST", AUTOMATIONS, body, key);
    expect(again.text).toBe(first.text);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await isStored(app, secret)).toBe(false);
  });

  test("has at least 16 characters, and is changed by PATCH, which records the change without the secret", async () => {
    await using app = await startApp();
    const short = { name: "x", triggerType: "webhook", config: { ...hook, secret: "too-short" } };
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, short))).toEqual([
      "body.config.secret string_too_short",
    ]);
    const made = await makeAutomation(
      app.owner,
      { ...hook, secret: "sixteen-letters!" },
      { triggerType: "webhook" },
    );
    const patch = (secret: unknown) =>
      app.owner("PATCH", `${AUTOMATIONS}/${made.id}`, { config: { secret } });
    for (const wrong of ["short", null, 7])
      expect(faultsOf(await patch(wrong))).toEqual(["body.config.secret string_too_short"]);
    expect((await patch("sixteen-letters!")).body.updatedAt).toBe(made.updatedAt);
    expect(await trail(app, made.id)).toHaveLength(1);
    expect((await patch("another-secret-of-mine")).body.config).toEqual(hook);
    const [, event] = await trail(app, made.id);
    expect(event?.data).toEqual({ changes: [{ field: "config.secret", from: "***", to: "***" }] });
  });

  test("belongs to a path that is free in the organization and valid in a URL", async () => {
    await using app = await startApp();
    const other = await neighbour(app);
    const make = (path: unknown, call = app.owner) =>
      call("POST", AUTOMATIONS, { name: "x", triggerType: "webhook", config: { action: work(), path } });
    const first = created(await make("a/b"));
    expect([(await make("a/b")).status, (await make("a/b")).body.code]).toEqual([409, "conflict"]);
    expect((await make("a/b", other.call)).status).toBe(201);
    for (const wrong of ["", "/a", "a/", "a//b", "a b", "a?b", "..", "a/../b", undefined]) {
      expect([wrong, (await make(wrong)).status]).toEqual([wrong, 422]);
    }
    await app.owner("DELETE", `${AUTOMATIONS}/${first.id}`);
    expect((await make("a/b")).status).toBe(201);
    const moving = created(await make("c"));
    expect(
      (await app.owner("PATCH", `${AUTOMATIONS}/${moving.id}`, { config: { path: "a/b" } })).body.code,
    ).toBe("conflict");
  });
});

describe("changing an automation", () => {
  test("changes the given config fields; null clears, and no change records nothing", async () => {
    await using app = await startApp();
    const config = { path: "orders", action: work(), waitSeconds: 5, debug: true };
    const made = await makeAutomation(app.owner, config, { triggerType: "webhook" });
    const patch = (body: object) => app.owner("PATCH", `${AUTOMATIONS}/${made.id}`, body);
    app.clock.turn(1000);
    const changed = (await patch({ config: { waitSeconds: 0, debug: null }, description: "d" })).body;
    expect(changed).toMatchObject({
      config: { path: "orders", action: work(), waitSeconds: 0 },
      description: "d",
    });
    expect(changed.updatedAt > made.updatedAt).toBe(true);
    app.clock.turn(1000);
    for (const same of [
      {},
      { config: {} },
      { config: { waitSeconds: 0 }, name: "Flow", status: "active", orchestratorType: "local" },
    ]) {
      expect((await patch(same)).body).toEqual(changed);
    }
    expect(await trail(app, made.id)).toHaveLength(2);
    expect((await patch({ description: null })).body.description).toBeNull();
    const steps = (await patch({ config: { steps: [step("a")] } })).body.config;
    expect([steps.steps.length, steps.action]).toEqual([1, undefined]);
    expect(faultsOf(await patch({ config: { waitSeconds: 31, colour: 1 } }))).toEqual([
      "body.config.waitSeconds less_than_equal",
      "body.config.colour extra_forbidden",
    ]);
    expect(faultsOf(await patch({ slug: "x", triggerType: "manual" }))).toEqual([
      "body.slug extra_forbidden",
      "body.triggerType extra_forbidden",
    ]);
  });

  test("disabling and enabling are recorded as separate events, and a disabled one doesn't run", async () => {
    await using app = await startApp();
    const made = await makeAutomation(app.owner, { action: work() });
    const patch = (status: string) => app.owner("PATCH", `${AUTOMATIONS}/${made.id}`, { status });
    expect((await patch("disabled")).body.status).toBe("disabled");
    const refused = await app.owner("POST", `${AUTOMATIONS}/${made.id}/run`);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
    await patch("active");
    expect((await trail(app, made.id)).map(({ type }) => type)).toEqual([
      "automation.created",
      "automation.disabled",
      "automation.enabled",
    ]);
    expect((await flowToEnd(app.owner, made.id)).status).toBe("completed");
  });

  test("leaves a running run with the config that it began with", async () => {
    await using app = await startApp();
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
    const later = (key: string) => step("later", { dependsOn: ["first"], definition: branch(key) });
    const made = await makeAutomation(app.owner, {
      steps: [{ key: "first", ...call(receiver.url) }, later("old")],
    });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${made.id}/run`));
    const patch = {
      config: { steps: [later("new"), { key: "first", ...call(receiver.url) }, step("more")] },
    };
    expect((await app.owner("PATCH", `${AUTOMATIONS}/${made.id}`, patch)).status).toBe(200);
    open.resolve();
    const ended = await automationRunEnd(app.owner, run.id);
    expect(ended.result.later).toEqual({ branch: "old" });
    expect(stepsOf(ended)).toBe("first:completed later:completed");
    expect((await flowToEnd(app.owner, made.id)).result).toMatchObject({
      later: { branch: "new" },
      more: { branch: "a" },
    });
  });
});

describe("deleting an automation", () => {
  test("removes it, and its runs stay readable", async () => {
    await using app = await startApp();
    const made = await makeAutomation(app.owner, { action: work() });
    const run = await flowToEnd(app.owner, made.id);
    const gone = await app.owner("DELETE", `${AUTOMATIONS}/${made.id}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/run"],
      ["GET", "/runs"],
    ] as const) {
      expect((await app.owner(method, `${AUTOMATIONS}/${made.id}${path}`)).status).toBe(404);
    }
    expect((await app.owner("GET", AUTOMATIONS)).body).toMatchObject({ automations: [], total: 0 });
    expect((await app.owner("GET", `${AUTOMATION_RUNS}/${run.id}`)).body.status).toBe("completed");
    expect((await trail(app, made.id)).at(-1)?.type).toBe("automation.deleted");
  });

  test("is for members, and another organization's is invisible", async () => {
    await using app = await startApp();
    const other = await neighbour(app);
    const theirs = await makeAutomation(other.call, { action: work() });
    const run = await flowToEnd(other.call, theirs.id);
    const viewer = await join(app, "viewer");
    const mine = await makeAutomation(app.owner, { action: work() });
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["PATCH", "", { name: "x" }],
      ["DELETE", "", undefined],
      ["POST", "/run", undefined],
      ["GET", "/runs", undefined],
    ] as const) {
      expect((await app.owner(method, `${AUTOMATIONS}/${theirs.id}${path}`, body)).status).toBe(404);
      expect((await app.owner(method, `${AUTOMATIONS}/me${path}`, body)).status).toBe(422);
      const seen = (await viewer.call(method, `${AUTOMATIONS}/${mine.id}${path}`, body)).status;
      expect([method, path, seen]).toEqual([method, path, method === "GET" ? 200 : 403]);
    }
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/cancel"],
      ["POST", "/retry"],
    ] as const) {
      expect((await app.owner(method, `${AUTOMATION_RUNS}/${run.id}${path}`)).status).toBe(404);
    }
    expect((await app.owner("GET", AUTOMATIONS)).body.total).toBe(1);
  });
});

describe("the list", () => {
  test("filters, newest first, and shows the latest run", async () => {
    await using app = await startApp();
    const { id: actionId } = await makeAction(app.owner);
    const steps = [{ key: "a", actionId }];
    const one = await makeAutomation(app.owner, { steps }, { name: "One 100%" });
    const two = await makeAutomation(
      app.owner,
      { action: work(), path: "p" },
      { name: "Two", triggerType: "webhook" },
    );
    await app.owner("PATCH", `${AUTOMATIONS}/${two.id}`, { status: "disabled" });
    const run = await flowToEnd(app.owner, one.id);
    const ids = async (query: string) =>
      (await app.owner("GET", `${AUTOMATIONS}?${query}`)).body.automations.map(
        ({ id }: { id: string }) => id,
      );
    expect(await ids("")).toEqual([two.id, one.id]);
    expect(await ids("q=100%25")).toEqual([one.id]);
    expect(await ids("trigger_type=webhook")).toEqual([two.id]);
    expect(await ids(`action_id=${actionId}`)).toEqual([one.id]);
    expect(await ids(`action_id=${one.id}`)).toEqual([]);
    expect(await ids("status=active")).toEqual([one.id]);
    const { body } = await app.owner("GET", `${AUTOMATIONS}?limit=1&offset=1`);
    expect(body).toMatchObject({
      hasNext: false,
      limit: 1,
      offset: 1,
      total: 2,
      users: { [app.ids.userId]: { firstName: "Ada" } },
    });
    expect(body.automations[0].latestRun).toEqual({
      id: run.id,
      status: "completed",
      startedAt: run.startedAt,
      completedAt: run.completedAt,
    });
    expect(faultsOf(await app.owner("GET", `${AUTOMATIONS}?limit=101&status=on`))).toHaveLength(2);
  });
});

describe("a run with one action", () => {
  test("of a webhook, started manually, has its input as the payload", async () => {
    await using app = await startApp();
    const config = {
      path: "by-hand",
      action: work(branch("big", "payload.total > 40 && size(headers) == 0")),
    };
    const made = await makeAutomation(app.owner, config, { triggerType: "webhook" });
    const started = await app.owner("POST", `${AUTOMATIONS}/${made.id}/run`, { input: { total: 41 } });
    const run = await automationRunEnd(app.owner, created(started).id);
    expect(run).toMatchObject({ status: "completed", result: { branch: "big" } });
  });

  test("has one step, and the action's result is its own", async () => {
    await using app = await startApp();
    const made = await makeAutomation(app.owner, {
      action: work(branch("{{input.size}}".length > 0 ? "big" : "", "input.total > 40.0")),
    });
    const answer = await app.owner("POST", `${AUTOMATIONS}/${made.id}/run`, { input: { total: 42.5 } });
    const run = await automationRunEnd(app.owner, created(answer).id);
    expect(run).toEqual({
      id: answer.body.id,
      automationId: made.id,
      automationVersion: 1,
      parentAutomationRunId: null,
      status: "completed",
      displayStatus: "Completed",
      triggerMethod: "api",
      triggerSourceType: "user",
      triggerSourceId: app.ids.userId,
      input: { total: 42.5 },
      steps: [
        {
          key: "action",
          status: "completed",
          actionRunId: expect.any(String),
          startedAt: expect.any(String),
          completedAt: expect.any(String),
          error: null,
        },
      ],
      result: { branch: "big" },
      error: null,
      startedAt: expect.any(String),
      completedAt: expect.any(String),
      createdAt: expect.any(String),
    });
    const inner = (await app.owner("GET", `${RUNS}?automation_run_id=${run.id}`)).body.runs;
    expect(inner).toMatchObject([
      {
        id: run.steps[0].actionRunId,
        triggerSourceType: "automation",
        triggerSourceId: made.id,
      },
    ]);
    expect(await chainOf(app, await correlationOf(app, run.id))).toEqual([
      "automation.triggered",
      "action.started",
      "action.completed",
      "automation.completed",
    ]);
  });

  test("can use a stored action, as it is when it runs", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    const made = await makeAutomation(app.owner, { action: { actionId: action.id } });
    await app.owner("PATCH", `${ACTIONS}/${action.id}`, { definition: branch("changed") });
    const run = await flowToEnd(app.owner, made.id);
    expect(run.result).toEqual({ branch: "changed" });
    expect((await app.owner("GET", `${ACTIONS}/${action.id}`)).body.latestRun.id).toBe(
      run.steps[0].actionRunId,
    );
    await app.owner("PATCH", `${ACTIONS}/${action.id}`, { status: "disabled" });
    expect((await flowToEnd(app.owner, made.id)).error).toMatchObject({ code: "invalid_state" });
    await app.owner("DELETE", `${ACTIONS}/${action.id}`);
    expect((await flowToEnd(app.owner, made.id)).error).toMatchObject({ code: "not_found" });
  });
});

describe("a run with steps", () => {
  test("follows the graph, and steps see earlier ones", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(({ text }) => Response.json({ got: JSON.parse(text) }));
    const made = await makeAutomation(app.owner, {
      steps: [
        {
          key: "last",
          dependsOn: ["left", "right"],
          ...call(receiver.url, {
            body: { l: "{{steps.left.result.body.got.n}}", text: "<{{steps.right.result.body.got}}>" },
          }),
        },
        { key: "left", dependsOn: ["first"], ...call(receiver.url, { body: { n: "{{input.n}}" } }) },
        { key: "right", dependsOn: ["first"], ...call(receiver.url, { body: { a: "{{automation.id}}" } }) },
        step("first"),
      ],
    });
    const run = await flowToEnd(app.owner, made.id, { input: { n: 7 } });
    expect(stepsOf(run)).toBe("last:completed left:completed right:completed first:completed");
    expect(JSON.parse(receiver.got[2]?.text ?? "")).toEqual({
      l: 7,
      text: `<${JSON.stringify({ a: made.id })}>`,
    });
    expect(Object.keys(run.result).sort()).toEqual(["first", "last", "left", "right"]);
    const at = (key: string) => run.steps.find((each: { key: string }) => each.key === key);
    expect(at("last").startedAt >= at("left").completedAt).toBe(true);
  });

  test("takes the branch that is true; what depends on the others is skipped, and what joins them isn't", async () => {
    await using app = await startApp();
    const route = {
      branches: [
        { key: "big", when: "input.total > 100" },
        { key: "small", when: "input.total > 10" },
      ],
      else: "none",
    };
    const made = await makeAutomation(app.owner, {
      steps: [
        step("route", { definition: route }),
        step("big", { dependsOn: ["route:big"] }),
        step("after_big", { dependsOn: ["big"] }),
        step("small", { dependsOn: ["route:small"] }),
        step("some", { dependsOn: ["route:big", "route:small"] }),
        step("join", { dependsOn: ["big", "small"] }),
      ],
    });
    const outcome = async (total: number) =>
      stepsOf(await flowToEnd(app.owner, made.id, { input: { total } }));
    expect(await outcome(500)).toBe(
      "route:completed big:completed after_big:completed small:skipped some:completed join:completed",
    );
    expect(await outcome(50)).toBe(
      "route:completed big:skipped after_big:skipped small:completed some:completed join:completed",
    );
    expect(await outcome(1)).toBe(
      "route:completed big:skipped after_big:skipped small:skipped some:skipped join:skipped",
    );
  });

  test("has the result of a step whatever its key, even after it was queued", async () => {
    await using app = await startApp();
    const definition = { ...branch(), concurrencyKey: "one" };
    for (const key of ["constructor", "toString"]) {
      const flow = await makeAutomation(app.owner, { steps: [step(key, work(definition))] });
      expect(await flowToEnd(app.owner, flow.id)).toMatchObject({
        status: "completed",
        result: { branch: "a" },
      });
      const when = `steps.${key}.result.branch == 'a'`;
      const next = step("next", { dependsOn: [key], when });
      const two = await makeAutomation(app.owner, { steps: [step(key), next] });
      expect((await flowToEnd(app.owner, two.id)).result).toEqual({
        [key]: { branch: "a" },
        next: { branch: "a" },
      });
    }
  });

  test("skips a step whose condition is false; one that can't be evaluated fails", async () => {
    await using app = await startApp();
    const made = await makeAutomation(app.owner, {
      steps: [
        step("a"),
        step("b", { dependsOn: ["a"], when: "steps.a.result.branch == 'z'" }),
        step("c", { when: "input.wanted" }),
      ],
    });
    expect(stepsOf(await flowToEnd(app.owner, made.id, { input: { wanted: true } }))).toBe(
      "a:completed b:skipped c:completed",
    );
    const failed = await flowToEnd(app.owner, made.id, { input: {} });
    expect([failed.status, failed.error.code, failed.error.details]).toEqual([
      "failed",
      "condition_error",
      { condition: "input.wanted", step: "c" },
    ]);
  });

  test("that fails stops what hasn't begun, unless the step says to continue", async () => {
    await using app = await startApp();
    const bad = (more: object = {}) => step("bad", { definition: branch("a", "false"), ...more });
    const rest = [step("next", { dependsOn: ["bad"] }), step("then", { dependsOn: ["next"] })];
    const strict = await makeAutomation(app.owner, { steps: [bad(), ...rest] });
    const failed = await flowToEnd(app.owner, strict.id);
    expect([failed.status, failed.displayStatus, stepsOf(failed)]).toEqual([
      "failed",
      "Failed",
      "bad:failed next:skipped then:skipped",
    ]);
    expect(failed.error).toMatchObject({ code: "no_branch", details: { step: "bad" } });
    expect(failed.steps[0].error.code).toBe("no_branch");
    expect(await chainOf(app, await correlationOf(app, failed.id))).toContain("automation.failed");

    const lenient = await makeAutomation(app.owner, {
      steps: [
        bad({ onError: "continue" }),
        step("told", { dependsOn: ["bad"], when: "steps.bad.error.code == 'no_branch'" }),
      ],
    });
    const gone = await flowToEnd(app.owner, lenient.id);
    expect([gone.status, stepsOf(gone)]).toEqual(["completed", "bad:failed told:completed"]);
  });

  test("shows running steps as they are", async () => {
    await using app = await startApp();
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
    const made = await makeAutomation(app.owner, {
      steps: [{ key: "slow", ...call(receiver.url) }, step("later", { dependsOn: ["slow"] })],
    });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${made.id}/run`));
    const shown = await until(
      app.owner,
      `${AUTOMATION_RUNS}/${run.id}`,
      ({ steps }) => steps[0].status === "running",
    );
    expect([shown.status, shown.displayStatus, stepsOf(shown)]).toEqual([
      "running",
      "Running",
      "slow:running later:pending",
    ]);
    const listed = (await app.owner("GET", `${AUTOMATIONS}/${made.id}/runs?status=running`)).body;
    expect(listed).toMatchObject({
      runs: [{ id: run.id, steps: [{ status: "running" }, { status: "pending" }] }],
      total: 1,
      hasNext: false,
      limit: 50,
      offset: 0,
    });
    open.resolve();
    await automationRunEnd(app.owner, run.id);
    expect((await app.owner("GET", `${AUTOMATIONS}/${made.id}/runs?status=running`)).body.total).toBe(0);
  });
});

describe("cancelling a run", () => {
  test("cancels the running steps, and starts no more", async () => {
    await using app = await startApp();
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
    const made = await makeAutomation(app.owner, {
      steps: [{ key: "slow", ...call(receiver.url) }, step("later", { dependsOn: ["slow"] })],
    });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${made.id}/run`));
    await until(app.owner, `${AUTOMATION_RUNS}/${run.id}`, () => receiver.got.length > 0);
    const cancelled = await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/cancel`);
    expect([cancelled.status, cancelled.body.status, stepsOf(cancelled.body)]).toEqual([
      200,
      "cancelled",
      "slow:cancelled later:skipped",
    ]);
    const inner = await until(
      app.owner,
      `${RUNS}/${cancelled.body.steps[0].actionRunId}`,
      ({ status }) => status === "cancelled",
    );
    expect(inner.displayStatus).toBe("Cancelled");
    expect((await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/cancel`)).body.code).toBe("invalid_state");
    open.resolve();
  });

  test("of a step cancels the run that it belongs to", async () => {
    await using app = await startApp();
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
    const made = await makeAutomation(app.owner, {
      steps: [{ key: "slow", ...call(receiver.url) }, step("later", { dependsOn: ["slow"] })],
    });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${made.id}/run`));
    const { steps } = await until(app.owner, `${AUTOMATION_RUNS}/${run.id}`, () => receiver.got.length > 0);
    await app.owner("POST", `${RUNS}/${steps[0].actionRunId}/cancel`);
    const ended = await automationRunEnd(app.owner, run.id);
    expect([ended.status, stepsOf(ended)]).toEqual(["cancelled", "slow:cancelled later:skipped"]);
    open.resolve();
  });
});

describe("retrying a run", () => {
  test("continues where it failed, with the results of successful steps", async () => {
    await using app = await startApp();
    let status = 500;
    await using receiver = startReceiver(({ path }) =>
      Response.json({ path }, { status: path === "/b" ? status : 200 }),
    );
    const made = await makeAutomation(app.owner, {
      steps: [
        { key: "a", ...call(`${receiver.url}/a`) },
        {
          key: "b",
          dependsOn: ["a"],
          ...call(`${receiver.url}/b`, { body: { from: "{{steps.a.result.body.path}}", n: "{{input.n}}" } }),
        },
      ],
    });
    const failed = await flowToEnd(app.owner, made.id, { input: { n: 1 } });
    expect(stepsOf(failed)).toBe("a:completed b:failed");
    status = 200;
    const again = await app.owner("POST", `${AUTOMATION_RUNS}/${failed.id}/retry`);
    expect(again.body).toMatchObject({ triggerMethod: "retry", input: { n: 1 } });
    const ended = await automationRunEnd(app.owner, created(again).id);
    expect([ended.status, stepsOf(ended)]).toEqual(["completed", "a:completed b:completed"]);
    expect(ended.steps[0].actionRunId).toBe(failed.steps[0].actionRunId);
    expect(receiver.got.map(({ path }) => path)).toEqual(["/a", "/b", "/b"]);
    expect(JSON.parse(receiver.got[2]?.text ?? "")).toEqual({ from: "/a", n: 1 });
    expect(Object.keys(ended.result).sort()).toEqual(["a", "b"]);

    const nothing = await app.owner("POST", `${AUTOMATION_RUNS}/${ended.id}/retry`);
    expect([nothing.status, nothing.body.code]).toEqual([409, "invalid_state"]);
    expect(nothing.body.detail).toContain("set fromFailed to false");

    const whole = await app.owner("POST", `${AUTOMATION_RUNS}/${failed.id}/retry`, { fromFailed: false });
    await automationRunEnd(app.owner, created(whole).id);
    expect(receiver.got.map(({ path }) => path).slice(3)).toEqual(["/a", "/b"]);
  });

  test("is rejected while it continues, and while the automation is disabled", async () => {
    await using app = await startApp({ engine: false });
    const made = await makeAutomation(app.owner, { action: call("http://a.test") });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${made.id}/run`));
    const retry = () => app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/retry`);
    expect((await retry()).body.code).toBe("invalid_state");
    await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/cancel`);
    await app.owner("PATCH", `${AUTOMATIONS}/${made.id}`, { status: "disabled" });
    expect((await retry()).body.code).toBe("invalid_state");
  });

  test("is rejected with a reason once the automation is deleted, although the run stays readable", async () => {
    await using app = await startApp({ engine: false });
    const made = await makeAutomation(app.owner, { action: call("http://a.test") });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${made.id}/run`));
    await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/cancel`);
    await app.owner("DELETE", `${AUTOMATIONS}/${made.id}`);
    const refused = await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/retry`);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
    expect(refused.body.detail).toContain("its automation was deleted");
    expect((await app.owner("GET", `${AUTOMATION_RUNS}/${run.id}`)).body.status).toBe("cancelled");
  });
});
