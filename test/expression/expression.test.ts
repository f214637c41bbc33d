import { describe, expect, test } from "bun:test";
import { Budget, LARGE, SMALL } from "../../src/base/expression/budget.ts";
import { evaluateJson, expressionOf, uuidsOf } from "../../src/base/expression/expression.ts";
import { ExpressionError } from "../../src/base/expression/fault.ts";
import { reasonOf } from "../../src/base/expression/reason.ts";
import type { Json, JsonObject } from "../../src/base/json.ts";

const scope: JsonObject = {
  input: {
    amount: 3,
    list: [1, 2, 3],
    name: "Ada",
    nothing: null,
    "odd-key": 7,
    long: "9007199254740993",
    safest: 9007199254740991,
    next: 9007199254740992,
    far: 1e20,
  },
  headers: { "x-order": "17" },
  steps: {
    load: {
      result: {
        rows: [
          { id: 1, v: "a" },
          { id: 2, v: null },
        ],
      },
    },
  },
};

const evaluated = (text: string, at: JsonObject = scope, limits = LARGE): Json =>
  evaluateJson(text, at, { budget: new Budget(limits), nextUuid: uuidsOf("run:field") });

function reason(text: string, at: JsonObject = scope, limits = LARGE): string {
  try {
    return `it is ${JSON.stringify(evaluated(text, at, limits))}`;
  } catch (error) {
    if (error instanceof ExpressionError) return reasonOf(error, text);
    throw error;
  }
}

