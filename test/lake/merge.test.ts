import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type ExistingFile, mergeFiles, pruneFiles } from "../../src/lake/merge.ts";
import type { SqlSession } from "../../src/sql/contract.ts";
import { column, openTestSql } from "../support/sql.ts";

const duck = openTestSql();
const columns = [
  column("id", "BIGINT"),
  column("v", "VARCHAR"),
  column("extra", "DOUBLE"),
  column("_dlt_id", "VARCHAR"),
];
const existing: ExistingFile[] = [];
let session: SqlSession;
let incoming: string[];

beforeAll(async () => {
  mkdirSync(join(duck.folder, "out"));
  for (const [id, from] of [
    ["low", 0],
    ["high", 10],
  ] as const) {
    const file = await duck.parquet(
      `SELECT i AS id, 'old' || i AS v, 'd' || i AS _dlt_id FROM range(${from}, ${from + 10}) t(i)`,
    );
    existing.push({ id, path: file.path, rows: 10 });
  }
  const early = await duck.parquet("FROM (VALUES (12, 'n1'), (30, 'n2'), (NULL, 'n3')) t(id, _dlt_id)");
  const late = await duck.parquet("FROM (VALUES (12, 'n4')) t(id, _dlt_id)");
  incoming = [early.path, late.path];
  session = await duck.sql.session({ folders: [duck.folder] });
});
afterAll(async () => {
  await session.close();
  await duck[Symbol.asyncDispose]();
});

const read = (files: readonly { path: string }[], where = "true") =>
  session.run(
    `SELECT * FROM read_parquet([${files.map((f) => `'${f.path}'`).join(",")}]) WHERE ${where} ORDER BY ALL`,
  );

const out = (name: string) => join(duck.folder, "out", name);

describe("mergeFiles", () => {
  test("rewrites only the file with a replaced key, and counts every row", async () => {
    const merged = await mergeFiles(session, {
      existing,
      incoming,
      columns,
      key: ["id"],
      strategy: "delete_insert",
      out: out("a"),
      goneIds: out("a.gone"),
    });
    expect(merged).toMatchObject({ remove: ["high"], inserted: 2, updated: 1, deleted: 0, deduplicated: 1 });
    expect(merged.add.map((f) => f.rows)).toEqual([12]);
    expect(await read(merged.add, "id IN (12, 13, 30) OR id IS NULL")).toEqual([
      { id: 12, v: null, extra: null, _dlt_id: "n4" },
      { id: 13, v: "old13", extra: null, _dlt_id: "d13" },
      { id: 30, v: null, extra: null, _dlt_id: "n2" },
      { id: null, v: null, extra: null, _dlt_id: "n3" },
    ]);
    expect(await read([{ path: out("a.gone") }])).toEqual([{ _dlt_id: "d12" }, { _dlt_id: "n1" }]);
  });

  test("keeps old values in columns that the new rows lack, with upsert", async () => {
    const merged = await mergeFiles(session, {
      existing,
      incoming,
      columns,
      key: ["id"],
      strategy: "upsert",
      out: out("b"),
    });
    expect(await read(merged.add, "id IN (12, 30)")).toEqual([
      { id: 12, v: "old12", extra: null, _dlt_id: "n4" },
      { id: 30, v: null, extra: null, _dlt_id: "n2" },
    ]);
  });

  test("uses the first in the given order of several rows with one key", async () => {
    const merged = await mergeFiles(session, {
      existing: [],
      incoming,
      columns,
      key: ["id"],
      strategy: "upsert",
      out: out("c"),
      dedupeBy: "_dlt_id ASC",
    });
    expect(await read(merged.add, "id = 12")).toMatchObject([{ _dlt_id: "n1" }]);
    expect(merged).toMatchObject({ remove: [], inserted: 3, updated: 0, deduplicated: 1 });
  });

  test("changes only the rows' IDs when the same rows arrive again, those without a key too", async () => {
    const first = await mergeFiles(session, {
      existing,
      incoming,
      columns,
      key: ["id"],
      strategy: "upsert",
      out: out("d"),
    });
    const after = first.add.map((f, at) => ({ id: String(at), path: f.path, rows: f.rows }));
    const again = await mergeFiles(session, {
      existing: after,
      incoming,
      columns,
      key: ["id"],
      strategy: "upsert",
      out: out("e"),
    });
    expect(again).toMatchObject({ inserted: 0, updated: 3, deduplicated: 1, deleted: 0 });
    expect(await read(again.add)).toEqual(await read(first.add));
  });

  test("counts removed rows that aren't replaced", async () => {
    const twice = await duck.parquet("SELECT 1 AS id FROM range(3)");
    const one = await duck.parquet("SELECT 1 AS id");
    const merged = await mergeFiles(session, {
      existing: [{ id: "twice", path: twice.path, rows: 3 }],
      incoming: [one.path],
      columns: [column("id", "BIGINT")],
      key: ["id"],
      strategy: "delete_insert",
      out: out("f"),
    });
    expect(merged).toMatchObject({ remove: ["twice"], inserted: 0, updated: 1, deleted: 2 });
    expect(await read(merged.add)).toEqual([{ id: 1 }]);
  });
});

test("pruneFiles removes the children of removed rows with them", async () => {
  const child = [column("_dlt_id", "VARCHAR"), column("_dlt_parent_id", "VARCHAR")];
  const low = await duck.parquet(
    "SELECT 'c' || i AS _dlt_id, 'd' || i AS _dlt_parent_id FROM range(0, 10) t(i)",
  );
  const high = await duck.parquet(
    "SELECT 'c' || i AS _dlt_id, 'd' || i AS _dlt_parent_id FROM range(10, 20) t(i)",
  );
  const fresh = await duck.parquet("FROM (VALUES ('x', 'n1'), ('y', 'n4')) t(_dlt_id, _dlt_parent_id)");
  const gone = await duck.parquet("FROM (VALUES ('d12'), ('n1')) t(_dlt_id)");
  const pruned = await pruneFiles(session, {
    existing: [
      { id: "low", path: low.path, rows: 10 },
      { id: "high", path: high.path, rows: 10 },
    ],
    incoming: [fresh.path],
    columns: child,
    column: "_dlt_parent_id",
    ids: gone.path,
    out: out("g"),
    goneIds: out("g.gone"),
  });
  expect(pruned).toMatchObject({ remove: ["high"], inserted: 1, deleted: 1 });
  expect(pruned.add.map((f) => f.rows)).toEqual([10]);
  expect(await read([{ path: out("g.gone") }])).toEqual([{ _dlt_id: "c12" }, { _dlt_id: "x" }]);
});
