import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completionTable } from "../../src/cli/completion-table.ts";
import { usage } from "../../src/cli/usage.ts";
import { openTerminal } from "./terminal.ts";

/** Returns bash's completions for the last word, in a folder with one file. */
async function openBash() {
  const folder = mkdtempSync(join(tmpdir(), "weir-completion-"));
  using shell = openTerminal("http://127.0.0.1:1");
  const { code, out, err } = await shell.run("completion", "bash");
  expect([code, err]).toEqual([0, ""]);
  writeFileSync(join(folder, "complete.bash"), out);
  writeFileSync(join(folder, "orders.json"), "{}");
  const program = `set -eu; . ./complete.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weir; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return {
    complete(line: string): string[] {
      const words = line.split(" ");
      const { stdout, stderr } = Bun.spawnSync(["bash", "-c", program, "bash", ...words], { cwd: folder });
      expect(stderr.toString()).toBe("");
      return stdout.toString().trim().split("\n");
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

test("bash completes subcommands at each depth", async () => {
  using bash = await openBash();
  expect(bash.complete("weir act")).toEqual(["actions"]);
  expect(bash.complete("weir --")).toEqual(["--help", "--version"]);
  expect(bash.complete("weir actions ")).toEqual(["list", "get", "create", "edit", "run"]);
  expect(bash.complete("weir automations runs ")).toEqual(["list", "get", "cancel", "retry"]);
  expect(bash.complete("weir automations runs re")).toEqual(["retry"]);
  expect(bash.complete("weir config a")).toEqual(["accept"]);
  expect(bash.complete("weir completion z")).toEqual(["zsh"]);
  expect(bash.complete("weir help appr")).toEqual(["approvals"]);
});

test("bash completes the flags of the subcommand, and none of another", async () => {
  using bash = await openBash();
  expect(bash.complete("weir actions run x --o")).toEqual(["--org", "--overrides"]);
  expect(bash.complete("weir actions get x --o")).toEqual(["--org"]);
  expect(bash.complete("weir automations runs retry --from")).toEqual(["--from-start"]);
  expect(bash.complete("weir datasets download x --out")).toEqual(["--output"]);
  expect(bash.complete("weir datasets upload x --out")).toEqual([""]);
  expect(bash.complete("weir backup verify --in")).toEqual([""]);
  expect(bash.complete("weir backup --in")).toEqual(["--include-key"]);
});

test("bash finds the subcommand after flags and their values, and completes files elsewhere", async () => {
  using bash = await openBash();
  expect(bash.complete("weir --json actions --server http://127.0.0.1:1 run x --ov")).toEqual([
    "--overrides",
  ]);
  expect(bash.complete("weir actions --org list run x --ov")).toEqual(["--overrides"]);
  expect(bash.complete("weir apply -f ord")).toEqual(["orders.json"]);
  expect(bash.complete("weir actions run x --overrides @ord")).toEqual(["@orders.json"]);
  expect(bash.complete("weir backup ord")).toEqual(["orders.json"]);
  expect(bash.complete("weir actions run ord")).toEqual(["orders.json"]);
});

test("every subcommand and flag of the usage lines is completed", () => {
  const table = new Map(completionTable(usage).map((place) => [place.path, place]));
  for (const [name, about] of Object.entries(usage)) {
    expect(table.has(name)).toBe(true);
    for (const [verb, line] of Object.entries("verbs" in about ? about.verbs : {})) {
      const place = table.get(`${name} ${verb}`);
      expect(place?.flags).toEqual(expect.arrayContaining(String(line).match(/--[a-z][a-z-]*/g) ?? []));
    }
  }
});
