import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "../../scripts/house.ts";

const project = join(import.meta.dir, "..", "..");

test("the project keeps its house rules", async () => {
  expect((await inspect(project)).breaches).toEqual([]);
});

/** What the rules find in a tree with only `files`. */
async function inspectTree(files: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), "weir-house-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return await inspect(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

const breachesOf = async (path: string, text: string) => (await inspectTree({ [path]: text })).breaches;

/** A word that this file must not spell out, since the rules read it too. */
const spelt = (...parts: string[]) => parts.join("");

describe("floors", () => {
  test.each([
    ["src/base/slug.ts", "../store/write-queue.ts", "src/store/write-queue.ts"],
    ["src/sql/contract.ts", "./child.ts", "src/sql/child.ts"],
    ["src/executors/http/request.ts", "../../store/store.ts", "src/store/store.ts"],
    ["src/lake/writer.ts", "../context.ts", "src/context.ts"],
    ["src/resources/runs/table.ts", "./wire.ts", "src/resources/runs/wire.ts"],
    ["src/context.ts", "./resources/runs/service.ts", "src/resources/runs/service.ts"],
    ["src/resources/runs/wire.ts", "./service.ts", "src/resources/runs/service.ts"],
    ["src/resources/runs/service.ts", "../../http/scope.ts", "src/http/scope.ts"],
    ["src/http/scope.ts", "../resources/runs/routes.ts", "src/resources/runs/routes.ts"],
    ["src/resources/runs/routes.ts", "../../server.ts", "src/server.ts"],
    ["src/server.ts", "./cli/serve.ts", "src/cli/serve.ts"],
  ])("%s may not import %s", async (path, name, target) => {
    const breach = [`${path}: imports ${target}, which is higher up`];
    expect(await breachesOf(path, `import { x } from "${name}";\n`)).toEqual(breach);
    expect(await breachesOf(path, `import type { X } from "${name}";\n`)).toEqual(breach);
    expect(await breachesOf(path, `import "${name}";\n`)).toEqual(breach);
    expect(await breachesOf(path, `export * from "${name}";\n`)).toEqual(breach);
    expect(await breachesOf(path, `const x = await import("${name}");\n`)).toEqual(breach);
  });

  test("an import that goes down or stays level is allowed", async () => {
    const text = `import { a } from "../runs/service.ts";
import { b } from "./table.ts";
import { c } from "../../context.ts";
import { d } from "../../lake/contract.ts";
import { e } from "../../base/slug.ts";
`;
    expect(await breachesOf("src/resources/actions/service.ts", text)).toEqual([]);
  });

  test("a file outside every floor is a breach", async () => {
    expect(await breachesOf("src/utils/strings.ts", "export {};\n")).toEqual([
      "src/utils/strings.ts: stands on no floor",
    ]);
  });
});

describe("exported names", () => {
  test.each([
    ["export interface Place {}\n", "Place", "slot, position, path, address: what it is"],
    ["export const openHooks = 1;\n", "openHooks", "webhook or subscription"],
    ["export async function* settleTwo() {}\n", "settleTwo", "end, finish, record or decide"],
    ["export const MAX_LOOKS = 1;\n", "MAX_LOOKS", "check, poll, stat or style"],
    ["export type Told = string;\n", "Told", "a noun (request, action, input, message), or what is done"],
  ])("follow the glossary: %j", async (text, name, instead) => {
    for (const path of ["src/lake/a.ts", "web/parts/base/a.tsx"])
      expect(await breachesOf(path, text)).toEqual([
        `${path}: exports ${name}; call it what it is: ${instead}`,
      ]);
  });

  test("can be longer words and the one meaning that is kept, and locals are free", async () => {
    const text = "export const placeholder = 1, x = 2;\nexport const webhooks = 1;\nconst place = 2;\n";
    expect(await breachesOf("src/lake/a.ts", text)).toEqual([]);
    expect(await breachesOf("src/resources/chat/begin.ts", "export interface Turn {}\n")).toEqual([]);
    expect(await breachesOf("src/queue/end.ts", "export interface Outcome {}\n")).toEqual([]);
  });
});

