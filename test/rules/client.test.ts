import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";
import { readDocument } from "./document.ts";

const root = join(import.meta.dir, "../..");

let app: Awaited<ReturnType<typeof startApp>>;
let text: string;
const folders: string[] = [];
beforeAll(async () => {
  app = await startApp();
  ({ text } = await readDocument(app));
  // The generator prints TypeScript by an interface that the newest compiler no longer has.
  Bun.plugin({
    name: "the compiler that the generator prints with",
    setup(build) {
      build.module("typescript", async () => ({
        exports: { ...(await import("typescript-classic")) },
        loader: "object",
      }));
    },
  });
}, 120_000);
afterAll(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true });
  await app[Symbol.asyncDispose]();
});

/** A folder with a client generated from the document, and a typical program that uses it. */
async function generate(document: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "weir-client-"));
  folders.push(folder);
  writeFileSync(join(folder, "openapi.json"), document);
  const { createClient } = await import("@hey-api/openapi-ts");
  await createClient({
    input: join(folder, "openapi.json"),
    output: join(folder, "client"),
    logs: { level: "silent" },
    plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
  });
  cpSync(join(import.meta.dir, "client-job.ts.txt"), join(folder, "job.ts"));
  const compilerOptions = {
    lib: ["ESNext", "DOM", "DOM.Iterable"],
    target: "ESNext",
    module: "Preserve",
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    types: ["bun"],
    typeRoots: [join(root, "node_modules/@types")],
  };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions, include: ["job.ts", "client"] }),
  );
  return folder;
}

/** The compiler's errors for the program. Empty if the types are right. */
function typeErrors(folder: string): string {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  return Bun.spawnSync([process.execPath, compiler, "--noEmit", "-p", folder]).stdout.toString();
}

test("a client generated from the document works, and its types are right", async () => {
  const folder = await generate(text);
  expect(typeErrors(folder)).toBe("");
  const { job } = (await import(join(folder, "job.ts"))) as {
    job(origin: string, token: string): Promise<Record<string, unknown>>;
  };
  expect(await job(app.origin, app.token)).toEqual({
    file: 25,
    webhookUrl: `${app.origin}/webhooks/${app.ids.organizationId}/orders`,
    received: 202,
    run: "completed",
    steps: ["extract completed", "transform completed"],
    runs: 2,
    kindOfRun: expect.stringMatching(/^(dlt_extract|duckdb_transform)$/),
    preview: [expect.objectContaining({ total: 42 })],
    rows: [{ n: 3 }],
    events: expect.arrayContaining(["automation.created", "automation.triggered", "automation.completed"]),
    hasMore: false,
    chain: true,
    problem: "not_found",
    invalid: ["body.name string_too_short"],
  });
}, 120_000);

deepTest(
  "the program doesn't compile with a document that is wrong in one name",
  async () => {
    for (const [right, wrong] of [
      ['"triggerType"', '"triggertype"'],
      ['"operationId":"previewDataset"', '"operationId":"preview"'],
      ['"automation_run_id"', '"automationRunId"'],
    ] as const) {
      expect(text).toContain(right);
      const folder = await generate(text.replaceAll(right, wrong));
      expect([wrong, typeErrors(folder)]).toEqual([wrong, expect.stringContaining("error TS")]);
    }
  },
  120_000,
);
