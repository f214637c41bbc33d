import { expect, test } from "bun:test";
import { type Cell, isSame, type Kind } from "./canon.ts";
import type { Exact } from "./parquet.ts";
import { toldOf } from "./told.ts";

test.each<[Kind, Cell, string, Exact]>([
  ["number", "1.50", "decimal", "1.5000000000"],
  ["number", "1e45", "double", "1e+45"],
  ["number", "Infinity", "double", "Infinity"],
  ["number", "1.6031082e+06", "float", "1603108.3"],
  ["timestamptz", "2026-01-02 03:04:05.000001+05:30", "timestamptz", "2026-01-01 21:34:05.000001+00"],
  ["date", "0044-03-15 BC", "date", "-0043-03-15"],
  ["number", ["1.10", null], "json", '["1.10",null]'],
  ["json", '{ "a" : 1.0 }', "json", '{"a":1.0}'],
  ["written", "1.10", "decimal", "1.1000"],
  ["written", "007", "text", "007"],
  ["raw", "1e5", "json", "100000"],
  ["raw", '"2026-01-02T03:04:05Z"', "timestamptz", "2026-01-02 03:04:05+00"],
])("%s %p arrived as %s %p", (kind, cell, type, value) => {
  expect(isSame(kind, cell, type, value)).toBe(true);
});

test.each<[Kind, Cell, string, Exact]>([
  ["number", "12345678901234567890.5", "double", "12345678901234567000"],
  ["number", "0", "double", "-0"],
  ["number", "0", "float", "-0"],
  ["number", "16777217", "float", "16777216"],
  ["number", "NaN", "decimal", null],
  ["timestamp", "2026-01-02 03:04:05", "timestamptz", "2026-01-02 03:04:05+00"],
  ["timestamptz", "2026-01-02 03:04:05.000001+00", "timestamptz", "2026-01-02 03:04:05+00"],
  ["bytes", "\\x00ff", "text", "00ff"],
  ["json", '{"a":1.0}', "json", '{"a":1}'],
  ["text", "a ", "text", "a"],
  ["written", "007", "bigint", "7"],
  ["written", "1e5", "double", "100000"],
  ["written", "yes", "bool", "true"],
  ["written", "2026/01/02", "date", "2026-01-02"],
  ["written", "2026-01-02 03:04:05", "timestamptz", "2026-01-02 03:04:05+00"],
  ["raw", '"1"', "bigint", "1"],
  ["raw", "-0", "bigint", "0"],
])("%s %p did not arrive as %s %p", (kind, cell, type, value) => {
  expect(isSame(kind, cell, type, value)).toBe(false);
});

test("a warning counts for the column that it names", () => {
  const warnings = [
    'orders.amount: 3 values became NULL (not a number): "NaN", "12 values"',
    "orders_2.amount: 5 values",
  ];
  const told = { warnings, tables: [] };
  expect([
    toldOf(told, "orders", "amount"),
    toldOf(told, "orders", "amoun"),
    toldOf(told, "orders_2", "amount"),
  ]).toEqual([3, 0, 5]);
});
