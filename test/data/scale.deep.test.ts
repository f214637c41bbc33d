import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectFolder, startData } from "./place.ts";

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
}, 120_000);
afterAll(async () => {
  await data[Symbol.asyncDispose]();
});

const FILES = 100;

test("a hundred small files of a source fit into the memory of one statement", async () => {
  const folder = await connectFolder(data.owner, "/many");
  for (let i = 0; i < FILES; i++) await data.upload(folder, `/f${i}.csv`, `id,v\n${i},a\n${i + 1000},b\n`);
  const extract = await data.extract(folder, {
    dataset: "many",
    resources: [{ name: "f", spec: "*.csv" }],
  });
  expect(await extract.result()).toMatchObject({ rows: 2 * FILES, warnings: [] });
  expect(await data.rows("select count(distinct id) as n from raw.many__f")).toEqual([{ n: 2 * FILES }]);
}, 120_000);

test("a table of 500 files is written, read, appended to and merged into", async () => {
  const output = { layer: "marts", dataset: "parts" };
  const sql = "select i as id, i % 500 as p from range(5000) t(i)";
  const made = await data.transform({ sql, output: { ...output, partitionBy: ["p"] } });
  expect(made.output.files).toBe(500);
  expect(await data.sums("marts", "parts")).toMatchObject({
    rows: 5000,
    files: 500,
    bytes: made.output.bytes,
  });
  expect(await data.rows("select count(*) n, count(distinct p) p from marts.parts")).toEqual([
    { n: 5000, p: 500 },
  ]);
  await data.transform({
    sql: "select 5001 as id, 0 as p",
    output: { ...output, writeDisposition: "append" },
  });
  const merge = { ...output, writeDisposition: "merge", primaryKey: ["id"] };
  await data.transform({ sql: "select i as id, -1 as p from range(0, 10000, 2) t(i)", output: merge });
  expect(
    await data.rows("select count(*) n, count(distinct id) ids, sum(p) filter (p < 0) as p from marts.parts"),
  ).toEqual([{ n: 7501, ids: 7501, p: -5000 }]);
}, 120_000);

test("wide rows and long files are loaded completely", async () => {
  const folder = await connectFolder(data.owner, "/large");
  const wide = Array.from({ length: 500 }, (_, row) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`c${at}`, row * at]))),
  );
  // Each row has a different name: the work must not grow with rows times columns times rows.
  const growing = Array.from({ length: 1000 }, (_, row) => JSON.stringify({ id: row, [`k${row}`]: 1 }));
  const long = Array.from({ length: 100_000 }, (_, id) =>
    JSON.stringify({ id, lines: [{ sku: id % 7 }, { sku: 8 }] }),
  );
  await data.upload(folder, "/wide.jsonl", wide.join("\n"));
  await data.upload(folder, "/growing.jsonl", growing.join("\n"));
  await data.upload(folder, "/long.jsonl", long.join("\n"));
  const extract = await data.extract(folder, {
    dataset: "large",
    resources: ["wide", "growing", "long"].map((name) => ({
      name,
      spec: `${name}.jsonl`,
      writeDisposition: "merge",
      primaryKey: [name === "wide" ? "c1" : "id"],
    })),
  });
  expect(await extract.result()).toMatchObject({ rows: 500 + 1000 + 300_000 });
  expect((await data.sums("raw", "large", "wide")).columns).toHaveLength(302);
  expect((await data.sums("raw", "large", "growing")).columns).toHaveLength(1003);
  expect(await data.rows("select count(*) n, sum(id) s from raw.large__long")).toEqual([
    { n: 100_000, s: 4_999_950_000 },
  ]);
}, 120_000);
