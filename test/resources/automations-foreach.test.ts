import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import fc from "fast-check";
import { contextForRun } from "../../src/context.ts";
import { openScope } from "../../src/queue/scope.ts";
import { automationRunItems, automationRuns } from "../../src/resources/automations/table.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest, scaled } from "../support/scale.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  faultsOf,
  flowToEnd,
  makeAutomation,
  RUNS,
  until,
} from "../support/work.ts";

const work = { kind: "conditional_branch", definition: branch() };
const each = (more: object = {}) => ({ key: "each", forEach: "{{input}}", ...work, ...more });
/** Responds with the request's body; for a body of `{fail}`, with that status. */
const echo = () =>
  startReceiver(async ({ text }) => {
    const sent = JSON.parse(text) as { fail?: number };
    return typeof sent?.fail === "number" ? new Response("no", { status: sent.fail }) : Response.json(sent);
  });
const post = (url: string, more: object = {}) =>
  each({
    kind: "http_request",
    definition: { url, method: "POST", body: { item: "{{item}}", index: "{{index}}" }, responseExtract: "@" },
    ...more,
  });

describe("a config with forEach", () => {
  test.each<[object, string[]]>([
    [each({ forEach: "" }), ["forEach string_too_short"]],
    [each({ forEach: "orders" }), ["forEach template_error"]],
    [each({ forEach: "a {{input}}" }), ["forEach template_error"]],
    [each({ forEach: "{{input" }), ["forEach template_error"]],
    [each({ forEach: ["a"] }), ["forEach string_type"]],
    [each({ maxParallel: 0 }), ["maxParallel greater_than_equal"]],
    [each({ maxParallel: 101 }), ["maxParallel less_than_equal"]],
    [{ key: "a", ...work, maxParallel: 2 }, ["maxParallel value_error"]],
  ])("is rejected for %j", async (step, faults) => {
    await using app = await startApp({ engine: false });
    const refused = await app.owner("POST", AUTOMATIONS, { name: "x", config: { steps: [step] } });
    expect(faultsOf(refused)).toEqual(faults.map((fault) => `body.config.steps.0.${fault}`));
  });

  test("has no branch to depend on", async () => {
    await using app = await startApp({ engine: false });
    const steps = [each(), { key: "b", ...work, dependsOn: ["each:a"] }];
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, { name: "x", config: { steps } }))).toEqual([
      "body.config.steps.1.dependsOn.0 value_error",
    ]);
  });
});

