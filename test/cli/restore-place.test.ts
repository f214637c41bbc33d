import { describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { backup } from "../../src/cli/backup.ts";
import { restore } from "../../src/cli/restore.ts";
import { startApp } from "../support/app.ts";
import { folder, shell } from "../support/shell.ts";
import { hasSmallDisks, smallDisk } from "../support/small-disk.ts";
import { created } from "../support/work.ts";

const weir = shell();
const STAMP = "2026-01-01T00-00-00-000Z";

/** Creates a data directory with an action of this name, and a backup of it. */
async function installed(dataFolder: string, name: string, file?: string) {
  {
    await using app = await startApp({ dataFolder, engine: false });
    created(await app.owner("POST", "/api/v1/actions", { kind: "http_request", name }));
  }
  if (file) expect((await weir(backup, file, "--data", dataFolder, "--include-key")).code).toBe(0);
}

/** The names of the actions of a data directory. */
async function actionsIn(dataFolder: string) {
  await using app = await startApp({ dataFolder, engine: false, owner: false });
  const rows = await app.app.store.db.all<{ name: string }>("SELECT name FROM actions");
  return rows.map(({ name }) => name);
}

function empty(path: string) {
  for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true });
}

describe("weir restore to a directory that can't be renamed", () => {
  test.skipIf(!hasSmallDisks)(
    "fills a mount point, and keeps what was in it in a folder there (needs root, to mount one)",
    async () => {
      using here = folder();
      using disk = smallDisk("64m");
      const path = disk?.path ?? "";
      const file = join(here.path, "new.weir");
      await installed(join(here.path, "first"), "New", file);
      const first = await weir(restore, file, "--data", path, "--json");
      expect([first.err, first.json?.previousFolder]).toEqual(["", null]);
      expect(await actionsIn(path)).toEqual(["New"]);

      empty(path);
      await installed(path, "Old");
      mkdirSync(join(path, "lost+found"));
      writeFileSync(join(path, "weir.toml"), "concurrency = 3\n");
      const filled = await weir(restore, file, "--data", path, "--json");
      expect([filled.err, filled.code]).toEqual(["", 0]);
      const kept = filled.json.previousFolder;
      expect(kept).toStartWith(join(path, ".before-"));
      expect(readFileSync(join(path, "weir.toml"), "utf8")).toBe("concurrency = 3\n");
      expect(await actionsIn(path)).toEqual(["New"]);
      expect(await actionsIn(kept)).toEqual(["Old"]);

      mkdirSync(join(path, ".restoring-1")); // Of a restore that was killed.
      const again = await weir(restore, file, "--data", path, "--json");
      expect(again.err).toBe("");
      expect(readdirSync(path).filter((name) => name.startsWith("."))).toHaveLength(2);
      expect(await actionsIn(path)).toEqual(["New"]);

      empty(path);
      writeFileSync(join(path, "diary.txt"), "");
      expect((await weir(restore, file, "--data", path)).err).toContain("don't belong to Weir");
      expect(readdirSync(path)).toEqual(["diary.txt"]);
    },
    120_000,
  );

  test("and that is killed is completed by the next start or command, wherever it was", async () => {
    using here = folder();
    const [old, fresh] = [join(here.path, "old"), join(here.path, "new")];
    await installed(old, "Old");
    await installed(fresh, "New");
    for (const name of ["lock", "scratch", "backups"])
      rmSync(join(fresh, name), { recursive: true, force: true });
    const away = readdirSync(old).filter((name) => name !== "lock");
    const entering = readdirSync(fresh);

    for (let step = 0; step <= away.length + entering.length; step++) {
      const data = join(here.path, `data-${step}`);
      const kept = join(data, `.before-${STAMP}`);
      cpSync(old, data, { recursive: true });
      cpSync(fresh, join(data, `.restored-${STAMP}`), { recursive: true });
      mkdirSync(kept);
      for (const name of away.slice(0, step)) renameSync(join(data, name), join(kept, name));
      if (step > away.length) {
        const from = join(data, `.entering-${STAMP}`);
        renameSync(join(data, `.restored-${STAMP}`), from);
        for (const name of entering.slice(0, step - away.length))
          renameSync(join(from, name), join(data, name));
      }
      const made = await weir(backup, join(here.path, `${step}.weir`), "--data", data);
      expect([step, made.code, made.err]).toEqual([step, 0, ""]);
      expect(readdirSync(data).filter((name) => /^\.(restored|entering)-/.test(name))).toEqual([]);
      expect(readdirSync(kept).sort()).toEqual(away.toSorted());
      expect([step, await actionsIn(data), await actionsIn(kept)]).toEqual([step, ["New"], ["Old"]]);
    }
  }, 120_000);
});

test("weir restore replaces what a symbolic link leads to, and keeps the link", async () => {
  using here = folder();
  const [link, real] = [join(here.path, "data"), join(here.path, "disk", "weir")];
  mkdirSync(join(here.path, "disk"));
  const file = join(here.path, "new.weir");
  await installed(join(here.path, "first"), "New", file);
  await installed(real, "Old");
  symlinkSync(real, link);
  const { code, json } = await weir(restore, file, "--data", link, "--json");
  expect([code, json.previousFolder]).toEqual([0, expect.stringContaining(`${real}.before-`)]);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(await actionsIn(real)).toEqual(["New"]);
  expect(readdirSync(here.path).sort()).toEqual(["data", "disk", "first", "new.weir"]);

  renameSync(real, `${real}.restoring-1`); // As if it was killed between its last two steps.
  await expect(actionsIn(link)).rejects.toThrow('Run "weir restore" again');
  const again = await weir(restore, file, "--data", link);
  expect([again.code, again.err]).toEqual([
    0,
    `${real}.restoring-1 is left from a restore that was interrupted. Delete it if no other restore is running.`,
  ]);
  expect([existsSync(real), await actionsIn(link)]).toEqual([true, ["New"]]);
});
