import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { InvalidInput } from "../../src/base/errors.ts";
import { canonicalJson, type Json, mergePatch, parseJson } from "../../src/base/json.ts";

function faultOf(text: string) {
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof InvalidInput) return error.faults[0];
    throw error;
  }
  return null;
}

describe("parsing", () => {
  test("returns what JSON.parse returns", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each(["", "{", "{'a':1}", "[1,]", "01", "nul", '"a', "\ufeff{}", "{}{}"])("rejects %j", (text) => {
    expect(faultOf(text)).toMatchObject({ loc: ["body"], type: "json_invalid" });
  });

  test("rejects a duplicate key in an object, however it is escaped", () => {
    for (const text of [
      '{"a":1,"a":2}',
      '{"a":1,"\\u0061":2}',
      '{"x":[{"b":1,"c":{},"b":2}]}',
      '{"":1,"":2}',
    ]) {
      expect(faultOf(text)).toMatchObject({ loc: ["body"], msg: expect.stringContaining("Duplicate key") });
    }
  });

  test("accepts a key in several objects, as a value, and after a list", () => {
    for (const text of [
      '{"a":{"a":1},"b":{"a":2}}',
      '{"a":"a","b":"a"}',
      '{"a":["a","a"],"b":[{"a":1},{"a":2}]}',
    ]) {
      expect(parseJson(text)).toEqual(JSON.parse(text));
    }
    expect(parseJson('{"a":"\\"a\\":1,{[","b":"\\\\"}')).toEqual({ a: '"a":1,{[', b: "\\" });
  });

  test("accepts 64 levels and rejects 65", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
    expect(faultOf(nested(64))).toBeNull();
    expect(faultOf(objects(64))).toBeNull();
    for (const text of [nested(65), objects(65), nested(100_000)]) {
      expect(faultOf(text)).toMatchObject({ loc: ["body"], msg: expect.any(String) });
    }
    expect(faultOf(`[${Array(100).fill(nested(63)).join(",")}]`)).toBeNull();
  });
});

describe("a merge patch", () => {
  // RFC 7396, appendix A.
  test.each<[Json, Json, Json]>([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])("over %j with %j gives %j", (target, patch, merged) => {
    expect(mergePatch(target, patch)).toEqual(merged);
  });

  test("treats __proto__ like any other name", () => {
    const merged = mergePatch({ a: 1 }, JSON.parse('{"__proto__":{"b":2}}')) as object;
    expect(Object.keys(merged)).toEqual(["a", "__proto__"]);
    expect("b" in merged).toBe(false);
  });
});

test("canonical text is the same for equal values, and valid JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalJson(JSON.parse(text))).toBe(text);
    }),
  );
  expect(canonicalJson({ b: [1, { d: 1, c: null }], a: undefined })).toBe('{"b":[1,{"c":null,"d":1}]}');
});
