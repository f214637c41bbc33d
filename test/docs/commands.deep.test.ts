import { describe, expect, test } from "bun:test";
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/postgres.ts";
import { PROGRAM } from "../support/program.ts";
import { blocks, docs } from "./blocks.ts";

/**
 * Adapts a script: what runs until Ctrl-C runs for a moment; what needs a user in a browser is signed in with the
 * token. Queries and decisions wait until there is something: on a busy machine, a webhook responds before that.
 */
const runnable = (script: string) =>
  script
    .replace(/^(.*?)\s+# until Ctrl-C.*$/gm, "timeout -s INT 2 $1 || test $? -eq 124")
    .replace(/^weir query .*$/gm, `${whenGood("$&")}\n$&`)
    .replace(/^weir approvals approve/gm, `${whenGood(`weir approvals list --json | grep -q '"id"'`)}\n$&`)
    .replace(
      /^(weir login --server \S+)\s+# by a code in the browser.*$/gm,
      'printf %s "$TOKEN" | $1 --token',
    );

/** Retries a command until it succeeds. If it never does, the next command shows why. */
const whenGood = (command: string) =>
  `for _ in $(seq 100); do if { ${command}; } >/dev/null 2>&1; then break; fi; sleep 0.2; done`;

describe("the commands of the documents", () => {
  for (const doc of docs) {
    const scripts = blocks(doc, "sh");
    if (scripts.length === 0) continue;

    const gated = doc.path === "README.md" ? test : test;
    gated(
      `of ${doc.path} do what they say, one after the other, in a folder with the examples`,
      async () => {
        await using folder = openFolder();
        const port = await freePort();
        const script = runnable(scripts.join("\n")).replaceAll("8484", String(port));
        const shell = Bun.spawn(
          [
            "bash",
            "-euo",
            "pipefail",
            "-c",
            `trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n${script}`,
          ],
          {
            cwd: folder.path,
            env: {
              PATH: `${folder.bin}:${process.env.PATH}`,
              HOME: folder.path,
              WEIR_PORT: String(port),
            },
            stdout: "pipe",
            stderr: "pipe",
          },
        );
        const [out, err, code] = await Promise.all([
          new Response(shell.stdout).text(),
          new Response(shell.stderr).text(),
          shell.exited,
        ]);
        expect({ code, said: code === 0 ? "" : `${out}\n${err}`.slice(-3000) }).toEqual({
          code: 0,
          said: "",
        });
      },
      300_000,
    );
  }
});

/** A folder with the examples, and one with `weir` in it. */
function openFolder() {
  const path = mkdtempSync(join(tmpdir(), "weir-docs-"));
  cpSync(join(import.meta.dir, "..", "..", "examples"), join(path, "examples"), { recursive: true });
  const bin = mkdtempSync(join(tmpdir(), "weir-docs-bin-"));
  writeFileSync(join(bin, "weir"), `#!/bin/sh\nexec ${PROGRAM.join(" ")} "$@"\n`);
  chmodSync(join(bin, "weir"), 0o755);
  return {
    path,
    bin,
    async [Symbol.asyncDispose]() {
      for (const each of [path, bin]) rmSync(each, { recursive: true, force: true });
    },
  };
}
