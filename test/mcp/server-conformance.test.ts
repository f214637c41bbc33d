import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mcpOperationsOver } from "../../src/resources/mcp/routes.ts";
import { operations } from "../../src/server.ts";
import { startApp } from "../support/app.ts";
import { fixedServer } from "../support/conformance-server.ts";
import { deepTest, someOf } from "../support/scale.ts";

const SUITE = join(import.meta.dir, "../../node_modules/@modelcontextprotocol/conformance/dist/index.js");

/** Scenarios about tools, resources and prompts that the suite expects a server to have, by name. */
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
/** What /mcp doesn't offer: it has no prompts, completes no arguments and requests nothing from its clients. */
const NOT_OFFERED = [
  "completion-complete",
  "prompts-list",
  "prompts-get-simple",
  "prompts-get-with-args",
  "prompts-get-embedded-resource",
  "prompts-get-with-image",
];
/** For servers without authentication; another site's page has no token. */
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
    "server-sse-multiple-streams", // About sessions, which /mcp doesn't have.
  ],
  "2026-07-28": [
    ...[...FIXED, ...NOT_OFFERED, ...UNAUTHENTICATED],
    "server-stateless", // 26 of 28: two need a tool with sampling.
    "caching", // 7 of 8: one needs prompts.
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

/**
 * In the revision with sessions. /mcp has none, so it can't ask a client during a call, and has no streams outside one.
 */
const SESSIONS = [
  "tools-call-sampling",
  "tools-call-elicitation",
  "elicitation-sep1034-defaults",
  "elicitation-sep1330-enums",
  "resources-subscribe",
  "resources-unsubscribe",
  "server-sse-multiple-streams",
];
/**
 * The same for everything that the suite expects a server to offer,
 * served by the endpoint instead of Weir's own offers.
 */
const LEFT_OUT_OF_FIXED: Readonly<Record<string, readonly string[]>> = {
  "2025-11-25": [...SESSIONS, ...UNAUTHENTICATED],
  "2026-07-28": UNAUTHENTICATED,
};

const FIXED_OPERATIONS = [
  ...operations.filter(({ path }) => path !== "/mcp"),
  ...mcpOperationsOver(fixedServer),
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-conformance-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A server, and an address that adds a token to each request, since the suite has none. */
async function openDoor(options: Parameters<typeof startApp>[0] = {}) {
  const weir = await startApp(options);
  const door = Bun.serve({
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
  return {
    url: `http://127.0.0.1:${door.port}/mcp`,
    async [Symbol.asyncDispose]() {
      await door.stop(true);
      await weir[Symbol.asyncDispose]();
    },
  };
}

/** Runs the suite against a server. Returns the scenarios that passed. Fails if one ends differently from `leftOut`. */
async function conformance(url: string, revision: string, leftOut: readonly string[]) {
  const expected = join(folder, `${revision}.yaml`);
  await Bun.write(expected, JSON.stringify({ server: leftOut }));
  const args = ["--url", url, "--requirements", revision, "--expected-failures", expected];
  const child = Bun.spawn([process.execPath, SUITE, "server", ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", NO_COLOR: "1", NO_PROXY: "127.0.0.1,localhost" },
    stdout: "pipe",
    stderr: "ignore",
  });
  const text = await new Response(child.stdout).text();
  const summary = text.split("=== SUMMARY ===")[1]?.slice(0, 6_000);
  expect([revision, await child.exited, summary]).toEqual([revision, 0, expect.any(String)]);
  return [...text.matchAll(/^\u2713 (\S+): [1-9]\d* passed/gmu)].map(([, scenario]) => scenario);
}

const REVISIONS = someOf(1, ["2026-07-28", "2025-11-25"]);

test.each(REVISIONS)(
  "/mcp does what %s requires of servers, as far as that needs nothing specific to the suite",
  async (revision) => {
    await using door = await openDoor();
    const passed = await conformance(door.url, revision, LEFT_OUT[revision] ?? []);
    for (const scenario of ["tools-list", "tools-call-simple-text", "tools-call-error", "resources-list"])
      expect(passed).toContain(scenario);
  },
  300_000,
);

deepTest.each(REVISIONS)(
  "with the suite's own tools, resources and prompts, it does everything that %s requires except what needs a session",
  async (revision) => {
    await using door = await openDoor({ operations: FIXED_OPERATIONS });
    const passed = await conformance(door.url, revision, LEFT_OUT_OF_FIXED[revision] ?? []);
    for (const scenario of [...FIXED, "completion-complete", "prompts-get-with-args"])
      expect(passed).toContain(scenario);
    expect(passed.length).toBeGreaterThanOrEqual(revision === "2026-07-28" ? 37 : 20);
  },
  300_000,
);
