/**
 * Tests that take too long for each change, with their full numbers: `bun scripts/deep.ts [path…]`. Each has its
 * numbers for the gate and for here as `scaled(gate, deep)`; `deepTest` and `*.deep.test.ts` run only here: properties,
 * fuzzing, kills, long journeys, and in test/exact 10,500 tables of seven kinds of sources and 50 rounds of changes,
 * loads and kills. EXACT_TABLES, EXACT_ROUNDS, EXACT_SEED and WEIR_FUZZ_SEED override these;
 * the seed of a failed run reproduces it. The last line is `N passed, N failed`.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { holds, runTests, tallyOf } from "./run-tests.ts";

/** Most tests don't set their own. */
const TEST_TIMEOUT_MS = 30 * 60_000;
const RUN_TIMEOUT_MS = 6 * 60 * 60_000;
const root = join(import.meta.dir, "..");

/** Tests with other numbers here. */
const scaledFiles = (): string[] => [
  "test/exact",
  ...[...new Bun.Glob("test/**/*.test.ts").scanSync(root)].filter(
    (file) =>
      !file.startsWith("test/exact/") &&
      (file.endsWith(".deep.test.ts") || readFileSync(join(root, file), "utf8").includes("support/scale.ts")),
  ),
];

/** Tests that also run with Weir on PostgreSQL, with the gate's numbers. */
const ON_POSTGRES = [
  "test/engine/worker.test.ts",
  "test/resources/access-tokens.test.ts",
  "test/resources/action-runs.test.ts",
  "test/resources/actions.test.ts",
  "test/resources/automations.test.ts",
  "test/resources/bundles.test.ts",
  "test/resources/connection-templates.test.ts",
  "test/resources/erasure.test.ts",
  "test/resources/events.test.ts",
  "test/resources/http.test.ts",
  "test/resources/invitations.test.ts",
  "test/resources/notices.test.ts",
  "test/resources/organization-export.test.ts",
  "test/resources/organization-removal.test.ts",
  "test/resources/webhooks-in.test.ts",
  "test/resources/webhooks-out.test.ts",
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
const how = {
  workers: availableParallelism(),
  testTimeoutMs: TEST_TIMEOUT_MS,
  runTimeoutMs: RUN_TIMEOUT_MS,
};
const tally = tallyOf(await runTests(paths.length > 0 ? paths : scaledFiles(), { ...how, env }));
const onPostgres = { passed: 0, failed: 0 };
if (paths.length === 0)
  for (const file of ON_POSTGRES) {
    // One by one: a server is stopped after the first file that started it.
    const { passed, failed } = tallyOf(
      await runTests([file], { ...how, env: { WEIR_TEST_STORE: "postgres" } }),
    );
    onPostgres.passed += passed;
    onPostgres.failed += failed;
  }
const failed = tally.failed + onPostgres.failed + (isBuilt ? 0 : 1);
console.log(`${tally.passed + onPostgres.passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
