import { describe, expect, test } from "bun:test";
import { holds } from "../../src/base/condition.ts";
import { searchJson } from "../../src/base/jmespath.ts";

const payload = { text: "x".repeat(5_000_000), list: Array.from({ length: 2_000 }, (_, i) => i) };
const times = (count: number, term: string, glue: string) => Array(count).fill(term).join(glue);

describe("a condition that joins a large payload to itself is told off before it takes the memory", () => {
  test.each([
    `(${times(250, "payload.text", " + ")}).contains('z')`,
    `size(${times(250, "payload.text", " + ")}) > 1`,
    `payload.list.map(i, payload.text + string(i)).size() > 1`,
    `size(${times(100, "bytes(payload.text)", " + ")}) > 1`,
  ])("%#", (condition) => {
    expect(() => holds(condition, { payload })).toThrow("puts together more than 64 MiB");
  });

  test("while texts and bytes of an ordinary size are joined as CEL has it", () => {
    expect(holds("payload.a + '-' + payload.b == 'x-y'", { payload: { a: "x", b: "y" } })).toBe(true);
    expect(holds("b'ab' + b'cd' == b'abcd'", {})).toBe(true);
    expect(holds("[1] + [2] == [1, 2]", {})).toBe(true);
  });
});

describe("a search whose lists name one value many times over is told off before they are unfolded", () => {
  test.each([
    `@ | ${times(13, "[@, @, @]", " | ")} | to_string(@)`,
    `@ | ${times(13, "{a: @, b: @, c: @}", " | ")} | @ == @`,
    "to_string(list[*].[$])",
    "to_string(map(&$, list))",
    "list[?`true`].{a: $} | length(to_string(@))",
  ])("%p", (expression) => {
    expect(() => searchJson(payload, expression)).toThrow("takes too long or gives too much");
  });

  test("while ordinary ones find what they ask for", () => {
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
