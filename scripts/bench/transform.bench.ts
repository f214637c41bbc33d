/**
 * `duckdb_transform` over a million extracted rows: `bun scripts/bench/transform.bench.ts [rows]`.
 * Runs a GROUP BY into a dataset, against DuckDB itself on the same Parquet files. Both write the groups as Parquet,
 * with the same number of threads. Weir's side is the executor as runs call it, with the sandboxed DuckDB process,
 * which is warm as in production; DuckDB itself runs in this process, with its library loaded and an open instance.
 * Medians of interleaved rounds.
 */
import { mkdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { RunContext } from "../../src/executors/contract.ts";
import { duckdbTransform } from "../../src/executors/duckdb-transform.ts";
import type { LakeTable } from "../../src/lake/contract.ts";
import { openFolderLake } from "../../src/lake/folder.ts";
import { testContext } from "../../test/support/run-context.ts";
import { openTestSql } from "../../test/support/sql.ts";
import { atEnd, tempFolder } from "./ending.ts";
import { median, tell } from "./load.ts";

const ROUNDS = 5;
const rows = Number(process.argv[2] ?? 1_000_000);
const threads = Math.max(1, Math.floor(availableParallelism() / 2));

await using duck = openTestSql({ memory: "1GB", threads });
atEnd(() => rmSync(duck.folder, { recursive: true, force: true }));
const lake = openFolderLake(join(tempFolder(), "lake"));
const at = { organizationId: "org", layer: "raw", dataset: "shop", table: "orders" };

/** A table as after an extract: four files, ten columns and the two that a load adds. */
async function extracted(): Promise<LakeTable> {
  const files = [];
  let columns: LakeTable["columns"] = [];
  for (let part = 0; part < 4; part++) {
    const made =
      await duck.parquet(`SELECT i AS id, 'customer ' || (i % 5000) AS customer, md5(i::VARCHAR) AS token,
      (i % 997)::INTEGER AS quantity, (i * 1.37)::DECIMAL(12,2) AS amount, i / 7.0 AS ratio, i % 2 = 0 AS paid,
      TIMESTAMPTZ '2026-01-01' + to_seconds(i) AS placed_at, DATE '2026-01-01' + (i % 365)::INTEGER AS due_on,
      CASE WHEN i % 10 = 0 THEN NULL ELSE 'note ' || i END AS note,
      uuid()::VARCHAR AS _dlt_id, 'load' AS _dlt_load_id
      FROM range(${(rows / 4) * part}, ${(rows / 4) * (part + 1)}) t(i)`);
    columns = made.columns;
    files.push(await lake.add({ ...at, loadId: `load-${part}` }, made));
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { ...at, columns, files, rows, bytes, version: 1 };
}

const table = await extracted();
const grouped = (from: string) =>
  `SELECT customer, count(*) AS orders, sum(amount) AS amount, avg(ratio) AS ratio, max(placed_at) AS latest FROM ${from} GROUP BY customer`;

async function transform(round: number): Promise<number> {
  const work = join(duck.folder, `work-${round}`);
  mkdirSync(work);
  const access: Partial<RunContext["lake"]> = {
    tables: async () => [table],
    localPath: lake.localPath,
    add: (at, file) => lake.add({ organizationId: "org", ...at }, file),
    lock: async () => undefined,
  };
  await using bench = testContext({
    run: { id: `run-${round}`, organizationId: "org", attempt: 1, startedAt: "2026-01-01T00:00:00.000Z" },
    sql: duck.sql,
    lake: access as RunContext["lake"],
    workFolder: async () => work,
  });
  const began = performance.now();
  const { result } = await duckdbTransform.execute(bench, {
    sql: grouped("raw.shop__orders"),
    output: { layer: "marts", dataset: "customers", writeDisposition: "replace" },
  });
  const tookMs = performance.now() - began;
  if (result.rows !== 5000) throw new Error(`${result.rows} groups came.`);
  return tookMs;
}

const instance = await DuckDBInstance.create(":memory:", { threads: String(threads) });
const connection = await instance.connect();
const paths = await Promise.all(table.files.map((file) => lake.localPath(file)));
const files = `read_parquet([${paths.map((path) => `'${path}'`).join(", ")}])`;
const out = join(tempFolder(), "customers.parquet");

async function bare(): Promise<number> {
  const began = performance.now();
  await connection.run(`COPY (${grouped(files)}) TO '${out}' (FORMAT parquet, COMPRESSION zstd)`);
  return performance.now() - began;
}

const ratios: number[] = [];
for (let round = 0; round <= ROUNDS; round++) {
  const theirs = await bare();
  await Bun.sleep(1000); // The next process has a second to load DuckDB, as between runs.
  const ours = await transform(round);
  if (round === 0) continue; // Warm-up.
  ratios.push(ours / theirs);
  console.log(`  round ${round}: DuckDB ${theirs.toFixed(0)} ms, duckdb_transform ${ours.toFixed(0)} ms`);
}
tell(
  `duckdb_transform over ${rows / 1e6} M rows, time against DuckDB itself`,
  median(ratios),
  1.5,
  1.5,
  "×",
  true,
);
