import { describe, expect, test } from "bun:test";
import { type Client, startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import {
  AUTOMATIONS,
  branch,
  faultsOf,
  flowToEnd,
  makeAutomation,
  makeOldAction,
  RUNS,
  runToEnd,
} from "../support/work.ts";

const echo = () => startReceiver(({ text }) => Response.json(JSON.parse(text)));
const post = (url: string, body: unknown, more: object = {}) => ({
  kind: "http_request",
  definition: { url, method: "POST", body, responseExtract: "@", ...more },
});

/** The run of one step, at its end. */
async function stepRun(call: Client, step: object, input: unknown = {}) {
  const flow = await makeAutomation(call, { steps: [{ key: "one", ...step }] });
  const { steps } = await flowToEnd(call, flow.id, { input });
  return steps[0].actionRunId === null
    ? steps[0]
    : (await call("GET", `${RUNS}/${steps[0].actionRunId}`)).body;
}

describe("an expression in a definition", () => {
  test("computes values of any type, as whole fields and within text", async () => {
    await using app = await startApp();
    await using receiver = echo();
    const body = {
      total: "{{ input.lines.map(x, x.qty * x.price).sum() }}",
      big: "{{ input.lines.filter(x, x.qty > 1).map(x, x.sku) }}",
      text: "{{ size(input.lines) }} lines, {{ input.name.upperAscii() }} at {{ date.format(now, 'yyyy') != '' }}",
      note: "{{ input.note ?? 'none' }}",
      map: "{{ {'a': {'b': input.lines[0].qty}} }}",
      same: "{{ uuid() == uuid() }}",
    };
    const lines = [
      { sku: "a", qty: 2, price: 1.5 },
      { sku: "b", qty: 1, price: 4 },
    ];
    const run = await stepRun(app.owner, post(receiver.url, body), { lines, name: "Ada" });
    expect(run.result.extracted).toEqual({
      total: 7,
      big: ["a"],
      text: "2 lines, ADA at true",
      note: "none",
      map: { a: { b: 2 } },
      same: false,
    });
  });

  test("returns the same ID at each attempt of a run, and another in the next run", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("later", { status: 503 }));
    const retry = { retry: { maxAttempts: 3, backoffSeconds: [0] } };
    const step = post(receiver.url, "{{uuid()}} {{now}}", retry);
    for (let i = 0; i < 2; i++) expect((await stepRun(app.owner, step)).status).toBe("failed");
    const texts = receiver.got.map(({ text }) => text);
    expect(texts).toHaveLength(6);
    expect(new Set(texts.slice(0, 3)).size).toBe(1);
    expect(new Set(texts).size).toBe(2);
  });

  test("is checked when it is saved", async () => {
    await using app = await startApp({ engine: false });
    const refused = await app.owner("POST", AUTOMATIONS, {
      name: "x",
      config: {
        steps: [
          {
            key: "a",
            ...post("https://a.example", {
              x: "{{ input.a + }}",
              y: "{{ rnd(1) }}",
              z: "{{ paylod.a + 1 }}",
            }),
          },
          {
            key: "b",
            ...post("https://a.example", "{{ steps.c.result }}"),
            when: "steps['d'].status == 'failed'",
          },
          { key: "e", ...post("https://a.example", "{{ size(1, 2) }}"), forEach: "steps.e.result" },
        ],
      },
    });
    expect(faultsOf(refused)).toEqual([
      "body.config.steps.0.definition.body.x template_error",
      "body.config.steps.0.definition.body.y template_error",
      "body.config.steps.0.definition.body.z template_error",
      "body.config.steps.2.definition.body template_error",
      "body.config.steps.1.when unknown_step",
      "body.config.steps.1.definition.body unknown_step",
      "body.config.steps.2.forEach unknown_step",
    ]);
    const messages = (refused.body as { detail: { msg: string }[] }).detail.map(({ msg }) => msg);
    expect(messages[1]).toBe(
      'Invalid template {{ rnd(1) }}: unknown function rnd (at character 1, "rnd(1)").',
    );
    expect(messages[5]).toBe("There is no step c; the other steps are a, e");
  });

  test("is checked in the paths between ?? too", async () => {
    await using app = await startApp({ engine: false });
    const saved = (body: string | object) =>
      app.owner("POST", AUTOMATIONS, {
        name: "x",
        config: {
          steps: [
            { key: "load-all", kind: "conditional_branch", definition: branch("a") },
            { key: "b", ...post("https://a.example", body), dependsOn: ["load-all"] },
          ],
        },
      });
    const refused = await saved({
      a: "{{steps.load-none.result.a ?? input.a}}",
      b: "{{input.a ?? steps.load-all.outcome ?? input.b}}",
    });
    expect((refused.body as { detail: { msg: string }[] }).detail.map(({ msg }) => msg)).toEqual([
      "There is no step load-none; the other steps are load-all",
      "A step has no outcome; use one of status, actionRunId, result, error, failures",
    ]);
    const misspelled = await saved("{{input.line-items ?? inptu.line-items}}");
    expect(faultsOf(misspelled)).toEqual(["body.config.steps.1.definition.body template_error"]);
    expect((await saved("{{steps.load-all.result.a-b ?? input.line-items}}")).status).toBe(201);
  });

  test("is rejected if one of its paths may be meant as a difference, but a stored one runs", async () => {
    await using app = await startApp();
    await using receiver = echo();
    const saved = (text: string) =>
      app.owner("POST", AUTOMATIONS, {
        name: "x",
        config: {
          steps: [
            { key: "dry-run", kind: "conditional_branch", definition: branch() },
            { key: "step-1", ...post(receiver.url, text), dependsOn: ["dry-run"] },
          ],
        },
      });
    for (const path of [
      "input.total-1",
      "input.total-1.5",
      "input.total-input.paid",
      'input.total-input["paid"]',
      'input["all-1"].total-payload.paid[0]',
      "input.lines[0].total-steps.dry-run.result.n",
      "steps.dry-run.result.n-1",
      "item.total-item.discount",
    ])
      for (const text of [`{{ input.n ?? ${path} }}`, `a {{${path} ?? input.n}}`]) {
        const faults = faultsOf(await saved(text));
        expect([text, faults]).toEqual([text, ["body.config.steps.1.definition.body ambiguous_path"]]);
      }
    const refused = await saved("{{ input.n ?? input.total-1 }}");
    expect(refused.body.detail[0].msg).toBe(
      'Invalid template {{ input.n ?? input.total-1 }}: write spaces for a difference, as in a - b, or brackets for a key with a minus sign, as in a["b-1"] (at character 12, "input.total-1").',
    );
    for (const text of [
      "{{input.total-1}}",
      "{{input.total-1 ?? 0}}",
      "{{ input.n ?? input.total - 1 }}",
      "{{ input.n ?? (input.total-1) }}",
      '{{ input.n ?? input["total-1"] ?? input["a-input.b"] }}',
      "{{ input.line-1.total ?? input.line-items ?? input.pre-inputs }}",
      "{{ steps.dry-run.result ?? steps.dry-run ?? headers.x-1 ?? query.page-1 }}",
      "{{input.line-item.sku ?? input.x}}",
      "{{ input.x ?? input.line-items[0].sku ?? item.dry-run.id ?? input.sub-query.rows ?? 'none' }}",
    ])
      expect([text, (await saved(text)).status]).toEqual([text, 201]);

    const body = { n: "{{input.n ?? input.total-1 ?? 'none'}}" };
    const definition = { url: receiver.url, method: "POST", body, responseExtract: "@" };
    const old = await makeOldAction(app, { kind: "http_request", definition });
    const run = await runToEnd(app.owner, old.id);
    expect([run.status, run.result?.extracted]).toEqual(["completed", { n: "none" }]);
  });

  test("that reads a field which a step never has is rejected with the right one", async () => {
    await using app = await startApp({ engine: false });
    const ask = { key: "ask", kind: "approval_gate", definition: { title: "Go?" } };
    const saved = (body: object) =>
      app.owner("POST", AUTOMATIONS, {
        name: "x",
        config: { steps: [ask, { key: "b", ...post("https://a.example", body), dependsOn: ["ask"] }] },
      });
    const refused = await saved({
      a: "{{ steps.ask.decidedBy }}",
      b: "{{ steps.ask.outcome }}",
    });
    expect(faultsOf(refused)).toEqual([
      "body.config.steps.1.definition.body.a unknown_step",
      "body.config.steps.1.definition.body.b unknown_step",
    ]);
    expect((refused.body as { detail: { msg: string }[] }).detail.map(({ msg }) => msg)).toEqual([
      "Use steps.ask.result.decidedBy instead of steps.ask.decidedBy",
      "A step has no outcome; use one of status, actionRunId, result, error, failures",
    ]);
    const right = await saved({ a: "{{ steps.ask.result.decidedBy }} {{ steps.ask.status }}" });
    expect(right.status).toBe(201);
  });

  test("fails the run with the expression, the place and the value there", async () => {
    await using app = await startApp();
    const step = post("http://127.0.0.1:9", { x: "{{ input.name * 2 }}" });
    const run = await stepRun(app.owner, step, { name: "Ada" });
    expect(run.error).toMatchObject({
      code: "template_error",
      message:
        'body.x: Template {{ input.name * 2 }} has no value: * doesn\'t apply to a text and a whole number, convert one with double(…) or string(…) (at character 12, "* 2").',
    });
  });

  test("that reads a step that may not have run says how to depend on it", async () => {
    await using app = await startApp();
    const first = {
      key: "first",
      kind: "conditional_branch",
      definition: branch("a"),
      dependsOn: ["second"],
    };
    const reads = { key: "second", ...post("http://127.0.0.1:9", "{{steps.first.result.branch}}") };
    const flow = await makeAutomation(app.owner, { steps: [reads, first] });
    const run = await flowToEnd(app.owner, flow.id);
    expect(run.error.message).toBe(
      'body: Template {{steps.first.result.branch}} has no value: steps has no "first", since that step was skipped or isn\'t among the dependsOn of this one.',
    );
  });

  deepTest("that takes long is evaluated in a child process, and one that takes too long fails", async () => {
    await using app = await startApp();
    await using receiver = echo();
    const body = {
      count: "{{ lists.range(300).map(a, lists.range(300).filter(b, a + b > 300)).map(l, l.size()).sum() }}",
    };
    expect((await stepRun(app.owner, post(receiver.url, body))).result.extracted).toEqual({ count: 44551 });
    const endless =
      "lists.range(3000).all(a, lists.range(3000).all(b, lists.range(3000).all(c, a + b + c >= 0)))";
    const failed = await stepRun(app.owner, post(receiver.url, { x: `{{ ${endless} }}` }));
    expect(failed.error).toMatchObject({
      code: "template_error",
      message: expect.stringContaining("it takes too"),
    });
    const html = post(receiver.url, { t: "{{ html.text('<p>Hi <b>you</b></p>') }}" });
    expect((await stepRun(app.owner, html)).result.extracted).toEqual({ t: "Hi you" });
  });

  test("becomes a parameter in SQL, and one part of a URL", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(({ path }) => Response.json(path));
    const sql = "SELECT {{ input.a * 2 }} AS a, '{{ input.t + \"!\" }}' AS t";
    const transform = {
      kind: "duckdb_transform",
      definition: { sql, output: { layer: "marts", dataset: "t" } },
    };
    expect((await stepRun(app.owner, transform, { a: 2, t: "x' --" })).status).toBe("completed");
    const preview = await app.owner("GET", "/api/v1/datasets/marts/t/preview");
    expect(preview.body.rows[0]).toMatchObject({ a: 4, t: "x' --!" });
    const url = `${receiver.url}/a/{{ input.t + '/' + input.t }}/b`;
    const call = { kind: "http_request", definition: { url, responseExtract: "@" } };
    expect((await stepRun(app.owner, call, { t: "x" })).result.extracted).toBe("/a/x%2Fx/b");
  });
});

