import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApp } from "../support/app.ts";

const SUITE = join(import.meta.dir, "../../node_modules/@modelcontextprotocol/conformance/dist/index.js");

/** Scenarios about tools, resources and prompts that the suite wants a server to have, by name. */
const FIXED = [
  "tools-call-image",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "tools-call-with-progress",
  "resources-read-text",
  "resources-read-binary",
  "resources-templates-read",
  "json-schema-2020-12",
];
/** What /mcp does not offer: it has no prompts, completes no arguments and asks its clients for nothing. */
const NOT_OFFERED = [
  "completion-complete",
  "prompts-list",
  "prompts-get-simple",
  "prompts-get-with-args",
  "prompts-get-embedded-resource",
  "prompts-get-with-image",
];
/** For servers without authentication; the page of another site has no token. */
const UNAUTHENTICATED = ["dns-rebinding-protection"];
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  "2025-11-25": [
    ...[...FIXED, ...NOT_OFFERED, ...UNAUTHENTICATED],
    "tools-call-with-logging",
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "logging-set-level",
    "resources-subscribe",
    "resources-unsubscribe",
    "server-sse-polling",
    "server-sse-multiple-streams", // of sessions, which /mcp has none of
  ],
  "2026-07-28": [
    ...[...FIXED, ...NOT_OFFERED, ...UNAUTHENTICATED],
    "server-stateless", // 26 of 28: two want a tool that needs sampling
    "caching", // 7 of 8: one wants prompts
    "input-required-result-basic-elicitation",
    "input-required-result-basic-sampling",
    "input-required-result-basic-list-roots",
    "input-required-result-request-state",
    "input-required-result-multiple-input-requests",
    "input-required-result-multi-round",
    "input-required-result-missing-input-response",
    "input-required-result-validate-input",
    "input-required-result-non-tool-request",
    "input-required-result-result-type",
    "input-required-result-tampered-state",
    "input-required-result-capability-check",
    "http-custom-header-server-validation",
  ],
};

let folder: string;
let weir: Awaited<ReturnType<typeof startApp>>;
let door: ReturnType<typeof Bun.serve>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-conformance-"));
  weir = await startApp();
  // The suite knows no tokens: each request gets one on its way.
  door = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${weir.token}`);
      const { method, body } = request;
      return fetch(weir.origin + pathname + search, { method, headers, body, redirect: "manual" });
    },
  });
});
afterAll(async () => {
  await door.stop(true);
  await weir[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test.each(["2026-07-28", "2025-11-25"])(
  "/mcp does what %s requires of servers, as far as that needs nothing of the suite's own",
  async (revision) => {
    const expected = join(folder, `${revision}.yaml`);
    await Bun.write(expected, JSON.stringify({ server: LEFT_OUT[revision] }));
    const args = ["--url", `http://127.0.0.1:${door.port}/mcp`, "--requirements", revision];
    const child = Bun.spawn([process.execPath, SUITE, "server", ...args, "--expected-failures", expected], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", NO_COLOR: "1", NO_PROXY: "127.0.0.1,localhost" },
      stdout: "pipe",
      stderr: "ignore",
    });
    const text = await new Response(child.stdout).text();
    const summary = text.split("=== SUMMARY ===")[1]?.slice(0, 6_000);
    expect([revision, await child.exited, summary]).toEqual([revision, 0, expect.any(String)]);
    const passed = [...text.matchAll(/^\u2713 (\S+): [1-9]\d* passed/gmu)].map(([, scenario]) => scenario);
    for (const scenario of ["tools-list", "tools-call-simple-text", "tools-call-error", "resources-list"])
      expect(passed).toContain(scenario);
  },
  300_000,
);
