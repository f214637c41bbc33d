import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { AppError } from "../../src/base/errors.ts";
import { residentBytes } from "../../src/base/resident.ts";
import type { ScriptHost, Scripts, ScriptWork } from "../../src/scripts/contract.ts";
import { openScripts } from "../../src/scripts/scripts.ts";
import { PROGRAM, SOURCE } from "../support/program.ts";
import { deepTest, scaled } from "../support/scale.ts";
import { CORPUS, HUNGRY } from "./scripts-corpus.ts";

const TIMEOUT_MS = 400;
/** On top of its time limit, a run takes the time that a process needs to start, and to notice. */
const SLACK_MS = 10_000;
const NOW = Date.UTC(2026, 0, 1);

let scripts: Scripts;
beforeAll(() => {
  scripts = openScripts(PROGRAM);
});
afterAll(() => scripts.close());

/** Never responds to what hangs, and rejects everything else. */
const host: ScriptHost = {
  organizationId: "one",
  signal: new AbortController().signal,
  async call(_name, args, signal) {
    if (args[0] === "hang") await new Promise((resolve) => signal.addEventListener("abort", resolve));
    throw new AppError("sql_error", "No.");
  },
  log: () => undefined,
};

type Outcome = { output: unknown; code: null } | { output: null; code: string };

async function run(source: string, more: Partial<ScriptWork> = {}, by = host): Promise<Outcome> {
  const work = {
    source,
    input: [Buffer.from('{"a":[1]}')],
    memoryMb: 64,
    timeoutMs: TIMEOUT_MS,
    now: NOW,
    seed: 7,
    ...more,
  };
  try {
    return { output: JSON.parse((await scripts.run(work, by)).json.toString()), code: null };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { output: null, code: error.code };
  }
}

/** What a script finds only if no script ran there before. */
const CANARY = `const names = (object) => Reflect.ownKeys(object).map(String).sort().join();
export default async (input, weir) => ({
  input,
  globals: names(globalThis),
  prototypes: [Object, Array, String, Promise, Function, Error, Date].map((each) => names(each.prototype)),
  statics: [Object, JSON, Math, Date, Reflect].map(names),
  weir: names(weir),
  chance: [Math.random(), Math.random()],
  time: [Date.now(), weir.now, new Date().toISOString()],
  works: [[1, 2].map((n) => n * 2), JSON.stringify({ a: 1 }), await Promise.all([1, 2]), "abc".slice(1)],
  refused: await weir.sql("x").catch(({ code }) => code),
})`;

const CODES = ["script_error", "script_timeout", "script_memory", "result_too_large"];
const every = scaled(40, 1);
const chosen = CORPUS.map((source, index) => ({ source, index })).filter(({ index }) => index % every === 0);

