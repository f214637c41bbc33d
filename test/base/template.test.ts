import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { AppError } from "../../src/base/errors.ts";
import { Budget, SMALL } from "../../src/base/expression/budget.ts";
import { noUuid } from "../../src/base/expression/expression.ts";
import type { Json } from "../../src/base/json.ts";
import {
  isWholeTemplate,
  resolveTemplates,
  type Scope,
  sqlTemplate,
  templateFaults,
} from "../../src/base/template.ts";
import type { Template } from "../../src/base/template-grammar.ts";
import { lookUp } from "../../src/base/template-lookup.ts";

const scope: Scope = {
  payload: {
    a: { b: [10, { "odd key": "deep" }] },
    name: "Ada",
    count: 3,
    ok: true,
    nothing: null,
    list: [1, "x"],
    hostile: "{{payload.name}} #{process.exit(1)}",
  },
  headers: { "x-request-id": "r-1" },
  now: "2026-01-01T00:00:00.000Z",
};

const one = (text: string) => resolveTemplates(text, scope);
const valueIn =
  (scope: Scope) =>
  (template: Template): Json =>
    lookUp(template, scope, { budget: new Budget(SMALL), nextUuid: noUuid });

function failure(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("Nothing was thrown.");
}

describe("a template", () => {
  test("that is the whole text keeps the type of its value", () => {
    expect(one("{{payload.a.b[0]}}")).toBe(10);
    expect(one('{{ payload.a.b[1]["odd key"] }}')).toBe("deep");
    expect(one("{{payload.ok}}")).toBe(true);
    expect(one("{{payload.nothing}}")).toBeNull();
    expect(one("{{payload.list}}")).toEqual([1, "x"]);
    expect(one("{{payload.list.1}}")).toBe("x");
  });

  test("within text inserts texts unchanged, null as nothing, and the rest as JSON", () => {
    expect(one("Hi {{payload.name}}, {{payload.count}} {{payload.ok}} [{{payload.nothing}}]")).toBe(
      "Hi Ada, 3 true []",
    );
    expect(one("v={{payload.list}} o={{payload.a}}")).toBe('v=[1,"x"] o={"b":[10,{"odd key":"deep"}]}');
    expect(one(" {{payload.count}}")).toBe(" 3");
  });

  test("is filled in at every depth of a value, but not in keys", () => {
    const value = { "{{payload.name}}": [{ x: "{{payload.count}}" }, 7, null] };
    expect(resolveTemplates(value, scope)).toEqual({ "{{payload.name}}": [{ x: 3 }, 7, null] });
  });

  test("uses its default if the path is missing or null, and only then", () => {
    expect(one('{{payload.zip ?? "none"}}')).toBe("none");
    expect(one("{{payload.nothing ?? 0}}")).toBe(0);
    expect(one('{{payload.name ?? "none"}}')).toBe("Ada");
    expect(one('{{payload.x.y.z ?? {"a": [1, "}}", {"b": {}}]}}}')).toEqual({ a: [1, "}}", { b: {} }] });
    expect(one('<{{nobody ?? "{{payload.name}}"}}>')).toBe("<{{payload.name}}>");
  });

  test("can be a quoted text, so that braces can be written", () => {
    expect(one('{{"{{"}}name}}')).toBe("{{name}}");
  });

  test("begins with the last two of several braces", () => {
    expect(one('{"a":{{{"k"}}:{{payload.count}}}}')).toBe('{"a":{k:3}}');
  });

  test("finds headers in any case", () => {
    expect(one("{{headers.X-Request-Id}}")).toBe("r-1");
    expect(one('{{headers["X-REQUEST-ID"]}}')).toBe("r-1");
  });

  test("without a value fails with the path, the missing part and the place", () => {
    const error = failure(() => resolveTemplates({ url: ["a", "{{payload.a.c.d}}"] }, scope));
    expect(error.code).toBe("template_error");
    expect(error.message).toBe('url.1: Template {{payload.a.c.d}} has no value: payload.a has no "c".');
    expect(error.details).toEqual({
      template: "{{payload.a.c.d}}",
      missing: "payload.a.c",
      path: ["url", "1"],
    });
    expect(failure(() => one("{{paylaod.a}}")).message).toContain("unknown name paylaod");
    expect(failure(() => resolveTemplates("{{payload.a}}", {})).message).toContain(
      "this run has no payload, because no webhook",
    );
    expect(failure(() => one("{{payload.nothing.x}}")).message).toContain(
      'payload.nothing is null and has no "x"',
    );
    expect(failure(() => one("{{payload.a.b[9]}}")).message).toContain(
      'payload.a.b is a list of 2 and has no "9"',
    );
  });

  test("accesses nothing but data", () => {
    const own = JSON.parse('{"payload":{"__proto__":"mine","list":[1],"text":"abc"}}') as Scope;
    expect(resolveTemplates("{{payload.__proto__}}", own)).toBe("mine");
    for (const path of [
      "payload.constructor",
      'payload["constructor"]',
      "payload.list.length",
      "payload.list.map",
      "payload.text[0]",
      "payload.text.length",
      "payload.list[00]x",
      "constructor",
      "__proto__",
      "toString",
    ]) {
      expect(failure(() => resolveTemplates(`{{${path}}}`, own)).code).toBe("template_error");
    }
    const made = resolveTemplates(JSON.parse('{"__proto__":{"x":"{{payload.text}}"}}'), own) as object;
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
    expect(JSON.stringify(made)).toBe('{"__proto__":{"x":"abc"}}');
  });

  test("passes any JSON through unchanged", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const found = resolveTemplates("{{payload}}", { payload: value as Json });
        expect(JSON.stringify(found)).toBe(JSON.stringify(value));
      }),
    );
  });

  test("finds any key in brackets", () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (key, value) => {
        const payload = Object.fromEntries([[key, value as Json]]);
        const found = resolveTemplates(`{{payload[${JSON.stringify(key)}]}}`, { payload });
        expect(JSON.stringify(found)).toBe(JSON.stringify(value));
      }),
    );
  });

  test("inserts text that looks like a template without evaluating it", () => {
    expect(one("{{payload.hostile}}")).toBe("{{payload.name}} #{process.exit(1)}");
    const hostile = fc.array(fc.constantFrom("{{payload.a}}", "{{", "}}", "x", '"', "??", "{", "$1", "$&"));
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        const payload = { a: a.join(""), b: b.join("") };
        expect(resolveTemplates("<{{payload.a}}|{{payload.b}}>", { payload })).toBe(
          `<${payload.a}|${payload.b}>`,
        );
      }),
    );
  });

  test("that is invalid is reported, with its beginning", () => {
    for (const text of [
      "{{",
      "{{}}",
      "{{payload",
      "{{payload.}}",
      "{{payload.a + }}",
      "{{payload.a()}}",
      "{{payload.a.round(1, 2)}}",
      "{{payload[a]}}",
      "{{payload ?? }}",
      "{{payload ?? [1,}}",
      "{{payload}",
      "a {{1u}}",
      '{{payload["a]}}',
    ]) {
      expect([text, failure(() => one(text)).code]).toEqual([text, "template_error"]);
      expect(templateFaults({ x: [text] })).toEqual([{ path: ["x", "0"], message: expect.any(String) }]);
    }
    expect(templateFaults("{{payload.a +}}")[0]?.message).toBe(
      'Invalid template {{payload.a +}}: unexpected } (at character 12, "}}").',
    );
    expect(templateFaults("{{payload.a.rounded()}}")[0]?.message).toBe(
      'Invalid template {{payload.a.rounded()}}: unknown function rounded (at character 11, "rounded()").',
    );
    expect(templateFaults("{{payload ?? x}}")[0]?.message).toContain("unknown name x");
    expect(templateFaults("{{paylod.a + 1}}")[0]?.message).toContain(
      "unknown name paylod. Use payload, headers,",
    );
  });

  test("with a megabyte of opening braces is parsed quickly", () => {
    for (const text of [
      "{".repeat(1_000_000),
      '{{payload ?? "'.padEnd(1_000_000, "{"),
      "{{a ?? [".padEnd(1_000_000, "["),
    ]) {
      expect(templateFaults(text)).toHaveLength(1);
      expect(isWholeTemplate(`${text}}}`)).toBe(false);
    }
    expect(templateFaults("{{payload}}".repeat(90_000))).toEqual([]);
  });

  test("can't expand a payload beyond what memory holds", () => {
    const payload = Array.from({ length: 10_000 }, () => "x".repeat(100));
    const definition = { text: "{{payload}}".repeat(100) };
    expect(failure(() => resolveTemplates(definition, { payload })).message).toContain("more than 64 MiB");
    const many = Array.from({ length: 100 }, () => "{{payload}}");
    expect(failure(() => resolveTemplates(many, { payload })).message).toContain("more than 64 MiB");
  });

  test("is the whole text only if nothing is next to it", () => {
    for (const text of ["{{payload}}", "{{ payload.a ?? 1 }}", '{{payload["}}"]}}']) {
      expect(isWholeTemplate(text)).toBe(true);
    }
    for (const value of ["{{a}}{{b}}", " {{a}}", "{{a", "a", "", 1, null, {}, "{{a b}}", "{{{a}}"]) {
      expect(isWholeTemplate(value)).toBe(false);
    }
  });

  test("is left alone in skipped fields", () => {
    const value = { branches: [{ when: "{{not read", key: "{{payload.name}}" }] };
    const skip = [["branches", "*", "when"]];
    expect(resolveTemplates(value, scope, { skip })).toEqual({
      branches: [{ when: "{{not read", key: "Ada" }],
    });
    expect(templateFaults(value, { skip })).toEqual([]);
  });
});

