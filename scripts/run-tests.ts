/**
 * Type check, executable and tests: `bun scripts/run-tests.ts [--no-types] [--again] [--record] [path…]`.
 * The last line is `N passed, N failed`, from Bun's report; a failed type check or build counts as one.
 * The files that took longest when last recorded run first; `--record` stores the new times.
 *
 * With `--again`, the failed files run a second time, with nothing else running: on a busy machine,
 * a server can be too late for what waits for it. Those that then pass are named as unsteady, never ignored.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { settle } from "../test/support/app.ts";
import { GROUND, makeGround } from "../test/support/ground.ts";
import { BUILT } from "../test/support/program.ts";

const root = join(import.meta.dir, "..");

/** A test that starts PostgreSQL or the executable needs more than Bun's 5 s on a busy machine. */
const TEST_TIMEOUT_MS = 120_000;
/** After this time, the run is stopped and has failed, so that no hanging test blocks the machine. */
const RUN_TIMEOUT_MS = 40 * 60_000;
/** Tests never connect to other machines, whatever proxy is configured. */
const HERE = "127.0.0.1,localhost,::1";
/** More than the number of cores: a test that waits leaves its core to others. */
export const WORKERS = availableParallelism() + 2;
/** A file system in memory, and how much of it must be free. */
const MEMORY = "/dev/shm";
const MEMORY_BYTES = 8 * 1024 ** 3;
const EXECUTABLE = join(root, "dist/weir");
/** Milliseconds of each file. */
const TIMES = "test/times.json";
/** Most tests are too short for the JIT's last tier: compiling for it takes a tenth of a worker's time, and saves less. */
const WITHOUT_LAST_TIER = { BUN_JSC_useFTLJIT: "0" };
/** If more files fail, a busy machine isn't the cause. */
const MOST_AGAIN = 8;

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** Result of each file of a run. `""` is a run that failed for a reason that isn't in its report. */
export type Outcome = ReadonlyMap<string, Tally>;

/**
 * Reads the results of `files` from a JUnit report.
 * Bun omits a file that doesn't load, or whose process died; it counts as one failure.
 */
export function readOutcome(report: string, exitCode: number, files: readonly string[]): Outcome {
  const outcome = new Map<string, Tally>();
  for (const file of files) {
    const head = new RegExp(`<testsuite\\b[^>]* file="${RegExp.escape(file)}"[^>]*>`).exec(report)?.[0];
    const count = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head ?? "")?.[1] ?? 0);
    const failed = head ? count("failures") + count("errors") : 1;
    const skipped = count("skipped");
    outcome.set(file, { passed: Math.max(count("tests") - failed - skipped, 0), failed, skipped });
  }
  if (exitCode !== 0 && tallyOf(outcome).failed === 0) outcome.set("", { passed: 0, failed: 1, skipped: 0 });
  return outcome;
}

export function tallyOf(outcome: Outcome): Tally {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const { passed, failed, skipped } of outcome.values()) {
    sum.passed += passed;
    sum.failed += failed;
    sum.skipped += skipped;
  }
  return sum;
}

/** Returns the failed files, if running them again can show anything. */
export function worthAnother(outcome: Outcome): string[] {
  const failed = [...outcome].filter(([, tally]) => tally.failed > 0).map(([file]) => file);
  return failed.length > MOST_AGAIN || failed.includes("") ? [] : failed;
}

/** Files that run only with `bun run test:deep`. */
const DEEP = "test/**/*.deep.test.ts";

