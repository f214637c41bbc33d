/**
 * The tests that try more than each change has the time for, with their full numbers: `bun scripts/deep.ts [path…]`.
 * What they do in the gate and here stands in each as `scaled(gate, deep)`: properties, fuzz, kills, and in test/exact
 * 10,500 tables of seven kinds of sources and 50 rounds of changes, loads and kills. What EXACT_TABLES, EXACT_ROUNDS,
 * EXACT_SEED and WEIR_FUZZ_SEED say counts; the seed of a run that failed makes the same again.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Most tests name none of their own. */
const TEST_TIMEOUT_MS = 30 * 60_000;
const root = join(import.meta.dir, "..");

/** Those that have other numbers here. */
const scaledFiles = (): string[] => [
  "test/exact",
  ...[...new Bun.Glob("test/**/*.test.ts").scanSync(root)].filter((file) =>
    readFileSync(join(root, file), "utf8").includes("support/scale.ts"),
  ),
];

const seed = String(Math.floor(Math.random() * 2 ** 31));
const env = { TEST_DEEP: "1", EXACT_SEED: seed, WEIR_FUZZ_SEED: seed, ...process.env };
const paths = process.argv.slice(2);
console.log(`seeds ${env.EXACT_SEED} of tables, ${env.WEIR_FUZZ_SEED} of requests`);
const here = "127.0.0.1,localhost,::1";
const tests = Bun.spawn(
  [
    process.execPath,
    "test",
    "--no-orphans",
    `--timeout=${TEST_TIMEOUT_MS}`,
    ...(paths.length > 0 ? paths : scaledFiles()),
  ],
  {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...env, NO_PROXY: here, no_proxy: here },
  },
);
process.exit(await tests.exited);
