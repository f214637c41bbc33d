/**
 * `weir backup` of about 1 GB of lake files, next to a server that keeps writing: `bun scripts/bench/backup.bench.ts
 * [megabytes]`. Measures the seconds, against copying the same files one by one (each synced, as in a backup),
 * and the longest write during it, against the longest without a backup. The command is a separate process,
 * as in production, and reads the file again at the end. Then `weir backup verify` alone. The files are Parquet with
 * values that hardly compress. Each figure is from one round: the disk cache would make later ones too good.
 */
import { closeSync, copyFileSync, fsyncSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { contextFor, write } from "../../src/context.ts";
import { commitLoad } from "../../src/resources/datasets/commit.ts";
import { lakeFiles } from "../../src/resources/datasets/table.ts";
import { startApp } from "../../test/support/app.ts";
import { atEnd, tempFolder } from "./ending.ts";
import { tell } from "./load.ts";

const megabytes = Number(process.argv[2] ?? 1000);
const FILE_ROWS = 1_000_000;
const MAIN = join(import.meta.dir, "../../src/main.ts");
const folder = tempFolder();
const dataFolder = join(folder, "data");

const app = await startApp({ dataFolder, engine: false });
atEnd(() => rmSync(folder, { recursive: true, force: true }));
const ctx = contextFor(app.app, {
  organizationId: app.ids.organizationId,
  role: "owner",
  actor: { type: "system", id: "bench" },
  correlationId: "bench-backup",
});

/** Adds a file of random values, like a load. */
async function addFile(n: number): Promise<number> {
  const loadId = ctx.ids.uuid();
  const work = await ctx.lake.workFolder(loadId);
  const into = join(work.path, "rows");
  mkdirSync(into);
  const sql = `SELECT random() AS a, random() AS b, uuid()::VARCHAR AS id FROM range(${FILE_ROWS})`;
  const { files, columns } = await ctx.sql.materialize({ tables: [], sql }, into);
  const place = { organizationId: ctx.organizationId, layer: "raw", dataset: "shop" };
  const table = `orders_${n}`;
  const add = await Promise.all(files.map((file) => ctx.lake.add({ ...place, table, loadId }, file)));
  await work.dispose();
  const change = { table, columns, add, remove: [], baseVersion: null };
  await write(ctx, (tx) => commitLoad(tx, loadId, "", { ...place, loadId, tables: [change] }));
  return add.reduce((sum, { bytes }) => sum + bytes, 0);
}

let bytes = 0;
for (let n = 0; bytes < megabytes * 1e6; n++) bytes += await addFile(n);
const files = await app.app.store.db.select().from(lakeFiles);
console.log(`  ${(bytes / 1e6).toFixed(0)} MB in ${files.length} files`);

/** Writes one event after the other during `work`. Returns the longest write. */
async function longestWrite(work: Promise<unknown>): Promise<number> {
  let isOver = false;
  const ended = work.finally(() => {
    isOver = true;
  });
  let longest = 0;
  for (let n = 0; !isOver; n++) {
    const at = performance.now();
    const body = {
      kind: "conditional_branch",
      name: `Branch ${n}`,
      definition: { branches: [{ key: "a", when: "true" }] },
    };
    const { status } = await app.owner("POST", "/api/v1/actions", body);
    if (status !== 201) throw new Error(`A write was answered ${status}.`);
    longest = Math.max(longest, performance.now() - at);
    await Bun.sleep(2);
  }
  await ended;
  return longest;
}

async function weir(...words: string[]): Promise<number> {
  const at = performance.now();
  const child = Bun.spawn([process.execPath, MAIN, ...words], { stdio: ["ignore", "ignore", "inherit"] });
  if ((await child.exited) !== 0) throw new Error(`weir ${words.join(" ")} failed.`);
  return (performance.now() - at) / 1000;
}

function copyAll(to: string): number {
  const at = performance.now();
  for (const { path } of files) {
    const target = join(to, path);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(join(dataFolder, "lake", path), target, 0);
    const handle = openSync(target, "r+");
    fsyncSync(handle);
    closeSync(handle);
  }
  return (performance.now() - at) / 1000;
}

const still = await longestWrite(Bun.sleep(3000));
const copySeconds = copyAll(join(folder, "copy"));
const archive = join(folder, "weir.tar.zst");
let backupSeconds = 0;
const busy = await longestWrite(
  weir("backup", archive, "--data", dataFolder).then((seconds) => {
    backupSeconds = seconds;
  }),
);
const verifySeconds = await weir("backup", "verify", archive);
console.log(
  `  file: ${(statSync(archive).size / 1e6).toFixed(0)} MB; verify alone ${verifySeconds.toFixed(1)} s`,
);
console.log(`  plain copy: ${copySeconds.toFixed(1)} s; ratio ${(backupSeconds / copySeconds).toFixed(2)}`);
console.log(`  longest write without a backup: ${still.toFixed(0)} ms`);
tell("backup of 1 GB, verified", (backupSeconds * 1000) / (bytes / 1e6), 30, 15, "s", true);
console.log(`  longest write while one is made: ${busy.toFixed(0)} ms`);
tell("writers wait longer while a backup is made, at most", Math.max(0, busy - still), 100, 50, "ms", true);
await app[Symbol.asyncDispose]();
