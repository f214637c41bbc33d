import { describe, expect, test } from "bun:test";
import { client, startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  flowToEnd,
  makeAction,
  makeAutomation,
  RUNS,
  runEnd,
  runToEnd,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const APPROVALS = "/api/v1/approvals";
const LETTERS = "/api/v1/dead-letters";
const body = '{"customer":"Grace","amount":4200}';

async function retried({ owner }: Started, runId: string, input: object = {}) {
  const run = created(await owner("POST", `${AUTOMATION_RUNS}/${runId}/retry`, input));
  return automationRunEnd(owner, run.id);
}

/** Responds with `status`, which tests change. */
function startFixable() {
  const state = { status: 503 };
  const receiver = startReceiver(() => Response.json({}, { status: state.status }));
  return Object.assign(receiver, { state });
}

const post = (url: string, body: unknown) => ({
  kind: "http_request",
  definition: { url, method: "POST", body },
});

describe("a retry of a retry from the beginning", () => {
  const whole = { fromFailed: false };
  const steps = (url: string) => [
    {
      key: "use",
      kind: "run_script",
      definition: { source: "export default (x) => x", input: '{{payload.customer ?? "nobody"}}' },
    },
    { key: "send", dependsOn: ["use"], ...post(url, "{{steps.use.result.output}}") },
  ];

  test("has the webhook's payload if it is still stored", async () => {
    await using app = await startApp();
    await using receiver = startFixable();
    const hook = await makeHook(app, {
      debug: true,
      retries: { enabled: false },
      steps: steps(receiver.url),
    });
    const failed = await send(app, body);
    receiver.state.status = 200;
    const first = await retried(app, failed.body.automationRunId);
    expect([first.status, first.result.use.output]).toEqual(["completed", "Grace"]);
    const second = await retried(app, first.id, whole);
    expect([second.status, second.result.use.output]).toEqual(["completed", "Grace"]);
    const tested = created(
      await app.owner("POST", `${AUTOMATIONS}/${hook.id}/test`, { fromRunId: second.id, upTo: "use" }),
    );
    expect((await automationRunEnd(app.owner, tested.id)).result).toMatchObject({ use: { output: "Grace" } });
  });

  test("is gone once the webhook's payload was processed", async () => {
    await using app = await startApp();
    await using receiver = startFixable();
    const hook = await makeHook(app, { retries: { enabled: false }, steps: steps(receiver.url) });
    const failed = await send(app, body);
    receiver.state.status = 200;
    const first = await retried(app, failed.body.automationRunId);
    const second = await app.owner("POST", `${AUTOMATION_RUNS}/${first.id}/retry`, whole);
    expect([second.status, second.body.code]).toEqual([410, "gone"]);
    const tested = await app.owner("POST", `${AUTOMATIONS}/${hook.id}/test`, { fromRunId: first.id });
    expect([tested.status, tested.body.code]).toEqual([410, "gone"]);
  });

  test("is gone once a form's answers were processed", async () => {
    await using app = await startApp();
    await using receiver = startFixable();
    const form = { title: "Order", access: "public", schema: { type: "object" } };
    const config = { path: "order", form, retries: { enabled: false }, steps: steps(receiver.url) };
    created(await app.owner("POST", AUTOMATIONS, { name: "Order", triggerType: "form", config }));
    const sent = await client(app.origin)("POST", "/f/acme/order", JSON.parse(body));
    await automationRunEnd(app.owner, sent.body.automationRunId);
    receiver.state.status = 200;
    const first = await retried(app, sent.body.automationRunId);
    expect([first.status, first.result.use.output]).toEqual(["completed", "Grace"]);
    const second = await app.owner("POST", `${AUTOMATION_RUNS}/${first.id}/retry`, whole);
    expect([second.status, second.body.code]).toEqual([410, "gone"]);
  });

  test("has no payload if a person ran the webhook's automation without one", async () => {
    await using app = await startApp();
    await using receiver = startFixable();
    const hook = await makeHook(app, { steps: steps(receiver.url) });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${hook.id}/run`));
    await automationRunEnd(app.owner, run.id);
    receiver.state.status = 200;
    const first = await retried(app, run.id);
    const second = await retried(app, first.id, whole);
    expect([second.status, second.result.use.output]).toEqual(["completed", "nobody"]);
  });
});

describe("a dead letter", () => {
  const retries = { maxAttempts: 1 };
  const statuses = async ({ owner }: Started) =>
    (await owner("GET", LETTERS)).body.items.map(({ status }: { status: string }) => status);

  test("is replayed once a retry of its run, or of that retry, has completed", async () => {
    await using app = await startApp();
    await using receiver = startFixable();
    const hook = await makeHook(app, { retries, action: post(receiver.url, "{{payload}}") });
    const failed = await send(app, body);
    const again = await retried(app, failed.body.automationRunId);
    expect([again.status, await statuses(app)]).toEqual(["failed", ["dead"]]);
    receiver.state.status = 200;
    const last = await retried(app, again.id);
    expect([last.status, await statuses(app)]).toEqual(["completed", ["replayed"]]);
    expect(receiver.got).toHaveLength(3);
    const none = await app.owner("POST", `${LETTERS}/replay`, { automationId: hook.id });
    expect([none.status, none.body]).toEqual([200, { replayed: 0 }]);
    expect(receiver.got).toHaveLength(3);
  });

  test("is replayed once a retry of a failed replay's run has completed", async () => {
    await using app = await startApp();
    await using receiver = startFixable();
    await makeHook(app, { retries, action: post(receiver.url, "{{payload}}") });
    await send(app, body);
    const [letter] = (await app.owner("GET", LETTERS)).body.items;
    const replay = created(await app.owner("POST", `${LETTERS}/${letter.id}/replay`));
    await automationRunEnd(app.owner, replay.automationRunId);
    expect(await statuses(app)).toEqual(["dead"]);
    receiver.state.status = 200;
    await retried(app, replay.automationRunId);
    expect(await statuses(app)).toEqual(["replayed"]);
  });

  test("that is being replayed is left to the replay", async () => {
    await using app = await startApp();
    const wait = Promise.withResolvers<void>();
    await using receiver = startReceiver(async (_, count) => {
      if (count === 2) await wait.promise;
      return Response.json({}, { status: count === 3 ? 200 : 503 });
    });
    await makeHook(app, { retries, action: post(receiver.url, "{{payload}}") });
    const failed = await send(app, body);
    const [letter] = (await app.owner("GET", LETTERS)).body.items;
    const replay = created(await app.owner("POST", `${LETTERS}/${letter.id}/replay`));
    while (receiver.got.length < 2) await Bun.sleep(20);
    expect((await retried(app, failed.body.automationRunId)).status).toBe("completed");
    expect(await statuses(app)).toEqual(["replaying"]);
    wait.resolve();
    await automationRunEnd(app.owner, replay.automationRunId);
    expect(await statuses(app)).toEqual(["dead"]);
    const delivery = (await app.owner("GET", `/api/v1/webhook-deliveries/${letter.deliveryId}`)).body;
    expect(delivery.payload).toEqual(JSON.parse(body));
  });
});

const script = (key: string, source: string, more: object = {}) => ({
  key,
  kind: "run_script",
  definition: { source: `export default ${source}`, input: "{{item ?? null}}" },
  ...more,
});
const patchSteps = ({ owner }: Started, id: string, steps: object[]) =>
  owner("PATCH", `${AUTOMATIONS}/${id}`, { config: { steps } });

describe("a step that is repaired by a retry", () => {
  const list = (isBroken: boolean) =>
    script("list", `(i) => { if (${isBroken} && i === 2) throw new Error("bad"); return i * 10; }`, {
      forEach: "{{[1, 2, 3]}}",
      onError: "continue",
    });

  test("is followed by everything that depends on it, and by nothing else", async () => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const steps = (isBroken: boolean) => [
      list(isBroken),
      script("apart", "() => 1"),
      { key: "check", dependsOn: ["list"], kind: "conditional_branch", definition: branch("yes") },
      {
        key: "send",
        dependsOn: ["check:yes"],
        ...post(`${receiver.url}/list`, "{{steps.list.result.map(r, r == null ? null : r.output)}}"),
      },
      {
        key: "each",
        dependsOn: ["send"],
        forEach: "{{steps.list.result.filter(r, r != null)}}",
        ...post(`${receiver.url}/each`, "{{item.output}}"),
      },
    ];
    const flow = await makeAutomation(app.owner, { steps: steps(true) });
    const first = await flowToEnd(app.owner, flow.id);
    expect([first.status, first.steps[0].status]).toEqual(["completed", "failed"]);
    await patchSteps(app, flow.id, steps(false));
    const second = await retried(app, first.id);
    expect([second.status, second.warnings]).toEqual(["completed", undefined]);
    const sent = (path: string) =>
      receiver.got.filter((seen) => seen.path === path).map(({ text }) => JSON.parse(text));
    expect(sent("/list")).toEqual([
      [10, null, 30],
      [10, 20, 30],
    ]);
    expect(sent("/each").toSorted()).toEqual([10, 10, 20, 30, 30]);
    const kept = second.steps.filter(
      ({ actionRunId }: { actionRunId: string | null }, index: number) =>
        actionRunId !== null && actionRunId === first.steps[index].actionRunId,
    );
    expect(kept.map(({ key }: { key: string }) => key)).toEqual(["apart"]);
  });

  test("is followed by steps after one that was skipped by another condition", async () => {
    await using app = await startApp();
    let isBroken = true;
    await using receiver = startReceiver(() => Response.json({}, { status: isBroken ? 400 : 200 }));
    const script = (input: unknown) => ({
      kind: "run_script",
      definition: { source: "export default (x) => x", input },
    });
    const config = (when: string) => ({
      steps: [
        { key: "x", ...script("1") },
        { key: "s", dependsOn: ["x"], when, ...script("given") },
        { key: "t", dependsOn: ["s", "x"], ...script("{{steps.s.result.output ?? 'none'}}") },
        {
          key: "u",
          dependsOn: ["t"],
          kind: "http_request",
          definition: { url: receiver.url, method: "POST", body: "{{steps.t.result.output}}" },
        },
      ],
    });
    const flow = await makeAutomation(app.owner, config("false"));
    const first = await flowToEnd(app.owner, flow.id);
    isBroken = false;
    await app.owner("PATCH", `${AUTOMATIONS}/${flow.id}`, { config: config("true") });
    const again = created(await app.owner("POST", `${AUTOMATION_RUNS}/${first.id}/retry`));
    expect((await automationRunEnd(app.owner, again.id)).status).toBe("completed");
    expect(receiver.got.map(({ text }) => text)).toEqual(["none", "given"]);
  });

  test("stays failed in the next attempt of a webhook, if a completed step went on without it", async () => {
    await using app = await startApp({ hurry: 20 });
    await using receiver = startReceiver((_, count) => Response.json({}, { status: count <= 2 ? 503 : 200 }));
    const steps = [
      { key: "a", onError: "continue", kind: "http_request", definition: { url: receiver.url } },
      {
        key: "b",
        dependsOn: ["a"],
        kind: "run_script",
        definition: { source: "export default (x) => x", input: "{{steps.a.status}}" },
      },
      { key: "c", dependsOn: ["b"], ...post(receiver.url, "{{steps.b.result.output}}") },
    ];
    const hook = await makeHook(app, { retries: { maxAttempts: 3, backoffSeconds: [0.2] }, steps });
    await send(app, body);
    const { runs } = await until(
      app.owner,
      `${AUTOMATIONS}/${hook.id}/runs`,
      ({ runs }) => runs[0]?.status === "completed",
    );
    const run = (await app.owner("GET", `${AUTOMATION_RUNS}/${runs[0].id}`)).body;
    expect(run.steps.map(({ status }: { status: string }) => status)).toEqual([
      "failed",
      "completed",
      "completed",
    ]);
    expect(run.warnings).toMatchObject([{ step: "a" }]);
    expect(receiver.got.map(({ text }) => text)).toEqual(["", "failed", "failed"]);
  });

  test("asks again for an approval that followed it", async () => {
    await using app = await startApp();
    const steps = (isBroken: boolean) => [
      list(isBroken),
      { key: "ask", dependsOn: ["list"], kind: "approval_gate", definition: { title: "Send it?" } },
    ];
    const approve = async () => {
      const [{ id }] = (await until(app.owner, APPROVALS, ({ total }) => total === 1)).items;
      await app.owner("POST", `${APPROVALS}/${id}/approve`, {});
      return id;
    };
    const flow = await makeAutomation(app.owner, { steps: steps(true) });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const before = await approve();
    await automationRunEnd(app.owner, run.id);
    await patchSteps(app, flow.id, steps(false));
    const again = created(await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/retry`));
    expect(await approve()).not.toBe(before);
    expect((await automationRunEnd(app.owner, again.id)).status).toBe("completed");
  });

  test("doesn't repeat what ran beside a branch that wasn't taken", async () => {
    await using app = await startApp();
    await using receiver = startFixable();
    const flow = await makeAutomation(app.owner, {
      steps: [
        {
          key: "check",
          kind: "conditional_branch",
          definition: { branches: [...branch("yes").branches, ...branch("no").branches] },
        },
        script("no", "() => 1", { dependsOn: ["check:no"] }),
        script("yes", "() => 1", { dependsOn: ["check:yes"] }),
        script("both", "() => 1", { dependsOn: ["no", "yes"] }),
        { key: "send", dependsOn: ["both"], ...post(receiver.url, {}) },
      ],
    });
    const first = await flowToEnd(app.owner, flow.id);
    receiver.state.status = 200;
    const second = await retried(app, first.id);
    const shown = ({ steps }: typeof first) =>
      steps.slice(0, 4).map((step: Record<string, unknown>) => [step.status, step.actionRunId]);
    expect([second.status, shown(second)]).toEqual(["completed", shown(first)]);
  });
});

