import { expect, test } from "bun:test";
import { askOf, chartOf, kindOf, type Question, questionOf, sqlOf } from "../../web/parts/sql/question.ts";

const QUESTION: Question = {
  table: "raw.shop__orders",
  filters: [
    { column: "total", kind: "number", test: ">=", value: "9007199254740993.10" },
    { column: "country", kind: "string", test: "!=", value: "Côte d'Ivoire" },
    { column: 'the "note"', kind: "string", test: "contains", value: "$now" },
    { column: "created", kind: "time", test: "last", value: "30" },
    { column: "is_paid", kind: "boolean", test: "true", value: "" },
    { column: "country", kind: "string", test: "=", value: "" },
    { column: "total", kind: "number", test: "=", value: "1 OR 1=1" },
    { column: "created", kind: "time", test: "<", value: "'; SELECT 1" },
  ],
  measures: [
    { fn: "sum", column: "total" },
    { fn: "count", column: "" },
    { fn: "count", column: "" },
    { fn: "avg", column: "" },
  ],
  groups: [
    { column: "created", kind: "time", by: "month" },
    { column: "country", kind: "string", by: null },
  ],
};

test("a question becomes SQL whose values are what was typed, and without conditions that have none", () => {
  expect(sqlOf(QUESTION)).toBe(`SELECT
  CAST(date_trunc('month', "created") AS DATE) AS "created: month",
  "country" AS "country",
  sum("total") AS "sum(total)",
  count(*) AS "count"
FROM raw.shop__orders
WHERE "total" >= 9007199254740993.10
  AND "country" IS DISTINCT FROM 'Côte d''Ivoire'
  AND contains(lower("the ""note"""), lower('$now'))
  AND "created" >= current_date - INTERVAL 30 DAY
  AND "is_paid"
GROUP BY ALL
ORDER BY 1, 2`);
});

test("its chart fits: lines over time with a series, ranked bars by text, one number without groups, rows else", () => {
  const [time, country] = QUESTION.groups;
  expect(chartOf(QUESTION)).toEqual({
    kind: "line",
    x: "created: month",
    y: ["sum(total)"],
    series: "country",
  });
  const ranked = { ...QUESTION, groups: country ? [country] : [] };
  expect(chartOf(ranked)).toEqual({ kind: "bar", x: "country", y: ["sum(total)", "count"] });
  expect(sqlOf(ranked)).toEndWith("ORDER BY 2 DESC");
  expect(chartOf({ ...QUESTION, groups: [], measures: [{ fn: "count", column: "" }] })).toEqual({
    kind: "number",
    y: ["count"],
  });
  expect(chartOf({ ...askOf("raw.a"), groups: time ? [time] : [] })).toBeNull();
  expect(sqlOf(askOf("raw.a"))).toBe("SELECT *\nFROM raw.a");
});

test("a query of a whole table opens as a question, any other as none", () => {
  expect(questionOf("SELECT *\nFROM raw.shop__orders\nLIMIT 100").table).toBe("raw.shop__orders");
  expect(questionOf("SELECT * FROM raw.a WHERE x = 1").table).toBe("");
});

test("lists and intervals have no tests of their items, and a UUID is compared only with a UUID", () => {
  const kinds = ["DATE[]", "INTEGER[3]", "INTERVAL", "UUID", "DECIMAL(10,2)", "TIMESTAMP WITH TIME ZONE"];
  expect(kinds.map((dataType) => kindOf({ name: "a", dataType }))).toEqual([
    "other",
    "other",
    "other",
    "uuid",
    "number",
    "time",
  ]);
  const id = "01890a5d-ac96-774b-bcce-b302099a8057";
  const filters = [id, "x"].map((value) => ({ column: "id", kind: "uuid", test: "=", value }) as const);
  expect(sqlOf({ ...askOf("raw.a"), filters })).toBe(`SELECT *\nFROM raw.a\nWHERE "id" = '${id}'`);
});

test("a measure never has the name of a group", () => {
  const question: Question = {
    ...askOf("raw.a"),
    measures: [{ fn: "count", column: "" }],
    groups: [{ column: "Count", kind: "number", by: null }],
  };
  expect(sqlOf(question)).toContain('"Count" AS "Count",\n  count(*) AS "count (total)"');
  expect(chartOf(question)).toEqual({ kind: "bar", x: "Count", y: ["count (total)"] });
});