describe("a template in SQL", () => {
  const bound = (sql: string, taken: string[] = []) => sqlTemplate(sql, valueIn(scope), taken);

  test("becomes a parameter with the type of its value", () => {
    expect(bound("SELECT * FROM t WHERE a > {{payload.count}} AND b = {{payload.name}}")).toEqual({
      sql: "SELECT * FROM t WHERE a > $weir_1 AND b = $weir_2",
      parameters: { weir_1: 3, weir_2: "Ada" },
    });
  });

  test("in quotes makes the whole quoted text one parameter", () => {
    expect(bound("a = '{{payload.count}}' AND b LIKE 'it''s %{{payload.name}}%'")).toEqual({
      sql: "a = $weir_1 AND b LIKE $weir_2",
      parameters: { weir_1: "3", weir_2: "it's %Ada%" },
    });
    expect(bound("a = '{{payload.nothing}}' OR a = '[{{payload.nothing}}]'").parameters).toEqual({
      weir_1: null,
      weir_2: "[]",
    });
    expect(bound(`a = '{{payload.zip ?? "it's"}}' AND b = 'x'`)).toEqual({
      sql: "a = $weir_1 AND b = 'x'",
      parameters: { weir_1: "it's" },
    });
  });

  test("in a typed text becomes a cast", () => {
    expect(bound("d >= DATE '{{now}}' - interval  '{{payload.count}} days'").sql).toBe(
      "d >= CAST($weir_1 AS DATE) - CAST($weir_2 AS INTERVAL)",
    );
  });

  test("never becomes part of the statement's text, whatever the value", () => {
    fc.assert(
      fc.property(fc.string(), (x) => {
        const { sql, parameters } = sqlTemplate(
          "a = {{payload.x}} OR b = '{{payload.x}}'",
          valueIn({ payload: { x } }),
          [],
        );
        expect(sql).toBe("a = $weir_1 OR b = $weir_2");
        expect(parameters).toEqual({ weir_1: x, weir_2: x });
      }),
    );
  });

  test("uses unique parameter names", () => {
    expect(bound("a = {{payload.name}} AND b = $weir_2 AND c = {{payload.count}}", ["weir_1"])).toEqual({
      sql: "a = $weir_3 AND b = $weir_2 AND c = $weir_4",
      parameters: { weir_3: "Ada", weir_4: 3 },
    });
  });

  test("is rejected in names, comments and other kinds of quotes", () => {
    for (const sql of [
      'SELECT "{{payload.name}}"',
      'SELECT "a"" {{payload.name}}"',
      "SELECT `{{payload.name}}`",
      "SELECT 1 -- {{payload.name}}",
      "SELECT /* a /* b */ {{payload.name}} */ 1",
      "SELECT $$ {{payload.name}} $$",
      "SELECT $x$ {{payload.name}} $x$",
      "SELECT E'\\' {{payload.name}}'",
      "SELECT x'{{payload.name}}'",
      "SELECT * FROM raw.{{payload.name}}",
      "SELECT * FROM t_{{payload.name}}",
      "SELECT {{payload.name}}_x",
      "SELECT {{payload.name}}{{payload.count}}",
      "SELECT '{{payload.name}}",
      "SELECT {{payload.name",
    ]) {
      expect(failure(() => bound(sql)).code).toBe("template_error");
      expect(templateFaults({ sql }, { sql: [["sql"]] })).toHaveLength(1);
    }
  });

  test("leaves everything around it unchanged", () => {
    const around = "/* it's */ SELECT 'a''b', \"c'd\", e'\\'', $q$ ' $q$ -- '\n, {'a': {'b': 1}}, ";
    expect(bound(`${around}{{payload.count}}::INT`)).toEqual({
      sql: `${around}$weir_1::INT`,
      parameters: { weir_1: 3 },
    });
  });

  test("is added to the parameters next to its field, which stay the same", () => {
    const definition = { sql: "SELECT {{payload.name}}, $mine", parameters: { mine: "{{payload.count}}" } };
    expect(resolveTemplates(definition, scope, { sql: [["sql"]] })).toEqual({
      sql: "SELECT $weir_1, $mine",
      parameters: { mine: 3, weir_1: "Ada" },
    });
    const extract: Json = {
      resources: [{ name: "{{payload.name}}", where: "a > '{{now}}'" }, { where: "b" }],
    };
    expect(resolveTemplates(extract, scope, { sql: [["resources", "*", "where"]] })).toEqual({
      resources: [
        { name: "Ada", where: "a > $weir_1", parameters: { weir_1: "2026-01-01T00:00:00.000Z" } },
        { where: "b" },
      ],
    });
  });

  test("reports the field in which it fails", () => {
    const error = failure(() =>
      resolveTemplates({ sql: "SELECT {{payload.no}}" }, scope, { sql: [["sql"]] }),
    );
    expect(error.details?.path).toEqual(["sql"]);
    expect(error.message).toContain('payload has no "no"');
  });
});