describe("a step with forEach", () => {
  test("runs for each item, and its result has theirs in the list's order", async () => {
    await using app = await startApp();
    await using receiver = echo();
    const steps = [
      post(receiver.url, { maxParallel: 3 }),
      {
        key: "after",
        kind: "http_request",
        definition: {
          url: receiver.url,
          method: "POST",
          body: { all: "{{steps.each.result}}" },
          responseExtract: "all",
        },
        dependsOn: ["each"],
      },
    ];
    const flow = await makeAutomation(app.owner, { steps });
    const input = ["a", { b: [1.5, null] }, null, 4, "{{payload}}", true, [], ""];
    const run = await flowToEnd(app.owner, flow.id, { input });
    expect(run.status).toBe("completed");
    expect(run.steps).toEqual([
      {
        key: "each",
        status: "completed",
        actionRunId: null,
        startedAt: expect.any(String),
        completedAt: expect.any(String),
        error: null,
        items: { total: 8, pending: 0, running: 0, completed: 8, failed: 0 },
      },
      {
        key: "after",
        status: "completed",
        actionRunId: expect.any(String),
        startedAt: expect.any(String),
        completedAt: expect.any(String),
        error: null,
      },
    ]);
    const results = run.result.each.map(({ extracted }: { extracted: object }) => extracted);
    expect(results).toEqual(input.map((item, index) => ({ item, index })));
    expect(run.result.after.extracted).toEqual(run.result.each);
    const { runs, total } = (await app.owner("GET", `${RUNS}?automation_run_id=${run.id}&limit=100`)).body;
    expect([total, new Set(runs.map(({ id }: { id: string }) => id)).size]).toEqual([9, 9]);
  });

  test("processes no more items at once than allowed, and shows its progress", async () => {
    await using app = await startApp();
    let now = 0;
    let most = 0;
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(async () => {
      most = Math.max(most, ++now);
      await open.promise;
      now--;
      return Response.json({});
    });
    const flow = await makeAutomation(app.owner, { steps: [post(receiver.url, { maxParallel: 2 })] });
    const { id } = created(
      await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: [1, 2, 3, 4, 5, 6] }),
    );
    await until(app.owner, AUTOMATIONS, () => now === 2);
    expect((await app.owner("GET", `${AUTOMATION_RUNS}/${id}`)).body).toMatchObject({
      status: "running",
      displayStatus: "Running",
      steps: [
        {
          key: "each",
          status: "running",
          items: { total: 6, pending: 4, running: 2, completed: 0, failed: 0 },
        },
      ],
    });
    open.resolve();
    expect((await automationRunEnd(app.owner, id)).status).toBe("completed");
    expect(most).toBe(2);
  });

  test("with an empty list is completed with an empty list", async () => {
    await using app = await startApp();
    const steps = [each(), { key: "b", ...work, dependsOn: ["each"], when: "size(steps.each.result) == 0" }];
    const flow = await makeAutomation(app.owner, { steps });
    const run = await flowToEnd(app.owner, flow.id, { input: [] });
    expect(run).toMatchObject({ status: "completed", result: { each: [], b: { branch: "a" } } });
    expect(run.steps[0]).toMatchObject({
      status: "completed",
      items: { total: 0, pending: 0, running: 0, completed: 0, failed: 0 },
    });
  });

  test.each<[unknown, string]>([
    [{ a: 1 }, "template_error"],
    ["text", "template_error"],
    [null, "template_error"],
    [Array.from({ length: 10_001 }, () => 0), "definition_invalid"],
  ])("fails if its list isn't one, or is too long", async (input, code) => {
    await using app = await startApp();
    const steps = [each({ kind: "approval_gate", definition: { title: "Each" } })];
    const flow = await makeAutomation(app.owner, { steps });
    const run = await flowToEnd(app.owner, flow.id, { input });
    expect(run).toMatchObject({
      status: "failed",
      error: { code, retryable: false },
      steps: [{ status: "failed" }],
    });
    expect((await app.owner("GET", `${RUNS}?automation_run_id=${run.id}`)).body.total).toBe(0);
  });

  test("names the field and the place in it if its list has no value", async () => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { steps: [each({ forEach: "{{input.orders}}" })] });
    expect((await flowToEnd(app.owner, flow.id, { input: {} })).error).toMatchObject({
      code: "template_error",
      message: 'forEach: Template {{input.orders}} has no value: input has no "orders".',
      details: { template: "{{input.orders}}", missing: "input.orders", path: ["forEach"] },
    });
  });

  test("accepts ten thousand items that need a run each", async () => {
    await using app = await startApp({ engine: false });
    const gate = each({ maxParallel: 1, kind: "approval_gate", definition: { title: "Each" } });
    const flow = await makeAutomation(app.owner, { steps: [gate] });
    const input = Array.from({ length: 10_000 }, (_, index) => index);
    const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input }));
    const { steps } = (await app.owner("GET", `${AUTOMATION_RUNS}/${id}`)).body;
    expect(steps[0].items).toEqual({ total: 10_000, pending: 9_999, running: 1, completed: 0, failed: 0 });
    await app.owner("POST", `${AUTOMATION_RUNS}/${id}/cancel`);
  });

  test("lays out a long list in parts, so that no write has to do all of it", async () => {
    await using app = await startApp({ engine: false });
    const flow = await makeAutomation(app.owner, { steps: [each()] });
    const rows = () => app.app.store.db.$count(automationRunItems);
    const start = async (input: unknown[]) =>
      created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input })).id as string;
    await start(Array.from({ length: 10_000 }, (_, index) => index));
    const short = await rows();
    expect(short).toBeLessThan(600);
    await start(Array.from({ length: 90 }, () => "x".repeat(50_000)));
    expect((await rows()) - short).toBeLessThan(50);
  });

  test("reads for one item only what its definition refers to", async () => {
    await using app = await startApp({ engine: false });
    const say = (text: string) => ({
      kind: "http_request",
      definition: { url: "http://a.test", query: { text } },
    });
    const texts = ["{{item}}", "{{input[0]}}", "{{steps.first.result}}", "{{steps}}", "{{payload ?? 1}}"];
    const steps = texts.map((text, n) => ({ key: `s${n}`, forEach: "{{input}}", ...say(text) }));
    const flow = await makeAutomation(app.owner, { steps: [{ key: "first", ...work }, ...steps] });
    await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: [7, 8] });
    const seen: Record<string, unknown> = {};
    for (const row of await app.app.store.db.select().from(actionRuns).orderBy(actionRuns.id)) {
      const ctx = contextForRun(app.app, row);
      const { scope } = await openScope({ ...ctx, db: app.app.store.db }, row);
      if (row.stepKey !== null)
        seen[row.stepKey] ??= [scope.item, scope.input, Object.keys(scope.steps as object)];
    }
    expect(seen).toMatchObject({
      s0: [7, undefined, []],
      s1: [7, [7, 8], []],
      s2: [7, undefined, ["first"]],
      s3: [7, undefined, ["first"]],
      s4: [7, undefined, []],
    });
  });

  deepTest(
    "when retried continues with what was never laid out",
    async () => {
      await using app = await startApp({ env: { WEIR_CONCURRENCY: "32" } });
      let isBroken = true;
      const ended = new Map<number, number>();
      await using receiver = startReceiver(async ({ text }) => {
        const { index } = JSON.parse(text) as { index: number };
        if (isBroken && index === 20) return new Response("no", { status: 400 });
        ended.set(index, (ended.get(index) ?? 0) + 1);
        return Response.json({ index });
      });
      const flow = await makeAutomation(app.owner, { steps: [post(receiver.url, { maxParallel: 20 })] });
      const input = Array.from({ length: 620 }, (_, index) => index);
      const first = await flowToEnd(app.owner, flow.id, { input });
      expect([first.status, first.steps[0].items.failed]).toEqual(["failed", 1]);
      const { db } = app.app.store;
      const [before] = await db.select().from(automationRuns).where(eq(automationRuns.id, first.id));
      expect(before?.steps[0]?.items?.total).toBe(620);
      isBroken = false;
      const again = created(await app.owner("POST", `${AUTOMATION_RUNS}/${first.id}/retry`));
      const second = await automationRunEnd(app.owner, again.id);
      expect(second.steps[0].items).toEqual({
        total: 620,
        pending: 0,
        running: 0,
        completed: 620,
        failed: 0,
      });
      expect(second.result.map(({ extracted }: { extracted: { index: number } }) => extracted.index)).toEqual(
        input,
      );
      expect([ended.size, new Set(ended.values())]).toEqual([620, new Set([1])]);
    },
    120_000,
  );

  test("stops at the first failed item, and names it", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(async ({ text }) => {
      const { index } = JSON.parse(text) as { index: number };
      return index === 1 ? new Response("no", { status: 400 }) : Response.json({});
    });
    const steps = [post(receiver.url, { maxParallel: 1 }), { key: "after", ...work, dependsOn: ["each"] }];
    const flow = await makeAutomation(app.owner, { steps });
    const run = await flowToEnd(app.owner, flow.id, { input: [1, 2, 3, 4] });
    expect(run).toMatchObject({
      status: "failed",
      error: { code: "unexpected_status", details: { item: 1, step: "each" } },
    });
    expect(run.steps).toMatchObject([
      { status: "failed", items: { total: 4, pending: 2, running: 0, completed: 1, failed: 1 } },
      { status: "skipped" },
    ]);
    expect(receiver.got).toHaveLength(2);
  });

  test("with continue processes all, and leaves null for a failed item", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(async ({ text }) => {
      const { index } = JSON.parse(text) as { index: number };
      return index % 2 === 1 ? new Response("no", { status: 400 }) : Response.json({ index });
    });
    const steps = [
      post(receiver.url, { onError: "continue" }),
      {
        key: "after",
        ...work,
        dependsOn: ["each"],
        when: "steps.each.result[1] == null && steps.each.status == 'failed'",
      },
    ];
    const flow = await makeAutomation(app.owner, { steps });
    const run = await flowToEnd(app.owner, flow.id, { input: [0, 1, 2] });
    expect(run.status).toBe("completed");
    expect(run.steps).toMatchObject([
      { status: "failed", error: { details: { item: 1 } }, items: { completed: 2, failed: 1 } },
      { status: "completed" },
    ]);
    expect(run.result.each.map((one: { extracted: object } | null) => one?.extracted ?? null)).toEqual([
      { index: 0 },
      null,
      { index: 2 },
    ]);
  });

  test("with continue names each failed item, with its error, in the run, its warnings, its event and the log", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(async ({ text }) => {
      const { index } = JSON.parse(text) as { index: number };
      return index % 2 === 1 ? new Response("no", { status: 400 + index }) : Response.json({ index });
    });
    const tell = {
      kind: "http_request",
      definition: {
        url: receiver.url,
        method: "POST",
        body: { index: 0, failures: "{{steps.each.failures}}" },
      },
    };
    const steps = [
      post(receiver.url, { onError: "continue", maxParallel: 2 }),
      { key: "tell", ...tell, dependsOn: ["each"], when: "steps.each.failures.exists(f, f.index == 3)" },
    ];
    const flow = await makeAutomation(app.owner, { steps });
    const run = await flowToEnd(app.owner, flow.id, { input: ["a", "b", "c", "d", "e"] });
    const failure = (index: number) => ({
      index,
      error: expect.objectContaining({
        code: "unexpected_status",
        message: expect.stringContaining(`${400 + index}`),
        retryable: false,
        attempt: 1,
      }),
    });
    expect([run.status, run.steps[0].status, run.steps[1].status]).toEqual([
      "completed",
      "failed",
      "completed",
    ]);
    expect(run.steps[0].items).toEqual({
      total: 5,
      pending: 0,
      running: 0,
      completed: 3,
      failed: 2,
      failures: [failure(1), failure(3)],
    });
    const warning = { step: "each", message: expect.stringMatching(/^2 of 5 items failed\. Item 1: .*401/) };
    expect(run.warnings).toEqual([warning]);
    const { failures } = JSON.parse(receiver.got.at(-1)?.text ?? "");
    expect(failures).toEqual(
      run.steps[0].items.failures.map(
        ({ index, error }: { index: number; error: Record<string, unknown> }) => ({
          index,
          error: { code: error.code, message: error.message },
        }),
      ),
    );

    const [listed] = (await app.owner("GET", `${AUTOMATIONS}/${flow.id}/runs`)).body.runs;
    expect(listed.warnings).toEqual([warning]);
    const [event] = (await app.owner("GET", "/api/v1/events?type=automation.completed")).body.items;
    expect(event.data).toMatchObject({ runId: run.id, status: "completed", warnings: [warning] });
    const lines = app.logged
      .map((line) => JSON.parse(line))
      .filter(({ automationRunId }) => automationRunId === run.id);
    expect(lines).toMatchObject([{ level: "warn", warnings: [warning] }]);
  });

  test("names the failed items while others continue, and those that were cancelled with the run", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(({ text }) =>
      JSON.parse(text).index === 0 ? new Response("no", { status: 400 }) : new Promise(() => {}),
    );
    const steps = [post(receiver.url, { onError: "continue", maxParallel: 2 })];
    const flow = await makeAutomation(app.owner, { steps });
    const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: [1, 2, 3, 4] }));
    const path = `${AUTOMATION_RUNS}/${id}`;
    const indexes = (run: { steps: { items: { failures?: { index: number }[] } }[] }) =>
      run.steps[0]?.items.failures?.map(({ index }) => index);
    const going = await until(
      app.owner,
      path,
      ({ steps }) => steps[0].items.failed === 1 && receiver.got.length === 3,
    );
    expect([going.status, indexes(going), going.warnings]).toEqual(["running", [0], undefined]);
    await app.owner("POST", `${path}/cancel`);
    const ended = await until(app.owner, path, (run) => indexes(run)?.length === 3);
    expect([ended.status, indexes(ended), ended.steps[0].items.failed]).toEqual(["cancelled", [0, 1, 2], 3]);
    expect(ended.steps[0].items.failures[1].error).toMatchObject({ code: "cancelled" });
  });

  deepTest(
    "names the first thousand failed items, and counts all",
    async () => {
      await using app = await startApp({ env: { WEIR_CONCURRENCY: "32" } });
      const steps = [each({ definition: branch("a", "false"), onError: "continue", maxParallel: 100 })];
      const flow = await makeAutomation(app.owner, { steps });
      const input = Array.from({ length: 1_020 }, (_, index) => index);
      const run = await flowToEnd(app.owner, flow.id, { input });
      const { failures, ...items } = run.steps[0].items;
      expect(items).toEqual({ total: 1_020, pending: 0, running: 0, completed: 0, failed: 1_020 });
      expect(failures.map(({ index }: { index: number }) => index)).toEqual(input.slice(0, 1_000));
      expect(run.result).toEqual(Array(1_020).fill(null));
      expect(run.warnings).toEqual([
        { step: "each", message: expect.stringContaining("1020 of 1020 items failed.") },
        { step: "each", message: "steps.each.failures has only the first 1000 of 1020 failed items." },
      ]);
    },
    120_000,
  );

  test("when retried runs only the items that haven't completed", async () => {
    await using app = await startApp();
    let isBroken = true;
    await using receiver = startReceiver(async ({ text }) => {
      const { index } = JSON.parse(text) as { index: number };
      return isBroken && index >= 2 ? new Response("no", { status: 400 }) : Response.json({ index });
    });
    const flow = await makeAutomation(app.owner, { steps: [post(receiver.url, { maxParallel: 1 })] });
    const first = await flowToEnd(app.owner, flow.id, { input: [0, 1, 2, 3] });
    expect([first.status, receiver.got.length]).toEqual(["failed", 3]);
    isBroken = false;
    const again = created(await app.owner("POST", `${AUTOMATION_RUNS}/${first.id}/retry`));
    const second = await automationRunEnd(app.owner, again.id);
    expect(second.steps[0].items).toEqual({ total: 4, pending: 0, running: 0, completed: 4, failed: 0 });
    expect(second.result.map(({ extracted }: { extracted: object }) => extracted)).toEqual(
      [0, 1, 2, 3].map((index) => ({ index })),
    );
    expect(receiver.got).toHaveLength(5);
    const whole = created(
      await app.owner("POST", `${AUTOMATION_RUNS}/${first.id}/retry`, { fromFailed: false }),
    );
    expect((await automationRunEnd(app.owner, whole.id)).status).toBe("completed");
    expect(receiver.got).toHaveLength(9);
  });

  test("when retried after its list was removed is a step like any other", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(({ text }) =>
      text.includes("index") ? new Response("no", { status: 400 }) : Response.json({}),
    );
    const flow = await makeAutomation(app.owner, { steps: [post(receiver.url)] });
    const first = await flowToEnd(app.owner, flow.id, { input: [1, 2] });
    expect(first.status).toBe("failed");
    const definition = { url: receiver.url, method: "POST", body: "{{input}}" };
    const steps = [{ key: first.steps[0].key, kind: "http_request", definition }];
    await app.owner("PATCH", `${AUTOMATIONS}/${flow.id}`, { config: { steps } });
    const again = created(await app.owner("POST", `${AUTOMATION_RUNS}/${first.id}/retry`));
    const ended = await automationRunEnd(app.owner, again.id);
    expect([ended.status, ended.steps[0].status, ended.steps[0].items]).toEqual([
      "completed",
      "completed",
      undefined,
    ]);
  });

  test("is cancelled with its items, including queued ones", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Promise(() => {}));
    const flow = await makeAutomation(app.owner, { steps: [post(receiver.url, { maxParallel: 2 })] });
    const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: [1, 2, 3] }));
    await until(app.owner, AUTOMATIONS, () => receiver.got.length === 2);
    const cancelled = (await app.owner("POST", `${AUTOMATION_RUNS}/${id}/cancel`)).body;
    expect(cancelled).toMatchObject({ status: "cancelled", steps: [{ key: "each", status: "cancelled" }] });
    const { runs } = await until(app.owner, `${RUNS}?automation_run_id=${id}`, (page) =>
      page.runs.every(({ status }: { status: string }) => status === "cancelled"),
    );
    expect(runs).toHaveLength(2);
    expect(receiver.got).toHaveLength(2);
  });

  test("lets runs with one concurrencyKey, derived from the item, run one at a time", async () => {
    await using app = await startApp();
    const busy = new Map<string, number>();
    let most = 0;
    await using receiver = startReceiver(async ({ text }) => {
      const { item } = JSON.parse(text) as { item: string };
      most = Math.max(most, (busy.get(item) ?? 0) + 1);
      busy.set(item, (busy.get(item) ?? 0) + 1);
      await Bun.sleep(5);
      busy.set(item, (busy.get(item) ?? 0) - 1);
      return Response.json({});
    });
    const step = post(receiver.url);
    const flow = await makeAutomation(app.owner, {
      steps: [{ ...step, definition: { ...step.definition, concurrencyKey: "shop-{{item}}" } }],
    });
    const run = await flowToEnd(app.owner, flow.id, { input: ["a", "a", "b", "a", "b"] });
    expect([run.status, most]).toEqual(["completed", 1]);
  });

  test("executes none of its first items if the concurrencyKey of one can't be evaluated", async () => {
    await using app = await startApp();
    await using receiver = echo();
    const step = post(receiver.url);
    const flow = await makeAutomation(app.owner, {
      steps: [{ ...step, definition: { ...step.definition, concurrencyKey: "{{item.shop}}" } }],
    });
    const run = await flowToEnd(app.owner, flow.id, { input: [{ shop: "a" }, { shop: "b" }, {}] });
    expect([run.status, run.error.code]).toEqual(["failed", "template_error"]);
    expect((await app.owner("GET", `${RUNS}?automation_run_id=${run.id}`)).body.runs).toEqual([]);
  });

  test("without a list, and with continue, reports that to the steps after it", async () => {
    await using app = await startApp();
    const told = { ...work, dependsOn: ["each"], when: "steps.each.error.code == 'template_error'" };
    const flow = await makeAutomation(app.owner, {
      steps: [
        each({ forEach: "{{input.missing}}", onError: "continue" }),
        { key: "at_once", ...told },
        { key: "later", ...told, definition: { ...branch(), concurrencyKey: "k" } },
        { key: "last", ...told, dependsOn: ["each", "later"] },
      ],
    });
    const run = await flowToEnd(app.owner, flow.id, { input: {} });
    expect(run.steps.map(({ key, status }: { key: string; status: string }) => `${key} ${status}`)).toEqual([
      "each failed",
      "at_once completed",
      "later completed",
      "last completed",
    ]);
    expect(run.status).toBe("completed");
  });
});

