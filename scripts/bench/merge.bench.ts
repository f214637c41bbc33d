/**
 * A merge by `dlt_extract`: `bun scripts/bench/merge.bench.ts [rows] [changed] [rounds]`.
 * Merges a Parquet file of changed rows, spread over all files of a table,
 * against DuckDB's own join and write of the same. DuckDB has the same number of threads on both sides,
 * and both produce Parquet files with every row of the table once. Medians of interleaved rounds.
 */
import { join } from "node:path";
import type { LakeTable } from "../../src/lake/contract.ts";
import { localFiles } from "../../src/providers/local-files/local-files.ts";
import { link } from "../../test/support/link.ts";
import { median, tell } from "./load.ts";
import { openBare, openLoads, timed } from "./loads.ts";

const rows = Number(process.argv[2] ?? 1_000_000);
const changed = Number(process.argv[3] ?? 100_000);
const rounds = Number(process.argv[4] ?? 3);
const PARTS = 4;

const loads = openLoads();
const bare = await openBare();
const at = { layer: "raw", dataset: "shop", table: "orders" };

const wide = (
  ids: string,
  note: string,
) => `SELECT i AS id, 'customer ' || (i % 5000) AS customer, md5(i::VARCHAR) AS token,
  (i % 997)::INTEGER AS quantity, (i * 1.37)::DECIMAL(12,2) AS amount, i / 7.0::DOUBLE AS ratio, i % 2 = 0 AS paid,
  TIMESTAMPTZ '2026-01-01' + to_seconds(i) AS placed_at, DATE '2026-01-01' + (i % 365)::INTEGER AS due_on,
  '${note} ' || i AS note FROM (${ids}) t(i)`;

/** The table after earlier loads. */
async function loaded(): Promise<LakeTable> {
  const files = [];
  let columns: LakeTable["columns"] = [];
  for (let part = 0; part < PARTS; part++) {
    const ids = `SELECT range FROM range(${(rows / PARTS) * part}, ${(rows / PARTS) * (part + 1)})`;
    const made = await loads.parquet(
      `SELECT *, 'load-${part}.' || id AS _dlt_id, 'load-${part}' AS _dlt_load_id FROM (${wide(ids, "old")})`,
    );
    columns = made.columns;
    files.push(await loads.lake.add({ organizationId: "org", ...at, loadId: `load-${part}` }, made));
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { ...at, columns, files, rows, bytes, version: 1 };
}

try {
  const table = await loaded();
  const incoming = join(loads.folder, "changed.parquet");
  const ids = `SELECT range * ${Math.floor(rows / changed)} FROM range(${changed})`;
  await bare.run(`COPY (${wide(ids, "new")}) TO '${incoming}' (FORMAT parquet)`);
  const paths = await Promise.all(table.files.map((file) => loads.lake.localPath(file)));
  const old = `read_parquet([${paths.map((path) => `'${path}'`).join(", ")}])`;
  const fresh = `SELECT *, 'new.' || id AS _dlt_id, 'new' AS _dlt_load_id FROM read_parquet('${incoming}')`;
  const merged = `SELECT * FROM ${old} o WHERE NOT EXISTS (FROM (${fresh}) n WHERE n.id = o.id) UNION ALL BY NAME ${fresh}`;
  const written = `COPY (${merged}) TO '${join(loads.folder, "bare.parquet")}' (FORMAT parquet, COMPRESSION zstd)`;
  const source = { provider: localFiles, link: link({}, {}, { filesFolder: loads.folder }) };
  const resource = { name: "orders", spec: "changed.parquet", primaryKey: ["id"], writeDisposition: "merge" };

  const ratios: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const theirs = await timed(bare, written);
    const { ms, done } = await loads.extract(source, { dataset: "shop", resources: [resource] }, [table]);
    const [told] = done.result.tables as { updated: number; inserted: number }[];
    if (told?.updated !== changed || told.inserted !== 0) throw new Error(JSON.stringify(told));
    if (round === 0) continue; // Warm-up.
    ratios.push(ms / theirs);
    console.log(`  round ${round}: DuckDB ${theirs.toFixed(0)} ms, dlt_extract ${ms.toFixed(0)} ms`);
  }
  tell(
    `merge of ${changed / 1e3} k rows into ${rows / 1e6} M, time against DuckDB itself`,
    median(ratios),
    3,
    3,
    "×",
    true,
  );
} finally {
  await loads.close();
}
process.exit(0);