describe("a template within a URL", () => {
  const url = (text: string, value: Json) =>
    resolveTemplates({ url: text }, { payload: { id: value, name: "Grace" } }, { url: [["url"]] }) as {
      url: string;
    };

  test.each<[string, Json, string]>([
    [
      "https://a.example/orders/{{payload.id}}/lines",
      "../admin?x=1#y",
      "/orders/..%2Fadmin%3Fx%3D1%23y/lines",
    ],
    ["https://a.example/orders/{{payload.id}}", 17, "/orders/17"],
    ["https://a.example/orders?q={{payload.id}}&b=1", "a&b=2 é", "/orders?q=a%26b%3D2%20%C3%A9&b=1"],
    ["https://a.example/v{{payload.id}}.json", "..", "/v...json"],
    ["https://a.example/orders?q={{payload.id}}", "..", "/orders?q=.."],
    ["https://a.example/orders?q={{payload.id}}", null, "/orders?q="],
    ["https://a.example/orders#{{payload.id}}", "", "/orders#"],
    ["https://a.example/orders-{{payload.id}}//", null, "/orders-//"],
    ["https://a.example/{{payload.id}}{{payload.name}}", null, "/Grace"],
    ["https://a.example/orders?q={{payload.id}}", { a: 1 }, "/orders?q=%7B%22a%22%3A1%7D"],
  ])("%s with %j is one segment or one value", (text, value, rest) => {
    expect(url(text, value)).toEqual({ url: `https://a.example${rest}` });
  });

  test.each<[string, Json]>([
    ["https://a.example/orders/{{payload.id}}", ".."],
    ["https://a.example/orders/{{payload.id}}/lines", "."],
    ["https://a.example/orders/.{{payload.id}}?x=1", "."],
    ["{{payload.id}}/orders", "https://evil.example"],
    ["https://a.example/orders/{{payload.id}}", null],
    ["https://a.example/orders/{{payload.id}}/lines", ""],
    ["https://a.example/orders/{{payload.id}}{{payload.id}}?x=1", null],
    ["https://{{payload.id}}/orders", ""],
  ])("%s with %j is rejected", (text, value) => {
    const { code, details } = failure(() => url(text, value));
    expect([code, details?.path]).toEqual(["template_error", ["url"]]);
  });

  test("that leaves a segment empty is named", () => {
    const { message } = failure(() => url("https://a.example/orders/{{payload.id}}", null));
    expect(message).toContain("{{payload.id}} is empty");
  });

  test("is the URL itself if it is the whole text", () => {
    expect(url("{{payload.id}}", "https://a.example/x?y=1")).toEqual({ url: "https://a.example/x?y=1" });
  });

  test("can't change the host, the path before it or query names, whatever its value", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        fc.pre(!/^\.{0,2}$/.test(value));
        const made = new URL(url("https://a.example/orders/{{payload.id}}/x?q={{payload.id}}#f", value).url);
        expect(made.host + made.hash).toBe("a.example#f");
        expect(made.pathname.split("/")).toEqual(["", "orders", expect.any(String), "x"]);
        expect([...made.searchParams.entries()]).toEqual([["q", value.toWellFormed()]]);
        expect(decodeURIComponent(made.pathname.split("/")[2] ?? "")).toBe(value.toWellFormed());
      }),
    );
  });
});
