/**
 * Type check and tests: `bun scripts/run-tests.ts [--no-types] [path…]`. The last line says
 * `N passed, N failed`, from the report that Bun writes; a type check that fails counts as one.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "..");

/** A test that starts PostgreSQL or the executable needs more than Bun's 5 s on a busy machine. */
const TEST_TIMEOUT_MS = 60_000;
/** Past it the run is stopped and has failed, so that no hanging test holds the machine. */
const RUN_TIMEOUT_MS = 40 * 60_000;

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Counts from a JUnit report of `files`. Bun leaves out a file that does not load: it counts as one failed,
 * and so does a run that failed for no reason that the report gives.
 */
export function readTally(report: string, exitCode: number, files: readonly string[]): Tally {
  const head = /<testsuites\b[^>]*>/.exec(report)?.[0] ?? "";
  const count = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = count("failures") + count("errors");
  const skipped = count("skipped");
  const unloaded = files.filter((file) => !report.includes(`file="${file}"`)).length;
  return {
    passed: Math.max(count("tests") - failed - skipped, 0),
    failed: exitCode === 0 ? failed : Math.max(failed + unloaded, 1),
    skipped,
  };
}

/** As Bun picks them: those whose path holds one of the words. */
function testFiles(words: readonly string[]): string[] {
  const files = [...new Bun.Glob("test/**/*.test.ts").scanSync(root)];
  if (words.length === 0) return files;
  return files.filter((file) => words.some((word) => file.includes(word.replace(/^\.\//, ""))));
}

async function runTests(paths: string[]): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), "weir-report-"));
  const report = join(folder, "junit.xml");
  try {
    const tests = Bun.spawn(
      [
        process.execPath,
        "test",
        "--parallel=2",
        // A server that a test started goes with it, however the run ends.
        "--no-orphans",
        `--timeout=${TEST_TIMEOUT_MS}`,
        "--reporter=junit",
        `--reporter-outfile=${report}`,
        ...paths,
      ],
      { cwd: root, stdio: ["ignore", "inherit", "inherit"], timeout: RUN_TIMEOUT_MS },
    );
    const exitCode = await tests.exited;
    const text = (await Bun.file(report).exists()) ? await Bun.file(report).text() : "";
    return readTally(text, exitCode, testFiles(paths));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function typesHold(): boolean {
  const types = Bun.spawnSync([process.execPath, "node_modules/typescript/bin/tsc", "--noEmit", "-p", "."], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (!types.success) console.log("The type check failed.");
  return types.success;
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  const typesFailed = !given.includes("--no-types") && !typesHold();
  const tally = await runTests(given.filter((word) => word !== "--no-types"));
  const failed = tally.failed + (typesFailed ? 1 : 0);
  if (tally.skipped > 0) console.log(`${tally.skipped} skipped`);
  console.log(`${tally.passed} passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}
