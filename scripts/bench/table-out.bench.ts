/**
 * The lake to PostgreSQL: `bun scripts/bench/table-out.bench.ts [rows] [rounds]`.
 *
 * Appends a million rows of ten columns by `duckdb_transform` to an empty table of a real server,
 * against `psql \copy` of the same rows from a CSV file into another table of the same server.
 * Medians of interleaved rounds; only the ratio is meaningful. Then a merge of the same rows and a replace, once each,
 * and five times the rows: peak memory of this process and DuckDB's together, above idle, may not grow with the rows.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { RunContext } from "../../src/executors/contract.ts";
import { duckdbTransform } from "../../src/executors/duckdb-transform.ts";
import type { LakeTable } from "../../src/lake/contract.ts";
import { openFolderLake } from "../../src/lake/folder.ts";
import { postgres } from "../../src/providers/postgres/postgres.ts";
import { link } from "../../test/support/link.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { testContext } from "../../test/support/run-context.ts";
import { openTestSql } from "../../test/support/sql.ts";
import { atEnd, tempFolder } from "./ending.ts";
import { median, tell } from "./load.ts";
import { childrenOf, rssMb } from "./process.ts";

const rows = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 3);
const TIMES = 5;
if (Bun.which("psql") === null) throw new Error("This benchmark needs psql on the machine.");

await using pg = await startPostgres();
atEnd(() => rmSync(pg.databaseDir, { recursive: true, force: true }));
await using duck = openTestSql({ memory: "1GB" });
atEnd(() => rmSync(duck.folder, { recursive: true, force: true }));
const lake = openFolderLake(join(tempFolder(), "lake"));
const target = link(
  { host: pg.host, port: pg.port, database: pg.database },
  { user: pg.user, password: pg.password },
);
const COLUMNS = `id bigint, customer text, token text, quantity integer, amount numeric(12,2), ratio double precision, paid boolean,
  placed_at timestamptz, due_on date, note text`;

/** A table as after an extract. */
async function extracted(dataset: string, count: number): Promise<LakeTable> {
  const at = { organizationId: "org", layer: "raw", dataset, table: "orders" };
  const files = [];
  let columns: LakeTable["columns"] = [];
  for (let part = 0; part < 4; part++) {
    const made =
      await duck.parquet(`SELECT i AS id, 'customer ' || (i % 5000) AS customer, md5(i::VARCHAR) AS token,
      (i % 997)::INTEGER AS quantity, (i * 1.37)::DECIMAL(12,2) AS amount, i / 7.0 AS ratio, i % 2 = 0 AS paid,
      TIMESTAMPTZ '2026-01-01' + to_seconds(i) AS placed_at, DATE '2026-01-01' + (i % 365)::INTEGER AS due_on,
      CASE WHEN i % 10 = 0 THEN NULL ELSE 'note, with "quotes" ' || i END AS note
      FROM range(${(count / 4) * part}, ${(count / 4) * (part + 1)}) t(i)`);
    columns = made.columns;
    files.push(await lake.add({ ...at, loadId: `load-${part}` }, made));
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { ...at, columns, files, rows: count, bytes, version: 1 };
}

let runs = 0;

/** Milliseconds. */
async function transform(table: LakeTable, output: object): Promise<number> {
  const id = `run-${++runs}`;
  const work = join(duck.folder, id);
  const access: Partial<RunContext["lake"]> = { tables: async () => [table], localPath: lake.localPath };
  await using run = testContext({
    run: { id, organizationId: "org", attempt: 1, startedAt: "2026-01-01T00:00:00.000Z" },
    sql: duck.sql,
    lake: access as RunContext["lake"],
    openConnection: async () => ({ provider: postgres, link: target }),
    workFolder: async () => {
      mkdirSync(work, { recursive: true });
      return work;
    },
  });
  const began = performance.now();
  const { result } = await duckdbTransform.execute(run, {
    sql: `SELECT * FROM raw.${table.dataset}__orders`,
    output: {
      connectionId: "postgres",
      table: "public.orders",
      writeDisposition: "append",
      ...output,
    },
  });
  const tookMs = performance.now() - began;
  if (result.rows !== table.rows) throw new Error(`${result.rows} of ${table.rows} rows went.`);
  rmSync(work, { recursive: true });
  return tookMs;
}

const file = join(tempFolder(), "orders.csv");
const psql = async (command: string) => {
  const at = ["-h", pg.host, "-p", String(pg.port), "-U", pg.user, "-d", pg.database];
  const process_ = Bun.spawn(["psql", ...at, "-qc", command], {
    env: { ...process.env, PGPASSWORD: pg.password },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if ((await process_.exited) !== 0) throw new Error("psql failed.");
};

/** Milliseconds for psql to copy the same rows. */
async function copy(): Promise<number> {
  await pg.sql.unsafe(`drop table if exists copied; create table copied (${COLUMNS})`);
  const began = performance.now();
  await psql(`\\copy copied from '${file}' csv`);
  return performance.now() - began;
}

const empty = () =>
  pg.sql.unsafe(`drop table if exists orders; create table orders (${COLUMNS}); checkpoint`);

/** Peak memory during `work`, of this process and the largest of its DuckDB processes. */
async function watched<T>(work: () => Promise<T>): Promise<{ peakMb: number; value: T }> {
  let peakMb = 0;
  const watch = setInterval(() => {
    const children = childrenOf(process.pid, "__sql").map(rssMb);
    peakMb = Math.max(peakMb, rssMb(process.pid) + Math.max(0, ...children));
  }, 50);
  const value = await work().finally(() => clearInterval(watch));
  return { peakMb, value };
}

const table = await extracted("shop", rows);
await empty();
await transform(table, {});
await psql(`\\copy (select * from orders) to '${file}' csv`);
Bun.gc(true);
const idleMb = rssMb(process.pid);
const ratios: number[] = [];
for (let round = 1; round <= rounds; round++) {
  const copyMs = await copy();
  await empty();
  const { value, peakMb } = await watched(() => transform(table, {}));
  ratios.push(copyMs / value);
  console.log(
    `  round ${round}: psql ${copyMs.toFixed(0)} ms, duckdb_transform ${value.toFixed(0)} ms, memory ${peakMb.toFixed(0)} MB (idle ${idleMb.toFixed(0)})`,
  );
}
const [left = 0, right = 0] = (
  await pg.sql.unsafe(
    "select (select count(*) from (select * from orders except select * from copied) t)::int as n, (select count(*)::int from orders) as all",
  )
).flatMap(({ n, all }) => [n, all]);
if (left !== 0 || right !== rows) throw new Error(`${left} of ${right} rows are not those of psql.`);
tell(
  `lake → PostgreSQL, append of ${rows / 1e6} M × 10, against psql \\copy from CSV`,
  median(ratios),
  0.6,
  0.8,
);
await pg.sql.unsafe("create unique index on orders (id)");
console.log(
  `  merge of the same rows: ${(await transform(table, { writeDisposition: "merge", primaryKey: ["id"] })).toFixed(0)} ms`,
);
console.log(`  replace: ${(await transform(table, { writeDisposition: "replace" })).toFixed(0)} ms`);

await empty();
const large = await extracted("wide", rows * TIMES);
const whole = await watched(() => transform(large, {}));
console.log(`  ${TIMES} × the rows: ${whole.value.toFixed(0)} ms, memory ${whole.peakMb.toFixed(0)} MB`);
tell(
  `memory above idle with ${TIMES} × the rows, DuckDB's included`,
  whole.peakMb - idleMb,
  300,
  300,
  "MB",
  true,
);
