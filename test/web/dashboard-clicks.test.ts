import { expect, test } from "bun:test";
import { type Clicked, filtersFor } from "../../web/parts/dashboards/clicks.ts";

const filter = (key: string, type: Clicked["filters"][number]["type"], options: string[] | null = null) => ({
  key,
  label: key,
  type,
  default: null,
  options,
});
const clicked = (dates: readonly string[], clickFilters: Clicked["clickFilters"] = {}): Clicked => ({
  filters: [
    filter("country", "choice", ["CH", "DE"]),
    filter("period", "date_range"),
    filter("day", "date"),
    filter("total", "number"),
  ],
  choices: {},
  clickFilters,
  valuesIn: () => dates,
});

test("a click sets the filter named like the column, or by the panel, if it accepts the value", () => {
  const set = (column: string, value: unknown, clickFilters = {}) =>
    filtersFor([{ column, value }], clicked([], clickFilters));
  expect(set("country", "CH")).toEqual({ country: "CH" });
  expect(set("land", "CH", { land: "country" })).toEqual({ country: "CH" });
  expect(set("country", "CH", { country: null })).toEqual({});
  expect(set("country", "FR")).toEqual({});
  expect(set("country", null)).toEqual({});
  expect(set("total", "12.50")).toEqual({ total: "12.50" });
  expect(set("total", "many")).toEqual({});
  expect(set("day", "2026-01-05T00:00:00Z")).toEqual({ day: "2026-01-05" });
  expect(set("other", "x")).toEqual({});
});

test("a date means its day, or the week, month or year if all dates of the panel begin one", () => {
  const range = (...dates: string[]) =>
    filtersFor([{ column: "period", value: dates[0] }], clicked(dates)).period_to;
  expect(range("2026-01-05", "2026-01-06")).toBe("2026-01-05");
  expect(range("2026-01-05", "2026-01-19", "2026-01-12")).toBe("2026-01-11");
  expect(range("2026-02-01", "2026-04-01")).toBe("2026-02-28");
  expect(range("2024-01-01", "2025-01-01")).toBe("2024-12-31");
  expect(range("2026-01-01")).toBe("2026-01-01");
});
