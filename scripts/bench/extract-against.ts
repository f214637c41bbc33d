/**
 * Extracts of this checkout against those of another commit:
 * `bun scripts/bench/extract-against.ts COMMIT [MB] [rounds]`.
 *
 * Both are served from source, in turns, over the same files of `MB` (200) and a PostgreSQL table with as many rows.
 * Each extract replaces its table. Prints medians over the rounds: elapsed time and CPU time of all processes,
 * each as a multiple of the other commit's, and the peak memory of all processes.
 */
import { linkSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { startPostgres } from "../../test/support/postgres.ts";
import { atEnd, tempFolder } from "./ending.ts";
import { median } from "./load.ts";
import { openBare } from "./loads.ts";
import { childrenOf, rssMb, treeSeconds } from "./process.ts";
import { flatRow, writeLines } from "./rows.ts";
import { initWeir, serveWeir } from "./weir.ts";

const [commit, megabytes = "200", times = "3"] = process.argv.slice(2);
if (!commit) throw new Error("Name the commit to compare with.");
const rounds = Number(times);
const ROW_BYTES = 128;
const rows = Math.round((Number(megabytes) * 1e6) / ROW_BYTES);
const root = join(import.meta.dir, "../..");

function checkout(): string {
  const folder = join(tempFolder(), "other");
  const git = (...words: string[]) => {
    const done = Bun.spawnSync(["git", ...words], { cwd: root });
    if (done.exitCode !== 0) throw new Error(done.stderr.toString());
  };
  git("worktree", "add", "--detach", folder, commit as string);
  atEnd(() => git("worktree", "remove", "--force", folder));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** The same rows as CSV, JSON lines and Parquet. */
async function writeFiles(folder: string): Promise<void> {
  const duck = await openBare();
  const lines = join(folder, "rows.jsonl");
  await writeLines(lines, rows, flatRow);
  const columns = `{id: 'BIGINT', customer: 'VARCHAR', token: 'VARCHAR', quantity: 'INTEGER', amount: 'DECIMAL(12,2)', ratio: 'DOUBLE', paid: 'BOOLEAN', placed_at: 'TIMESTAMPTZ', city: 'VARCHAR', note: 'VARCHAR'}`;
  await duck.run(`CREATE TABLE t AS SELECT * FROM read_json('${lines}', columns = ${columns})`);
  await duck.run(
    `COPY (SELECT * EXCLUDE ratio, quantity * 7 AS due FROM t) TO '${folder}/rows.csv' (HEADER)`,
  );
  await duck.run(`COPY t TO '${folder}/rows.parquet' (FORMAT parquet)`);
  duck.closeSync();
}

interface Figures {
  seconds: number;
  cpu: number;
  peakMb: number;
}

async function side(name: string, source: string, files: string, database: Record<string, unknown>) {
  const made = initWeir([process.execPath, join(source, "src/main.ts")]);
  const mine = join(made.folder, "files", made.organizationId);
  mkdirSync(mine, { recursive: true });
  for (const file of ["rows.csv", "rows.jsonl", "rows.parquet"])
    linkSync(join(files, file), join(mine, file));
  const weir = await serveWeir({ ...made, env: { ...made.env } });
  const connect = async (provider: string, config: object, credentials: object) =>
    (await weir.call("POST", "/api/v1/connections", { name: provider, provider, config, credentials })).id;
  const folder = await connect("local_files", { root: "/" }, {});
  const { user, password, ...config } = database;
  const postgres = await connect("postgres", config, { user, password });
  const all = () => [weir.pid, ...childrenOf(weir.pid, "")];
  const kinds = {
    csv: [folder, { name: "t", spec: "rows.csv" }],
    "csv, merged": [folder, { name: "m", spec: "rows.csv", writeDisposition: "merge", primaryKey: ["id"] }],
    jsonl: [folder, { name: "t", spec: "rows.jsonl" }],
    parquet: [folder, { name: "t", spec: "rows.parquet" }],
    postgres: [postgres, { name: "t", spec: "public.rows" }],
  } as const;
  return {
    name,
    kinds: Object.keys(kinds) as (keyof typeof kinds)[],
    stop: weir.stop,
    async run(kind: keyof typeof kinds): Promise<Figures> {
      const [connectionId, resource] = kinds[kind];
      const dataset = `d_${kind.replaceAll(/[^a-z]+/g, "_")}`;
      const action = await weir.call("POST", "/api/v1/actions", {
        name: `${kind} ${Bun.randomUUIDv7()}`,
        kind: "dlt_extract",
        connectionId,
        definition: { dataset, resources: [{ writeDisposition: "replace", ...resource }] },
      });
      const cpuBefore = treeSeconds(weir.pid);
      let peakMb = 0;
      const watch = setInterval(() => {
        peakMb = Math.max(
          peakMb,
          all().reduce((sum, pid) => sum + rssMb(pid), 0),
        );
      }, 50);
      const began = performance.now();
      const { id } = await weir.call("POST", `/api/v1/actions/${action.id}/run`, {});
      let run: { status: string; error: unknown; result: { rows: number } };
      do {
        await Bun.sleep(20);
        run = await weir.call("GET", `/api/v1/action-runs/${id}`);
      } while (!["completed", "failed"].includes(run.status));
      const seconds = (performance.now() - began) / 1000;
      clearInterval(watch);
      if (run.status !== "completed") throw new Error(`${name} ${kind}: ${JSON.stringify(run.error)}`);
      return { seconds, cpu: treeSeconds(weir.pid) - cpuBefore, peakMb };
    },
  };
}

const folder = tempFolder();
await writeFiles(folder);
await using pg = await startPostgres();
atEnd(() => rmSync(pg.databaseDir, { recursive: true, force: true }));
await pg.sql.unsafe(`create unlogged table rows as select i as id, 'customer ' || (i % 5000) as customer, md5(i::text) as token,
  (i % 997)::int as quantity, (i * 1.37)::numeric(12,2) as amount, i / 7.0::float8 as ratio, i % 2 = 0 as paid,
  timestamptz '2026-01-01' + i * interval '1 second' as placed_at,
  case when i % 10 = 0 then null else 'note, with "quotes" ' || i end as note from generate_series(1::int8, ${rows}) i`);
const { host, port, database, user, password } = pg;
const of = (name: string, source: string) =>
  side(name, source, folder, { host, port, database, user, password });
const sides = [await of("other", checkout()), await of("this", root)] as const;
for (const kind of sides[0].kinds) {
  const figures: [Figures[], Figures[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
    for (const at of order) figures[at].push(await sides[at].run(kind));
  }
  const of = (at: 0 | 1, what: keyof Figures) => median(figures[at].map((one) => one[what]));
  const ratio = (what: keyof Figures) => (of(1, what) / of(0, what)).toFixed(2);
  const pair = (what: keyof Figures, digits: number) =>
    `${of(0, what).toFixed(digits)} → ${of(1, what).toFixed(digits)}`;
  console.log(
    `${kind}: ${pair("seconds", 1)} s (${ratio("seconds")}), CPU ${pair("cpu", 1)} s (${ratio("cpu")}), memory ${pair("peakMb", 0)} MB`,
  );
}
for (const each of sides) await each.stop();
