import { mkdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { JsonObject } from "../../src/base/json.ts";
import type { Done } from "../../src/executors/contract.ts";
import { dltExtract } from "../../src/executors/dlt-extract.ts";
import type { LakeTable } from "../../src/lake/contract.ts";
import { openFolderLake } from "../../src/lake/folder.ts";
import type { Link, Provider } from "../../src/providers/contract.ts";
import { testContext } from "../../test/support/run-context.ts";
import { openTestSql } from "../../test/support/sql.ts";
import { atEnd, tempFolder } from "./ending.ts";
import { median } from "./load.ts";
import { childrenOf, rssMb } from "./process.ts";

/** DuckDB's number of threads on both sides: as many as Weir gives it. */
const THREADS = Math.max(1, Math.floor(availableParallelism() / 2));

/** Runs `dlt_extract` as runs do, with DuckDB in a separate process and a lake in a folder. */
export function openLoads() {
  const duck = openTestSql({ memory: "1GB", threads: THREADS, timeoutMs: 300_000 });
  atEnd(() => rmSync(duck.folder, { recursive: true, force: true }));
  const folder = tempFolder();
  const lake = openFolderLake(join(folder, "lake"));
  let runs = 0;
  return {
    folder,
    lake,
    sql: duck.sql,
    parquet: duck.parquet,
    /** One execution, and its duration in milliseconds. DuckDB's process is warm, as between runs. */
    async extract(
      source: { provider: Provider; link: Link },
      definition: JsonObject & { dataset: string; resources: JsonObject[] },
      tables: LakeTable[] = [],
    ): Promise<{ ms: number; done: Done }> {
      const run = `run-${++runs}`;
      const work = join(folder, run);
      await Bun.sleep(1000); // The next process has a second to load DuckDB, as between runs.
      await using bench = testContext({
        run: { id: run, organizationId: "org", attempt: 1, startedAt: "2026-01-01T00:00:00.000Z" },
        sql: duck.sql,
        hasConnection: true,
        connection: async () => source,
        lake: {
          tables: async () => tables,
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
      const done = await dltExtract.execute(bench, definition as never);
      const ms = performance.now() - began;
      rmSync(work, { recursive: true, force: true });
      return { ms, done };
    },
    /** Milliseconds of an extract of one resource that replaces its table. Throws if rows are missing. */
    async replace(provider: Provider, link: Link, resource: JsonObject, expected: number): Promise<number> {
      const definition = { dataset: "bench", resources: [{ ...resource, writeDisposition: "replace" }] };
      const { ms, done } = await this.extract({ provider, link }, definition);
      const tables = done.result.tables as { rows: number }[];
      if (tables[0]?.rows !== expected) throw new Error(`${tables[0]?.rows} of ${expected} rows came.`);
      return ms;
    },
    close: () => duck[Symbol.asyncDispose](),
  };
}

/** Returns a statement that writes rows to a file as Weir does. */
export const copyTo = (path: string, select: string): string =>
  `COPY (${select}) TO '${path}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)`;

/** Runs interleaved rounds after a warm-up. Returns the median ratios of their times to Weir's. */
export async function compare(
  rounds: number,
  what: string,
  theirs: Record<string, () => Promise<number>>,
  ours: () => Promise<number>,
) {
  const ratios: Record<string, number[]> = {};
  for (let round = 0; round <= rounds; round++) {
    const ms = await ours();
    const told = [`dlt_extract ${ms.toFixed(0)} ms`];
    for (const [name, run] of Object.entries(theirs)) {
      const theirMs = await run();
      if (round > 0) ratios[name] = [...(ratios[name] ?? []), theirMs / ms];
      told.push(`${name} ${theirMs.toFixed(0)} ms`);
    }
    if (round > 0) console.log(`  round ${round}: ${what}: ${told.join(", ")}`);
  }
  return Object.values(ratios).map(median);
}

/** DuckDB itself, in this process, with its library loaded and an open instance. */
export async function openBare(): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(":memory:", { threads: String(THREADS) });
  return instance.connect();
}

/** Milliseconds of one statement. */
export async function timed(connection: DuckDBConnection, sql: string): Promise<number> {
  const began = performance.now();
  await connection.run(sql);
  return performance.now() - began;
}

/** Peak memory during `work`, including DuckDB's process, and the result. */
export async function watched<T>(work: () => Promise<T>): Promise<{ peakMb: number; value: T }> {
  let peakMb = 0;
  const watch = setInterval(() => {
    const children = childrenOf(process.pid, "__sql").map(rssMb);
    peakMb = Math.max(peakMb, rssMb(process.pid) + Math.max(0, ...children));
  }, 50);
  const value = await work().finally(() => clearInterval(watch));
  return { peakMb, value };
}