describe("circles", () => {
  const breaches = async (files: Record<string, string>) => (await inspectTree(files)).breaches;

  test("of values are a violation, however long", async () => {
    const files = {
      "src/base/a.ts": 'import { b } from "./b.ts";\n',
      "src/base/b.ts": 'import { type A, c } from "./c.ts";\n',
      "src/base/c.ts": 'export * from "./a.ts";\n',
    };
    expect(await breaches(files)).toEqual([
      "src/base/a.ts → src/base/b.ts → src/base/c.ts → src/base/a.ts: a circle of imports",
    ]);
  });

  test("of types are allowed, and so are lazy imports", async () => {
    const files = {
      "src/base/a.ts": 'import type { B } from "./b.ts";\nimport { type C } from "./c.ts";\n',
      "src/base/b.ts": 'import { a } from "./a.ts";\nconst c = await import("./c.ts");\n',
      "src/base/c.ts": 'import { a } from "./a.ts";\nimport { b } from "./b.ts";\n',
    };
    expect(await breaches(files)).toEqual([]);
  });

  test("of folders on one floor are a violation", async () => {
    const files = {
      "src/lake/a.ts": 'import { b } from "../sql/b.ts";\n',
      "src/lake/c.ts": "export const c = 1;\n",
      "src/sql/b.ts": 'import { d } from "./d.ts";\n',
      "src/sql/e.ts": 'import { c } from "../lake/c.ts";\n',
      "src/sql/d.ts": "export const d = 1;\n",
    };
    expect(await breaches(files)).toEqual([
      "src/lake (adapter) → src/sql (adapter) → src/lake (adapter): a circle of folders",
    ]);
    const lower = {
      ...files,
      "src/sql/e.ts": 'import { c } from "../base/c.ts";\n',
      "src/base/c.ts": "export const c = 1;\n",
    };
    expect(await breaches(lower)).toEqual([]);
  });

  test("of folders of the page's parts are a violation too", async () => {
    const files = {
      "web/parts/form/frame.tsx": 'import { Save } from "../base/save.tsx";\n',
      "web/parts/base/ask.tsx": 'import { Field } from "../form/field.tsx";\n',
    };
    expect(await breaches(files)).toEqual([
      "web/parts/base (page) → web/parts/form (page) → web/parts/base (page): a circle of folders",
    ]);
  });
});

test("a decision that a text names must exist", async () => {
  const files = {
    "docs/decisions/one.md": "# One\n",
    "src/base/a.ts": "/** Why: docs/decisions/one.md, and docs/decisions/two.md. */\n",
  };
  expect((await inspectTree(files)).breaches).toEqual([
    "src/base/a.ts: names docs/decisions/two.md, which does not exist",
  ]);
});

describe("the page", () => {
  test("it imports types from the server, and pure modules of base/", async () => {
    const breach = (target: string) => [
      `web/api.ts: imports ${target} (use its own files, types of the server, and pure modules of base/)`,
    ];
    const files = {
      "src/base/lines.ts": 'import type { Log } from "../store/log.ts";\nimport { cut } from "./cut.ts";\n',
      "src/base/cut.ts": 'export const cut = "a";\n',
      "src/base/hash.ts": 'import { createHash } from "node:crypto";\n',
      "src/base/text.ts": 'import { hash } from "./hash.ts";\n',
      "src/base/again.ts": 'export { createHash } from "node:crypto";\n',
      "src/base/read.ts": 'export const read = () => Bun.file("x");\n',
      "src/store/log.ts": "export type Log = string;\n",
    };
    const found = async (name: string) =>
      (
        await inspectTree({ ...files, "web/api.ts": `import { x } from "../src/${name}.ts";\n` })
      ).breaches.filter((each) => each.startsWith("web/"));
    expect(await found("base/lines")).toEqual([]);
    for (const name of ["base/hash", "base/again", "base/text", "base/read", "store/log"])
      expect(await found(name)).toEqual(breach(`src/${name}.ts`));
  });

  test("it imports only types of everything else", async () => {
    const breach = (target: string) => [
      `web/pages/runs.tsx: imports ${target} (use its own files, types of the server, and pure modules of base/)`,
    ];
    const wire = "src/resources/runs/wire.ts";
    const text = (line: string) => breachesOf("web/pages/runs.tsx", `${line}\n`);
    expect(await text(`import type { Run } from "../../${wire}";`)).toEqual([]);
    expect(await text(`import { call } from "../api.ts";`)).toEqual([]);
    expect(await text(`import { Run } from "../../${wire}";`)).toEqual(breach(wire));
    expect(await text(`const { Run } = await import("../../${wire}");`)).toEqual(breach(wire));
    expect(await text(`import { type Run } from "../../${wire}";`)).toEqual(breach(wire));
    expect(await text(`import type { Call } from "../../src/calls.ts";`)).toEqual([]);
  });

  test("the server imports nothing from it", async () => {
    expect(await breachesOf("src/server.ts", `import { call } from "../web/api.ts";\n`)).toEqual([
      "src/server.ts: imports web/api.ts, which is higher up",
    ]);
  });

  test.each([
    "const reply = await fetch(path);",
    "box.innerHTML = name;",
    "<p dangerouslySetInnerHTML={{ __html: name }} />",
    "const value = eval(text);",
    "console.log(1);",
    spelt("const value = reply as an", "y;"),
  ])("it may not contain %s", async (line) => {
    expect(await breachesOf("web/pages/runs.tsx", `${line}\n`)).toHaveLength(1);
  });
});

