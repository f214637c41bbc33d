import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { startEngine } from "../../src/engine/start.ts";
import { automationRuns } from "../../src/resources/automations/table.ts";
import { startApp } from "../support/app.ts";
import { neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  correlationOf,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  NOBODY,
  RUNS,
  runEnd,
  runToEnd,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const work = { kind: "conditional_branch", definition: branch() };
const call = (definition: object) => ({ kind: "call_automation", definition });
const post = (url: string) => ({
  kind: "http_request",
  definition: { url, method: "POST", body: "{{input}}" },
});
const runsOf = async (app: Started, id: string) =>
  (await app.owner("GET", `${AUTOMATIONS}/${id}/runs?limit=100`)).body.runs;
const closed = () => {
  const gate = Promise.withResolvers<void>();
  const receiver = startReceiver(() => gate.promise.then(() => Response.json({})));
  return Object.assign(receiver, { open: () => gate.resolve() });
};

describe("a definition of call_automation", () => {
  test.each<[object, string[]]>([
    [{}, ["automationId value_error"]],
    [{ automationId: NOBODY, slug: "x" }, ["automationId value_error"]],
    [{ automationId: "x" }, ["automationId uuid_parsing"]],
    [{ slug: "Not A Slug" }, ["slug string_pattern_mismatch"]],
    [{ slug: "x", wait: "no" }, ["wait bool_type"]],
    [{ slug: "x", until: 1 }, ["until extra_forbidden"]],
  ])("is rejected as %j", async (definition, faults) => {
    await using app = await startApp({ engine: false });
    const body = { name: "x", config: { action: call(definition) } };
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, body))).toEqual(
      faults.map((fault) => `body.config.action.definition.${fault}`),
    );
  });

  test("names an automation of its own organization", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    const theirs = created(
      await other.call("POST", AUTOMATIONS, { name: "Theirs", config: { action: work } }),
    );
    for (const automationId of [NOBODY, theirs.id]) {
      const body = { name: "x", config: { action: call({ automationId }) } };
      expect(faultsOf(await app.owner("POST", AUTOMATIONS, body))).toEqual([
        "body.config.action.definition.automationId not_found",
      ]);
    }
  });

  test("never leads back to an automation that contains it, not through others either", async () => {
    await using app = await startApp({ engine: false });
    const a = await makeAutomation(app.owner, { action: work }, { name: "A" });
    const b = await makeAutomation(app.owner, { action: call({ automationId: a.id }) }, { name: "B" });
    const steps = [
      { key: "s", ...work },
      { key: "t", ...call({ slug: "b" }) },
    ];
    const patch = (id: string, config: object) => app.owner("PATCH", `${AUTOMATIONS}/${id}`, { config });
    const refused = await patch(a.id, { steps });
    expect(faultsOf(refused)).toEqual(["body.config.steps.1.definition.slug value_error"]);
    expect(refused.body.detail[0].msg).toContain("A → B → A");
    const action = await makeAction(app.owner, call({ slug: "b" }));
    expect(faultsOf(await patch(a.id, { action: { actionId: action.id } }))).toEqual([
      "body.config.action.actionId value_error",
    ]);
    expect(faultsOf(await patch(b.id, { action: call({ automationId: b.id }) }))).toEqual([
      "body.config.action.definition.automationId value_error",
    ]);
    const self = { name: "Self", slug: "self", config: { action: call({ slug: "self" }) } };
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, self))).toEqual([
      "body.config.action.definition.slug value_error",
    ]);
  });
});

