import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { connectFolder, startData } from "../data/place.ts";
import type { Cell } from "./canon.ts";
import { filesSource, type Written } from "./files-source.ts";
import { reportOf, type Source } from "./harness.ts";
import { readLake } from "./lake.ts";
import { lateTable, makeTables } from "./make.ts";
import { type Exact, readExact } from "./parquet.ts";
import { PARQUET_SORTS } from "./parquet-sorts.ts";
import { LATE, TABLES } from "./scale.ts";
import type { SourceTable } from "./table.ts";

setDefaultTimeout(3_600_000);

let data: Awaited<ReturnType<typeof startData>>;
let duck: DuckDBConnection;
let source: Source;
beforeAll(async () => {
  data = await startData();
  duck = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
  await duck.run("SET TimeZone = 'UTC'");
  source = await filesSource(data, "parquet", write);
});
afterAll(async () => {
  duck.closeSync();
  await data[Symbol.asyncDispose]();
});

const WAYS = ["snappy", "zstd", "gzip", "uncompressed"];
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const quoted = (text: string | null): string =>
  text === null ? "NULL" : text.split("\0").map(literal).join(" || chr(0) || ");
const AT_ONCE = 2000;

/** Writes a table with DuckDB, and reads the file with the other reader. */
async function write({ name, columns, rows }: SourceTable): Promise<Written> {
  const declared = ["id INTEGER", ...columns.map((column) => `${column.name} ${column.type}`)];
  await duck.run(`CREATE OR REPLACE TABLE made (${declared.join(", ")})`);
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    const values = rows
      .slice(from, from + AT_ONCE)
      .map((row, at) => `(${[from + at + 1, ...row.map(quoted)].join()})`);
    await duck.run(`INSERT INTO made VALUES ${values.join()}`);
  }
  const path = join(data.app.dataFolder, `${name}.parquet`);
  const way = WAYS[Bun.hash.crc32(name) % WAYS.length];
  await duck.run(`COPY made TO '${path}' (FORMAT parquet, COMPRESSION ${way})`);
  const found = await readExact(path);
  const content = await Bun.file(path).bytes();
  await Bun.file(path).delete();
  const cellOf = (value: Exact, kind: string): Cell =>
    kind === "tree" && value !== null ? JSON.stringify(value) : (value as Cell);
  const isOdd = (value: Exact): boolean =>
    value !== null && typeof value === "object" && "n" in value && /^NaN|Infinity$/.test(String(value.n));
  const odd = found.rows.flatMap((row, index) =>
    columns.flatMap((column, at) => (isOdd(row[column.name] ?? null) ? [`${index}:${at}`] : [])),
  );
  return {
    content,
    odd: new Set(odd),
    values: found.rows.map((row) => columns.map((column) => cellOf(row[column.name] ?? null, column.kind))),
  };
}

test("every value of every type of a Parquet file arrives, or the run counts it", async () => {
  expect(await reportOf(data, source, makeTables(PARQUET_SORTS, TABLES))).toEqual([]);
});

test("a value that differs from those in earlier rows arrives too", async () => {
  const late = (type: string, usual: string, last: string) => ({
    column: PARQUET_SORTS.find((sort) => sort.type === type)!,
    usual: (row: number) => usual.replace("#", String(row)),
    last,
  });
  const columns = [
    late("TIMESTAMP_NS", "2026-01-02 03:04:05", "2026-01-02 03:04:05.000000001"),
    late("DATE", "2026-01-02", "0044-03-15 (BC)"),
    late("DOUBLE", "#", "nan"),
    late("UBIGINT", "#", "18446744073709551615"),
    late("VARCHAR", "#", "x"),
    late("JSON", "#", "12345678901234567890123"),
    late("INTEGER[]", "[#]", "[NULL]"),
    late("TIME", "12:00:00", "24:00:00"),
  ];
  expect(
    await reportOf(
      data,
      source,
      LATE.map((before) => lateTable(`late${before}`, columns, before)),
    ),
  ).toEqual([]);
});

test("fixed-length lists arrive with their NULLs", async () => {
  const rows: [string, string | null, string | null][] = [
    ["1", "[1,2,3]", "[[0.5,1.5]]"],
    ["2", null, null],
    ["3", "[null,5,6]", "[null,[null,2.5]]"],
    ["4", "[7,8,9]", "[]"],
  ];
  const path = join(data.app.dataFolder, "fixed.parquet");
  await duck.run("CREATE TABLE fixed (id INTEGER, one INTEGER[3], two DOUBLE[2][])");
  const values = rows.map((row) => `(${row.map(quoted).join()})`).join();
  await duck.run(`INSERT INTO fixed VALUES ${values}`);
  await duck.run(`COPY fixed TO '${path}' (FORMAT parquet)`);
  const folder = await connectFolder(data.owner, "/fixed");
  await data.upload(folder, "/fixed.parquet", await Bun.file(path).bytes());
  await data.end(
    "dlt_extract",
    { dataset: "fixed", resources: [{ name: "fixed", spec: "fixed.parquet" }] },
    { connectionId: folder },
  );
  const lake = (await readLake(data.app.dataFolder, "raw", "fixed")).get("fixed") ?? [];
  const exact = (value: Exact) => JSON.stringify(value)?.replaceAll(/"(-?[\d.]+)"/g, "$1");
  expect(
    lake.map(({ values: { id, one, two } }) => [
      id,
      one === null ? null : exact(one ?? null),
      typeof two === "string" ? two : null,
    ]),
  ).toEqual(rows);
});

test("fixed-length lists created by a transform are read the same by every reader", async () => {
  const { error } = await data.end("duckdb_transform", {
    sql: `SELECT id, (CASE WHEN id <> 2 THEN [id, NULL, 3] END)::BIGINT[3] AS v, {'"[2]': [id, id]::BIGINT[2]} AS s FROM range(1, 5) t(id)`,
    output: { layer: "marts", dataset: "fixed" },
  });
  expect(error).toBeNull();
  const lake = (await readLake(data.app.dataFolder, "marts", "fixed")).get("fixed") ?? [];
  expect(lake.map(({ values: { id, v, s } }) => [id, v ?? null, s ?? null])).toEqual(
    ["1", "2", "3", "4"].map((id) => [id, id === "2" ? null : [id, null, "3"], { '"[2]': [id, id] }]),
  );
});
