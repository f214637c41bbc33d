/**
 * The tests that try more than each change has the time for, with their full numbers: `bun scripts/deep.ts [path…]`.
 * What they do in the gate and here stands in each as `scaled(gate, deep)`, and `deepTest` is of this run alone: properties,
 * fuzz, kills, long journeys, and in test/exact 10,500 tables of seven kinds of sources and 50 rounds of changes, loads and
 * kills. What EXACT_TABLES, EXACT_ROUNDS, EXACT_SEED and WEIR_FUZZ_SEED say counts; the seed of a run that failed makes
 * the same again. The last line says `N passed, N failed`.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { holds, runTests, tallyOf } from "./run-tests.ts";

/** Most tests name none of their own. */
const TEST_TIMEOUT_MS = 30 * 60_000;
const RUN_TIMEOUT_MS = 6 * 60 * 60_000;
const root = join(import.meta.dir, "..");

/** Those that have other numbers here. */
const scaledFiles = (): string[] => [
  "test/exact",
  ...[...new Bun.Glob("test/**/*.test.ts").scanSync(root)].filter(
    (file) =>
      !file.startsWith("test/exact/") && readFileSync(join(root, file), "utf8").includes("support/scale.ts"),
  ),
];

const seed = String(Math.floor(Math.random() * 2 ** 31));
const env = {
  TEST_DEEP: "1",
  EXACT_SEED: process.env.EXACT_SEED ?? seed,
  WEIR_FUZZ_SEED: process.env.WEIR_FUZZ_SEED ?? seed,
};
const paths = process.argv.slice(2);
console.log(`seeds ${env.EXACT_SEED} of tables, ${env.WEIR_FUZZ_SEED} of requests`);
const isBuilt = await holds("The executable could not be built.", "scripts/build.ts");
const tally = tallyOf(
  await runTests(paths.length > 0 ? paths : scaledFiles(), {
    workers: availableParallelism(),
    testTimeoutMs: TEST_TIMEOUT_MS,
    runTimeoutMs: RUN_TIMEOUT_MS,
    env,
  }),
);
const failed = tally.failed + (isBuilt ? 0 : 1);
console.log(`${tally.passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
