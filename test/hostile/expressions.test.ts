import { describe, expect, test } from "bun:test";
import { holds as holdsWithin } from "../../src/base/condition.ts";
import { Budget, LARGE_CONDITION } from "../../src/base/expression/budget.ts";
import { searchJson } from "../../src/base/jmespath.ts";
import type { Scope } from "../../src/base/template.ts";
import { startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";
import { branch, flowToEnd, makeAutomation } from "../support/work.ts";

const payload = { text: "x".repeat(5_000_000), list: Array.from({ length: 2_000 }, (_, i) => i) };
const holds = (text: string, at: Scope) => holdsWithin(text, at, new Budget(LARGE_CONDITION));
const times = (count: number, term: string, glue: string) => Array(count).fill(term).join(glue);

describe("a condition that joins a large payload with itself is stopped before it takes the memory", () => {
  test.each([
    `(${times(250, "payload.text", " + ")}).contains('z')`,
    `size(${times(250, "payload.text", " + ")}) > 1`,
    `payload.list.map(i, payload.text + string(i)).size() > 1`,
    `size(${times(100, "bytes(payload.text)", " + ")}) > 1`,
  ])("%#", (condition) => {
    expect(() => holds(condition, { payload })).toThrow(/(its result is too large|it takes too)/);
  });

  test("while texts and bytes of ordinary size are joined as in CEL", () => {
    expect(holds("payload.a + '-' + payload.b == 'x-y'", { payload: { a: "x", b: "y" } })).toBe(true);
    expect(holds("b'ab' + b'cd' == b'abcd'", {})).toBe(true);
    expect(holds("[1] + [2] == [1, 2]", {})).toBe(true);
  });
});

describe("conditions evaluated together block others no longer than one of them may", () => {
  const numbers = `[${Array.from({ length: 45 }, (_, i) => i)}]`;
  const costly = `${numbers}.all(a, ${numbers}.all(b, ${numbers}.all(c, a + b + c >= 0))) && false`;
  const enough = "it takes too";

  test("compared as often as they occur", () => {
    const items = Array.from({ length: 100_000 }, (_, a) => ({ a }));
    const many = times(280, "p.i == p.j", " && ");
    expect(() => holds(many, { p: { i: items, j: structuredClone(items) } })).toThrow("it takes too");
    expect(holds(many, { p: { i: items.slice(0, 10), j: items.slice(0, 10) } })).toBe(true);
  });

  test("over long texts of digits, which are no numbers", () => {
    const id = "9".repeat(1_000_000);
    const many = times(60, "payload.id == 7 || payload.id < '5' || 7 in [payload.id]", " || ");
    expect(holds(many, { payload: { id } })).toBe(false);
  });

  deepTest("all branches of a step", async () => {
    await using app = await startApp();
    const branches = Array.from({ length: 100 }, (_, i) => ({ key: `b${i}`, when: costly }));
    const step = (key: string, definition: object) => ({ key, kind: "conditional_branch", definition });
    const flow = await makeAutomation(app.owner, {
      steps: [{ ...step("one", { branches }), onError: "continue" }, step("two", branch())],
    });
    const run = await flowToEnd(app.owner, flow.id);
    expect(run.steps[0].error).toMatchObject({ code: "condition_error" });
    expect(run.steps[0].error.message).toContain("it takes too");
    expect(run.status).toBe("completed");
    expect(run.steps[1].status).toBe("completed");
  });

  deepTest("an expensive one has its result, wherever it is evaluated", async () => {
    await using app = await startApp();
    const steps = [costly, `!(${costly})`].map((when, i) => ({
      key: `s${i}`,
      kind: "conditional_branch",
      definition: { branches: [{ key: "costly", when }], else: "none" },
      when: `${costly} || ${i} == 1 && steps.size() < 3`,
    }));
    const run = await flowToEnd(app.owner, (await makeAutomation(app.owner, { steps })).id);
    expect(run.steps.map(({ status }: { status: string }) => status)).toEqual(["skipped", "completed"]);
  });

  deepTest("the conditions of all starting steps", async () => {
    await using app = await startApp();
    const steps = Array.from({ length: 200 }, (_, i) => ({
      key: `s${i}`,
      kind: "conditional_branch",
      definition: branch(),
      when: i === 0 ? "1 == 2" : `${costly} || ${i} < 0`,
      onError: "continue",
    }));
    const run = await flowToEnd(app.owner, (await makeAutomation(app.owner, { steps })).id);
    expect(run.steps[0].status).toBe("skipped");
    expect(run.steps[199].error.message).toContain(enough);
  });
});

test("a definition with more expressions than are parsed at once is rejected", async () => {
  await using app = await startApp({ engine: false });
  const body = Array.from({ length: 3_000 }, (_, i) => `{{ input.a${i} + 1 }}`);
  const definition = { url: "https://a.example", body };
  const refused = await app.owner("POST", "/api/v1/actions", { name: "x", kind: "http_request", definition });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain("Use fewer or shorter ones");
});

describe("a search whose lists name one value many times is stopped before they are expanded", () => {
  test.each([
    `@ | ${times(13, "[@, @, @]", " | ")} | to_string(@)`,
    `@ | ${times(13, "{a: @, b: @, c: @}", " | ")} | @ == @`,
    "to_string(list[*].[$])",
    "to_string(map(&$, list))",
    "list[?`true`].{a: $} | length(to_string(@))",
  ])("%p", (expression) => {
    expect(() => searchJson(payload, expression)).toThrow("takes too long or returns too much");
  });

  test("while ordinary ones find their values", () => {
    const data = {
      orders: [
        { id: 1, lines: [{ sku: "a" }] },
        { id: 2, lines: [] },
      ],
    };
    expect(searchJson(data, "orders[].{id: id, n: length(lines), all: lines[*].sku}")).toEqual([
      { id: 1, n: 1, all: ["a"] },
      { id: 2, n: 0, all: [] },
    ]);
  });
});
