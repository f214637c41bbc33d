import { describe, expect, test } from "bun:test";
import { conditionFault, holds as holdsWithin, openBudgetHere } from "../../src/base/condition.ts";
import { AppError } from "../../src/base/errors.ts";
import { Budget, LARGE_CONDITION } from "../../src/base/expression/budget.ts";
import { ExpressionTooLong } from "../../src/base/expression/too-long.ts";
import type { JsonObject } from "../../src/base/json.ts";
import type { Scope } from "../../src/base/template.ts";

const payload = { amount: 150.5, whole: 150, name: "Ada", tags: ["new", "vip"], nothing: null };
const scope: Scope = { payload, steps: { load: { result: { rows: 0 } } } };

const holds = (text: string, at: Scope) => holdsWithin(text, at, new Budget(LARGE_CONDITION));

function reason(text: string, at: Scope = scope): string {
  try {
    holds(text, at);
  } catch (error) {
    if (error instanceof AppError && error.code === "condition_error") return error.message;
    throw error;
  }
  throw new Error(`${text} was decided.`);
}

describe("a condition", () => {
  test("compares whole and fractional numbers as people expect", () => {
    for (const text of [
      "payload.amount > 100",
      "payload.whole > 100",
      "payload.whole == 150",
      "payload.whole >= 149.5",
      "payload.amount * 2 > 300",
      "payload.whole % 2 == 0",
      "10 - payload.whole == -140",
      "payload.whole / 4 == 37.5",
      "steps.load.result.rows == 0",
      "payload.whole in [150, 151]",
    ]) {
      expect([text, holds(text, scope)]).toEqual([text, true]);
    }
    expect(holds("payload.amount > 200", scope)).toBe(false);
  });

  test("checks texts, lists and presence", () => {
    expect(holds('payload.name.startsWith("A") && "vip" in payload.tags', scope)).toBe(true);
    expect(holds("has(payload.missing) && payload.missing > 1", scope)).toBe(false);
    expect(holds('payload.tags.exists(t, t.matches("^v.p$"))', scope)).toBe(true);
    expect(holds("payload.nothing == null", scope)).toBe(true);
    expect(holds("size(payload.tags) == 2", scope)).toBe(true);
  });

  test("written like a template is rejected with the right syntax", () => {
    for (const [text, bare] of [
      ["{{payload.amount}} > 100", "payload.amount > 100"],
      ["{{ payload.amount > 100 }}", "payload.amount > 100"],
    ] as const)
      expect(conditionFault(text)).toBe(
        `Invalid condition ${JSON.stringify(text)}: write it without braces, as in ${bare}.`,
      );
  });

  test("that can't be evaluated says why", () => {
    expect(reason("payload.missing > 1")).toBe(
      'Couldn\'t evaluate the condition "payload.missing > 1": an object has no "missing" (at character 9, "missing > 1").',
    );
    expect(reason("payload.name > 1")).toContain("> doesn't apply to a text and a whole number");
    expect(reason("nobody.x == 1")).toContain("unknown name nobody");
    expect(reason("payload.name")).toContain("it returns a text, not true or false");
    expect(reason("payload.whole / 0 > 1")).toContain("division by zero");
    expect(reason("payload.whole >")).toContain("Invalid condition");
  });

  test("treats data as data, whatever its fields are named", () => {
    const odds: JsonObject[] = [
      { constructor: 1 },
      { $typeName: "google.protobuf.Any", value: "x" },
      { $typeName: 1 },
    ];
    for (const odd of odds) {
      const at: Scope = { payload: { x: 1, ...odd, list: [{ y: 2, ...odd }] } };
      expect(holds("payload.x == 1 && payload.list[0].y == 2 && size(payload.list) == 1", at)).toBe(true);
      expect(holds("payload.list.exists(item, item.y == 2)", at)).toBe(true);
    }
    expect(holds("payload.constructor.name == 'Ada'", { payload: { constructor: { name: "Ada" } } })).toBe(
      true,
    );
    const wrapped = { $typeName: "google.protobuf.Int64Value", value: 4 };
    expect(holds("payload.value == 4", { payload: wrapped })).toBe(true);
  });

  test("accesses nothing but data", () => {
    for (const text of ["constructor == null", "payload.constructor == null", "payload.tags.length == 2"]) {
      expect(reason(text)).toContain("Couldn't evaluate the condition");
    }
  });

  test("is checked before it runs", () => {
    expect(conditionFault("payload.amount > 100")).toBeNull();
    expect(conditionFault("payload.anything.at.all == 1")).toBeNull();
    expect(conditionFault("payload.amount >")).toContain('Invalid condition "payload.amount >"');
    expect(conditionFault("{{payload.amount}} > 1")).not.toBeNull();
    expect(conditionFault(" ")).toBe("A condition can't be empty.");
    expect(conditionFault(`"${"x".repeat(4096)}" == "x"`)).toContain("more than 4,096 characters");
    expect(conditionFault(`${"(".repeat(500)}true${")".repeat(500)}`)).toContain("more than 64 levels deep");
    expect(conditionFault(`"${"(".repeat(500)}" == ""`)).toBeNull();
  });

  test("gives up on loops without an end", () => {
    const many = { payload: { list: Array.from({ length: 2_000 }, (_, i) => i) } };
    expect(holds("payload.list.all(x, x >= 0)", many)).toBe(true);
    for (const text of [
      "payload.list.all(x, payload.list.all(y, payload.list.all(z, x + y + z >= 0)))",
      "payload.list.exists(x, payload.list.exists(y, payload.list.exists(z, x + y + z < 0)))",
      "payload.list.map(x, payload.list.map(y, payload.list.map(z, x))).size() > 0",
    ]) {
      expect(reason(text, many)).toMatch(/too large|takes too/);
    }
    expect(holds("payload.list.all(x, x >= 0)", many)).toBe(true);
  });

  test("leaves a pattern over a long text to a child process", () => {
    const scope = { payload: { text: "ab".repeat(1_000_000) } };
    const condition = 'payload.text.matches("^(ab)+$")';
    expect(() => holdsWithin(condition, scope, openBudgetHere())).toThrow(ExpressionTooLong);
    expect(holds(condition, scope)).toBe(true);
  });

  test("matches patterns that would hang a backtracking engine", () => {
    const text = `${"a".repeat(50_000)}b`;
    expect(holds('payload.text.matches("^(a+)+$")', { payload: { text } })).toBe(false);
  });
});
