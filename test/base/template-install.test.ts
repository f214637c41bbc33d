import { describe, expect, test } from "bun:test";
import { AppError } from "../../src/base/errors.ts";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { resolveTemplates } from "../../src/base/template.ts";
import { fillOnce, type Places } from "../../src/base/template-install.ts";
import { valueIn } from "../../src/resources/template-library/inputs.ts";

/** Fills in the value as when it is installed. */
const install = (value: Json, inputs: JsonObject, places: Places = {}) =>
  fillOnce(value, { names: ["inputs"], look: valueIn({ inputs }) }, places);

const LIVE = { live: [[]] };

/** Fills in the value as when it is installed, and then as at a run with this payload. */
const run = (value: Json, inputs: JsonObject, payload: Json = "the payload") =>
  resolveTemplates(install(value, inputs, LIVE), { payload });

function failureOf(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("It did not fail.");
}

describe("filling in at install", () => {
  test("keeps the type of values, and inserts texts into texts", () => {
    const value = { n: "{{inputs.n}}", list: ["{{inputs.list}}"], text: "a{{inputs.n}}b{{ inputs.o }}c" };
    expect(install(value, { n: 7, list: [1, { a: null }], o: { k: true } })).toEqual({
      n: 7,
      list: [[1, { a: null }]],
      text: 'a7b{"k":true}c',
    });
  });

  test("keeps all other templates for the run, as written", () => {
    const value = { a: "{{payload.x}}", b: '{{ steps.s.result ?? "d" }} {{inputs.n}}', c: '{{"{{"}}' };
    expect(install(value, { n: 1 }, LIVE)).toEqual({ ...value, b: '{{ steps.s.result ?? "d" }} 1' });
  });

  test("uses a fallback for a missing value, and leaves out a field without one", () => {
    expect(install({ a: "{{inputs.a ?? 5}}", b: "{{inputs.b}}", c: { d: "{{inputs.d}}" } }, {})).toEqual({
      a: 5,
      c: {},
    });
    const error = failureOf(() => install({ a: { b: "x {{inputs.b}}" } }, {}));
    expect(error).toMatchObject({
      code: "template_error",
      details: { path: ["a", "b"], missing: "inputs.b" },
    });
    expect(failureOf(() => install(["{{inputs.b}}"], {})).details).toMatchObject({ path: ["0"] });
  });

  test("accesses own fields only", () => {
    for (const path of [
      "inputs.__proto__.x",
      "inputs.constructor.name",
      "inputs.a.constructor",
      "inputs.a.length",
    ]) {
      expect(() => install(`x {{${path}}}`, { a: "text" })).toThrow(AppError);
    }
  });
});

describe("an inserted value", () => {
  const hostile = [
    "{{payload}}",
    "{{{payload}}}",
    "{{",
    "{",
    "}}",
    "{{{{",
    '{{"{{"}}',
    "{{inputs.secret}}",
    "{payload}}",
    "{{payload",
    '"}} {{payload}} {{"',
    "a{b{{c{{{d{{{{e",
  ];

  test.each(hostile)("is never a template of the run: %s", (text) => {
    expect(run("{{inputs.x}}", { x: text })).toBe(text);
    expect(run("a {{inputs.x}} b", { x: text })).toBe(`a ${text} b`);
    expect(run({ deep: ["{{inputs.x}}"] }, { x: { list: [text, { [text]: text }] } })).toEqual({
      deep: [{ list: [text, { [text]: text }] }],
    });
  });

  test.each(hostile)("doesn't become one with the text around it: %s", (text) => {
    expect(run("{{{inputs.x}}", { x: text })).toBe(`{${text}`);
    expect(run("{{inputs.x}}{payload}}", { x: text })).toBe(`${text}{payload}}`);
    expect(run("{{inputs.x}}{{inputs.y}}", { x: text, y: "{payload}}" })).toBe(`${text}{payload}}`);
    expect(run("{{inputs.x}}{{payload}}{{inputs.x}}", { x: text })).toBe(`${text}the payload${text}`);
  });

  test("stays unchanged if nothing is filled in later", () => {
    for (const text of hostile) {
      expect(install({ path: "{{inputs.x}}", more: "a{{inputs.x}}" }, { x: text })).toEqual({
        path: text,
        more: `a${text}`,
      });
    }
    expect(install('a {{"{{"}} b', {})).toBe("a {{ b");
  });

  test("can't grow without limit", () => {
    const value = Array.from({ length: 100 }, () => "{{inputs.x}}");
    expect(failureOf(() => install(value, { x: "y".repeat(1024 * 1024) })).message).toContain("16 MiB");
  });
});

describe("in SQL", () => {
  const places = { live: [[]], sql: [["sql"]] };
  const runSql = (sql: string, inputs: JsonObject, payload: Json) =>
    resolveTemplates(
      install({ sql, parameters: { mine: 1 } }, inputs, places),
      { payload },
      { sql: [["sql"]] },
    );

  test("values become parameters, next to those of the run", () => {
    expect(
      runSql("SELECT {{inputs.a}}, {{payload.b}}, '%{{inputs.c}}%'", { a: [1], c: "'; DROP" }, { b: 2 }),
    ).toEqual({
      sql: "SELECT $weir_1, $weir_3, $weir_2",
      parameters: { mine: 1, weir_1: [1], weir_2: "%'; DROP%", weir_3: 2 },
    });
  });

  test("a quoted text may contain both, and braces of an input stay braces", () => {
    expect(
      runSql(
        "SELECT '{{inputs.a}} and {{payload}}', DATE '{{inputs.day}}', {{inputs.a}}",
        {
          a: "{{payload}}",
          day: "2026-01-01",
        },
        "P",
      ),
    ).toEqual({
      sql: "SELECT $weir_1, CAST($weir_2 AS DATE), $weir_3",
      parameters: { mine: 1, weir_1: "{{payload}} and P", weir_2: "2026-01-01", weir_3: "{{payload}}" },
    });
  });

  test("only null stays NULL, and no template is part of a name", () => {
    expect(runSql("SELECT '{{inputs.a}}'", { a: null }, 0)).toMatchObject({ parameters: { weir_1: null } });
    expect(() => install({ sql: "SELECT * FROM t_{{inputs.a}}" }, { a: "x" }, places)).toThrow(AppError);
    expect(() => install({ sql: 'SELECT "{{inputs.a}}"' }, { a: "x" }, places)).toThrow(AppError);
  });
});

describe("in conditions", () => {
  const places = { live: [[]], conditions: [["when"]] };
  const fill = (when: string, inputs: JsonObject) => install({ when }, inputs, places);

  test("values become literals", () => {
    expect(fill("payload.a >= {{inputs.n}} && payload.b in {{inputs.l}}", { n: 3, l: ["x", 'y"'] })).toEqual({
      when: 'payload.a >= 3 && payload.b in ["x","y\\""]',
    });
    expect(fill("payload.a == {{inputs.s}}", { s: '" || true || "' })).toEqual({
      when: 'payload.a == "\\" || true || \\""',
    });
  });

  test("no value can end the quotes around it, and CEL braces are left alone", () => {
    const error = failureOf(() => fill("payload.a == '{{inputs.s}}'", { s: "' || true || '" }));
    expect(error.message).toContain("Remove the quotes around");
    expect(fill("{'a': {'b': 1}}.a.b == payload.x && '{{payload}}' != ''", {})).toEqual({
      when: "{'a': {'b': 1}}.a.b == payload.x && '{{payload}}' != ''",
    });
  });
});
