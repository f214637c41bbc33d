import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bareMachine, build, ROOT } from "./executable.ts";

/** A copy of the project's sources, to make other executables from. */
function copyOfProject() {
  const folder = mkdtempSync(join(tmpdir(), "weir-copy-"));
  for (const name of ["src", "web", "migrations", "scripts", "package.json", "tsconfig.json"]) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

test("the next version copies the data before it migrates them, and the version before refuses them then", async () => {
  await using machine = bareMachine();
  using project = copyOfProject();
  const { token } = await machine.init();
  writeFileSync(
    join(project.folder, "migrations/9999_next.sql"),
    "CREATE TABLE next (id TEXT PRIMARY KEY) STRICT;\n",
  );
  const list = join(project.folder, "src/store/migrations.ts");
  const text = readFileSync(list, "utf8");
  writeFileSync(
    list,
    `import next from "../../migrations/9999_next.sql" with { type: "text" };\n${text.replace("];", ', { name: "9999_next", sql: next }];')}`,
  );
  const next = join(project.folder, "next");
  build(project.folder, next);

  const server = await machine.serve({ program: next, token });
  expect((await server.call("GET", "/api/v1/users/me")).status).toBe(200);
  expect(await server.end()).toBe(0);
  const backups = join(machine.here, "weir-data/backups");
  const [copy, ...more] = readdirSync(backups);
  expect(more).toEqual([]);
  expect(copy).toMatch(/^before-9999_next-.+\.db$/);
  using kept = new Database(join(backups, copy ?? ""), { readonly: true });
  expect(kept.query("SELECT email FROM users").all()).toEqual([{ email: "ada@example.com" }]);
  expect(kept.query("SELECT name FROM sqlite_master WHERE name = 'next'").all()).toEqual([]);

  const before = await machine.run(["serve", "--port", "0"]);
  expect(before.code).toBe(1);
  expect(before.err).toMatch(/^A newer version of Weir made this database \(migrations: 9999_next\)\..+\n$/);
});

test("the store's own thread is in the executable, and copies a database", async () => {
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
  build(project.folder, program, "src/copy.ts");
  const to = join(machine.here, "copy.db");
  expect(await machine.run(["weir-data/weir.db", to], { program })).toMatchObject({ code: 0, err: "" });
  using copy = new Database(to, { readonly: true });
  expect(copy.query("SELECT email FROM users").all()).toEqual([{ email: "ada@example.com" }]);
});
