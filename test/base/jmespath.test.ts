import { describe, expect, test } from "bun:test";
import { AppError } from "../../src/base/errors.ts";
import { jmespathFault, searchJson } from "../../src/base/jmespath.ts";

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
  test("finds what a JMESPath expression asks for", () => {
    expect(searchJson(data, "items[].id")).toEqual([1, 2]);
    expect(searchJson(data, "items[?id > `1`] | [0]")).toEqual({ id: 2, tags: [] });
    expect(searchJson(data, "max_by(items, &id).id")).toBe(2);
    expect(searchJson(data, "next")).toBeNull();
    expect(searchJson(data, "nowhere.at.all")).toBeNull();
  });

  test("reaches nothing but data", () => {
    for (const text of ["constructor", "__proto__", "items.length", "items[0].toString", "items.map"]) {
      expect(searchJson(data, text)).toBeNull();
    }
    expect(searchJson(data, "map(&constructor, items)")).toEqual([null, null]);
  });

  test("tells what is wrong with an expression", () => {
    expect(jmespathFault("items[].id")).toBeNull();
    expect(jmespathFault("items[")).toContain('The JMESPath expression "items[" can\'t be read');
    expect(jmespathFault("pad_left(next, `1000000000`)")).toContain("pad_left(), which is not available");
    expect(reason(() => searchJson(data, "length(next)"))).toContain("does not fit the data");
  });

  test("gives up on what would take too long or give too much", () => {
    const many = Array.from({ length: 20_000 }, (_, id) => ({ id }));
    expect(reason(() => searchJson(many, "[].[length($[].id)]", 20))).toContain("too long or gives too much");
    expect(reason(() => searchJson(data, `${"[@,@]|".repeat(40)}@`))).toContain("too long or gives too much");
  });
});