describe("an expression", () => {
  test.each([
    ["input.amount * 1.2", 3.5999999999999996],
    ["input.amount / 2", 1.5],
    ["7 / 2", 3],
    ["size(input.list) / 2.0", 1.5],
    ["input.list[input.amount - 1]", 3],
    ["input.missing ?? 5", 5],
    ["input.nothing ?? input.missing.deeper ?? 'x'", "x"],
    ["input.missing ?? 1 + 2", 3],
    ["input.nothing == null ? 'none' : 'some'", "none"],
    ["steps.load.result.rows.filter(r, r.v != null).map(r, {'id': r.id, 'v': r.v})", [{ id: 1, v: "a" }]],
    ["steps.load.result.rows.map(r, r.v ?? '-')", ["a", "-"]],
    ["{'a': {'b': 1}}", { a: { b: 1 } }],
    ["9007199254740993", "9007199254740993"],
    ["9007199254740991", 9007199254740991],
    ["'9007199254740993' < '10007199254740993'", true],
    ["['10007199254740993', '9007199254740993', '5'].sort()", ["5", "9007199254740993", "10007199254740993"]],
    ["'9.50' < '9.75' && '2026' < '2027' && '007' < '1'", true],
    [
      "['10', 'A1', '9', '10000000000000000', '5x', '9007199254740993'].sort()",
      ["10", "10000000000000000", "5x", "9", "9007199254740993", "A1"],
    ],
    ["['9007199254740993', '5x', '10000000000000000'].max()", "9007199254740993"],
    ["'x' == 7 || '8' == 7 || 7 in ['8']", false],
    [
      "regex.replace('at END', '(E)(ND)', r'C:\\temp $1 $10 \\$1 ' + '$' + '{2} $$5 $')",
      "at C:\\temp E E0 $1 ND $5 $",
    ],
    ['headers["X-Order"]', "17"],
    ["headers.`X-Order`", "17"],
    ['input["odd-key"] - 1', 6],
    ["input.transformMap(k, v, k == 'amount', v)", { amount: 3 }],
    ["'Ada' in ['Ada']", true],
    ["b'ab'", "YWI="],
    ["duration('90s')", "90s"],
    ["duration('0.071m') == duration('4.26s')", true],
    ["html.text('<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>')", "1 2\n3"],
    ["timestamp('2026-01-31T12:00:00Z')", "2026-01-31T12:00:00.000Z"],
    ["timestamp('2026-01-31T12:00:00.123456+01:00')", "2026-01-31T11:00:00.123456Z"],
    ["timestamp('1969-12-31T23:59:59.999999999Z')", "1969-12-31T23:59:59.999999999Z"],
    ["input.long == 9007199254740993", true],
    ["9007199254740992 != input.long && 9007199254740993 in [input.long]", true],
    ["'5' == 6 || '05' == 5", false],
    ["int(input.long) + input.amount", "9007199254740996"],
    ["int(input.long) - input.next", 1],
    ["[int(input.long), input.next].sum()", "18014398509481985"],
    ["input.safest + 2", "9007199254740993"],
    ["[input.safest, 2].sum()", "9007199254740993"],
    ["input.safest + 2.5", 9007199254740994],
    ["int(input.long) + input.far > input.far", true],
    ["sum([int(input.long), input.amount])", "9007199254740996"],
    ["int(input.long) / 2.0", 4503599627370496],
    ["uuid() == uuid()", false],
  ])("%s", (text, wanted) => {
    expect(evaluated(text)).toEqual(wanted as Json);
  });

  test("returns the same IDs at each attempt", () => {
    expect(evaluated("[uuid(), uuid()]")).toEqual(evaluated("[uuid(), uuid()]"));
  });

  test.each([
    ["input.missing", 'an object has no "missing" (at character 7, "missing")'],
    [
      "input.name * 2",
      '* doesn\'t apply to a text and a whole number, convert one with double(…) or string(…) (at character 12, "* 2")',
    ],
    [
      "timestamp('2026-02-30T00:00:00Z')",
      'timestamp: "2026-02-30T00:00:00Z" is not a time such as 2026-01-31T12:00:00Z (at character 1, "timestamp(\'2026-02-30T00:00:00…")',
    ],
    [
      "date.parse('2026-02-29T12:00:00+02:00')",
      'date.parse: "2026-02-29T12:00:00+02:00" is not a time such as 2026-01-31T12:00:00Z (at character 6, "parse(\'2026-02-29T12:00:00+02:…")',
    ],
    [
      "date.parse('2026-01-31 03', 'yyyy-MM-dd hh')",
      "date.parse: h is an hour of half a day. Add a for AM or PM, or write H for hours up to 23 (at character 6, \"parse('2026-01-31 03', 'yyyy-M…\")",
    ],
    ["1 / 0", 'division by zero (at character 3, "/ 0")'],
    ["1.0 / 0.0", "JSON has no number Infinity"],
    ["9223372036854775807 + 1", 'the number exceeds 64 bits (at character 21, "+ 1")'],
    ["nobody.x", 'unknown name nobody (at character 1, "nobody.x")'],
    [
      "input.odd-key",
      'an object has no "odd" (at character 7, "odd-key"). Put keys with a minus sign in brackets, as in a["b-c"]',
    ],
    ["input.list.sum('x')", "sum requires 1 argument, not 2 (at character 12, \"sum('x')\")"],
    [
      "json.parse('{')",
      "json.parse: the text is not JSON: JSON Parse error: Expected '}' (at character 6, \"parse('{')\")",
    ],
    [
      "input.list.map(1, 2)",
      'map requires a name first, as in list.map(x, …) (at character 12, "map(1, 2)")',
    ],
    [
      "1 + 'x' ?? 2",
      "+ doesn't apply to a whole number and a text, convert one with double(…) or string(…) (at character 3, \"+ 'x' ?? 2\")",
    ],
    ["true + 'x'", "+ doesn't apply to a bool and a text (at character 6, \"+ 'x'\")"],
    ["{'a': 1, 'a': 2}", "duplicate key \"a\" (at character 1, \"{'a': 1, 'a': 2}\")"],
    [
      "'7' == 7",
      '== doesn\'t apply to a whole number and a text, convert one with double(…) or string(…) (at character 5, "== 7")',
    ],
    [
      "7.5 in ['a', '7.50']",
      "in doesn't apply to a number and a text, convert one with double(…) or string(…) (at character 5, \"in ['a', '7.50']\")",
    ],
    [
      "'9.00' > '10.00'",
      '"9.00" and "10.00" are text, and have another order than as numbers. Convert them with double(…) (at character 8, "> \'10.00\'")',
    ],
    [
      "['9', '10'].max()",
      'max: "10" and "9" are text, and have another order than as numbers. Convert them with double(…) (at character 13, "max()")',
    ],
    [
      "regex.replace('a', 'a', 'costs $5')",
      "regex.replace: the pattern has 0 groups, so there is no $5. Write $$ for a dollar sign (at character 7, \"replace('a', 'a', 'costs $5')\")",
    ],
  ])("%s says why it has no value", (text, wanted) => {
    expect(reason(text)).toBe(wanted);
  });

  test("accesses nothing but own fields of data", () => {
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", "$typeName", "valueOf"]) {
      const key = JSON.stringify(name);
      expect(reason(`input[${key}]`)).toContain("has no");
      expect(reason(`input.list[${key}]`)).toContain("has no");
      expect(reason(`input.name[${key}]`)).toContain("has no");
      expect(evaluated(`{${key}: 1}[${key}]`)).toBe(1);
      const own = JSON.parse(`{"input": {${key}: {"a": 1}}}`);
      expect(evaluated(`input[${key}].a`, own)).toBe(1);
      expect(JSON.stringify(evaluated("input", own))).toBe(`{${key}:{"a":1}}`);
      expect(JSON.stringify(evaluated(`merge(input, {"b": 2})`, own))).toBe(`{${key}:{"a":1},"b":2}`);
    }
  });

  test("reports what it reads", () => {
    const text = 'steps.a["b"].c + steps[input.key].d + list.map(x, x.y + steps.e) + math.round(now)';
    expect(expressionOf(text).reads.map(({ path }) => path.join("."))).toEqual([
      "steps.a.b.c",
      "steps",
      "input.key",
      "list",
      "steps.e",
      "now",
    ]);
  });
});

