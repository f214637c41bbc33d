import { expect, test } from "bun:test";
import { tableName } from "../../../src/executors/extract/plan.ts";

test("a resource without a name is loaded into a table with its own name, without schema, folder or extension", () => {
  for (const [spec, table] of [
    ["orders", "orders"],
    ["public.orders", "orders"],
    ['shop."we""ird"', "we_ird"],
    ['"my.schema"."a/b.csv"', "a_b_csv"],
    ["orders.jsonl", "orders"],
    ["/2026/Order Lines.csv.gz", "order_lines"],
    ["in/orders-*.parquet", "orders"],
    ["in/customers/**/*.csv", "customers"],
    ["exports/{a,b}/*.json", "exports"],
    ["*.csv", "x_csv"],
    ["in/a \\[1\\] \\*.csv", "a_1"],
  ] as const) {
    expect([spec, tableName({ spec })]).toEqual([spec, table]);
  }
  expect(tableName({ name: "Named", spec: "public.orders" })).toBe("named");
});
