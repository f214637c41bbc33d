import { expect, test } from "bun:test";
import fc from "fast-check";
import { Budget, LARGE } from "../../src/base/expression/budget.ts";
import { evaluateJson } from "../../src/base/expression/expression.ts";
import type { JsonObject } from "../../src/base/json.ts";

const evaluated = (text: string, payload: JsonObject) =>
  evaluateJson(text, { payload }, { budget: new Budget(LARGE), nextUuid: () => "" });

const cell = fc.oneof(
  fc.string({ unit: fc.constantFrom('"', ",", ";", " ", "\r", "\n", "a", "é", "=", "\uFEFF") }),
  fc.string({ unit: "grapheme" }),
);

test("csv.parse reads what csv.text wrote", () => {
  const tables = fc
    .uniqueArray(cell, { minLength: 1, maxLength: 4 })
    .chain((names) => fc.array(fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), cell)))));
  fc.assert(
    fc.property(tables, fc.constantFrom(",", ";", "\t", " ", "😀"), (table, delimiter) => {
      const rows = table.map((fields): JsonObject => Object.fromEntries(fields));
      const text = "csv.parse(csv.text(payload.rows, payload.options), payload.options)";
      expect(evaluated(text, { rows, options: { delimiter } })).toEqual(rows);
    }),
  );
});

test("csv.parse reads rows of lines that end in different ways", () => {
  const field = fc.string({ unit: fc.constantFrom("a", "b", " ", "'") });
  const row = fc.tuple(field, field, fc.constantFrom("\n", "\r\n", "\r", "\n\n", "\r\n\r", "\n\r"));
  fc.assert(
    fc.property(fc.array(row), (lines) => {
      const csv = lines.map(([a, b, end]) => `${a},"${b}"${end}`).join("");
      const rows = lines.map(([a, b]) => [a, b]);
      expect(evaluated('csv.parse(payload.csv, {"header": false})', { csv })).toEqual(rows);
    }),
  );
});

test("a sum of decimals is rounded once, whatever their signs", () => {
  const part = fc.integer({ min: -(2 ** 40), max: 2 ** 40 });
  fc.assert(
    fc.property(fc.array(part, { minLength: 1 }), (parts) => {
      const list = parts.map((each) => each / 1024);
      const exact = parts.reduce((sum, each) => sum + each, 0) / 1024;
      expect(evaluated("payload.list.sum()", { list })).toBe(exact + 0);
      expect(evaluated("payload.list.avg()", { list })).toBe(exact / list.length + 0);
    }),
  );
});