describe("calling an automation", () => {
  test("waits for its end, without a worker, and has its result", async () => {
    await using app = await startApp({ env: { WEIR_CONCURRENCY: "1" } });
    await using receiver = closed();
    const helper = await makeAutomation(app.owner, { action: post(receiver.url) }, { name: "Helper" });
    const flow = await makeAutomation(app.owner, {
      steps: [
        { key: "ask", ...call({ automationId: helper.id, input: { order: "{{input}}" } }) },
        {
          key: "after",
          kind: "conditional_branch",
          definition: branch("ok", "steps.ask.result.status == 'completed'"),
          dependsOn: ["ask"],
        },
      ],
    });
    const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: 7 }));
    await until(app.owner, AUTOMATIONS, () => receiver.got.length === 1);
    const waiting = (await app.owner("GET", `${AUTOMATION_RUNS}/${id}`)).body;
    expect(waiting).toMatchObject({
      status: "waiting",
      displayStatus: "Running",
      steps: [
        { key: "ask", status: "waiting" },
        { key: "after", status: "pending" },
      ],
    });
    expect((await app.owner("GET", `${RUNS}/${waiting.steps[0].actionRunId}`)).body).toMatchObject({
      kind: "call_automation",
      status: "waiting",
      displayStatus: "Running",
      result: null,
    });
    receiver.open();
    const run = await automationRunEnd(app.owner, id);
    const [called] = await runsOf(app, helper.id);
    expect(run).toMatchObject({
      status: "completed",
      result: {
        ask: { automationRunId: called.id, status: "completed", result: { status: 200 } },
        after: { branch: "ok" },
      },
    });
    expect(called).toMatchObject({
      status: "completed",
      triggerMethod: "automation",
      triggerSourceType: "automation",
      triggerSourceId: flow.id,
      input: { order: 7 },
    });
    expect(await correlationOf(app, called.id)).toBe(await correlationOf(app, id));
    expect(receiver.got.map(({ text }) => JSON.parse(text))).toEqual([{ order: 7 }]);
  });

  test("does not wait if the definition says so", async () => {
    await using app = await startApp();
    await using receiver = closed();
    await makeAutomation(app.owner, { action: post(receiver.url) }, { name: "Helper" });
    const action = await makeAction(app.owner, call({ slug: "helper", wait: false }));
    const run = await runToEnd(app.owner, action.id);
    const { automationRunId } = run.result;
    expect(run).toMatchObject({
      status: "completed",
      result: { automationRunId, status: "running", result: null },
    });
    expect((await app.owner("GET", `${AUTOMATION_RUNS}/${automationRunId}`)).body).toMatchObject({
      status: "running",
      triggerMethod: "automation",
      triggerSourceType: "user",
      triggerSourceId: app.ids.userId,
    });
    receiver.open();
    expect((await automationRunEnd(app.owner, automationRunId)).status).toBe("completed");
    expect((await app.owner("GET", `${RUNS}/${run.id}`)).body).toEqual(run);
  });

  test("has the result of one that ends immediately", async () => {
    await using app = await startApp();
    await makeAutomation(app.owner, { action: work }, { name: "Helper" });
    const flow = await makeAutomation(app.owner, { action: call({ slug: "helper" }) });
    expect(await flowToEnd(app.owner, flow.id)).toMatchObject({
      status: "completed",
      result: { status: "completed", result: { branch: "a" } },
    });
  });

  test("fails with what it called", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("no", { status: 503 }));
    const helper = await makeAutomation(app.owner, { action: post(receiver.url) }, { name: "Helper" });
    const flow = await makeAutomation(app.owner, { action: call({ slug: "helper" }) });
    const run = await flowToEnd(app.owner, flow.id);
    const [called] = await runsOf(app, helper.id);
    expect(run).toMatchObject({
      status: "failed",
      error: {
        code: "called_automation_failed",
        retryable: true,
        details: { automationRunId: called.id, status: "failed", error: { code: called.error.code } },
      },
    });
    expect(run.error.message).toContain(called.error.message);
  });

  test("fails if the called run is cancelled", async () => {
    await using app = await startApp();
    await using receiver = closed();
    const helper = await makeAutomation(app.owner, { action: post(receiver.url) }, { name: "Helper" });
    const flow = await makeAutomation(app.owner, { action: call({ slug: "helper" }) });
    const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    await until(app.owner, AUTOMATIONS, () => receiver.got.length === 1);
    const [called] = await runsOf(app, helper.id);
    await app.owner("POST", `${AUTOMATION_RUNS}/${called.id}/cancel`);
    expect(await automationRunEnd(app.owner, id)).toMatchObject({
      status: "failed",
      error: {
        code: "called_automation_failed",
        details: { automationRunId: called.id, status: "cancelled" },
      },
    });
  });

  test("fails if the called one is skipped because its limit is reached", async () => {
    await using app = await startApp();
    const action = { kind: "approval_gate", definition: { title: "Hold" } };
    const concurrency = { max: 1, policy: "skip" };
    const helper = await makeAutomation(app.owner, { action, concurrency }, { name: "Helper" });
    created(await app.owner("POST", `${AUTOMATIONS}/${helper.id}/run`));
    const flow = await makeAutomation(app.owner, { action: call({ slug: "helper" }) });
    expect(await flowToEnd(app.owner, flow.id)).toMatchObject({
      status: "failed",
      error: {
        code: "called_automation_failed",
        details: { status: "cancelled", error: { code: "skipped" } },
      },
    });
  });

  test("without waiting continues even if the called one fails or is skipped immediately", async () => {
    await using app = await startApp();
    const hold = { kind: "approval_gate", definition: { title: "Hold" } };
    const concurrency = { max: 1, policy: "skip" };
    const full = await makeAutomation(app.owner, { action: hold, concurrency }, { name: "Full" });
    created(await app.owner("POST", `${AUTOMATIONS}/${full.id}/run`));
    const broken = { steps: [{ key: "s", ...work, when: "nobody.knows == 1" }] };
    await makeAutomation(app.owner, broken, { name: "Broken" });
    for (const [slug, status] of [
      ["full", "cancelled"],
      ["broken", "failed"],
    ]) {
      const action = await makeAction(app.owner, call({ slug, wait: false }));
      const run = await runToEnd(app.owner, action.id);
      expect(run).toMatchObject({ status: "completed", result: { status, result: null } });
      expect((await app.owner("GET", `${AUTOMATION_RUNS}/${run.result.automationRunId}`)).body.status).toBe(
        status ?? "",
      );
    }
  });

  test("that is cancelled doesn't start its other call in the freed slot", async () => {
    await using app = await startApp();
    const gate = { kind: "approval_gate", definition: { title: "Hold" } };
    const steps = [{ key: "hold", ...gate, when: "input == 'hold'" }];
    const helper = await makeAutomation(app.owner, { steps, concurrency: { max: 1 } }, { name: "Helper" });
    const flow = await makeAutomation(app.owner, {
      steps: ["hold", "go"].map((input) => ({ key: input, ...call({ slug: "helper", input }) })),
    });
    const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    await until(app.owner, `${AUTOMATION_RUNS}/${id}`, ({ steps }) =>
      steps.every(({ status }: { status: string }) => status === "waiting"),
    );
    const cancelled = await app.owner("POST", `${AUTOMATION_RUNS}/${id}/cancel`);
    expect([cancelled.status, cancelled.body.status]).toEqual([200, "cancelled"]);
    const ends = (await runsOf(app, helper.id)).map(({ status }: { status: string }) => status);
    expect(ends).toEqual(["cancelled", "cancelled"]);
    // A gate that was just being reached stops a moment later.
    const unfinished = `${RUNS}?statuses=running&statuses=waiting&statuses=pending`;
    await until(app.owner, unfinished, ({ total }) => total === 0);
  });

  test("that is cancelled cancels what it called, at every depth", async () => {
    await using app = await startApp();
    await using receiver = closed();
    const c = await makeAutomation(app.owner, { action: post(receiver.url) }, { name: "C" });
    const b = await makeAutomation(app.owner, { action: call({ slug: "c" }) }, { name: "B" });
    const a = await makeAutomation(app.owner, { action: call({ slug: "b" }) }, { name: "A" });
    const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${a.id}/run`));
    await until(app.owner, AUTOMATIONS, () => receiver.got.length === 1);
    expect((await app.owner("POST", `${AUTOMATION_RUNS}/${id}/cancel`)).body.status).toBe("cancelled");
    for (const flow of [b, c]) {
      const [run] = await runsOf(app, flow.id);
      expect(run).toMatchObject({ status: "cancelled", steps: [{ status: "cancelled" }] });
      await runEnd(app.owner, run.steps[0].actionRunId);
    }
    receiver.open();
    expect(
      (await app.owner("GET", `${RUNS}?statuses=running&statuses=waiting&statuses=pending`)).body.total,
    ).toBe(0);
  });

  test.each<[string, (app: Started) => Promise<object>, string]>([
    ["is not there", async () => ({ slug: "gone" }), "not_found"],
    [
      "is disabled",
      async ({ owner }) => {
        const { id } = await makeAutomation(owner, { action: work }, { name: "Off" });
        await owner("PATCH", `${AUTOMATIONS}/${id}`, { status: "disabled" });
        return { automationId: id };
      },
      "invalid_state",
    ],
  ])("fails for an automation that %s", async (_, make, code) => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { action: call(await make(app)) }, { name: "Caller" });
    const run = await flowToEnd(app.owner, flow.id);
    expect(run).toMatchObject({ status: "failed", error: { code, retryable: false } });
  });

  test("ends a circle that only templates close", async () => {
    await using app = await startApp();
    const action = call({
      slug: "{{input.next}}",
      input: { next: "{{input.other}}", other: "{{input.next}}" },
    });
    const a = await makeAutomation(app.owner, { action }, { name: "A" });
    await makeAutomation(app.owner, { action }, { name: "B" });
    const run = await flowToEnd(app.owner, a.id, { input: { next: "b", other: "a" } });
    expect(run).toMatchObject({ status: "failed", error: { code: "called_automation_failed" } });
    expect(JSON.stringify(run.error)).toContain("call_cycle");
    expect(await runsOf(app, a.id)).toHaveLength(1);
  });

  describe("if each allows only one run at once", () => {
    const asking = (key: string) => ({
      key,
      ...call({ slug: "{{input.next}}", input: {} }),
      when: "input.next != 'none'",
    });
    const hold = { key: "hold", kind: "approval_gate", definition: { title: "Hold" } };
    const behind = (key: string) => ({ ...asking(key), dependsOn: ["hold"] });
    const room = { concurrency: { max: 1 } };
    const release = async (app: Started, runId: string) => {
      const run = await until(
        app.owner,
        `${AUTOMATION_RUNS}/${runId}`,
        ({ steps }) => steps[0].status === "waiting",
      );
      const { decisions } = (await app.owner("GET", "/api/v1/decisions?status=pending&limit=100")).body;
      const { id } = decisions.find(
        (each: { subjectId: string }) => each.subjectId === run.steps[0].actionRunId,
      );
      await app.owner("POST", `/api/v1/decisions/${id}/decide`, { decisionValue: "approved" });
    };
    const begin = async (app: Started, id: string, next: string) =>
      created(await app.owner("POST", `${AUTOMATIONS}/${id}/run`, { input: { next } })).id as string;

    test("two that call each other don't wait forever: one of the calls fails and says why", async () => {
      await using app = await startApp();
      const flows = [];
      for (const name of ["A", "B"])
        flows.push(await makeAutomation(app.owner, { steps: [hold, behind("ask")], ...room }, { name }));
      const [a, b] = flows;
      const first = await begin(app, a.id, "b");
      const second = await begin(app, b.id, "a");
      await release(app, first);
      await until(app.owner, `${AUTOMATION_RUNS}/${first}`, ({ steps }) => steps[1].status === "waiting");
      await release(app, second);
      const ended = await automationRunEnd(app.owner, second);
      expect(ended).toMatchObject({ status: "failed", error: { code: "call_deadlock", retryable: false } });
      expect(ended.error.message).toContain("automation A allows 1 at once");
      // That made room: what the first one waits for has started.
      const called = (await runsOf(app, b.id)).find(({ id }: { id: string }) => id !== second);
      await release(app, called.id);
      expect(await automationRunEnd(app.owner, called.id)).toMatchObject({ status: "failed" }); // Requests nothing.
      expect((await automationRunEnd(app.owner, first)).status).toBe("failed");
    });

    test("a call waits as long as one of the runs before it can end", async () => {
      await using app = await startApp();
      const flows = [];
      for (const name of ["A", "B"]) {
        const concurrency = { max: name === "A" ? 2 : 1 };
        flows.push(await makeAutomation(app.owner, { steps: [hold, behind("ask")], concurrency }, { name }));
      }
      const [a, b] = flows;
      const caller = await begin(app, a.id, "b");
      const free = await begin(app, a.id, "none");
      const blocker = await begin(app, b.id, "a");
      await release(app, caller);
      await until(app.owner, `${AUTOMATION_RUNS}/${caller}`, ({ steps }) => steps[1].status === "waiting");
      await release(app, blocker); // A is full, but one of its runs only waits for a user.
      await until(app.owner, `${AUTOMATION_RUNS}/${blocker}`, ({ steps }) => steps[1].status === "waiting");
      await release(app, free);
      expect((await automationRunEnd(app.owner, free)).status).toBe("completed");
      const runs = await until(app.owner, `${AUTOMATIONS}/${a.id}/runs`, ({ runs }) =>
        runs.some(
          ({ id, status }: { id: string; status: string }) =>
            ![caller, free].includes(id) && status !== "pending",
        ),
      );
      expect(runs.total).toBe(3);
    });

    test("a call that doesn't wait is queued", async () => {
      await using app = await startApp();
      const ask = (slug: string) => ({
        key: "ask",
        ...call({ slug: "{{input.next}}", wait: false }),
        dependsOn: ["hold"],
        name: slug,
      });
      const a = await makeAutomation(app.owner, { steps: [hold, behind("ask")], ...room }, { name: "A" });
      const b = await makeAutomation(app.owner, { steps: [hold, ask("a")], ...room }, { name: "B" });
      const first = await begin(app, a.id, "b");
      const second = await begin(app, b.id, "a");
      await release(app, first);
      await until(app.owner, `${AUTOMATION_RUNS}/${first}`, ({ steps }) => steps[1].status === "waiting");
      await release(app, second);
      expect((await automationRunEnd(app.owner, second)).status).toBe("completed");
    });
  });

  test("of what needs a concurrencyKey that its caller holds fails: neither would ever end", async () => {
    await using app = await startApp();
    const keyed = { ...branch(), concurrencyKey: "shop-1" };
    const last = await makeAutomation(app.owner, {
      steps: [{ key: "each", forEach: "{{input}}", kind: "conditional_branch", definition: keyed }],
    });
    const between = await makeAutomation(app.owner, {
      action: call({ automationId: last.id, input: [1, 2] }),
    });
    const top = (more: object) =>
      makeAutomation(app.owner, {
        action: call({ automationId: between.id, concurrencyKey: "shop-1", ...more }),
      });
    const held = await flowToEnd(app.owner, (await top({})).id);
    expect([held.status, held.error.code]).toEqual(["failed", "called_automation_failed"]);
    expect((await runsOf(app, last.id))[0]).toMatchObject({
      status: "failed",
      error: { code: "call_deadlock" },
    });
    const others = [{ concurrencyKey: "shop-2" }, { wait: false }];
    for (const more of others) {
      expect((await flowToEnd(app.owner, (await top(more)).id)).status).toBe("completed");
      await until(app.owner, `${AUTOMATIONS}/${last.id}`, (one) => one.latestRun.status === "completed");
    }
  });

  test("can be ten levels deep, and no deeper", async () => {
    await using app = await startApp();
    await makeAutomation(app.owner, { action: work }, { name: "d0" });
    for (let depth = 1; depth <= 11; depth++) {
      await makeAutomation(app.owner, { action: call({ slug: `d${depth - 1}` }) }, { name: `d${depth}` });
    }
    const { automations } = (await app.owner("GET", AUTOMATIONS)).body;
    const bySlug = (slug: string) => automations.find((each: { slug: string }) => each.slug === slug).id;
    expect((await flowToEnd(app.owner, bySlug("d10"))).status).toBe("completed");
    const deep = await flowToEnd(app.owner, bySlug("d11"));
    expect(deep.status).toBe("failed");
    expect(JSON.stringify(deep.error)).toContain("call_too_deep");
    expect(await runsOf(app, bySlug("d0"))).toHaveLength(1);
  }, 120_000);

  test("continues once after the process has ended at any point in between", async () => {
    await using app = await startApp({ engine: false });
    await using receiver = closed();
    const helper = await makeAutomation(app.owner, { action: post(receiver.url) }, { name: "Helper" });
    const flow = await makeAutomation(app.owner, { action: call({ slug: "helper" }) });
    const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const first = await startEngine(app.app);
    await until(app.owner, AUTOMATIONS, () => receiver.got.length === 1);
    await first.stop(0); // The caller waits in its row; the called run is queued again.
    receiver.open();
    const second = await startEngine(app.app);
    expect((await automationRunEnd(app.owner, id)).status).toBe("completed");
    await second.stop(0);
    const runs = await app.app.store.db
      .select()
      .from(automationRuns)
      .where(eq(automationRuns.automationId, helper.id));
    expect(runs.map(({ status }) => status)).toEqual(["completed"]);
    expect((await app.owner("GET", `${RUNS}?automation_run_id=${id}`)).body.total).toBe(1);
  });
});

test("an action of the kind is listed with the kinds", async () => {
  await using app = await startApp({ engine: false });
  const { kinds } = (await app.owner("GET", "/api/v1/action-kinds")).body;
  const kind = kinds.find(({ kind }: { kind: string }) => kind === "call_automation");
  expect(Object.keys(kind.definitionSchema.properties)).toEqual(
    expect.arrayContaining([
      "automationId",
      "slug",
      "input",
      "wait",
      "retry",
      "timeoutSeconds",
      "concurrencyKey",
    ]),
  );
  expect(Object.keys(kind.resultSchema.properties)).toEqual([
    "automationRunId",
    "status",
    "result",
    "warnings",
  ]);
});
