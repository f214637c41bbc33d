/**
 * CSV to Parquet by `dlt_extract`: `bun scripts/bench/csv-extract.bench.ts [MB] [rounds]`, 1,000 MB by default.
 * Every value gets its exact type, so all values must be examined.
 * Compared with DuckDB's own COPY of the same file, with types guessed from its first rows.
 * DuckDB has the same number of threads on both sides. Medians of interleaved rounds.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { localFiles } from "../../src/providers/local-files/local-files.ts";
import { link } from "../../test/support/link.ts";
import { tell } from "./load.ts";
import { compare, copyTo, openBare, openLoads, timed } from "./loads.ts";
import { flatRow, writeLines } from "./rows.ts";

const megabytes = Number(process.argv[2] ?? 1000);
const rounds = Number(process.argv[3] ?? 3);
const SAMPLE = 200_000;

const loads = openLoads();
const file = (name: string) => join(loads.folder, name);
try {
  const bare = await openBare();
  await writeLines(file("sample.ndjson"), SAMPLE, flatRow);
  const sample = `read_json('${file("sample.ndjson")}', format = 'newline_delimited', columns = {id: 'BIGINT', customer: 'VARCHAR', token: 'VARCHAR', quantity: 'INTEGER', amount: 'DECIMAL(12,2)', ratio: 'DOUBLE', paid: 'BOOLEAN', placed_at: 'TIMESTAMPTZ', city: 'VARCHAR', note: 'VARCHAR'})`;
  const write = (times: number, to: string) =>
    bare.run(
      `COPY (SELECT id + range * ${SAMPLE} AS id, s.* EXCLUDE id FROM ${sample} s, range(${times})) TO '${to}' (FORMAT csv, HEADER)`,
    );
  await write(1, file("one.csv"));
  const times = Math.ceil((megabytes * 1e6) / statSync(file("one.csv")).size);
  await write(times, file("rows.csv"));
  const rows = times * SAMPLE;

  const [ratio] = await compare(
    rounds,
    `CSV of ${(statSync(file("rows.csv")).size / 1e6).toFixed(0)} MB, ${rows} rows`,
    { DuckDB: () => timed(bare, copyTo(file("bare.parquet"), `FROM read_csv('${file("rows.csv")}')`)) },
    () =>
      loads.replace(
        localFiles,
        link({}, {}, { filesFolder: loads.folder }),
        { name: "rows", spec: "rows.csv" },
        rows,
      ),
  );
  tell("CSV → Parquet, against DuckDB's COPY with guessed types", ratio ?? Number.NaN, 0.6, 0.8);
} finally {
  await loads.close();
}
process.exit(0);
