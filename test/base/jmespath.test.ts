import { describe, expect, test } from "bun:test";
import { AppError } from "../../src/base/errors.ts";
import { jmespathFault, searchJson } from "../../src/base/jmespath.ts";
import type { Json } from "../../src/base/json.ts";
import { exactJson, parseExact } from "../../src/base/json-numbers.ts";

const data = {
  items: [
    { id: 1, tags: ["a"] },
    { id: 2, tags: [] },
  ],
  next: null,
};

function reason(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError && error.code === "definition_invalid") return error.message;
    throw error;
  }
  throw new Error("Nothing was thrown.");
}

describe("searchJson", () => {
  test("evaluates a JMESPath expression", () => {
    expect(searchJson(data, "items[].id")).toEqual([1, 2]);
    expect(searchJson(data, "items[?id > `1`] | [0]")).toEqual({ id: 2, tags: [] });
    expect(searchJson(data, "max_by(items, &id).id")).toBe(2);
    expect(searchJson(data, "next")).toBeNull();
    expect(searchJson(data, "nowhere.at.all")).toBeNull();
  });

  test("keeps every digit of numbers that a double can't hold", () => {
    const exact = parseExact(
      '[{"n":12345678901234567.89},{"n":1.10},{"n":9007199254740993},{"n":2}]',
    ) as Json;
    const texts = (text: string) => exactJson(searchJson(exact, text));
    expect(texts("[?n > `2`].n")).toBe("[12345678901234567.89,9007199254740993]");
    expect(texts("[?n == `1.1`].n")).toBe("[1.10]");
    expect(texts("[?n == `1.1` || n > `9007199254740992`].n")).toBe(
      "[12345678901234567.89,1.10,9007199254740993]",
    );
    expect(texts("[?n != to_string(n)].n")).toBe("[1.10,2]"); // The others are texts elsewhere.
    expect(texts("max([].n)")).toBe("12345678901234567.89");
    expect(texts("min([].n)")).toBe("1.10");
    expect(texts("sort_by(@, &n)[].n")).toBe("[1.10,2,9007199254740993,12345678901234567.89]");
    expect(texts("[].to_string(n) | [1]")).toBe('"1.10"');
    expect(texts("[1].[type(n), to_number(n)]")).toBe('["number",1.10]');
    expect(texts("[1].[n + `1`, abs(n), sum([n, n])]")).toBe("[2.1,1.1,2.2]");
    expect(texts("[2].[n + `2`, n - `1`, `2` * n, sum([n, `2`]), abs(n), -n]")).toBe(
      "[9007199254740995,9007199254740992,18014398509481986,9007199254740995,9007199254740993,-9007199254740993]",
    );
    expect(texts("[2].[starts_with(n, '9007'), join('-', [n, 'x']), contains([n], n)]")).toBe(
      '[true,"9007199254740993-x",true]',
    );
    expect(texts("[1].n.*")).toBe("null");
  });

  test("keeps all digits of literals, and compares them with texts of such numbers", () => {
    const found = (text: string) =>
      exactJson(searchJson(parseExact('[{"n":9007199254740992},{"n":9007199254740993}]') as Json, text));
    expect(found("[?n == `9007199254740993`].n")).toBe("[9007199254740993]");
    expect(found("[?n >= `9007199254740993`].n")).toBe("[9007199254740993]");
    expect(found("[?n == '9007199254740993'].n")).toBe("[9007199254740993]");
    expect(found("[?contains(`[9007199254740993]`, n)].n")).toBe("[9007199254740993]");
    expect(found('`{"a": ["\\`9007199254740993", 9007199254740993]}`')).toBe(
      '{"a":["`9007199254740993",9007199254740993]}',
    );
    expect(found("'`9007199254740993`'")).toBe('"`9007199254740993`"');
    expect(found("to_number('9007199254740993')")).toBe("9007199254740993");
    const texts = [{ id: "9007199254740993" }, { id: 3 }, { id: "10" }] as Json;
    expect(searchJson(texts, "[?id > `2`].id")).toEqual(["9007199254740993", 3]);
    const far = parseExact("[1e400]") as Json;
    expect(reason(() => searchJson(far, "sum(@)"))).toContain("1e400 is too large to compute with");
  });

  test("sorts numbers by value, and finds equal lists and objects, however their numbers are written", () => {
    const found = (text: string, json: string) => exactJson(searchJson(parseExact(json) as Json, text));
    expect(found("sort(@)", "[10,9,1,2.5,-3]")).toBe("[-3,1,2.5,9,10]");
    expect(found("sort(@)", "[12345678901234567891,12345678901234567890,7]")).toBe(
      "[7,12345678901234567890,12345678901234567891]",
    );
    expect(found("sort(@)", '["b","10","9"]')).toBe('["10","9","b"]');
    const twice = '{"p":[1.10,12345678901234567890],"q":[1.1,12345678901234567890],"o":{"a":1.10}}';
    expect(found('[p == q, [p[0]] != [q[0]], o == `{"a":1.1}`, p == `[1.1]`]', twice)).toBe(
      "[true,false,true,false]",
    );
    expect(
      found("[contains(p, `1.1`), contains([p], q), contains(p, `2`), contains('a1', '1')]", twice),
    ).toBe("[true,true,false,true]");
  });

  test("accesses nothing but data", () => {
    for (const text of ["constructor", "__proto__", "items.length", "items[0].toString", "items.map"]) {
      expect(searchJson(data, text)).toBeNull();
    }
    expect(searchJson(data, "map(&constructor, items)")).toEqual([null, null]);
  });

  test("reports what is wrong with an expression", () => {
    expect(jmespathFault("items[].id")).toBeNull();
    expect(jmespathFault("items[")).toContain('Invalid JMESPath expression "items["');
    expect(jmespathFault("pad_left(next, `1000000000`)")).toContain("pad_left(), which isn't supported");
    expect(reason(() => searchJson(data, "length(next)"))).toContain("doesn't match the data");
  });

  test("gives up on what would take too long or return too much", () => {
    const many = Array.from({ length: 20_000 }, (_, id) => ({ id }));
    expect(reason(() => searchJson(many, "[].[length($[].id)]", { ms: 20, size: 2 ** 20 }))).toContain(
      "too long or returns too much",
    );
    expect(reason(() => searchJson(data, `${"[@,@]|".repeat(40)}@`))).toContain(
      "too long or returns too much",
    );
  });
});
