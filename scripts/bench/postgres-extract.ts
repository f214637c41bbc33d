/**
 * PostgreSQL to Parquet: `bun scripts/bench/postgres-extract.ts [rows] [rounds]`.
 *
 * A table of ten columns goes through `dlt_extract` with the real provider, DuckDB in its own process and a lake on
 * disk; against it stands `psql \copy` of the same table to a CSV file. Medians of interleaved rounds; only the ratio
 * means anything. The last lines tell how much memory this process and DuckDB's took at their highest.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dltExtract } from "../../src/executors/dlt-extract.ts";
import { openFolderLake } from "../../src/lake/folder.ts";
import { postgres } from "../../src/providers/postgres.ts";
import { openSql } from "../../src/sql/sql.ts";
import { testBench } from "../../test/support/bench.ts";
import { link } from "../../test/support/link.ts";
import { startPostgres } from "../../test/support/postgres.ts";

const count = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 3);
const folder = mkdtempSync(join(tmpdir(), "weir-bench-extract-"));

await using pg = await startPostgres();
await pg.sql.unsafe(`
  create table wide as select i as id, 'customer ' || (i % 5000) as customer, md5(i::text) as token,
    (i % 997)::int as quantity, (i * 1.37)::numeric(12,2) as amount, i / 7.0::float8 as ratio, i % 2 = 0 as paid,
    timestamptz '2026-01-01' + i * interval '1 second' as placed_at, date '2026-01-01' + (i % 365)::int as due_on,
    case when i % 10 = 0 then null else 'note, with "quotes" ' || i end as note
  from generate_series(1::int8, ${count}) i`);
await pg.sql.unsafe("vacuum analyze wide");

const sql = openSql({
  self: [process.execPath, join(import.meta.dir, "../../test/support/sql-child.ts")],
  folder: join(folder, "scratch"),
  memory: "1GB",
  timeoutMs: 300_000,
  cacheDir: join(folder, "cache"),
});
const lake = openFolderLake(join(folder, "lake"));
const source = link(
  { host: pg.host, port: pg.port, database: pg.database },
  { user: pg.user, password: pg.password },
);

/** Resident megabytes of a process. */
const residentMb = (pid: number | "self"): number => {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0; // gone meanwhile
  }
};

/** The largest of our DuckDB processes; the next one may be starting while the last one ends. */
const childMb = (): number => {
  const mine = readdirSync("/proc").filter((name) => {
    try {
      return (
        /^\d+$/.test(name) &&
        readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(process.pid) &&
        readFileSync(`/proc/${name}/cmdline`, "utf8").includes("sql-child.ts")
      );
    } catch {
      return false; // gone meanwhile
    }
  });
  return Math.max(0, ...mine.map((name) => residentMb(Number(name))));
};

async function extract(round: number): Promise<number> {
  await using bench = testBench({
    run: { id: `load-${round}`, organizationId: "org", attempt: 1, startedAt: "2026-01-01T00:00:00.000Z" },
    sql,
    hasConnection: true,
    connection: async () => ({ provider: postgres, link: source }),
    lake: {
      tables: async () => [],
      table: async () => null,
      localPath: lake.localPath,
      place: (at, file) => lake.place({ organizationId: "org", ...at }, file),
      cursor: async () => null,
      lock: async () => undefined,
    },
    workFolder: async () => {
      const work = join(folder, `work-${round}`);
      mkdirSync(work);
      return work;
    },
  });
  const began = performance.now();
  const { result } = await dltExtract.execute(bench, {
    resources: [{ name: "wide", incremental: { cursorField: "id" } }],
    dataset: "bench",
  });
  if (result.rows !== count) throw new Error(`${result.rows} of ${count} rows came.`);
  return performance.now() - began;
}

async function copy(): Promise<number> {
  const began = performance.now();
  const psql = Bun.spawn(
    [
      "psql",
      "-h",
      pg.host,
      "-p",
      String(pg.port),
      "-U",
      pg.user,
      "-d",
      pg.database,
      "-qc",
      `\\copy wide to '${join(folder, "wide.csv")}' csv`,
    ],
    { env: { ...process.env, PGPASSWORD: pg.password }, stdio: ["ignore", "inherit", "inherit"] },
  );
  if ((await psql.exited) !== 0) throw new Error("psql failed.");
  return performance.now() - began;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

try {
  const warm = await sql.session({ folders: [folder] });
  await warm.run("SELECT 1");
  await warm.close();
  Bun.gc(true);
  const idleMb = residentMb("self");
  let mine = 0;
  let theirs = 0;
  const watch = setInterval(() => {
    mine = Math.max(mine, residentMb("self"));
    theirs = Math.max(theirs, childMb());
  }, 50);
  const times = { extract: [] as number[], copy: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    times.copy.push(await copy());
    times.extract.push(await extract(round));
    console.log(
      `round ${round + 1}: psql ${times.copy.at(-1)?.toFixed(0)} ms, dlt_extract ${times.extract.at(-1)?.toFixed(0)} ms`,
    );
  }
  clearInterval(watch);
  console.log(`psql / dlt_extract: ${(median(times.copy) / median(times.extract)).toFixed(2)}`);
  console.log(
    `this process: ${idleMb.toFixed(0)} MB idle, ${mine.toFixed(0)} MB at its highest; DuckDB's: ${theirs.toFixed(0)} MB`,
  );
} finally {
  await sql.close();
  rmSync(folder, { recursive: true, force: true });
}