describe("an expensive expression is stopped by its budget", () => {
  const big: JsonObject = {
    input: {
      l: Array.from({ length: 3_000 }, (_, id) => ({ id, text: "x".repeat(20) })),
      m: Array.from({ length: 3_000 }, (_, id) => ({ id, text: "x".repeat(20) })),
      n: Array.from({ length: 3_000 }, (_, n) => n),
      t: "ab".repeat(30_000),
    },
  };

  test.each([
    "input.l.map(a, input.l)",
    "input.l.map(a, input.l.map(b, input.l.map(c, c)))",
    "input.n.map(x, size(input.t))",
    "input.n.map(x, input.t.reverse())",
    "input.n.map(x, input.t.indexOf('zz'))",
    "input.n.map(x, input.n.distinct())",
    "input.n.map(x, input.l == input.m)",
    "input.n.map(x, input.l in [input.m, 1])",
    "input.n.map(x, input.t + string(x))",
    "input.n.map(x, input.t < input.t)",
    "input.n.map(x, matches(input.t, 'a' + string(x)))",
    "input.n.map(x, regex.replace(input.t, 'a', 'bbbbbbbbbb'))",
    "input.n.map(x, json.text(input.l))",
    "input.n.map(x, csv.text(input.l))",
    "input.n.map(x, input.l.sortBy(y, y.text))",
    "input.n.map(x, input.l.groupBy(y, y.id))",
    "input.n.map(x, hash.sha256(input.t))",
    "input.n.map(x, input.t.split(''))",
    "lists.range(100000000)",
    "input.n.map(x, [input.n, input.n, input.n]).flatten(9)",
    "input.t.split('').map(c, input.t)",
    "'%s'.format([input.l])+'%s'.format([input.l])+'%s'.format([input.l])",
    "input.n.map(x, base64.encode(input.t))",
    "input.n.all(a, input.n.all(b, a + b >= 0))",
  ])("%s", (text) => {
    expect(reason(text, big, SMALL)).toMatch(/too large|takes too/);
  });

  test("even if && or ?? would continue", () => {
    const costly = "input.n.all(a, input.n.all(b, a + b >= 0))";
    expect(reason(`${costly} || true`, big, SMALL)).toContain("it takes too");
    expect(reason(`true || ${costly}`, big, SMALL)).toBe("it is true");
    expect(reason(`${costly} ?? 1`, big, SMALL)).toContain("it takes too");
  });

  test("while an ordinary one succeeds", () => {
    const limits = { ...SMALL, ms: 10_000 }; // A busy machine takes longer for the same steps.
    expect(evaluated("input.l.filter(x, x.id > 1).map(x, x.id).sum()", big, limits)).toBe(4498499);
  });
});
