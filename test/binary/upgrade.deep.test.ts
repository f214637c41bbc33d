import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUILD_LIMIT_MS, bareMachine, build, copyOfProject, executable, ROOT } from "./executable.ts";

const NEXT = "9.0.0";

/** The next version, which has a new migration, and the key that signs it. */
let next: { folder: string; program: string; key: string };
beforeAll(() => {
  using project = copyOfProject();
  const { folder } = project;
  const edit = (name: string, change: (text: string) => string) =>
    writeFileSync(join(folder, name), change(readFileSync(join(folder, name), "utf8")));
  writeFileSync(
    join(folder, "migrations/9999_next.sql"),
    "CREATE TABLE next (id TEXT PRIMARY KEY) STRICT;\n",
  );
  edit(
    "src/store/migrations.ts",
    (text) =>
      `import next from "../../migrations/9999_next.sql" with { type: "text" };\n${text.replace("];", ', { name: "9999_next", sql: next }];')}`,
  );
  edit("package.json", (text) => text.replace(/"version": "[^"]+"/, `"version": "${NEXT}"`));
  const out = mkdtempSync(join(tmpdir(), "weir-next-"));
  next = { folder: out, program: join(out, "next"), key: join(out, "key") };
  sign("--new-key", next.key);
  build(folder, next.program, { env: { WEIR_RELEASE_PUBLIC_KEY: `${next.key}.pub` } });
  sign("--key", next.key, next.program);
}, BUILD_LIMIT_MS);
afterAll(() => {
  rmSync(next.folder, { recursive: true, force: true });
});

function sign(...words: string[]): void {
  const child = Bun.spawnSync([process.execPath, join(ROOT, "scripts/sign.ts"), ...words]);
  expect(child.stderr.toString()).toBe("");
}

test("the next version copies the data before it migrates them, and the previous version then rejects them", async () => {
  await using machine = bareMachine();
  const { token } = await machine.init();
  const server = await machine.serve({ program: next.program, token });
  expect((await server.call("GET", "/api/v1/users/me")).status).toBe(200);
  expect(await server.end()).toBe(0);
  const backups = join(machine.here, "weir-data/backups");
  const [copy, ...more] = readdirSync(backups);
  expect(more).toEqual([]);
  expect(copy).toMatch(/^before-9999_next-.+\.db$/);
  await server.line((line) =>
    line.includes(`was backed up to ${join(backups, copy ?? "")}.`) ? line : null,
  );
  using kept = new Database(join(backups, copy ?? ""), { readonly: true });
  expect(kept.query("SELECT email FROM users").all()).toEqual([{ email: "ada@example.com" }]);
  expect(kept.query("SELECT name FROM sqlite_master WHERE name = 'next'").all()).toEqual([]);

  const before = await machine.run(["serve", "--port", "0"]);
  expect(before.code).toBe(1);
  expect(before.err).toMatch(
    /^weir: This database was created by a newer version of Weir \(migrations: 9999_next\)\..+\n$/,
  );

  const database = join(machine.here, "weir-data/weir.db");
  for (const name of ["-wal", "-shm"]) rmSync(`${database}${name}`, { force: true });
  cpSync(join(backups, copy ?? ""), database);
  const back = await machine.serve({ token });
  expect((await back.call("GET", "/api/v1/users/me")).status).toBe(200);
  expect(await back.end()).toBe(0);
});

test("an executable installs a signed release while its server runs, and rolls back", async () => {
  await using machine = bareMachine();
  const program = join(machine.here, "weir");
  cpSync(executable(), program);
  const { token } = await machine.init();
  const server = await machine.serve({ program, token });
  const call = (...words: string[]) => machine.run(["upgrade", ...words], { program });
  const sql = async (n: number) =>
    (await server.call("POST", "/api/v1/query", { sql: `SELECT ${n} AS n` })).body.rows;
  const versionNow = async () => (await machine.run(["version", "--json"], { program })).lines()[0].version;
  const own = await versionNow();

  const refused = await call("--file", next.program);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("no built-in release key")]);
  expect(await versionNow()).toBe(own);
  const taken = await call("--file", next.program, "--public-key", `${next.key}.pub`, "--json");
  expect(taken.err).toBe("");
  expect(taken.lines()).toMatchObject([{ program, changed: true, version: NEXT, previousVersion: own }]);
  expect(await versionNow()).toBe(NEXT);
  expect((await server.call("GET", "/api/v1/users/me")).status).toBe(200);

  // Whatever is at its path by now, the server's children use the file that it was started from.
  writeFileSync(`${program}.other`, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  renameSync(program, `${program}.new`);
  renameSync(`${program}.other`, program);
  expect(await Promise.all([1, 2, 3, 4, 5].map(sql))).toEqual([1, 2, 3, 4, 5].map((n) => [{ n }]));
  renameSync(`${program}.new`, program);
  expect(await server.end()).toBe(0);

  // The new one contains the key, and so accepts itself without an argument.
  const again = await call("--file", next.program, "--json");
  expect(again.lines()).toMatchObject([{ changed: false, version: NEXT }]);
  expect((await call("--rollback", "--json")).lines()).toMatchObject([{ changed: true, version: own }]);
  expect(await versionNow()).toBe(own);
  expect(readdirSync(machine.here).sort()).toEqual(["weir", "weir-data", "weir.previous"]);
});

test(
  "the store's thread is in the executable, and copies a database",
  async () => {
    await using machine = bareMachine();
    using project = copyOfProject();
    await machine.init();
    const entry = `import { openStore } from "./store/store.ts";
import { migrations } from "./store/migrations.ts";
const [path, to] = process.argv.slice(2);
const store = await openStore({ path, migrations, backupsFolder: "backups" });
await store.backup(to);
await store.close();
`;
    appendFileSync(join(project.folder, "src/copy.ts"), entry);
    const program = join(project.folder, "copy");
    build(project.folder, program, { entry: "src/copy.ts" });
    const to = join(machine.here, "copy.db");
    expect(await machine.run(["weir-data/weir.db", to], { program })).toMatchObject({ code: 0, err: "" });
    using copy = new Database(to, { readonly: true });
    expect(copy.query("SELECT email FROM users").all()).toEqual([{ email: "ada@example.com" }]);
  },
  BUILD_LIMIT_MS,
);
