/**
 * Runs each scripts/bench/*.bench.ts in its own process, one after the other. Arguments select those whose name
 * contains one. The comment at the top of each file says what it measures. Prints all result lines together at the end.
 */
import { join } from "node:path";

const LIMIT_MS = 180_000;
const root = join(import.meta.dir, "..");
const words = process.argv.slice(2);
const files = [...new Bun.Glob("scripts/bench/*.bench.ts").scanSync(root)]
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
  .sort();
if (files.length === 0) {
  console.error("No benchmark matches this name.");
  process.exit(1);
}

let running: Bun.Subprocess | null = null;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, async () => {
    running?.kill("SIGTERM");
    await running?.exited;
    process.exit(1);
  });
}

/** Lines with a verdict, and those of failed benchmarks. */
const table: string[] = [];
let failed = false;
for (const path of files) {
  console.log(`\n${path}`);
  const bench = Bun.spawn([process.execPath, path], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    timeout: LIMIT_MS,
    killSignal: "SIGTERM",
  });
  running = bench;
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of bench.stdout) {
    const piece = decoder.decode(bytes, { stream: true });
    process.stdout.write(piece);
    text += piece;
  }
  table.push(...text.split("\n").filter((line) => /\bfloor [\d.]+, target /.test(line)));
  if ((await bench.exited) !== 0) {
    failed = true;
    table.push(`${path} FAILED`);
  }
}
console.log(`\nAll together\n${table.join("\n")}`);
process.exit(failed ? 1 : 0);
