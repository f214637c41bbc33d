import { describe, expect, test } from "bun:test";
import { Budget, LARGE } from "../../src/base/expression/budget.ts";
import { evaluateJson, expressionOf } from "../../src/base/expression/expression.ts";
import { FUNCTIONS, GROUPS } from "../../src/base/expression/functions/table.ts";
import { NAMESPACES } from "../../src/base/expression/reads.ts";

const evaluated = (text: string) =>
  evaluateJson(text, {}, { budget: new Budget(LARGE), nextUuid: () => "0".repeat(36) });

describe("every function", () => {
  for (const [group, functions] of Object.entries(GROUPS)) {
    test.each(
      Object.entries(functions).flatMap(([name, { examples }]) =>
        examples.map((example) => [name, ...example]),
      ),
    )(`of ${group}: %s does what its example says: %s`, (name, text, json) => {
      expect(text).toContain(name.slice(name.lastIndexOf(".") + 1));
      expect(evaluated(text)).toEqual(JSON.parse(json));
    });
  }

  test("has an example", () => {
    const without = Object.values(GROUPS).flatMap((functions) =>
      Object.entries(functions).flatMap(([name, { examples }]) => (examples.length === 0 ? [name] : [])),
    );
    expect(without).toEqual([]);
  });

  test("can also be called on its first value, except for those with a dot in their names", () => {
    expect(evaluated('pick({"a": 1, "b": 2}, ["a"]) == {"a": 1, "b": 2}.pick(["a"])')).toBe(true);
    expect(evaluated('size("abc") == "abc".size()')).toBe(true);
    expect(evaluated("map([1, 2], x, x * 2) == [1, 2].map(x, x * 2)")).toBe(true);
    expect(() => expressionOf("[1].lists.range()")).toThrow("unknown function range");
  });

  test("with a dot begins with a name that no value has", () => {
    const spaces = [...FUNCTIONS.keys()].flatMap((name) =>
      name.includes(".") ? [name.split(".")[0] ?? ""] : [],
    );
    expect(spaces.filter((space) => !NAMESPACES.has(space))).toEqual([]);
  });
});

describe("dates", () => {
  test.each([
    ['date.parse("29.03.2026 02:30", "dd.MM.yyyy HH:mm", "Europe/Berlin")', "2026-03-29T01:30:00.000Z"],
    ['date.parse("25.10.2026 02:30", "dd.MM.yyyy HH:mm", "Europe/Berlin")', "2026-10-25T00:30:00.000Z"],
    ['date.parse("1/2/70", "d/M/yy")', "1970-02-01T00:00:00.000Z"],
    ['date.parse("1/2/69", "d/M/yy")', "2069-02-01T00:00:00.000Z"],
    ['date.parse("Mon, 5 Jan 2026 3 PM", "EEE, d MMM yyyy h a")', "2026-01-05T15:00:00.000Z"],
    ['date.parse("2026-01-31T12:00:00.5+05:30", "yyyy-MM-dd\'T\'HH:mm:ss.SXXX")', "2026-01-31T06:30:00.500Z"],
    ['date.parse("2026-01-31 12:00:00.123456", "yyyy-MM-dd HH:mm:ss.SSSSSS")', "2026-01-31T12:00:00.123456Z"],
    ['date.format("2026-01-31T12:00:00.123456789Z", "ss.SSSSSSSSS ss.SSSS s.S")', "00.123456789 00.1234 0.1"],
    ['date.format("2026-03-29T00:59:59Z", "HH:mm VV", "Europe/Berlin")', "01:59 Europe/Berlin"],
    ["date.format(\"2026-01-05T00:00:00Z\", \"EEEE 'o''clock'\")", "Monday o'clock"],
    ['date.add("2024-02-29T00:00:00Z", 1, "year")', "2025-02-28T00:00:00.000Z"],
    ['string(date.diff("2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", "hours"))', "24"],
  ])("%s is %s", (text, wanted) => {
    expect(evaluated(text)).toBe(wanted);
  });

  test.each([
    ['date.parse("30.02.2026", "dd.MM.yyyy")', "is not an existing date"],
    ['date.parse("10:00", "HH:mm")', "the pattern has no year"],
    ['date.parse("2026", "YYYY")', "the pattern has unknown letters YYYY"],
    ['date.parse("2026-01-01")', "is not a time such as"],
    ['date.parse("Tue 5 Jan 2026", "EEE d MMM yyyy")', "is a Monday, not a Tue"],
    ['date.format("2026-01-01T00:00:00Z", "yyyy", "Mars/Olympus")', "unknown time zone"],
    ['date.add("9999-01-01T00:00:00Z", 5, "years")', "outside the years"],
  ])("%s is rejected: %s", (text, reason) => {
    expect(() => evaluated(text)).toThrow(reason);
  });
});

describe("CSV", () => {
  test.each([
    ['csv.parse("a,a\\n1,2")', 'duplicate column "a"'],
    ['csv.parse("a,b\\n1")', "row 2 has 1 values"],
    ['csv.parse("a\\n\\"x")', "row"],
    ['csv.parse("a", {"delimitr": ";"})', "unknown option delimitr"],
  ])("%s is rejected: %s", (text, reason) => {
    expect(() => evaluated(text)).toThrow(reason);
  });

  test("treats a column as data, whatever its name", () => {
    expect(evaluated('csv.parse("__proto__,constructor\\n1,2").map(r, json.text(r))')).toEqual([
      '{"__proto__":"1","constructor":"2"}',
    ]);
  });

  test("has all columns, objects as JSON, and quotes formulas on request", () => {
    expect(evaluated('csv.text([{"a": 1}, {"b": {"c": [1]}, "a": null}])')).toBe(
      'a,b\r\n1,\r\n,"{""c"":[1]}"',
    );
    expect(evaluated('csv.text([{"a": "", "b": null}, {"b": ""}])')).toBe('a,b\r\n"",\r\n,""');
    expect(evaluated('csv.text([{"a": null}, {"a": 1}])')).toBe('a\r\n""\r\n1');
    expect(evaluated('csv.text([[null], ["x"]])')).toBe('""\r\nx');
    expect(evaluated('csv.parse(csv.text([{"a": 1}, {"a": null}]))')).toEqual([{ a: "1" }, { a: "" }]);
    expect(evaluated('csv.text([{"a": "=1+1"}])')).toBe("a\r\n=1+1");
    expect(evaluated('csv.text([{"a": "=1+1"}], {"safe": true})')).toBe("a\r\n'=1+1");
    expect(evaluated('csv.text([{"a": 1, "b": 2}], {"columns": ["b"], "delimiter": ";"})')).toBe("b\r\n2");
  });
});
