import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { usage } from "../../src/cli/usage.ts";
import { deepTest } from "../support/scale.ts";
import { bareMachine } from "./executable.ts";

const machine = bareMachine();
const env = { XDG_CONFIG_HOME: join(machine.here, "config") };
const weir = (...args: string[]) => machine.run(args, { env });
let server: Awaited<ReturnType<typeof machine.serve>>;

beforeAll(async () => {
  const { token } = await machine.init();
  server = await machine.serve({ token });
  const there = ["login", "--server", server.origin, "--token"];
  expect((await machine.run(there, { env, stdin: `${token}\n` })).code).toBe(0);
}, 120_000);

afterAll(async () => {
  await server.end();
  await machine[Symbol.asyncDispose]();
});

describe("the executable as a client", () => {
  test("separates output from errors, and exits with 0, 1, 2 and 3", async () => {
    const definition = JSON.stringify({ branches: [{ key: "a", when: "input.good" }], else: "b" });
    const words = ["--kind", "conditional_branch", "--name", "Sort", "--definition", definition];
    const made = await weir("actions", "create", ...words, "--json");
    expect(made).toMatchObject({ code: 0, err: "" });
    expect(made.lines()[0]).toMatchObject({ slug: "sort", kind: "conditional_branch" });
    const good = JSON.stringify({ branches: [{ key: "a", when: "true" }] });
    const run = await weir("actions", "run", "sort", "--overrides", good, "--wait", "--json");
    expect(run).toMatchObject({ code: 0, err: "" });
    expect(run.lines()).toEqual([expect.objectContaining({ status: "completed", result: { branch: "a" } })]);
    const failed = await weir("actions", "run", "sort", "--wait", "--json");
    expect([failed.code, failed.lines()[0].status]).toEqual([1, "failed"]);
    expect(failed.err).toMatch(/^weir: Run \S+ failed: .+\n$/);

    expect(await weir("runs", "get", "sort")).toMatchObject({ code: 1, out: "" });
    expect(await weir("runs", "got")).toMatchObject({ code: 2, out: "" });
    expect(await machine.run(["runs", "list"])).toMatchObject({ code: 3, out: "" });
    expect(await weir("runs", "list", "--server", "http://127.0.0.1:1")).toMatchObject({ code: 3, out: "" });
    const lost = await machine.run(["status", "--server", "http://127.0.0.1:1"], { env });
    const sentence =
      "weir: 127.0.0.1:1 refused the connection. Check that the server is running and that its URL is right.\n";
    expect(lost).toMatchObject({ code: 1, out: "", err: sentence });
    expect((await weir("status", "--json")).lines()[0]).toMatchObject({
      server: server.origin,
      organizationSlug: "acme",
      health: "ok",
      attention: { failedRuns: 1 },
    });
    const sql = await machine.run(["query", "-", "--csv"], { env, stdin: "SELECT 1 AS n" });
    expect(sql).toMatchObject({ code: 0, out: "n\n1\n", err: "" });
    const marked = await weir("query", "SELECT '\ufeffa' AS a", "--json");
    expect(marked.lines()[0].rows).toEqual([{ a: "\ufeffa" }]);
    expect(await weir("events", "verify", "--server", server.origin)).toMatchObject({ code: 0, err: "" });
  }, 120_000);

  deepTest(
    "ends quietly when its reader leaves, and loses nothing with a slow one",
    async () => {
      const program = join(import.meta.dir, "../../dist/weir");
      const pipe = async (words: string, then: string) => {
        const script = `set -o pipefail; '${program}' ${words} | ${then}`;
        const child = Bun.spawn(["bash", "-c", script], {
          env: { ...env, PATH: process.env.PATH, HOME: machine.here },
          stdout: "pipe",
          stderr: "pipe",
        });
        const [out, err] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ]);
        return { code: await child.exited, out, err };
      };
      expect(await pipe("actions list", "head -1")).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^ID +SLUG .+\n$/),
        err: "",
      });
      const rows = "query 'SELECT i, repeat(chr(120), 99) AS x FROM range(200000) t(i)' --csv";
      expect(await pipe(rows, "head -2")).toMatchObject({
        code: 0,
        out: `i,x\n0,${"x".repeat(99)}\n`,
        err: "",
      });
      expect(await pipe(rows.replace("--csv", "--jsonl"), "head -1")).toMatchObject({
        code: 0,
        out: `{"i":0,"x":"${"x".repeat(99)}"}\n`,
        err: "",
      });
      expect(await pipe(rows.replace("--csv", ""), "head -1")).toMatchObject({ code: 0, err: "" });
      expect(await pipe(rows, "(sleep 0.3; wc -l)")).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^ *200001\n$/),
        err: "",
      });
      const document = await weir("openapi");
      expect(document).toMatchObject({ code: 0, err: "" });
      expect(document.out.length).toBeGreaterThan(200_000);
      expect(await pipe("openapi", "(sleep 0.3; wc -c)")).toMatchObject({
        code: 0,
        out: expect.stringContaining(String(Buffer.byteLength(document.out))),
        err: "",
      });
    },
    120_000,
  );

  test("follows events until Ctrl-C, which exits with 0", async () => {
    const tail = machine.start(["events", "tail", "--type", "action.*", "--json"], { env, listen: "stdout" });
    const words = ["--kind", "http_request", "--name", "Followed"];
    await weir("actions", "create", ...words);
    await tail.line((line) => (JSON.parse(line).data.name === "Followed" ? line : null));
    expect(await tail.end("SIGINT")).toBe(0);
  }, 120_000);
});

