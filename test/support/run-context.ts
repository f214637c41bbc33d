import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { openEgress } from "../../src/base/egress.ts";
import { AppError } from "../../src/base/errors.ts";
import { systemIds } from "../../src/base/ids.ts";
import { openCompute } from "../../src/compute/compute.ts";
import type { LogLevel, Progress, RunContext } from "../../src/executors/contract.ts";
import { PROGRAM } from "./program.ts";

export interface TestContext extends RunContext, AsyncDisposable {
  /** What the executor logged, in order. */
  readonly logs: { level: LogLevel; message: string }[];
  readonly progresses: Progress[];
}

const missing = (what: string): never => {
  throw new Error(`This context has no ${what}; give it one.`);
};

const noLake: RunContext["lake"] = {
  tables: async () => missing("lake"),
  table: async () => missing("lake"),
  past: async () => missing("lake"),
  localPath: async () => missing("lake"),
  add: async () => missing("lake"),
  cursor: async () => missing("lake"),
  lock: async () => missing("lake"),
};

/** A real context for one execution: the system's clock, and egress that also allows loopback. */
export function testContext(overrides: Partial<RunContext> = {}): TestContext {
  const logs: TestContext["logs"] = [];
  const progresses: Progress[] = [];
  const folders: string[] = [];
  const ctx: Omit<RunContext, "sql" | "charts" | "model" | "reader" | "scripts" | "sheets" | "search"> = {
    run: {
      id: "01900000-0000-7000-8000-000000000001",
      organizationId: "01900000-0000-7000-8000-000000000002",
      attempt: 1,
      startedAt: systemClock.now().toISOString(),
    },
    signal: new AbortController().signal,
    retry: {},
    scope: {},
    kept: [],
    clock: systemClock,
    ids: systemIds,
    compute: openCompute(PROGRAM),
    fill: async () => missing("templates"),
    room: async () => undefined,
    modelRoom: { known: null, ask: async () => missing("a model") },
    egress: openEgress({ allow: ["127.0.0.0/8", "localhost"], self: () => null }),
    lake: noLake,
    async workFolder() {
      const folder = await mkdtemp(join(tmpdir(), "weir-bench-"));
      folders.push(folder);
      return folder;
    },
    mailer: null,
    artifact: async () => missing("artifact"),
    agent: async () => missing("agent"),
    async connection() {
      throw new AppError("definition_invalid", "The action has no connection.");
    },
    async openConnection() {
      return missing("connections");
    },
    catalog: async () => missing("catalog"),
    once: { check: () => undefined, make: (call) => call() },
    approvedHash: async () => null,
    answers: async () => new Map(),
    manifest: {
      read: async () => missing("manifest"),
      keep: async () => missing("manifest"),
      forget: async () => missing("manifest"),
    },
    hasConnection: false,
    progress: (progress) => progresses.push(progress),
    log: (level, message) => logs.push({ level, message }),
  };
  return {
    get sql() {
      return missing("sql");
    },
    get model() {
      return missing("model");
    },
    get charts() {
      return missing("charts");
    },
    get reader() {
      return missing("reader");
    },
    get scripts() {
      return missing("scripts");
    },
    get sheets() {
      return missing("sheets");
    },
    get search() {
      return missing("search");
    },
    ...ctx,
    ...overrides,
    logs,
    progresses,
    async [Symbol.asyncDispose]() {
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
    },
  };
}