test("a condition that takes long is evaluated once after a step that ends immediately", async () => {
  await using app = await startApp();
  const steps = [
    { key: "first", kind: "conditional_branch", definition: branch() },
    {
      key: "then",
      kind: "conditional_branch",
      definition: branch(),
      dependsOn: ["first"],
      when: "steps.first.result.branch == 'a' && input.filter(x, x >= 0).size() == 30000",
    },
  ];
  const flow = await makeAutomation(app.owner, { steps });
  const run = await flowToEnd(app.owner, flow.id, { input: Array.from({ length: 30_000 }, (_, i) => i) });
  expect(run.steps.map(({ status }: { status: string }) => status)).toEqual(["completed", "completed"]);
});

describe("the list of a forEach", () => {
  test("can be computed, with braces and without", async () => {
    await using app = await startApp();
    const work = { kind: "conditional_branch", definition: branch() };
    const steps = [
      { key: "a", ...work, forEach: "{{ input.filter(x, x > 1) }}" },
      { key: "b", ...work, forEach: "input.filter(x, x > 2)" },
    ];
    const flow = await makeAutomation(app.owner, { steps });
    const run = await flowToEnd(app.owner, flow.id, { input: [1, 2, 3] });
    expect(run.steps.map((step: { items: { total: number } }) => step.items.total)).toEqual([2, 1]);
  });

  deepTest("can come from a result in an artifact, and take long", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() =>
      Response.json(Array.from({ length: 6_000 }, (_, id) => ({ id, text: "x".repeat(50) }))),
    );
    const steps = [
      { key: "get", kind: "http_request", definition: { url: receiver.url, responseExtract: "@" } },
      {
        key: "each",
        kind: "conditional_branch",
        definition: branch(),
        dependsOn: ["get"],
        forEach: "{{ steps.get.result.extracted.filter(x, x.id % 2000 == 0).map(x, x.id) }}",
      },
    ];
    const run = await flowToEnd(app.owner, (await makeAutomation(app.owner, { steps })).id);
    expect(run.steps[0].status).toBe("completed");
    expect(run.steps[1]).toMatchObject({ status: "completed", items: { total: 3 } });
  });
});