test("whatever the list and however many run at once, each item runs once and results are in order", async () => {
  await using app = await startApp();
  await using receiver = echo();
  const flow = await makeAutomation(app.owner, {
    steps: [post(receiver.url, { forEach: "{{input.list}}", maxParallel: 1 })],
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue(), { maxLength: 12 }),
      fc.integer({ min: 1, max: 5 }),
      async (raw, parallel) => {
        const list = JSON.parse(JSON.stringify(raw)) as unknown[];
        const steps = [post(receiver.url, { forEach: "{{input.list}}", maxParallel: parallel })];
        await app.owner("PATCH", `${AUTOMATIONS}/${flow.id}`, { config: { steps } });
        const before = receiver.got.length;
        const run = await flowToEnd(app.owner, flow.id, { input: { list } });
        expect(run.status).toBe("completed");
        expect(run.result.map((one: { extracted: object }) => one.extracted)).toEqual(
          list.map((item, index) => ({ item, index })),
        );
        expect(receiver.got.length - before).toBe(list.length);
      },
    ),
    { numRuns: scaled(5, 45), seed: 20_26 },
  );
}, 120_000);

describe("concurrency", () => {
  const open = () => {
    const gate = Promise.withResolvers<void>();
    const receiver = startReceiver(async () => {
      await gate.promise;
      return Response.json({});
    });
    return Object.assign(receiver, { open: () => gate.resolve() });
  };
  const flowOf = (url: string, concurrency: object) => ({
    action: { kind: "http_request", definition: { url, method: "POST", body: "{{input}}" } },
    concurrency,
  });

  test.each<[object, string]>([
    [{}, "max missing"],
    [{ max: 0 }, "max greater_than_equal"],
    [{ max: 1001 }, "max less_than_equal"],
    [{ max: 1, policy: "wait" }, "policy enum"],
    [{ max: 1, by: "x" }, "by extra_forbidden"],
  ])("is rejected as %j", async (concurrency, fault) => {
    await using app = await startApp({ engine: false });
    const body = { name: "x", config: { action: work, concurrency } };
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, body))).toEqual([
      `body.config.concurrency.${fault}`,
    ]);
  });

  test("queues additional runs, in order, and starts them as soon as there is room", async () => {
    await using app = await startApp();
    const waiting: (() => void)[] = [];
    await using receiver = startReceiver(
      () => new Promise((resolve) => waiting.push(() => resolve(Response.json({})))),
    );
    const flow = await makeAutomation(app.owner, flowOf(receiver.url, { max: 2 }));
    const runs: { id: string; status: string; displayStatus: string; startedAt: string | null }[] = [];
    for (let input = 0; input < 6; input++) {
      runs.push(created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input })));
    }
    expect(runs.map(({ status }) => status)).toEqual(["running", "running", ...Array(4).fill("pending")]);
    expect(runs[2]).toMatchObject({ displayStatus: "Queued", startedAt: null });
    await until(app.owner, AUTOMATIONS, () => receiver.got.length === 2);
    const cancelled = await app.owner("POST", `${AUTOMATION_RUNS}/${runs[3]?.id}/cancel`);
    expect(cancelled.body).toMatchObject({ status: "cancelled", steps: [{ status: "skipped" }] });
    for (let ended = 1; ended <= 3; ended++) {
      waiting.shift()?.();
      await until(app.owner, AUTOMATIONS, () => receiver.got.length === 2 + ended);
    }
    for (const answer of waiting) answer();
    for (const { id } of runs) await automationRunEnd(app.owner, id);
    expect(receiver.got.slice(2).map(({ text }) => text)).toEqual(["2", "4", "5"]);
  });

  test("advances the whole queue if its runs end immediately, and when max is raised", async () => {
    await using app = await startApp();
    await using receiver = open();
    const flow = await makeAutomation(app.owner, flowOf(receiver.url, { max: 1 }));
    const first = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const waiting: string[] = [];
    for (let n = 0; n < 30; n++)
      waiting.push(created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`)).id);
    await app.owner("PATCH", `${AUTOMATIONS}/${flow.id}`, { config: { concurrency: { max: 3 } } });
    await until(app.owner, AUTOMATIONS, () => receiver.got.length === 3);
    receiver.open();
    for (const id of [first.id, ...waiting]) {
      expect((await automationRunEnd(app.owner, id)).status).toBe("completed");
    }
  });

  test("skips additional runs, and says why", async () => {
    await using app = await startApp();
    await using receiver = open();
    const flow = await makeAutomation(app.owner, flowOf(receiver.url, { max: 1, policy: "skip" }));
    const first = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const second = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    expect(second).toMatchObject({
      status: "cancelled",
      steps: [{ status: "skipped", actionRunId: null }],
      error: { code: "skipped", retryable: false },
    });
    receiver.open();
    expect((await automationRunEnd(app.owner, first.id)).status).toBe("completed");
    expect((await flowToEnd(app.owner, flow.id)).status).toBe("completed");
  });

  test("a skipped webhook was accepted: its sender must not send it again", async () => {
    await using app = await startApp();
    await using receiver = open();
    const action = { kind: "http_request", definition: { url: receiver.url } };
    const hook = await makeHook(app, { action, concurrency: { max: 1, policy: "skip" }, waitSeconds: 0 });
    expect((await send(app, "{}")).status).toBe(202);
    const second = await send(app, "{}");
    const { deliveryId, automationRunId } = second.body;
    expect([second.status, second.body]).toEqual([
      200,
      { status: "processed", deliveryId, automationRunId, result: null },
    ]);
    receiver.open();
    const { runs } = await until(app.owner, `${AUTOMATIONS}/${hook.id}/runs`, (page) =>
      page.runs.every(({ completedAt }: { completedAt: string | null }) => completedAt !== null),
    );
    expect(runs.map(({ status }: { status: string }) => status)).toEqual(["cancelled", "completed"]);
    const { items } = (await app.owner("GET", "/api/v1/webhook-deliveries")).body;
    expect(items.map(({ status }: { status: string }) => status)).toEqual(["processed", "processed"]);
  });

  test("cancels previous runs if it says so", async () => {
    await using app = await startApp();
    await using receiver = open();
    const flow = await makeAutomation(app.owner, flowOf(receiver.url, { max: 2, policy: "cancel_previous" }));
    const ids: string[] = [];
    for (let n = 0; n < 4; n++)
      ids.push(created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`)).id);
    receiver.open();
    const ends = [];
    for (const id of ids) ends.push((await automationRunEnd(app.owner, id)).status);
    expect(ends).toEqual(["cancelled", "cancelled", "completed", "completed"]);
  });
});

