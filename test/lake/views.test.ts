import { expect, test } from "bun:test";
import type { LakeTable } from "../../src/lake/contract.ts";
import { sqlTables } from "../../src/lake/views.ts";

const table = (layer: string, dataset: string, name: string, file?: string): LakeTable => ({
  layer,
  dataset,
  table: name,
  columns: [],
  files: file ? [{ id: file, path: file, rows: 1, bytes: 1, loadId: "l" }] : [],
  rows: 0,
  bytes: 0,
  version: 1,
});

const lake = { localPath: async ({ path }: { path: string }) => `/lake/${path}` };

test("SQL sees dataset__table, or just the dataset's name for the table with its name", async () => {
  const tables = await sqlTables(lake, [
    table("raw", "shop", "orders", "a"),
    table("marts", "sales", "sales"),
  ]);
  expect(tables.map((t) => [`${t.layer}.${t.name}`, t.files])).toEqual([
    ["raw.shop__orders", ["/lake/a"]],
    ["marts.sales", []],
    ["marts.sales__sales", []],
  ]);
});

test("a second name never hides another table", async () => {
  const tables = await sqlTables(lake, [
    table("raw", "a__a", "a__a", "own"),
    table("raw", "a", "a", "other"),
  ]);
  expect(Object.fromEntries(tables.map((t) => [t.name, t.files[0]]))).toEqual({
    a__a: "/lake/own",
    a: "/lake/other",
    a__a__a__a: "/lake/own",
  });
});

test("only tables that the SQL can refer to are looked up", async () => {
  let asked = 0;
  const counting = { localPath: async (file: { path: string }) => `${++asked}${file.path}` };
  const many = Array.from({ length: 500 }, (_, i) => table("raw", `set_${i}`, "rows", `f${i}`));
  const tables = await sqlTables(counting, many, 'SELECT * FROM raw."SET_77__rows"');
  expect(tables.map((t) => t.name)).toEqual(["set_77__rows"]);
  expect(asked).toBe(1);
});