/** As Bun selects them: those whose path contains one of the words. */
function testFiles(words: readonly string[], isDeep: boolean): string[] {
  const all = [...new Bun.Glob("test/**/*.test.ts").scanSync(root)];
  const files = isDeep ? all : all.filter((file) => !new Bun.Glob(DEEP).match(file));
  if (words.length === 0) return files;
  return files.filter((file) => words.some((word) => file.includes(word.replace(/^\.\//, ""))));
}

/** Where the tests store their files: in memory if there is room, since they flush thousands of databases. */
function temporaryFolder(): string {
  const mount = existsSync("/proc/mounts")
    ? readFileSync("/proc/mounts", "utf8").match(/^\S+ \/dev\/shm tmpfs (\S+)/m)?.[1]
    : undefined;
  const isFit = mount !== undefined && /^rw\b/.test(mount) && !mount.split(",").includes("noexec");
  if (!isFit) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= MEMORY_BYTES ? MEMORY : tmpdir();
}

interface Way {
  workers: number;
  isRecorded?: boolean;
  testTimeoutMs?: number;
  runTimeoutMs?: number;
  /** Environment variables for the tests, in addition to those of this process. */
  env?: Readonly<Record<string, string>>;
}

export async function runTests(paths: readonly string[], way: Way): Promise<Outcome> {
  const { workers, isRecorded, testTimeoutMs = TEST_TIMEOUT_MS, runTimeoutMs = RUN_TIMEOUT_MS, env } = way;
  const isDeep = { ...process.env, ...env }.TEST_DEEP === "1";
  const folder = mkdtempSync(join(tmpdir(), "weir-report-"));
  const report = join(folder, "junit.xml");
  const temporary = mkdtempSync(join(temporaryFolder(), "weir-tests-"));
  chmodSync(temporary, 0o1777); // PostgreSQL runs as another user.
  const ground = join(temporary, "ground");
  try {
    mkdirSync(ground);
    await makeGround(ground, settle);
    const tests = Bun.spawn(
      [
        process.execPath,
        "test",
        `--parallel=${workers}`,
        // A worker loads what tests import once. What they set, they must restore.
        "--no-isolate",
        // A server that a test started ends with it, however the run ends.
        "--no-orphans",
        `--timeout=${testTimeoutMs}`,
        `--timings=${TIMES}`,
        ...(isDeep ? [] : [`--path-ignore-patterns=${DEEP}`]),
        ...(isRecorded ? ["--update-timings"] : []),
        "--reporter=junit",
        `--reporter-outfile=${report}`,
        ...paths,
      ],
      {
        cwd: root,
        stdio: ["ignore", "inherit", "inherit"],
        timeout: runTimeoutMs,
        env: {
          ...process.env,
          ...env,
          NO_PROXY: HERE,
          no_proxy: HERE,
          TMPDIR: temporary,
          [GROUND]: ground,
          [BUILT]: EXECUTABLE,
        },
      },
    );
    const exitCode = await tests.exited;
    const text = (await Bun.file(report).exists()) ? await Bun.file(report).text() : "";
    return readOutcome(text, exitCode, testFiles(paths, isDeep));
  } finally {
    rmSync(folder, { recursive: true });
    rmSync(temporary, { recursive: true });
  }
}

/** Merges the results of a second run into those of the first. Reports each file that passed then. */
async function runAgain(first: Outcome): Promise<Outcome> {
  const files = worthAnother(first);
  if (files.length === 0) return first;
  console.log(`\nOnce more, with nothing beside them: ${files.join(", ")}\n`);
  const second = await runTests(files, { workers: 1, env: WITHOUT_LAST_TIER });
  for (const file of files) {
    if (second.get(file)?.failed === 0) console.log(`unsteady: ${file} failed and then held`);
  }
  return new Map([...first, ...second]);
}

/** Returns whether a script of the project succeeded. Its errors are printed before this sentence. */
export async function holds(sentence: string, ...command: string[]): Promise<boolean> {
  const script = Bun.spawn([process.execPath, ...command], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const isGood = (await script.exited) === 0;
  if (!isGood) console.log(sentence);
  return isGood;
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  const types = given.includes("--no-types") ? true : holds("The type check failed.", "scripts/types.ts");
  const isBuilt = await holds("The executable could not be built.", "scripts/build.ts", "--quick");
  const paths = given.filter((word) => !word.startsWith("--"));
  const first = await runTests(paths, {
    workers: WORKERS,
    isRecorded: given.includes("--record"),
    env: WITHOUT_LAST_TIER,
  });
  const tally = tallyOf(given.includes("--again") ? await runAgain(first) : first);
  const failed = tally.failed + [isBuilt, await types].filter((isGood) => !isGood).length;
  if (tally.skipped > 0) console.log(`${tally.skipped} skipped`);
  console.log(`${tally.passed} passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}
