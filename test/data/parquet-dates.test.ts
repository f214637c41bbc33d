import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { folder as openFolder, sync } from "../support/sync.ts";
import { connectFolder, startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let duck: DuckDBConnection;
let folder: string;
beforeAll(async () => {
  data = await startData();
  duck = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
  await duck.run("SET TimeZone = 'UTC'");
  folder = await connectFolder(data.owner, "/dates");
  await data.upload(folder, "/old.parquet", await fileOf(OLD));
  await data.upload(folder, "/new.parquet", await fileOf(NEW));
});
afterAll(async () => {
  duck.closeSync();
  await data[Symbol.asyncDispose]();
});

const COLUMNS = "t(id, d, t, z, n, l, s, f)";
const row = (id: number, date: string, time: string, nanos: string, float = "1.5") =>
  `(${id}, DATE '${date}', TIMESTAMP '${time}', TIMESTAMPTZ '${time}', TIMESTAMP_NS '${nanos}', [DATE '${date}', NULL], {'d': DATE '${date}'}, DOUBLE '${float}')`;
const OLD = `SELECT * FROM (VALUES ${[
  row(1, "2026-01-31", "2026-01-31 12:00:00", "2026-01-31 12:00:00"),
  row(2, "0044-03-15 (BC)", "0044-03-15 (BC) 12:00:00", "infinity", "nan"),
  row(3, "infinity", "-infinity", "-infinity", "-inf"),
  row(4, "0001-01-01", "0001-01-01 00:00:00", "1677-09-22 00:00:00"),
]}) ${COLUMNS}`;
const NEW = `SELECT * FROM (VALUES ${row(5, "9999-12-31", "9999-12-31 12:00:00", "2026-01-31 12:00:00")}) ${COLUMNS}`;

async function fileOf(select: string): Promise<Uint8Array> {
  const path = join(data.app.dataFolder, "made.parquet");
  await duck.run(`COPY (${select}) TO '${path}' (FORMAT parquet)`);
  return Bun.file(path).bytes();
}

const resource = (more: object = {}) => ({ name: "old", spec: "old.parquet", ...more });
const load = (dataset: string, more: object = {}, resources: object[] = [resource()]) =>
  data.end("dlt_extract", { dataset, resources, ...more }, { connectionId: folder });

test("infinite dates and those before the year 1 become NULL with a warning", async () => {
  const { status, result, error } = await load("found");
  expect([status, error]).toEqual(["completed", null]);
  const gone = "became NULL: dates that are infinite or before the year 1";
  expect(result.warnings).toEqual([
    `old.d: 2 values ${gone} ("0044-03-15 (BC)", "infinity").`,
    `old.t: 2 values ${gone} ("-infinity", "0044-03-15 (BC) 12:00:00").`,
    `old.z: 2 values ${gone} ("-infinity", "0044-03-15 (BC) 12:00:00+00").`,
    `old.n: 2 values ${gone} ("-infinity", "infinity").`,
  ]);
  const rows = await data.rows("SELECT id, d, t, z, n, f FROM raw.found__old ORDER BY id");
  expect(rows).toEqual([
    {
      id: 1,
      d: "2026-01-31",
      t: "2026-01-31T12:00:00.000",
      z: "2026-01-31T12:00:00.000Z",
      n: "2026-01-31T12:00:00.000",
      f: 1.5,
    },
    { id: 2, d: null, t: null, z: null, n: null, f: "NaN" },
    { id: 3, d: null, t: null, z: null, n: null, f: "-Infinity" },
    expect.objectContaining({ id: 4, d: "0001-01-01", n: "1677-09-22T00:00:00.000" }),
  ]);
  expect(await data.rows("SELECT id, l, s FROM raw.found__old WHERE id IN (2, 3) ORDER BY id")).toEqual([
    { id: 2, l: ["0044-03-15 (BC)", null], s: { d: "0044-03-15 (BC)" } },
    { id: 3, l: ["infinity", null], s: { d: "infinity" } },
  ]);
});

test("files without such dates keep their types, and are loaded together with others", async () => {
  const { result } = await load("both", {}, [{ name: "all", spec: "*.parquet" }]);
  expect(result.warnings.filter((text: string) => /^all\.d: 2 values/.test(text))).toHaveLength(1);
  expect(
    await data.rows("SELECT id, typeof(d) AS d, l FROM raw.both__all WHERE id IN (1, 5) ORDER BY id"),
  ).toEqual([
    { id: 1, d: "DATE", l: ["2026-01-31", null] },
    { id: 5, d: "DATE", l: ["9999-12-31", null] },
  ]);
  await load("fresh", {}, [{ name: "new", spec: "new.parquet" }]);
  expect(await data.rows("SELECT typeof(l) AS l FROM raw.fresh__new")).toEqual([{ l: "DATE[]" }]);
});

test("with schemaContract freeze the run fails and loads nothing", async () => {
  const { status, error } = await load("frozen", { schemaContract: "freeze" });
  expect([status, error.code]).toEqual(["failed", "schema_contract_violation"]);
  expect(error.message).toContain(
    'old.d: 2 values became NULL: dates that are infinite or before the year 1 ("0044',
  );
  expect(await data.sums("raw", "frozen", "old")).toBeNull();
});

test("as text they arrive as they are", async () => {
  const columns = ["d", "t", "z", "n"].map((name) => ({ name, type: "text" }));
  const { result } = await load("texts", {}, [resource({ columns })]);
  expect(result.warnings ?? []).toEqual([]);
  expect(await data.rows("SELECT d, t, z, n FROM raw.texts__old WHERE id IN (2, 3) ORDER BY id")).toEqual([
    { d: "0044-03-15 (BC)", t: "0044-03-15 (BC) 12:00:00", z: "0044-03-15 (BC) 12:00:00+00", n: "infinity" },
    { d: "infinity", t: "-infinity", z: "-infinity", n: "-infinity" },
  ]);
});

test("an upload with such dates is rejected", async () => {
  const reply = await data.owner(
    "PUT",
    "/api/v1/datasets/raw/uploaded/upload?format=parquet",
    await fileOf(OLD),
    {
      "content-type": "application/octet-stream",
    },
  );
  expect([reply.status, reply.body.detail]).toEqual([
    422,
    [
      {
        loc: ["body"],
        type: "sql_error",
        msg: "The file has values that the lake doesn't store: dates that are infinite or before the year 1 in d, t, z, n. Write them as text, or load the file with an extract.",
      },
    ],
  ]);
});

test("a file sync doesn't copy such files into the lake", async () => {
  const from = await openFolder(data);
  from.put("orders/old.parquet", await fileOf(OLD));
  from.put("orders/new.parquet", await fileOf(NEW));
  const { run } = await sync(data, {
    source: { connectionId: from.id, path: "/" },
    destination: { connectionId: "lake", path: "/raw/synced" },
  });
  const { error, result } = await run();
  expect(error ?? result).toMatchObject({
    failed: [
      {
        path: "orders/old.parquet",
        reason:
          "It has values that the lake doesn't store: dates that are infinite or before the year 1 in d, t, z, n. Load it with an extract.",
      },
    ],
  });
});
