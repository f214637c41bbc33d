/**
 * PostgreSQL to Parquet: `bun scripts/bench/postgres-extract.bench.ts [rows] [rounds]`.
 *
 * Extracts a table of ten columns by `dlt_extract` with the real provider,
 * DuckDB in its own process and a lake on disk, against `psql \copy` of the same table to a CSV file.
 * Medians of interleaved rounds; only the ratio is meaningful. Then the same once with five times the rows:
 * peak memory of this process and DuckDB's together, above idle, may not grow with the rows.
 */

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { dltExtract } from "../../src/executors/dlt-extract.ts";
import { openFolderLake } from "../../src/lake/folder.ts";
import { postgres } from "../../src/providers/postgres/postgres.ts";
import { openSql } from "../../src/sql/sql.ts";
import { link } from "../../test/support/link.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { PROGRAM } from "../../test/support/program.ts";
import { testContext } from "../../test/support/run-context.ts";
import { atEnd, tempFolder } from "./ending.ts";
import { median, tell } from "./load.ts";
import { childrenOf, rssMb } from "./process.ts";

const rows = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 3);
const TIMES = 5;
if (Bun.which("psql") === null) throw new Error("This benchmark needs psql on the machine.");

await using pg = await startPostgres();
atEnd(() => rmSync(pg.databaseDir, { recursive: true, force: true }));
const folder = tempFolder();
const sql = openSql({
  self: [...PROGRAM, "__sql"],
  folder: join(folder, "scratch"),
  memory: "1GB",
  timeoutMs: 300_000,
  cacheDir: join(folder, "cache"),
  paths: { read: [folder], write: [folder] },
});
const lake = openFolderLake(join(folder, "lake"));
const source = link(
  { host: pg.host, port: pg.port, database: pg.database },
  { user: pg.user, password: pg.password },
);

async function fill(table: string, count: number): Promise<void> {
  await pg.sql.unsafe(`
    create unlogged table ${table} as select i as id, 'customer ' || (i % 5000) as customer, md5(i::text) as token,
      (i % 997)::int as quantity, (i * 1.37)::numeric(12,2) as amount, i / 7.0::float8 as ratio, i % 2 = 0 as paid,
      timestamptz '2026-01-01' + i * interval '1 second' as placed_at, date '2026-01-01' + (i % 365)::int as due_on,
      case when i % 10 = 0 then null else 'note, with "quotes" ' || i end as note
    from generate_series(1::int8, ${count}) i`);
  await pg.sql.unsafe(`vacuum analyze ${table}`);
}

/** Milliseconds. */
async function extract(table: string, count: number, round: number): Promise<number> {
  const work = join(folder, `work-${table}-${round}`);
  await using bench = testContext({
    run: {
      id: `${table}-${round}`,
      organizationId: "org",
      attempt: 1,
      startedAt: "2026-01-01T00:00:00.000Z",
    },
    sql,
    hasConnection: true,
    connection: async () => ({ provider: postgres, link: source }),
    lake: {
      tables: async () => [],
      table: async () => null,
      past: async () => Promise.reject(new Error("An extract reads no past.")),
      localPath: lake.localPath,
      add: (at, file) => lake.add({ organizationId: "org", ...at }, file),
      cursor: async () => null,
      lock: async () => undefined,
    },
    workFolder: async () => {
      mkdirSync(work);
      return work;
    },
  });
  const began = performance.now();
  const { result } = await dltExtract.execute(bench, {
    resources: [{ name: table, incremental: { cursorField: "id" } }],
    dataset: "bench",
  });
  const tookMs = performance.now() - began;
  if (result.rows !== count) throw new Error(`${result.rows} of ${count} rows came.`);
  rmSync(work, { recursive: true });
  return tookMs;
}

/** Milliseconds for psql to write the table to a CSV file. */
async function copy(table: string): Promise<number> {
  const began = performance.now();
  const at = ["-h", pg.host, "-p", String(pg.port), "-U", pg.user, "-d", pg.database];
  const psql = Bun.spawn(["psql", ...at, "-qc", `\\copy ${table} to '${join(folder, "copy.csv")}' csv`], {
    env: { ...process.env, PGPASSWORD: pg.password },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if ((await psql.exited) !== 0) throw new Error("psql failed.");
  return performance.now() - began;
}

/** Memory of this process and the largest of its DuckDB processes: the next one may start while the last one ends. */
function memory(): number {
  const children = childrenOf(process.pid, "__sql").map(rssMb);
  return rssMb(process.pid) + Math.max(0, ...children);
}

/** Peak memory during `work`, and its result. */
async function watched<T>(work: () => Promise<T>): Promise<{ peakMb: number; value: T }> {
  let peakMb = 0;
  const watch = setInterval(() => {
    peakMb = Math.max(peakMb, memory());
  }, 50);
  const value = await work().finally(() => clearInterval(watch));
  return { peakMb, value };
}

try {
  await fill("wide", rows);
  Bun.gc(true);
  const idleMb = rssMb(process.pid);
  const ratios: number[] = [];
  let peakMb = 0;
  for (let round = 1; round <= rounds; round++) {
    const copyMs = await copy("wide");
    const extracted = await watched(() => extract("wide", rows, round));
    peakMb = Math.max(peakMb, extracted.peakMb);
    ratios.push(copyMs / extracted.value);
    console.log(
      `  round ${round}: psql ${copyMs.toFixed(0)} ms, dlt_extract ${extracted.value.toFixed(0)} ms, memory ${extracted.peakMb.toFixed(0)} MB (idle ${idleMb.toFixed(0)})`,
    );
  }
  tell(`PostgreSQL → Parquet, ${rows / 1e6} M × 10, against psql \\copy to CSV`, median(ratios), 0.8, 0.95);
  tell("memory of the extract above idle, DuckDB's included", peakMb - idleMb, 300, 300, "MB", true);

  await fill("wider", rows * TIMES);
  const large = await watched(() => extract("wider", rows * TIMES, 1));
  console.log(
    `  ${TIMES} × the rows: dlt_extract ${large.value.toFixed(0)} ms, memory ${large.peakMb.toFixed(0)} MB`,
  );
  tell(`the same with ${TIMES} × the rows`, large.peakMb - idleMb, 300, 300, "MB", true);
} finally {
  await sql.close();
}