describe("words", () => {
  test.each([
    ["src/sql/child.ts", "const t = Date.now();"],
    ["src/sql/child.ts", "const t = new Date();"],
    ["src/sql/child.ts", "const id = crypto.randomUUID();"],
    ["src/sql/child.ts", "const home = process.env.HOME;"],
    ["src/sql/child.ts", "console.log(1);"],
    ["src/sql/child.ts", 'import { exec } from "node:child_process";'],
    ["src/sql/child.ts", "await Bun.$`ls`;"],
    ["src/sql/child.ts", 'import { $ } from "bun";'],
    ["src/sql/child.ts", 'Bun.spawn(["sh", "-c", text]);'],
    ["src/sql/child.ts", 'Bun.spawnSync(["/bin/bash", "-c", text]);'],
    ["src/sql/child.ts", "const reply = await fetch(url);"],
    ["src/sql/child.ts", "const reply = fetch(url);"],
    ["src/sql/child.ts", "  fetch(url).then(keep);"],
    ["src/sql/child.ts", "const send = globalThis.fetch;"],
    ["src/resources/runs/service.ts", 'import { Elysia } from "elysia";'],
    ["src/sql/child.ts", "const given = read();"],
    ["web/parts/a.tsx", "function told(error: unknown) {}"],
    ["src/sql/child.ts", spelt("const x = y as an", "y;")],
    ["src/sql/child.ts", spelt("const x: an", "y = 1;")],
    ["src/sql/child.ts", spelt("// @ts-ig", "nore\nconst x = 1; /* @ts-ig", "nore */")],
    ["src/sql/child.ts", spelt("try { go(); } ca", "tch {}")],
    ["src/sql/child.ts", spelt("try { go(); } ca", "tch (error) {\n}")],
    ["src/sql/child.ts", spelt("await go().ca", "tch(() => {});")],
    ["test/sql/child.test.ts", spelt("test.on", 'ly("x", () => {});')],
  ])("%s may not contain %s", async (path, text) => {
    expect(await breachesOf(path, `${text}\n`)).toHaveLength(1);
  });

  test.each([
    ["src/base/clock.ts", "export const now = () => new Date();"],
    ["src/base/ids.ts", "export const id = () => crypto.randomUUID();"],
    ["src/base/egress.ts", "const reply = await fetch(url);"],
    ["src/main.ts", "run(process.env);"],
    ["src/cli/status.ts", "console.log(1);"],
    ["src/http/scope.ts", 'import { Elysia } from "elysia";'],
    ["src/sql/child.ts", "const reply = await egress.fetch(url);"],
    ["src/sql/child.ts", 'const child = Bun.spawn([...self, "__sql"]);'],
    ["src/sql/child.ts", "Bun.serve({ port: 0, fetch(request) { return answer(request); } });"],
    ["src/sql/child.ts", "interface Way {\n  fetch(url: string): Promise<Response>;\n}"],
    ["src/sql/child.ts", "/** Not `Date.now()`, which\n * jumps, and no console.log. */"],
    ["src/sql/child.ts", spelt("try { go(); } ca", "tch {\n  // Gone already: nothing to do.\n}")],
    ["scripts/tidy.ts", "console.log(process.env.HOME, Date.now());"],
  ])("%s may contain %s", async (path, text) => {
    expect(await breachesOf(path, `${text}\n`)).toEqual([]);
  });

  test("a violation names the file, the line and what to use instead", async () => {
    expect(await breachesOf("src/sql/child.ts", "const a = 1;\n\nconst t = Date.now();\n")).toEqual([
      "src/sql/child.ts:3: Date.now( (use ctx.clock)",
    ]);
  });
});

describe("marks", () => {
  test.each([
    ["README.md", spelt("TO", "DO: write this")],
    ["migrations/0001_start.sql", spelt("-- FIX", "ME")],
    [".ci/run", spelt("cd /wo", "rk/main")],
    ["test/support/place.ts", spelt('const home = "/ho', 'me/ada/weir";')],
    ["bun.lock", spelt("https://registry.np", "mjs.org/bun")],
  ])("%s may not contain %s", async (path, text) => {
    expect(await breachesOf(path, text)).toHaveLength(1);
  });

  test("what only looks similar is allowed", async () => {
    const text = "The user code is XXXX-XXXX. See https://example.test/home/ada/ and src/work.ts.";
    expect(await breachesOf("README.md", text)).toEqual([]);
  });

  test("what git ignores and what isn't text isn't read", async () => {
    const text = spelt("TO", "DO");
    const found = await inspectTree({ "dist/a.txt": text, "weir-data/b.txt": text, "c.bin": `\0${text}` });
    expect(found.breaches).toEqual([]);
  });
});

test("a folder with more than 400 lines is remarked on and fails nothing", async () => {
  const found = await inspectTree({ "src/base/long.ts": "export {};\n".repeat(401) });
  expect(found.breaches).toEqual([]);
  expect(found.remarks).toEqual(["src/base/long.ts: 401 lines; would you know your way in there?"]);
});
