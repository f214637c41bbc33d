import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { connect } from "../support/connections.ts";
import { s3Keys, startS3, type TestS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { connectFolder, startData } from "./place.ts";

setDefaultTimeout(120_000);

let s3: TestS3;
let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  [s3, data] = await Promise.all([startS3(), startData()]);
}, 120_000);
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await s3[Symbol.asyncDispose]();
});

async function parquetBytes(select: string): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "weir-parquet-"));
  const instance = await DuckDBInstance.create(":memory:");
  const duck = await instance.connect();
  await duck.run(`COPY (${select}) TO '${folder}/a.parquet' (FORMAT parquet)`);
  duck.closeSync();
  instance.closeSync();
  const bytes = await Bun.file(join(folder, "a.parquet")).bytes();
  rmSync(folder, { recursive: true });
  return bytes;
}

test("a glob matches all formats in a folder, compressed ones too, each with the columns of its rows", async () => {
  const folder = await connectFolder(data.owner, "/all");
  await data.upload(folder, "/in/a.csv", 'id,name,at\n1,one,2026-01-01T00:00:00Z\n2,"t,""wo",\n');
  await data.upload(folder, "/in/b.jsonl", '{"id":3,"name":"three"}\n\n{"id":4,"name":null}\n');
  await data.upload(folder, "/in/c.json", '[{"id":5,"name":"five"},{"id":6}]');
  await data.upload(folder, "/in/deep/d.parquet", await parquetBytes("select 7::bigint id, 'seven' as name"));
  await data.upload(folder, "/in/e.jsonl.gz", gzipSync('{"id":8,"name":"eight"}\n'));
  await data.upload(folder, "/in/f.csv.gz", gzipSync("id,name\n9,nine\n"));
  await data.upload(folder, "/in/readme.txt", "not me");
  const extract = await data.extract(folder, {
    dataset: "files",
    resources: [{ name: "all", spec: "in/**/*.{csv,jsonl,json,parquet,csv.gz,jsonl.gz}" }],
  });
  expect(await extract.result()).toMatchObject({ rows: 9 });
  expect(await data.rows("select id, name from raw.files__all order by id")).toEqual([
    { id: 1, name: "one" },
    { id: 2, name: 't,"wo' },
    { id: 3, name: "three" },
    { id: 4, name: null },
    { id: 5, name: "five" },
    { id: 6, name: null },
    { id: 7, name: "seven" },
    { id: 8, name: "eight" },
    { id: 9, name: "nine" },
  ]);
  const none = await extract.run({ resources: [{ name: "none", spec: "in/*.nothing" }] });
  expect(none).toMatchObject({ status: "failed", error: { code: "not_found", retryable: false } });
});

deepTest("files in a bucket are loaded with nested JSON in child tables, and incrementally", async () => {
  s3.createBucket("sales");
  const line = (id: number, at: string, tags: string[]) =>
    `${JSON.stringify({ id, updated_at: at, customer: { name: `c${id}`, address: { city: "Bern" } }, lines: tags.map((sku, n) => ({ sku, n, parts: [n, n + 1] })) })}\n`;
  await s3.put(
    "sales",
    "orders/1.jsonl",
    line(1, "2026-01-01T00:00:00Z", ["a", "b"]) + line(2, "2026-01-02T00:00:00Z", []),
  );
  const { id } = await connect(data.owner, {
    name: "Bucket",
    provider: "s3",
    config: { bucket: "sales", endpointUrl: s3.endpointUrl, forcePathStyle: true },
    credentials: s3Keys,
  });
  const extract = await data.extract(id, {
    dataset: "sales",
    resources: [
      {
        name: "orders",
        spec: "orders/*.jsonl",
        primaryKey: ["id"],
        writeDisposition: "merge",
        incremental: { cursorField: "updated_at" },
      },
    ],
  });
  const first = await extract.result();
  expect(first.tables.map((t: { table: string; rows: number }) => [t.table, t.rows]).sort()).toEqual([
    ["orders", 2],
    ["orders__lines", 2],
    ["orders__lines__parts", 4],
  ]);
  expect(first.rows).toBe(8);
  await s3.put(
    "sales",
    "orders/2.jsonl",
    line(1, "2026-01-03T00:00:00Z", ["c"]) + line(3, "2026-01-02T12:00:00Z", ["d"]),
  );
  const second = await extract.result();
  const counts = Object.fromEntries(
    second.tables.map((t: Record<string, number | string>) => [t.table, [t.inserted, t.updated, t.deleted]]),
  );
  expect(counts.orders).toEqual([1, 1, 0]);
  expect(
    await data.rows(
      "select o.id, o.customer__address__city city, l.sku, list(p.value order by p._dlt_list_idx) parts from raw.sales__orders o join raw.sales__orders__lines l on l._dlt_parent_id = o._dlt_id join raw.sales__orders__lines__parts p on p._dlt_parent_id = l._dlt_id group by all order by id",
    ),
  ).toEqual([
    { id: 1, city: "Bern", sku: "c", parts: [0, 1] },
    { id: 3, city: "Bern", sku: "d", parts: [0, 1] },
  ]);
  for (const table of ["orders", "orders__lines", "orders__lines__parts"]) {
    const [{ n }] = await data.rows(`select count(*) n from raw.sales__${table}`);
    expect((await data.sums("raw", "sales", table)).rows).toBe(n);
  }
});

