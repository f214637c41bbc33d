import { describe, expect, test } from "bun:test";
import { renamed, renameStep } from "../../web/parts/canvas/renaming.ts";
import {
  after,
  canDrawSteps,
  freshKey,
  putInStep,
  stepsIn,
  without,
} from "../../web/parts/canvas/steps-config.ts";

const STEPS = [
  { key: "load", kind: "dlt_extract", definition: { dataset: "shop" } },
  { key: "route", dependsOn: ["load"], when: "steps.load.result.rows > 0", definition: {} },
  {
    key: "tell",
    dependsOn: ["route:big", "load"],
    definition: { url: "{{steps.load.result.url}}/{{steps.loader.result}}", list: ["{{steps.load.status}}"] },
  },
];

describe("the steps of a config", () => {
  test("are updated in what depends on them and names them, when a key changes", () => {
    const steps = renamed(STEPS, "load", "fetch-all");
    expect(steps.map(({ key }) => key)).toEqual(["fetch-all", "route", "tell"]);
    expect(steps[1]).toMatchObject({ dependsOn: ["fetch-all"], when: 'steps["fetch-all"].result.rows > 0' });
    expect(steps[2]).toEqual({
      key: "tell",
      dependsOn: ["route:big", "fetch-all"],
      definition: {
        url: '{{steps["fetch-all"].result.url}}/{{steps.loader.result}}',
        list: ['{{steps["fetch-all"].status}}'],
      },
    });
    expect(renamed(STEPS, "route", "way")[2]?.dependsOn).toEqual(["way:big", "load"]);
  });

  test("are named in brackets too, and outside the steps, when a key changes", () => {
    const config = {
      steps: [{ key: "a", when: `steps["a"].x && steps . a.y && steps['a'].z && payload.steps.a` }],
      response: { body: "{{steps.a.x}} {{steps.ab.x}}" },
    };
    expect(renameStep(config, "a", "b")).toEqual({
      steps: [{ key: "b", when: "steps.b.x && steps.b.y && steps.b.z && payload.steps.a" }],
      response: { body: "{{steps.b.x}} {{steps.ab.x}}" },
    });
  });

  test("are renamed wherever expressions read them, and nowhere else", () => {
    const change = (step: object) => renamed([{ key: "s", ...step }], "a", "new-a")[0];
    const definition = {
      math: "{{ 10-steps.a.result.x }} {{-steps.a.n * steps.a.m}}",
      macro: "{{ steps.a.list.map(steps, steps.a) }} {{ has(steps.a.x) ? steps.`a`.x : 1 }}",
      text: 'steps.a is plain {{ "steps.a" }} {{ payload.steps.a }} {{ steps.a-b.x }} {{ steps.a ?? "steps.a" }}',
      odd: "{{ größe }} {{ b'é' == steps.a.x }} {{{steps.a}}}",
      either: "{{steps.a.x-y ?? steps.a-b.x ?? steps.a.z}}",
      broken: "{{ steps.a.x }} {{ + }}",
      when: "steps.a",
    };
    const now = 'steps["new-a"]';
    expect(change({ kind: "http_request", definition })?.definition).toEqual({
      ...definition,
      math: `{{ 10-${now}.result.x }} {{-${now}.n * ${now}.m}}`,
      macro: `{{ ${now}.list.map(steps, steps.a) }} {{ has(${now}.x) ? ${now}.x : 1 }}`,
      text: `steps.a is plain {{ "steps.a" }} {{ payload.steps.a }} {{ steps.a-b.x }} {{ ${now} ?? "steps.a" }}`,
      either: `{{${now}.x-y ?? steps.a-b.x ?? ${now}.z}}`,
      odd: `{{ größe }} {{ b'é' == ${now}.x }} {{{${now}}}}`,
    });
    const when = "steps.a-b > 1 && 'steps.a' != ''";
    const branches = [{ key: "steps.a", when }];
    const renamedWhen = `${now}-b > 1 && 'steps.a' != ''`;
    expect(change({ kind: "conditional_branch", when, definition: { branches, else: "a" } })).toMatchObject({
      when: renamedWhen,
      definition: { branches: [{ key: "steps.a", when: renamedWhen }], else: "a" },
    });
    const code = { source: "// {{steps.a}}", input: "{{steps.a}}" };
    const kept = { name: "{{steps.a}}", pinned: "{{steps.a}}" };
    expect(change({ kind: "run_script", definition: code, forEach: "steps.a.rows", ...kept })).toMatchObject({
      definition: { ...code, input: `{{${now}}}` },
      forEach: `${now}.rows`,
      ...kept,
    });
    expect(
      change({ forEach: { table: "t", where: "x > {{steps.a.x}}" }, delay: { until: "{{steps.a.at}}" } }),
    ).toMatchObject({ forEach: { where: `x > {{${now}.x}}` }, delay: { until: `{{${now}.at}}` } });
  });

  test("lose what depended on a removed one, and know what follows it", () => {
    expect(without(STEPS, "load").map(({ dependsOn }) => dependsOn)).toEqual([undefined, ["route:big"]]);
    expect([...after(STEPS, "route")]).toEqual(["route", "tell"]);
    expect([...after(STEPS, "load")]).toEqual(["load", "route", "tell"]);
  });

  test("get unique keys that can be used in conditions", () => {
    expect(freshKey([], "load-all orders")).toBe("load_all_orders");
    expect(freshKey([], "2nd")).toBe("_2nd");
    expect(freshKey([{ key: "a" }, { key: "a_2" }], "a")).toBe("a_3");
  });

  test("contain nothing empty, and keep unknown fields", () => {
    const step = { key: "a", when: "x", dependsOn: ["b"], later: { any: 1 } };
    expect(putInStep(step, { when: "", dependsOn: [] })).toEqual({ key: "a", later: { any: 1 } });
  });

  test("are drawn if they are steps, and left to JSON otherwise", () => {
    expect(stepsIn({ action: { actionId: "x" } })).toEqual([{ key: "action", actionId: "x" }]);
    expect([{ steps: STEPS }, { action: { actionId: "x" } }, {}].map(canDrawSteps)).toEqual([
      true,
      true,
      true,
    ]);
    const odd = [
      { steps: "all" },
      { steps: [{ no: "key" }] },
      { steps: [{ key: "a" }, { key: "a" }] },
      { steps: [{ key: "a", dependsOn: "b" }] },
      { steps: [{ key: "a", when: 1 }] },
      { steps: [{ key: "a", definition: [] }] },
      { action: 1 },
    ];
    expect(odd.map(canDrawSteps)).toEqual(odd.map(() => false));
  });
});