describe("scripts that try forbidden things", () => {
  test("are several hundred, all different", () => {
    expect(new Set(CORPUS).size).toBe(CORPUS.length);
    expect(CORPUS.length).toBeGreaterThanOrEqual(300);
  });

  test(
    "see nothing of the host, end in time, and leave nothing for the next one, twice in a row",
    async () => {
      const clean = (await run(CANARY, { timeoutMs: SLACK_MS })).output;
      expect(clean).toMatchObject({
        time: [NOW, "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
        refused: "sql_error",
      });
      const faults: unknown[] = [];
      for (const { source, index } of chosen) {
        const outcomes: Outcome[] = [];
        for (const _ of [1, 2]) {
          const begun = performance.now();
          const outcome = await run(source);
          outcomes.push(outcome);
          const took = performance.now() - begun;
          const canary = (await run(CANARY, { timeoutMs: SLACK_MS })).output;
          const { seen = [], still = true } = (outcome.output ?? {}) as { seen?: string[]; still?: boolean };
          const isKnown = outcome.code === null || CODES.includes(outcome.code);
          const isClean = Bun.deepEquals(canary, clean);
          if (!isKnown || seen.length > 0 || !still || !isClean || took > TIMEOUT_MS + SLACK_MS)
            faults.push({ index, source: source.slice(-300), outcome, took, isClean });
        }
      }
      expect(faults).toEqual([]);
    },
    scaled(180_000, 1_800_000),
  );

  test.skipIf(process.platform !== "linux")(
    "stay within their memory: the process never takes 150 MB",
    async () => {
      let most = 0;
      const watch = setInterval(() => {
        for (const pid of scriptChildren()) most = Math.max(most, residentBytes(Number(pid)));
      }, 5);
      for (const [index, source] of HUNGRY.entries())
        if (index % scaled(12, 1) === 0) await run(source, { timeoutMs: 3_000 });
      clearInterval(watch);
      expect(most).toBeGreaterThan(60e6);
      expect(most).toBeLessThan(150e6);
    },
    scaled(120_000, 600_000),
  );

  deepTest(
    "of another organization find no trace in memory, even when they run at the same time",
    async () => {
      const secret = `secret-${"s".repeat(20)}`;
      const keep = `globalThis.kept = ${JSON.stringify(secret)}.repeat(1000); export default () => { const a = new Uint8Array(1e6).fill(83); return typeof a }`;
      const look = `export default () => {
  for (let i = 0; i < 50; i++) { const bytes = new Uint8Array(new ArrayBuffer(200000)); if (bytes.some((b) => b !== 0)) return "bytes" }
  return typeof kept;
}`;
      await Promise.all(
        Array.from({ length: availableParallelism() * 8 }, async (_, n) => {
          const by = { ...host, organizationId: `org-${n % 4}` };
          const { output } = await run(n % 2 ? keep : look, { timeoutMs: 60_000 }, by);
          expect(output).toBe(n % 2 ? "object" : "undefined");
        }),
      );
    },
    120_000,
  );

  deepTest("get the results of their own calls, even if the previous script's arrive late", async () => {
    const late = { ...host, call: async () => Bun.sleep(30).then(() => [Buffer.from('"late"')]) };
    for (let round = 0; round < scaled(10, 100); round++) {
      expect(
        await run(
          "export default (i, weir) => { for (let n = 0; n < 20; n++) weir.sql('x'); return 1 }",
          {},
          late,
        ),
      ).toMatchObject({ output: 1 });
      const echo = {
        ...host,
        call: async (_: string, args: readonly unknown[]) => [Buffer.from(JSON.stringify(args))],
      };
      const source = `export default async (i, weir) => Promise.all([1, 2, 3].map((n) => weir.sql("${round}", { n })))`;
      const output = [1, 2, 3].map((n) => [String(round), { n }]);
      expect(await run(source, {}, echo)).toMatchObject({ output });
    }
  });
});

describe.skipIf(process.platform !== "linux")("the process of a script", () => {
  const endless = "export default () => { for (;;); }";

  test("is sandboxed with all its threads, and has nothing of the server's environment", async () => {
    process.env.WEIR_TEST_CANARY = "not for it";
    const enough = new AbortController();
    const running = run(endless, { timeoutMs: 300_000 }, { ...host, signal: enough.signal });
    const tasksOf = (pid: string) => readdirSync(`/proc/${pid}/task`);
    const standing = async (): Promise<string> =>
      scriptChildren().find((pid) => isWorking(pid) && tasksOf(pid).length > 1) ??
      Bun.sleep(10).then(standing);
    const pid = await standing(); // its threads start with the work
    const statuses = tasksOf(pid).flatMap((task) => statusOf(`${pid}/task/${task}`) || []);
    expect(statuses.length).toBeGreaterThan(1);
    for (const status of statuses) {
      expect(status).toContain("NoNewPrivs:\t1\n");
      expect(status).toContain("Seccomp:\t2\n");
    }
    const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
    expect(environment).not.toContain("not for it");
    enough.abort(new AppError("cancelled", "Enough."));
    expect((await running).code).toBe("cancelled");
    delete process.env.WEIR_TEST_CANARY;
  });

  test("ends with a killed server, however busy it is", async () => {
    const code = `import { openScripts } from ${JSON.stringify(join(import.meta.dir, "../../src/scripts/scripts.ts"))};
const work = { source: "export default () => [].indexOf.call({ length: 2 ** 53 - 1 }, 1)", input: [Buffer.from("1")], memoryMb: 64, timeoutMs: 300000, now: 0, seed: 1 };
const host = { organizationId: "one", signal: new AbortController().signal, call: async () => [Buffer.from("1")], log() {} };
await openScripts(${JSON.stringify(PROGRAM)}).run(work, host);`;
    const server = Bun.spawn([SOURCE[0] ?? "", "-e", code], { stdio: ["ignore", "ignore", "inherit"] });
    const begun = async (): Promise<string> =>
      scriptChildren(server.pid).find(isWorking) ?? Bun.sleep(20).then(begun);
    const pid = await begun();
    server.kill("SIGKILL");
    const gone = async (): Promise<void> => (isThere(pid) ? Bun.sleep(20).then(gone) : undefined);
    await gone();
  }, 120_000);
});

const statusOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return ""; // It has ended.
  }
};
const isThere = (pid: string) => /^State:\s+[^Z]/m.test(statusOf(pid));

/** Returns whether a script runs in it: it has used the CPU for a while. */
function isWorking(pid: string): boolean {
  try {
    return (
      Number(
        readFileSync(`/proc/${pid}/stat`, "utf8")
          .replace(/^.*\) /s, "")
          .split(" ")[11],
      ) > 40
    );
  } catch {
    return false; // It has ended.
  }
}

/** Script processes of this process, or of another. */
const scriptChildren = (parent = process.pid): string[] =>
  readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name) || !statusOf(name).includes(`\nPPid:\t${parent}\n`)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes("__script");
    } catch {
      return false; // It has ended.
    }
  });