test("JSON beyond the nesting limit stays JSON", async () => {
  const folder = await connectFolder(data.owner, "/deep");
  await data.upload(folder, "/d.json", JSON.stringify([{ id: 1, a: [{ b: [{ c: [{ d: 1 }] }] }] }]));
  const extract = await data.extract(folder, {
    dataset: "deep",
    maxTableNesting: 1,
    resources: [{ name: "d", spec: "d.json" }],
  });
  const { tables } = await extract.result();
  expect(tables.map((t: { table: string }) => t.table)).toEqual(["d", "d__a"]);
  expect(await data.rows("select b from raw.deep__d__a")).toEqual([{ b: [{ c: [{ d: 1 }] }] }]);
});

test("an invalid file fails the run by name, and nothing is loaded", async () => {
  const folder = await connectFolder(data.owner, "/bad");
  await data.upload(folder, "/1.jsonl", '{"id":1}\n');
  for (const [name, content] of [
    ["2.jsonl", '{"id":2}\n{"id":\n'],
    ["2.json", "[{"],
    ["2.csv", 'id\n"1\n'],
    ["2.parquet", "PAR1 no"],
    ["2.jsonl.gz", "not packed"],
  ] as const) {
    await data.upload(folder, `/${name}`, content);
    const extract = await data.extract(folder, {
      dataset: "bad",
      resources: [
        { name: "first", spec: "1.jsonl" },
        { name: "bad", spec: name },
      ],
    });
    const run = await extract.run();
    expect([name, run.status, run.error?.retryable]).toEqual([name, "failed", false]);
    expect(run.error.message).toContain(name);
    expect(run.error.code).not.toBe("internal");
    expect(run.error.message).not.toContain(data.app.dataFolder);
    expect(run.error.message).not.toMatch(/Possible fixes|stage-/);
  }
  expect(await data.sums("raw", "bad", "first")).toBeNull();
});

deepTest(
  "concurrent backfills and an incremental load of one dataset lose and duplicate nothing",
  async () => {
    const folder = await connectFolder(data.owner);
    const lines = Array.from({ length: 30 }, (_, id) => JSON.stringify({ id, at: id }));
    await data.upload(folder, "/rows.jsonl", lines.join("\n"));
    for (const disposition of [{}, { writeDisposition: "merge", primaryKey: ["id"] }]) {
      const dataset = `at_once_${"writeDisposition" in disposition ? "merge" : "append"}`;
      const resource = (incremental: object) => [
        {
          name: "rows",
          spec: "rows.jsonl",
          ...disposition,
          incremental: { cursorField: "at", ...incremental },
        },
      ];
      const { start, state, result } = await data.extract(folder, {
        dataset,
        resources: resource({ initialValue: 20 }),
      });
      const runs = await Promise.all([
        start({ resources: resource({ initialValue: 0, endValue: 10 }) }),
        start(),
        start({ resources: resource({ initialValue: 10, endValue: 20 }) }),
        start(),
      ]);
      await Promise.all(runs.map(({ id }) => data.good(id)));
      const found = await data.rows(`SELECT id FROM raw.${dataset}__rows ORDER BY id`);
      expect(found.map(({ id }) => id)).toEqual(Array.from({ length: 30 }, (_, id) => id));
      expect((await state()).rows).toMatchObject({ lastValue: 29 });
      expect(await result()).toMatchObject({ rows: 0 });
    }
  },
);
