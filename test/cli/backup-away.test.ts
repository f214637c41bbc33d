import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { timestamp } from "../../src/base/clock.ts";
import { backup } from "../../src/cli/backup.ts";
import { restore } from "../../src/cli/restore.ts";
import { readConfig } from "../../src/config.ts";
import { backups } from "../../src/engine/backups.ts";
import { actions } from "../../src/resources/actions/table.ts";
import { startApp } from "../support/app.ts";
import { s3Keys, startS3, type TestS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { folder, shell } from "../support/shell.ts";

const keysOf = async (s3: TestS3) => Object.keys(await s3.all("backups")).sort();

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

const settings = (url: string) => ({
  WEIR_BACKUP_ENDPOINT: url,
  WEIR_BACKUP_ACCESS_KEY_ID: s3Keys.accessKeyId,
  WEIR_BACKUP_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
});

describe("a backup in a bucket", () => {
  test("is written by the command, read from there, and restores everything", async () => {
    await using s3 = await startS3();
    s3.createBucket("backups");
    using here = folder();
    const dataFolder = join(here.path, "data");
    let action = "";
    {
      await using app = await startApp({ dataFolder, engine: false });
      action = (await app.owner("POST", "/api/v1/actions", { kind: "http_request", name: "Kept" })).body.id;
    }
    const weir = shell(settings(s3.endpointUrl));
    const name = "s3://backups/weir/first.tar.zst";
    const made = await weir(backup, name, "--data", dataFolder, "--include-key", "--json");
    expect(made).toMatchObject({ code: 0, json: { path: name, hasKey: true } });
    expect(await keysOf(s3)).toEqual(["weir/first.tar.zst"]);
    expect(readdirSync(join(dataFolder, "backups"))).toEqual([]);

    const again = await weir(backup, name, "--data", dataFolder);
    expect([again.code, again.err]).toEqual([1, `weir: ${name} already exists. Choose another filename.`]);
    const checked = await weir(backup, "verify", name, "--json");
    expect(checked.json).toMatchObject({ valid: true, path: name });
    const lost = await weir(restore, "s3://backups/weir/second.tar.zst", "--data", join(here.path, "other"));
    expect([lost.code, lost.err]).toEqual([1, "weir: File s3://backups/weir/second.tar.zst not found."]);
    expect(existsSync(join(here.path, "other"))).toBe(false);

    await s3.put("backups", "weir/torn.tar.zst", "no backup at all");
    const torn = await weir(backup, "verify", "s3://backups/weir/torn.tar.zst");
    expect([torn.code, torn.err]).toEqual([1, expect.stringMatching(/^weir: s3:\/\/backups\/weir\/torn/)]);

    const other = join(here.path, "elsewhere");
    expect(readdirSync(here.path)).toEqual(["data"]);
    expect((await weir(restore, name, "--data", other)).code).toBe(0);
    await using restored = await startApp({ dataFolder: other, engine: false, owner: false });
    const kept = await restored.app.store.db.select({ id: actions.id }).from(actions);
    expect(kept).toEqual([{ id: action }]);
  }, 120_000);

  test("needs its keys and a name, and reports a missing bucket", async () => {
    await using s3 = await startS3();
    using here = folder();
    const dataFolder = join(here.path, "data");
    await (await startApp({ dataFolder, engine: false }))[Symbol.asyncDispose]();
    const keyless = await shell()(backup, "s3://backups/a", "--data", dataFolder);
    expect([keyless.code, keyless.err]).toEqual([1, expect.stringContaining("WEIR_BACKUP_ACCESS_KEY_ID")]);
    const weir = shell(settings(s3.endpointUrl));
    expect((await weir(backup, "s3://backups", "--data", dataFolder)).code).toBe(2);
    const absent = await weir(backup, "s3://nowhere/a", "--data", dataFolder);
    expect([absent.code, absent.err]).toEqual([1, expect.stringContaining("s3://nowhere can't be used")]);
  }, 120_000);

  deepTest(
    "is created at the set interval, and only the newest few are kept",
    async () => {
      await using s3 = await startS3();
      s3.createBucket("backups");
      await using app = await startApp({
        engine: false,
        env: {
          ...settings(s3.endpointUrl),
          WEIR_BACKUP_URL: "s3://backups/nightly",
          WEIR_BACKUP_EVERY: "2",
          WEIR_BACKUP_KEEP: "2",
        },
      });
      const loop = backups(app.app);
      for (let made = 1; made <= 3; made++) {
        await loop.tick(never);
        await loop.tick(never); // Not due again.
        expect(await keysOf(s3)).toHaveLength(Math.min(made, 2));
        app.clock.turn(2 * HOUR_MS);
      }
      app.clock.turn(-2 * HOUR_MS + 1);
      await backups(app.app).tick(never); // As after a restart.
      const names = await keysOf(s3);
      expect(names).toHaveLength(2);
      expect(names[0]).toMatch(/^nightly\/weir-\d{4}-.*\.tar\.zst$/);
      expect(readdirSync(join(app.dataFolder, "backups"))).toEqual([]);
      const last = await shell(settings(s3.endpointUrl))(backup, "verify", `s3://backups/${names[1]}`);
      expect(last.code).toBe(0);
    },
    120_000,
  );

  test("dated in the future makes no others due and replaces none", async () => {
    await using s3 = await startS3();
    s3.createBucket("backups");
    await using app = await startApp({
      engine: false,
      env: {
        ...settings(s3.endpointUrl),
        WEIR_BACKUP_URL: "s3://backups/nightly",
        WEIR_BACKUP_EVERY: "24",
        WEIR_BACKUP_KEEP: "2",
      },
    });
    const named = (hours: number) =>
      `nightly/weir-${timestamp(app.clock, hours * HOUR_MS).replaceAll(/[:.]/g, "-")}.tar.zst`;
    const kept = [named(-60), named(-30), named(240)];
    for (const name of kept) await s3.put("backups", name, "made");
    const loop = backups(app.app);
    for (let n = 0; n < 3; n++) await loop.tick(never);
    const names = await keysOf(s3);
    expect([names.length, names[0], names[2]]).toEqual([3, kept[1], kept[2]]);
  }, 120_000);

  test("requires an interval, since otherwise none would be created", () => {
    const env = { ...settings("http://127.0.0.1:1"), WEIR_BACKUP_URL: "s3://backups/nightly" };
    expect(() => readConfig({}, env, {})).toThrow("WEIR_BACKUP_URL has no effect without WEIR_BACKUP_EVERY");
    expect(readConfig({}, { ...env, WEIR_BACKUP_EVERY: "24" }, {}).config.backupEvery).toBe(24);
  });
});
