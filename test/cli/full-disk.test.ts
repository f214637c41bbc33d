import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { backup } from "../../src/cli/backup.ts";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { doctor } from "../../src/cli/doctor.ts";
import { restore } from "../../src/cli/restore.ts";
import { backups } from "../../src/engine/backups.ts";
import { startApp } from "../support/app.ts";
import { PROGRAM } from "../support/program.ts";
import { folder, shell } from "../support/shell.ts";
import { hasSmallDisks, smallDisk } from "../support/small-disk.ts";

const weir = shell();

/** A command in a process of its own: its exit code, and what it writes to standard error. */
async function run(args: string[], env: Record<string, string> = {}) {
  const child = Bun.spawn([...PROGRAM, ...args], {
    env: { ...process.env, ...env },
    stdout: "ignore",
    stderr: "pipe",
  });
  return [await child.exited, (await new Response(child.stderr).text()).trim()];
}

function disk(size: string) {
  const made = smallDisk(size);
  if (made === null) throw new Error("This machine allows no small disk.");
  return made;
}

const installed = async (dataFolder: string) =>
  (await startApp({ dataFolder, engine: false }))[Symbol.asyncDispose]();

/** Mounting a small disk takes root. */
describe.skipIf(!hasSmallDisks)("a full disk (needs root, to mount a small one)", () => {
  test("is what restore and verify report, and not a damaged backup", async () => {
    using here = folder();
    using small = disk("16m");
    const dataFolder = join(here.path, "data");
    const file = join(here.path, "good.weir");
    await installed(dataFolder);
    expect((await weir(backup, file, "--data", dataFolder, "--include-key")).code).toBe(0);
    expect((await weir(restore, file, "--data", join(here.path, "x"))).code).toBe(0);
    const { size } = statSync(join(here.path, "x", "weir.db"));
    const full = "weir: The disk is full. Free up space";
    const refused = async (free: number) => {
      small.leave(free);
      const { code, err } = await weir(restore, file, "--data", join(small.path, "x"));
      expect([free, code, err.slice(0, full.length)]).toEqual([free, 1, full]);
      expect(readdirSync(small.path)).toEqual(["fill"]);
    };
    for (const free of [0, 200_000, size - 50_000]) await refused(free);
    small.leave(400_000);
    expect(await run(["backup", "verify", file], { TMPDIR: small.path })).toEqual([
      1,
      `${full} for ${small.path} (TMPDIR) and try again.`,
    ]);
    await small.turn("ro");
    const { code, err } = await weir(restore, file, "--data", join(small.path, "x"));
    expect([code, err]).toEqual([
      1,
      `weir: ${small.path} is on a read-only file system. Make it writable and try again.`,
    ]);
    await small.turn("rw");
    await refused(size + 12_000); // Not enough for SQLite, which reports an I/O error.
  }, 120_000);

  test("ends a backup with one sentence, also in the health check", async () => {
    using small = disk("16m");
    const dataFolder = join(small.path, "data");
    await using app = await startApp({ dataFolder, engine: false, env: { WEIR_BACKUP_EVERY: "24" } });
    const files = join(dataFolder, "files", app.ids.organizationId);
    mkdirSync(files, { recursive: true });
    writeFileSync(join(files, "noise"), randomBytes(3_000_000));
    const { size } = statSync(join(dataFolder, "weir.db"));
    small.leave(size + 175_000);
    expect(await run(["backup", join(small.path, "p.weir"), "--data", dataFolder])).toEqual([
      1,
      `weir: The disk is full. Free up space for ${small.path} and try again.`,
    ]);
    expect(readdirSync(small.path).sort()).toEqual(["data", "fill"]);

    await backups(app.app).tick(new AbortController().signal);
    const { body } = await app.owner("GET", "/api/v1/health?deep=true");
    expect(body.checks.backups).toEqual({
      ok: false,
      detail: `The last backup failed: The disk is full. Free up space for ${join(dataFolder, "backups")} and try again.`,
    });
    expect(readdirSync(join(dataFolder, "backups"))).toEqual([]);
  }, 120_000);

  test("or a read-only one is what doctor and others report about an intact database", async () => {
    using here = folder();
    using small = disk("16m");
    const dataFolder = join(small.path, "data");
    await installed(dataFolder);
    const wrong = async () => {
      const { code, json } = await weir(doctor, "--data", dataFolder, "--json");
      const found = (json.findings as Finding[]).filter(({ ok }) => !ok);
      return { code, ...Object.fromEntries(found.map((finding) => [finding.check, finding])) };
    };
    const others = async (sentence: string) => {
      for (const args of [
        ["serve", "--port", "0"],
        ["events", "verify"],
        ["keys", "rotate"],
        ["restore", join(here.path, "b.weir")],
        ["backup", join(here.path, "c.weir")],
      ])
        expect([args[0], ...(await run([...args, "--data", dataFolder]))]).toEqual([
          args[0],
          1,
          `weir: ${sentence}`,
        ]);
    };
    expect((await weir(backup, join(here.path, "b.weir"), "--data", dataFolder)).code).toBe(0);
    small.leave(0);
    const full = await wrong();
    expect(full).toMatchObject({
      code: 1,
      database: {
        message: `The disk is full. Free up space for ${dataFolder} and try again.`,
        remedy: expect.stringContaining("Don't restore a backup because of this"),
      },
    });
    await others(`The disk is full. Free up space for ${dataFolder} and try again.`);

    rmSync(join(small.path, "fill"));
    await small.turn("ro");
    const { permissions } = (await wrong()) as { permissions?: Finding };
    expect(permissions).toMatchObject({
      message: `${dataFolder} is on a read-only file system.`,
      remedy: expect.stringContaining("Mount it writable"),
    });
    await others(`${dataFolder} is on a read-only file system. Make it writable and try again.`);
  }, 120_000);
});