test("a run waits while all started items wait, and runs while one of them doesn't", async () => {
  await using app = await startApp();
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
  const ask = { kind: "approval_gate", definition: { title: "Ship {{item}}?" } };
  const steps = [
    each({ ...ask, maxParallel: 2 }),
    { key: "post", kind: "http_request", definition: { url: receiver.url } },
  ];
  const flow = await makeAutomation(app.owner, { steps });
  const { id } = created(
    await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: ["a", "b", "c"] }),
  );
  const path = `${AUTOMATION_RUNS}/${id}`;
  const pending = (count: number) =>
    until(app.owner, "/api/v1/decisions/pending", ({ decisions }) => decisions.length === count);
  const approve = async () => {
    const [{ id: decision }] = (await pending(2)).decisions;
    await app.owner("POST", `/api/v1/decisions/${decision}/decide`, { decisionValue: "approved" });
  };
  await pending(2);
  expect((await app.owner("GET", path)).body).toMatchObject({
    status: "running",
    steps: [{ status: "waiting" }, { key: "post" }],
  });
  open.resolve();
  const waits = await until(app.owner, path, ({ status }) => status === "waiting");
  expect(waits).toMatchObject({
    displayStatus: "Waiting for approval",
    steps: [{ status: "waiting", items: { total: 3, pending: 1, running: 2 } }, { status: "completed" }],
  });
  await approve();
  await approve();
  expect(await until(app.owner, path, ({ status }) => status === "waiting")).toMatchObject({
    steps: [{ status: "waiting", items: { pending: 0, running: 1, completed: 2 } }, { status: "completed" }],
  });
  const [{ id: last }] = (await pending(1)).decisions;
  await app.owner("POST", `/api/v1/decisions/${last}/decide`, { decisionValue: "approved" });
  expect(await automationRunEnd(app.owner, id)).toMatchObject({
    status: "completed",
    displayStatus: "Completed",
    steps: [{ status: "completed", items: { total: 3, running: 0, completed: 3 } }, { status: "completed" }],
  });
});

