import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApp } from "../support/app.ts";

const root = join(import.meta.dir, "../..");
const bin = (name: string) => join(root, "node_modules", name);

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-foreign-"));
  await using app = await startApp({ engine: false });
  writeFileSync(join(folder, "openapi.json"), (await app.anonymous("GET", "/openapi.json")).text);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a program in the folder. Returns its output if it fails. */
function run(...args: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, ...args], { cwd: folder });
  return exitCode === 0 ? "" : `${stdout}${stderr}`;
}

/** The compiler's errors for `job`, which uses the generated code next to it. */
function typeErrors(job: string): string {
  const compilerOptions = {
    lib: ["ESNext", "DOM", "DOM.Iterable"],
    target: "ESNext",
    module: "Preserve",
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    types: [],
  };
  writeFileSync(join(folder, "job.ts"), job);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["job.ts"] }));
  return run(join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", folder);
}

const STEPS = `[{ key: "load", kind: "duckdb_transform", definition: { sql: "SELECT 1", maxRows: "{{payload.rows}}" } }]`;
const AUTOMATION = `{ name: "Orders", triggerType: "schedule", config: { schedule: { cron: "0 7 * * *" }, steps: ${STEPS} } }`;
const CONNECTION = `{ name: "Shop", provider: "postgres", config: { host: "db", database: "shop" }, credentials: { user: "ada" } }`;

/** Each with a value that the types have to reject. */
const WRONG = [
  AUTOMATION.replace("cron", "crone"),
  AUTOMATION.replace('"duckdb_transform"', '"duckdb"'),
  AUTOMATION.replace("sql:", "sequel:"),
];

test("openapi-typescript generates types from the document that compile, and reject misspelled names", async () => {
  // It prints TypeScript by an interface that the newest compiler no longer has.
  Bun.plugin({
    name: "the compiler that the generator prints with",
    setup(build) {
      build.module("typescript", async () => ({
        exports: { ...(await import("typescript-classic")) },
        loader: "object",
      }));
    },
  });
  const { default: generate, astToString } = await import("openapi-typescript");
  const nodes = await generate(new URL(`file://${folder}/openapi.json`), { defaultNonNullable: false });
  writeFileSync(join(folder, "types.ts"), astToString(nodes));
  const job = (automation: string) => `import type { components } from "./types.ts";
export const automation: components["schemas"]["AutomationCreate"] = ${automation};
export const connection: components["schemas"]["ConnectionCreate"] = ${CONNECTION};
`;
  expect(typeErrors(job(AUTOMATION))).toBe("");
  for (const wrong of WRONG)
    expect([wrong, typeErrors(job(wrong))]).toEqual([wrong, expect.stringContaining("TS")]);
}, 120_000);

test("Orval generates a fetch client from the document whose types compile", () => {
  const config = {
    weir: { input: "./openapi.json", output: { target: "./orval.ts", client: "fetch", mode: "single" } },
  };
  writeFileSync(join(folder, "orval.config.cjs"), `module.exports = ${JSON.stringify(config)};`);
  expect(run(bin("orval/dist/bin/orval.mjs"), "--config", "orval.config.cjs")).toBe("");
  const job = (
    automation: string,
  ) => `import { createAutomation, createConnection, uploadDataset } from "./orval.ts";
export const made = async () => [await createAutomation(${automation}), await createConnection(${CONNECTION})];
export const upload = uploadDataset;
`;
  expect(typeErrors(job(AUTOMATION))).toBe("");
  for (const wrong of WRONG)
    expect([wrong, typeErrors(job(wrong))]).toEqual([wrong, expect.stringContaining("TS")]);
}, 120_000);
