/**
 * Commands of the executable: `bun scripts/bench/commands.bench.ts`. Measures `weir --help` from process start to exit;
 * a client command likewise, against the same requests from a client that is already connected; and a start after `kill
 * -9` that left a WAL of 100 MB, up to the first 200 of /health. Medians, except for the last, which is the longest.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { builtWeir } from "./executable.ts";
import { median, tell } from "./load.ts";
import { initWeir, serveWeir } from "./weir.ts";

const ROUNDS = 21;
const STARTS = 3;
const WAL_BYTES = 100e6;
const weirFile = builtWeir();
const made = initWeir([weirFile]);

function run(words: readonly string[], env: Record<string, string> = made.env, stdin = ""): number {
  const began = performance.now();
  const { exitCode, stderr } = Bun.spawnSync([weirFile, ...words], { env, stdin: Buffer.from(stdin) });
  const tookMs = performance.now() - began;
  if (exitCode !== 0) throw new Error(`weir ${words.join(" ")}: ${stderr.toString()}`);
  return tookMs;
}

const rounds = (work: () => number) => median(Array.from({ length: ROUNDS }, work));
run(["--help"]);
tell(
  "weir --help",
  rounds(() => run(["--help"])),
  60,
  40,
  "ms",
  true,
);

const weir = await serveWeir(made);
const env = { ...made.env, WEIR_SERVER: weir.origin };
run(["login", "--token"], env, made.token);
for (const [words, path] of [
  [["actions", "list", "--json"], "/api/v1/actions"],
  [["runs", "list"], "/api/v1/action-runs"],
  [["api", "GET", "/api/v1/meta"], "/api/v1/meta"],
] as const) {
  const servedMs: number[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    const began = performance.now();
    await weir.call("GET", path);
    servedMs.push(performance.now() - began);
  }
  const tookMs = rounds(() => run(words, env));
  console.log(
    `  ${words.join(" ")}: ${tookMs.toFixed(0)} ms, the request alone ${median(servedMs).toFixed(1)} ms`,
  );
  tell(`weir ${words.join(" ")}, beside the server's time`, tookMs - median(servedMs), 150, 100, "ms", true);
}
await weir.stop();

/** Commits until the WAL has that size, and kills itself. */
const FILL = `const { Database } = require("bun:sqlite");
const { statSync } = require("node:fs");
const [path, bytes] = process.argv.slice(-2);
const db = new Database(path);
db.run("PRAGMA journal_mode = WAL");
db.run("PRAGMA wal_autocheckpoint = 0");
db.run("CREATE TABLE IF NOT EXISTS bench_rows (id INTEGER PRIMARY KEY, text BLOB)");
const add = db.prepare("INSERT INTO bench_rows (text) VALUES (randomblob(20000))");
const addMany = db.transaction(() => { for (let n = 0; n < 100; n++) add.run(); });
while (statSync(path + "-wal").size < Number(bytes)) addMany();
process.kill(process.pid, "SIGKILL");`;

const database = join(made.folder, "weir.db");
const startsMs: number[] = [];
for (let n = 0; n < STARTS; n++) {
  Bun.spawnSync([process.execPath, "-e", FILL, database, String(WAL_BYTES)]);
  const bytes = statSync(`${database}-wal`).size;
  if (bytes < WAL_BYTES) throw new Error(`The WAL has ${bytes} bytes.`);
  const started = await serveWeir(made);
  startsMs.push(started.readyMs);
  await started.kill();
}
console.log(`  starts: ${startsMs.map((ms) => ms.toFixed(0)).join(", ")} ms`);
tell("start after a kill with 100 MB of WAL", Math.max(...startsMs) / 1000, 3, 1.5, "s", true);
