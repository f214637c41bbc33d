import { expect, test } from "bun:test";
import { numberOf, shapeChart } from "../../src/base/chart-shape.ts";
import { suggestChart } from "../../src/base/chart-spec.ts";

const COLUMNS = [
  { name: "day", dataType: "DATE" },
  { name: "country", dataType: "VARCHAR" },
  { name: "total", dataType: "DECIMAL(8,2)" },
];
const ROWS = [
  { day: "2026-01-02", country: "CH", total: "1.5" },
  { day: "2026-01-01", country: "CH", total: "4" },
  { day: "2026-01-01", country: "DE", total: null },
  { day: "2026-01-02", country: "CH", total: "2" },
];

test("rows with the same x are combined, and split into series", () => {
  const spec = { kind: "bar", x: "day", y: ["total"], series: "country", sort: "x" } as const;
  expect(shapeChart(spec, COLUMNS, ROWS)).toEqual({
    x: "day",
    labels: ["2026-01-01", "2026-01-02"],
    keys: ["2026-01-01", "2026-01-02"],
    numbers: null,
    series: [
      { name: "CH", part: "CH", values: [4, 3.5] },
      { name: "DE", part: "DE", values: [null, null] },
    ],
    notes: [],
  });
  const values = (more: object) => shapeChart({ ...spec, ...more }, COLUMNS, ROWS)?.series[0]?.values;
  expect(values({ aggregate: "avg" })).toEqual([4, 1.75]);
  expect(values({ aggregate: "count", series: "", sort: "-x" })).toEqual([2, 2]);
  expect(values({ aggregate: "max", sort: "y" })).toEqual([2, 4]);
});

test("a number is from the first row, or from all rows if they are combined", () => {
  expect(numberOf({ kind: "number" }, COLUMNS, ROWS)).toBe(1.5);
  expect(numberOf({ kind: "number", aggregate: "sum" }, COLUMNS, ROWS)).toBe(7.5);
  expect(numberOf({ kind: "number", y: ["total"] }, COLUMNS, [])).toBeNull();
});

test("a chart says when it doesn't show all points or series", () => {
  const rows = Array.from({ length: 2500 }, (_, n) => ({ day: n, country: `c${n % 20}`, total: n }));
  const shaped = shapeChart({ kind: "line", x: "day", y: ["total"], series: "country" }, COLUMNS, rows);
  expect([shaped?.labels.length, shaped?.series.length]).toEqual([2000, 12]);
  expect(shaped?.notes).toEqual([
    { of: "points", shown: 2000, total: 2500 },
    { of: "series", shown: 12, total: 20 },
  ]);
});

test("a chart is suggested only for rows with numbers", () => {
  expect(suggestChart(COLUMNS, 4)).toEqual({ kind: "line", x: "day", y: ["total"] });
  expect(suggestChart(COLUMNS.slice(1), 4)?.kind).toBe("bar");
  expect(suggestChart(COLUMNS.slice(2), 1)).toEqual({ kind: "number", y: ["total"] });
  expect(suggestChart(COLUMNS.slice(0, 2), 4)).toBeNull();
});