describe("weir completion bash", () => {
  test("is accepted by bash, and completes commands, verbs, flags and files", async () => {
    const folder = join(machine.here, "files");
    mkdirSync(folder);
    writeFileSync(join(folder, "orders.json"), "{}");
    const { code, out } = await weir("completion", "bash");
    expect(code).toBe(0);
    writeFileSync(join(folder, "complete.bash"), out);
    const complete = (...words: string[]) => {
      const script = `set -eu; . ./complete.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weir; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const shell = Bun.spawnSync(["bash", "-c", script, "bash", ...words], { cwd: folder });
      expect(shell.stderr.toString()).toBe("");
      return shell.stdout.toString().trim().split("\n");
    };
    expect(complete("weir", "")).toEqual(Object.keys(usage));
    expect(complete("weir", "act")).toEqual(["actions"]);
    expect(complete("weir", "actions", "")).toEqual(["list", "get", "create", "edit", "run"]);
    expect(complete("weir", "webhooks", "dead")).toEqual(["dead-letters"]);
    expect(complete("weir", "completion", "z")).toEqual(["zsh"]);
    expect(complete("weir", "keys", "")).toEqual(["rotate"]);
    expect(complete("weir", "backup", "ver")).toEqual(["verify"]);
    expect(complete("weir", "backup", "ord")).toEqual(["orders.json"]);
    expect(complete("weir", "actions", "run", "x", "--ov")).toEqual(["--overrides"]);
    expect(complete("weir", "actions", "run", "x", "--overrides", "@ord")).toEqual(["@orders.json"]);
    expect(complete("weir", "help", "appr")).toEqual(["approvals"]);
  }, 120_000);

  for (const shell of ["zsh", "fish"]) {
    test.skipIf(Bun.which(shell) === null)(`and ${shell} accepts its own`, async () => {
      const { out } = await weir("completion", shell);
      const script = shell === "zsh" ? `autoload -Uz compinit; compinit -u -D; ${out}` : out;
      const taken = Bun.spawnSync([shell, "-c", script], { env: { ...process.env, HOME: machine.here } });
      expect([taken.exitCode, taken.stderr.toString()]).toEqual([0, ""]);
    });
  }
});
