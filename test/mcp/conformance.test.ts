import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deepTest, someOf } from "../support/scale.ts";

const SUITE = join(import.meta.dir, "../../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const SOURCE = join(import.meta.dir, "../support/conformance-client.ts");

/** By revision: what is required but not supported, with the reason. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  "2026-07-28": [],
  "2025-11-25": [],
};

let folder: string;
/** As one file: each scenario starts a separate client. */
let client: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-conformance-"));
  const built = await Bun.build({ entrypoints: [SOURCE], target: "bun", outdir: folder });
  client = built.outputs[0]?.path ?? "";
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Scenarios of an early revision only: a server that is its own authorization server, with and without metadata. */
test.each(["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"])(
  "the client signs in as before 2025-06-18: %s",
  async (scenario) => {
    const args = ["--command", `${process.execPath} ${client}`, "--scenario", scenario, "--timeout", "60000"];
    const child = Bun.spawn([process.execPath, SUITE, "client", ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", NO_COLOR: "1" },
      stdout: "ignore",
      stderr: "pipe",
    });
    const text = await new Response(child.stderr).text();
    expect([await child.exited, text.slice(-600)]).toEqual([0, expect.stringContaining("PASSED")]);
  },
  120_000,
);

/** Runs the suite's servers against our client, one process per scenario. Returns how each scenario ended. */
async function conformance(revision: string): Promise<Map<string, boolean>> {
  const expected = join(folder, `${revision}.yaml`);
  await Bun.write(expected, JSON.stringify({ client: LEFT_OUT[revision] }));
  const command = `${process.execPath} ${client}`;
  const asked = ["--command", command, "--requirements", revision, "--expected-failures", expected];
  const args = ["client", ...asked, "--timeout", "120000"]; // Each scenario has two processes, all at once.
  const child = Bun.spawn([process.execPath, SUITE, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", NO_COLOR: "1" },
    stdout: "pipe",
    stderr: "ignore",
  });
  const text = await new Response(child.stdout).text();
  expect([revision, await child.exited, text.split("=== SUITE SUMMARY ===")[1]?.slice(0, 6_000)]).toEqual([
    revision,
    0,
    expect.any(String),
  ]);
  const lines = text.matchAll(/^([✓✗]) (\S+): \d+ passed/gmu);
  return new Map([...lines].map(([, mark, scenario = ""]) => [scenario, mark === "✓"]));
}

deepTest.each(someOf(1, ["2026-07-28", "2025-11-25"]))(
  "the client does what %s requires of clients",
  async (revision) => {
    const scenarios = await conformance(revision);
    expect(scenarios.get("auth/scope-step-up")).toBe(true);
    expect(scenarios.get("auth/client-credentials-basic")).toBe(true);
    expect([...scenarios.values()].filter(Boolean).length).toBeGreaterThanOrEqual(
      revision === "2026-07-28" ? 33 : 18,
    );
  },
  300_000,
);