describe("a failed forEach whose list was edited since", () => {
  const failing = (forEach: unknown) =>
    script("each", '(i) => { if (i === 2) throw new Error("no"); return i; }', { forEach });
  const outputs = ({ result }: { result: { output: number }[] }) => result.map(({ output }) => output);

  test("starts with the new list when retried", async () => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { steps: [failing("{{[1, 2]}}")] });
    const first = await flowToEnd(app.owner, flow.id);
    expect(first.status).toBe("failed");
    await patchSteps(app, flow.id, [script("each", "(i) => i", { forEach: "{{[5, 6, 7]}}" })]);
    const second = await retried(app, first.id);
    expect([second.status, outputs(second)]).toEqual(["completed", [5, 6, 7]]);
  });

  test("keeps its items if only something else was edited", async () => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { steps: [failing("{{[1, 2]}}")] });
    const first = await flowToEnd(app.owner, flow.id);
    await patchSteps(app, flow.id, [script("each", "(i) => i * 10", { forEach: "{{[1, 2]}}" })]);
    const second = await retried(app, first.id);
    expect([second.status, outputs(second)]).toEqual(["completed", [1, 20]]);
  });
});

describe("a request that is sent again", () => {
  const values = { id: "{{uuid()}}", now: "{{now}}", run: "{{run.id}}" };
  const definition = (url: string, more: object = {}) => ({
    url,
    method: "POST",
    body: { ...values, ...more },
  });
  /** What was received, as `KEY BODY` without duplicates. */
  const distinct = ({ got }: ReturnType<typeof startReceiver>) => [
    ...new Set(got.map(({ headers, text }) => `${headers.get("idempotency-key")} ${text}`)),
  ];
  const keys = ({ got }: ReturnType<typeof startReceiver>) =>
    got.map(({ headers }) => headers.get("idempotency-key"));

  test("by an automatic attempt of a webhook has the same key and values", async () => {
    await using app = await startApp({ hurry: 20 });
    await using receiver = startReceiver((_, count) => Response.json({}, { status: count < 3 ? 503 : 200 }));
    const retries = { maxAttempts: 3, backoffSeconds: [0.2] };
    const steps = [
      { key: "lost", onError: "continue", kind: "http_request", definition: { url: "http://127.0.0.1:1" } },
      { key: "send", dependsOn: ["lost"], kind: "http_request", definition: definition(receiver.url) },
    ];
    await makeHook(app, { retries, steps });
    expect((await send(app, body)).status).toBe(200);
    expect([receiver.got.length, distinct(receiver).length]).toEqual([3, 1]);
    expect((await send(app, body)).status).toBe(200);
    expect(distinct(receiver)).toHaveLength(2);
  });

  test.each([3, 1_000])(
    "for one of %d items has the same, and differs from those of other items",
    async (size) => {
      await using app = await startApp({ hurry: 20 });
      const seen = new Set<string>();
      await using receiver = startReceiver(({ text }) => {
        const isAgain = seen.has(text);
        seen.add(text);
        const { item } = JSON.parse(text);
        return Response.json({}, { status: item === 2 && !isAgain ? 503 : 200 });
      });
      const each = { key: "send", forEach: `{{lists.range(${size})}}`, maxParallel: 1 };
      const steps = [
        { ...each, kind: "http_request", definition: definition(receiver.url, { item: "{{item}}" }) },
      ];
      await makeHook(app, { retries: { maxAttempts: 3, backoffSeconds: [0.2] }, steps });
      const answer = await send(app, body);
      // A long list's failed items run again only when the run is retried.
      if (size > 3) await retried(app, answer.body.automationRunId);
      expect(receiver.got).toHaveLength(size + 1);
      expect(distinct(receiver)).toHaveLength(new Set(receiver.got.map(({ text }) => text)).size);
      expect(new Set(keys(receiver)).size).toBe(seen.size);
    },
  );

  test("by a retry of the run has the same, unless the step was edited", async () => {
    await using app = await startApp();
    await using receiver = startFixable();
    const steps = (more: object) => [
      { key: "send", kind: "http_request", definition: definition(receiver.url, more) },
    ];
    const flow = await makeAutomation(app.owner, { steps: steps({}) });
    const first = await flowToEnd(app.owner, flow.id);
    const second = await retried(app, first.id);
    expect([receiver.got.length, distinct(receiver).length]).toEqual([2, 1]);
    await patchSteps(app, flow.id, steps({ more: 1 }));
    const third = await retried(app, second.id);
    await retried(app, third.id);
    await retried(app, third.id, { fromFailed: false });
    const sent = keys(receiver);
    expect(sent.map((key) => sent.indexOf(key))).toEqual([0, 0, 2, 2, 4]);
  });

  test("by a retried script has the same time in it", async () => {
    await using app = await startApp();
    const steps = [script("say", "(_, weir) => { throw new Error(JSON.stringify(weir.now)); }")];
    const flow = await makeAutomation(app.owner, { steps });
    const first = await flowToEnd(app.owner, flow.id);
    expect(first.error.message).toMatch(/\d{4}/);
    expect((await retried(app, first.id)).error.message).toBe(first.error.message);
  });

  test("by a retry of an action's run has the same", async () => {
    await using app = await startApp();
    await using receiver = startFixable();
    const { id } = await makeAction(app.owner, {
      kind: "http_request",
      definition: definition(receiver.url),
    });
    const first = await runToEnd(app.owner, id);
    const second = created(await app.owner("POST", `${RUNS}/${first.id}/retry`));
    await runEnd(app.owner, second.id);
    await runEnd(app.owner, created(await app.owner("POST", `${RUNS}/${second.id}/retry`)).id);
    expect([receiver.got.length, distinct(receiver).length]).toEqual([3, 1]);
  });
});

