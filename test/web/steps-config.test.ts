import { describe, expect, test } from "bun:test";
import {
  after,
  canDrawSteps,
  freshKey,
  putInStep,
  renamed,
  renameStep,
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