test("a run that is cancelled during its items reports none that is still running", async () => {
  await using app = await startApp();
  const step = each({ kind: "approval_gate", definition: { title: "Ship {{item}}?" }, maxParallel: 2 });
  const flow = await makeAutomation(app.owner, { steps: [step] });
  const { id } = created(
    await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: ["a", "b", "c"] }),
  );
  const path = `${AUTOMATION_RUNS}/${id}`;
  await until(app.owner, path, ({ status }) => status === "waiting");
  const items = { total: 3, pending: 1, running: 0, completed: 0, failed: 2 };
  expect((await app.owner("POST", `${path}/cancel`)).body).toMatchObject({
    status: "cancelled",
    steps: [{ status: "cancelled", items }],
  });
});

test("a step whose item is cancelled prevents what depends on it from running, whatever else that depends on", async () => {
  await using app = await startApp();
  const ask = { kind: "approval_gate", definition: { title: "Ship?" } };
  const steps = [each(ask), { key: "other", ...ask }, { key: "join", ...work, dependsOn: ["each", "other"] }];
  const flow = await makeAutomation(app.owner, { steps });
  const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: ["a"] }));
  const path = `${AUTOMATION_RUNS}/${id}`;
  const waits = await until(app.owner, path, ({ status }) => status === "waiting");
  const { runs } = (await app.owner("GET", `${RUNS}?automation_run_id=${id}`)).body;
  const other = waits.steps[1].actionRunId;
  const item = runs.find((run: { id: string }) => run.id !== other);
  await app.owner("POST", `${RUNS}/${item.id}/cancel`);
  const [decision] = (await app.owner("GET", "/api/v1/decisions/pending")).body.decisions;
  await app.owner("POST", `/api/v1/decisions/${decision.id}/decide`, { decisionValue: "approved" });
  expect(await automationRunEnd(app.owner, id)).toMatchObject({
    status: "cancelled",
    steps: [{ status: "cancelled" }, { status: "completed" }, { status: "skipped" }],
  });
});
