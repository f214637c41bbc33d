import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { startData } from "../data/place.ts";
import { deepTest } from "../support/scale.ts";
import { csvOf } from "./csv.ts";
import { CSV_SORTS, LATE_TEXTS } from "./csv-sorts.ts";
import { filesSource } from "./files-source.ts";
import { loadTables, reportOf, type Source } from "./harness.ts";
import { lateTable, makeTables } from "./make.ts";
import { IS_DEEP, LATE, SEED, TABLES } from "./scale.ts";

setDefaultTimeout(3_600_000);

let data: Awaited<ReturnType<typeof startData>>;
let source: Source;
beforeAll(async () => {
  data = await startData();
  source = await filesSource(data, "csv", csvOf);
});
afterAll(() => data[Symbol.asyncDispose]());

test("every text in a CSV file arrives as its value, or as itself", async () => {
  expect(await reportOf(data, source, makeTables(CSV_SORTS, TABLES))).toEqual([]);
});

deepTest("a text that differs from those in earlier rows arrives too", async () => {
  const columns = LATE_TEXTS.map(([usual, last]) => ({
    column: { type: `${usual || "nothing"} and then ${last}`, kind: "written" as const, hostile: [] },
    usual: (row: number) => usual.replace("#", String(row)),
    last,
  }));
  // In a file with others, a column may be read as text because of them, so each is also tested alone.
  const alone = (before: number) =>
    columns.map((column, at) => lateTable(`late${before}c${at}`, [column], before));
  const tables = LATE.flatMap((before) => [
    lateTable(`late${before}`, columns, before),
    ...(IS_DEEP || before === LATE[0] ? alone(before) : []),
  ]);
  expect(await reportOf(data, source, tables)).toEqual([]);
});

deepTest("column types don't depend on the order of rows", async () => {
  const tables = makeTables(CSV_SORTS, Math.ceil(TABLES / 5), "o").map((table) => ({
    ...table,
    rows: Array.from({ length: 3000 }, () => table.rows[0] ?? table.columns.map(() => null)).concat(
      table.rows,
    ),
  }));
  const [orders] = fc.sample(fc.array(fc.integer(), { minLength: 3200, maxLength: 3200 }), {
    numRuns: 1,
    seed: SEED,
  });
  const shuffled = tables.map((table) => ({
    ...table,
    name: `${table.name}_shuffled`,
    rows: table.rows
      .map((row, at) => ({ row, at: orders?.[at] ?? 0 }))
      .sort((a, b) => a.at - b.at)
      .map(({ row }) => row),
  }));
  const typesOf = (lake: Awaited<ReturnType<typeof loadTables>>, name: string) =>
    [...(lake.get(name)?.[0]?.types ?? [])].filter(([column]) => column.startsWith("c"));
  for (let at = 0; at < tables.length; at += 50) {
    const lake = await loadTables(data, source, [
      ...tables.slice(at, at + 50),
      ...shuffled.slice(at, at + 50),
    ]);
    for (const { name, columns } of tables.slice(at, at + 50)) {
      const types = columns.map(({ type }) => type).join();
      expect([types, typesOf(lake, `${name}_shuffled`)]).toEqual([types, typesOf(lake, name)]);
    }
  }
});
