/** Everything that must pass before a change is finished, quickest first. Stops at the first failure. */
import { join } from "node:path";

const root = join(import.meta.dir, "..");

const STEPS: readonly (readonly [name: string, ...command: string[]])[] = [
  ["house rules", "scripts/house.ts"],
  ["style", "node_modules/@biomejs/biome/bin/biome", "check", "--config-path=scripts/style.json", "."],
  ["types", "scripts/types.ts"],
  ["unused code", "node_modules/knip/bin/knip.js"],
  ["tests", "scripts/run-tests.ts", "--no-types"],
];

for (const [name, ...command] of STEPS) {
  const started = performance.now();
  const step = Bun.spawn([process.execPath, ...command], {
    cwd: root,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [code, out, err] = await Promise.all([
    step.exited,
    new Response(step.stdout).text(),
    new Response(step.stderr).text(),
  ]);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${code === 0 ? "ok    " : "FAILED"} ${name.padEnd(12)} ${seconds.padStart(6)} s`);
  if (code !== 0) {
    console.error(`${out}${err}`.trimEnd());
    process.exit(1);
  }
  const notes = `${out}${err}`.split("\n").filter((line) => /^(note |interface: |\d+ passed, )/.test(line));
  for (const line of notes) console.log(`       ${line}`);
}
