import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { envFor } from "../../src/base/walls.ts";
import { startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";

const CHILD = join(import.meta.dir, "..", "support", "walled.ts");

/** The parts of the sandbox that this kernel lacks, as reported by the child. */
const lacking = await (async (): Promise<string[]> => {
  if (process.platform !== "linux") return [];
  const child = Bun.spawn([process.execPath, CHILD, "[]"], { env: {}, stdout: "pipe", stderr: "inherit" });
  const { walls } = JSON.parse(await new Response(child.stdout).text());
  return walls
    .filter(({ lacks }: { lacks: string | null }) => lacks !== null)
    .map(({ name }: { name: string }) => name);
})();

describe.skipIf(process.platform !== "linux")("a compromised child process", () => {
  let data: string;
  const at = (name: string) => join(data, name);
  beforeAll(() => {
    data = mkdtempSync(join(tmpdir(), "weir-walls-"));
    mkdirSync(at("lake/.work"), { recursive: true });
    writeFileSync(at("secret.key"), "the key");
    writeFileSync(at("lake/rows.parquet"), "rows");
  });
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  /** Result of each attempt: `ok` with its value, or `failed`. */
  async function tryAll(...tries: [what: string, by?: string][]) {
    const child = Bun.spawn([process.execPath, CHILD, JSON.stringify(tries)], {
      env: { ...envFor({ read: [at("lake")], write: [at("lake/.work")] }), WEIR_CANARY: "not for it" },
      stdout: "pipe",
      stderr: "inherit",
    });
    const { outcomes } = JSON.parse(await new Response(child.stdout).text());
    await child.exited;
    return outcomes as ({ ok: unknown } | { failed: string })[];
  }
  const failed = { failed: expect.any(String) };

  test.skipIf(lacking.includes("files"))(
    "can access the files that it was given, and no others",
    async () => {
      const [rows, written, ...others] = await tryAll(
        ["read", at("lake/rows.parquet")],
        ["write", at("lake/.work/mine")],
        ["read", at("secret.key")],
        ["list", data],
        ["write", at("lake/rows.parquet")],
        ["write", at("lake/more")],
        ["write", at("secret.key")],
        ["read", "/etc/passwd"],
        ["read", `/proc/${process.pid}/environ`],
        ["list", "/home"],
        ["list", "/"],
      );
      expect([rows, written]).toEqual([{ ok: "rows" }, { ok: null }]);
      expect(others).toEqual(others.map(() => failed));
      expect(readFileSync(at("secret.key"), "utf8")).toBe("the key");
    },
  );

  test("can't access the network", async () => {
    await using receiver = startReceiver();
    const { port } = new URL(receiver.url);
    expect(await tryAll(["connect", port], ["fetch", port])).toEqual([failed, failed]);
    expect(receiver.got).toEqual([]);
  });

  test("can't run programs, create processes or signal any", async () => {
    const bystander = Bun.spawn(["sleep", "60"]);
    const tries = await tryAll(
      ["run", "/bin/true"],
      ["fork"],
      ["kill", String(bystander.pid)],
      ["kill", String(process.pid)],
      ["exec", "/bin/true"],
    );
    expect(tries).toEqual(tries.map(() => failed));
    expect(bystander.exitCode).toBe(null);
    bystander.kill();
  });

  test("is sandboxed with all of its threads, if it runs SQL", async () => {
    await using weir = await startApp({ engine: false });
    const answer = await weir.owner("POST", "/api/v1/query", { sql: "SELECT 42 AS n" });
    expect([answer.status, answer.body.rows]).toEqual([200, [{ n: 42 }]]);
    const asking = weir.owner("POST", "/api/v1/query", { sql: "SELECT sleep_ms(60000)" });
    asking.catch(() => undefined); // The server is gone before the response arrives.
    const isBehind = (status: string) =>
      /^NoNewPrivs:\t1$/m.test(status) && /^Seccomp_filters:\t2$/m.test(status);
    const standing = async (): Promise<unknown> => {
      const threads = sqlChildren().flatMap((child) => statusesOf(child));
      return (threads.length > 3 && threads.every(isBehind)) || Bun.sleep(20).then(standing);
    };
    await standing();
  }, 120_000);

  test("gives all others priority with all of its threads, for long work", async () => {
    await using weir = await startApp({ engine: false });
    const sql = "SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i)";
    const asking = weir.owner("POST", "/api/v1/query", { sql });
    asking.catch(() => undefined); // The server is gone before the response arrives.
    const isLast = (pid: string) => prioritiesOf(pid).every((priority) => priority === 19);
    const last = async (): Promise<string> => sqlChildren().find(isLast) ?? Bun.sleep(20).then(last);
    // Linux only weighs processes of the same session against each other.
    expect(sessionOf(await last())).toBe(sessionOf("self"));
  }, 120_000);
});

test.skipIf(process.platform !== "linux")("work that someone waits for runs before long work", async () => {
  await using weir = await startApp({ engine: false });
  const asking = weir.owner("POST", "/api/v1/query", { sql: "SELECT sleep_ms(2000) IS NULL AS a" });
  const seen = new Set<number>();
  const look = setInterval(() => {
    for (const pid of sqlChildren()) for (const priority of prioritiesOf(pid)) seen.add(priority);
  }, 50);
  expect((await asking).status).toBe(200);
  clearInterval(look);
  expect(seen).toContain(5);
  expect(seen).not.toContain(19);
});

/** Priority of each thread of a process. */
const prioritiesOf = (pid: string) =>
  readdirSync(`/proc/${pid}/task`).map((thread) => getPriority(Number(thread)));

/** The session that a process belongs to. */
const sessionOf = (pid: string) =>
  readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")[3];

/** SQL processes of this process. */
const sqlChildren = () =>
  readdirSync("/proc").filter((name) => {
    const read = (file: string) => readFileSync(`/proc/${name}/${file}`, "utf8");
    try {
      return read("cmdline").includes("__sql") && read("status").includes(`\nPPid:\t${process.pid}\n`);
    } catch {
      return false; // Not a process, or one that has ended.
    }
  });

/** Of the threads that still exist. */
const statusesOf = (pid: string) =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const path = `/proc/${pid}/task/${task}/status`;
    try {
      return [readFileSync(path, "utf8")];
    } catch (error) {
      if (existsSync(path)) throw error;
      return [];
    }
  });
