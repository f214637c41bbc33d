import { expect, test } from "bun:test";
import { readPieces } from "../../src/base/template-grammar.ts";
import { fitting, inputPaths, openTemplate, pathsIn } from "../../web/parts/editor/template-paths.ts";

test("every value of a run is named as in templates, and as in conditions", () => {
  const paths = pathsIn({
    payload: { "odd key": 1, items: [{ sku: "x" }, { sku: "y" }], empty: [] },
    steps: { "load-all": { result: { rows: 3 } } },
  });
  expect(paths.map(({ path }) => path)).toEqual([
    "payload",
    'payload["odd key"]',
    "payload.items",
    "payload.items[0]",
    "payload.items[0].sku",
    "payload.empty",
    "steps",
    "steps.load-all",
    "steps.load-all.result",
    "steps.load-all.result.rows",
  ]);
  expect(paths.at(-1)).toEqual({
    path: "steps.load-all.result.rows",
    condition: 'steps["load-all"].result.rows',
    shows: "3",
  });
  for (const { path } of paths) expect(readPieces(`{{${path}}}`)).toHaveLength(1);
});

test("a script's input contains what its templates named in the last run", () => {
  const paths = pathsIn({ steps: { load: { result: { rows: [{ "odd id": 1 }] } } }, stepsTaken: 1 });
  const named = (input: unknown) => inputPaths(input, paths).map(({ path }) => path);
  expect(named("{{ steps.load.result }}")).toEqual([
    "input",
    "input.rows",
    "input.rows[0]",
    'input.rows[0]["odd id"]',
  ]);
  expect(named({ all: "{{steps.load.result.rows}}", "a-b": 1 })).toEqual([
    "input",
    "input.all",
    "input.all[0]",
    'input.all[0]["odd id"]',
    'input["a-b"]',
  ]);
  expect(named("{{steps}}")).not.toContain("inputTaken");
  expect(named("{{nothing.there}}")).toEqual(["input"]);
});

test("only some of many values are named", () => {
  const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, { a: { b: at } }]));
  expect(pathsIn({ wide, again: wide, more: wide, last: wide, end: wide }).length).toBeLessThanOrEqual(700);
  let deep: object = {};
  for (let at = 0; at < 100; at++) deep = { deep };
  expect(pathsIn(deep as Record<string, unknown>).length).toBeLessThan(20);
});

test("a template is open from its braces to its end", () => {
  const at = (text: string) => openTemplate(text, text.length);
  expect([
    at("a {{pay"),
    at("a {{ pay"),
    at("{{"),
    at("{{a}} {{b"),
    at("a {{b}} c"),
    at("{ b"),
    at(""),
  ]).toEqual([4, 5, 2, 8, -1, -1, -1]);
});

test("matches at the beginning come before matches inside", () => {
  const of = ["steps", "steps.load", "payload.steps"].map((name) => ({ name }));
  expect(fitting(of, "STE", 8).map(({ name }) => name)).toEqual(["steps", "steps.load", "payload.steps"]);
  expect(fitting(of, "x", 8)).toEqual([]);
});