describe("a run whose steps all wait", () => {
  const gate = { key: "ask", kind: "approval_gate", definition: { title: "Go on?" } };
  const delayed = {
    key: "later",
    delay: { seconds: 3_600 },
    kind: "conditional_branch",
    definition: branch(),
  };
  const failing = (url: string) => ({
    kind: "http_request",
    definition: { url, retry: { maxAttempts: 2, backoffSeconds: [3_600] } },
  });
  const shown = async (app: Started, id: string, display: string) =>
    until(app.owner, `${AUTOMATION_RUNS}/${id}`, ({ displayStatus }) => displayStatus === display);
  const start = async (app: Started, steps: readonly object[], input: unknown = null) => {
    const flow = await makeAutomation(app.owner, { steps });
    return created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input })).id as string;
  };

  test.each([
    ["a step", {}, { status: "waiting", error: { attempt: 1 } }],
    ["items", { forEach: "{{input}}" }, { status: "waiting", items: { running: 2 } }],
  ])("for the next attempt of %s waits, and is running again with it", async (_, more, step) => {
    await using app = await startApp();
    const held = Promise.withResolvers<void>();
    let left = "forEach" in more ? 2 : 1;
    await using receiver = startReceiver(async () => {
      if (left-- > 0) return new Response("no", { status: 503 });
      await held.promise;
      return new Response("{}");
    });
    const id = await start(app, [{ key: "get", ...more, ...failing(receiver.url) }], [1, 2]);
    expect(await shown(app, id, "Retrying")).toMatchObject({ status: "waiting", steps: [step] });
    const waiting = await app.owner("GET", "/api/v1/automation-runs?statuses=waiting");
    expect(waiting.body.runs.map((run: { id: string }) => run.id)).toEqual([id]);
    app.clock.turn(3_600_001);
    expect(await shown(app, id, "Running")).toMatchObject({ status: "running" });
    held.resolve();
    expect(await automationRunEnd(app.owner, id)).toMatchObject({ status: "completed" });
  });

  test("for the next attempts of items that call an automation is retrying", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("no", { status: 503 }));
    const action = { kind: "http_request", definition: { url: receiver.url } };
    await makeAutomation(app.owner, { action }, { name: "Helper" });
    const definition = { slug: "helper", retry: { maxAttempts: 2, backoffSeconds: [3_600] } };
    const call = { key: "call", forEach: "{{input}}", kind: "call_automation", definition };
    expect(await shown(app, await start(app, [call], [1, 2]), "Retrying")).toMatchObject({
      status: "waiting",
      steps: [{ status: "waiting" }],
    });
  });

  test("says what a person has to do before what it does by itself", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("no", { status: 503 }));
    const retrying = { key: "get", ...failing(receiver.url) };
    await shown(app, await start(app, [delayed, retrying, gate]), "Waiting for approval");
    await shown(app, await start(app, [delayed, retrying]), "Retrying");
    await shown(app, await start(app, [delayed]), "Waiting");
  });
});
