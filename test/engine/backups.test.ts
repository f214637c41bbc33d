import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { timestamp } from "../../src/base/clock.ts";
import { backup } from "../../src/cli/backup.ts";
import { contextFor } from "../../src/context.ts";
import { backups } from "../../src/engine/backups.ts";
import { startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { deepTest } from "../support/scale.ts";
import { shell } from "../support/shell.ts";

const HOUR_MS = 3_600_000;

const scheduled = (dataFolder: string) =>
  readdirSync(join(dataFolder, "backups")).filter((name) => name.endsWith(".tar.zst"));

/** The age of the newest one in the metrics. Null if they have none. */
async function ageIn(app: Awaited<ReturnType<typeof startApp>>): Promise<number | null> {
  const { text } = await app.owner("GET", "/metrics");
  const [, seconds] = /^weir_backup_last_success_seconds (.+)$/m.exec(text) ?? [];
  return seconds === undefined ? null : Number(seconds);
}

const never = new AbortController().signal;

/** The name of a backup made so many hours ago. */
const named = (app: Awaited<ReturnType<typeof startApp>>, hoursAgo: number) =>
  `weir-${timestamp(app.clock, -hoursAgo * HOUR_MS).replaceAll(/[:.]/g, "-")}.tar.zst`;

describe("scheduled backups", () => {
  test("are created at the set interval, also after a restart, and the newest few are kept", async () => {
    await using app = await startApp({
      engine: false,
      env: { WEIR_BACKUP_EVERY: "2", WEIR_BACKUP_KEEP: "2" },
    });
    const mine = join(app.dataFolder, "backups", "by-hand.tar.zst");
    writeFileSync(mine, "mine");
    const loop = backups(app.app);
    expect(await loop.tick(never)).toBe("idle");
    const [first = ""] = scheduled(app.dataFolder).filter((name) => name.startsWith("weir-"));
    expect(first).toMatch(/^weir-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.tar\.zst$/);
    const checked = await shell()(backup, "verify", join(app.dataFolder, "backups", first), "--json");
    expect(checked.json).toMatchObject({ valid: true, hasKey: false });

    app.clock.turn(HOUR_MS);
    await loop.tick(never);
    await backups(app.app).tick(never); // As after a restart.
    expect(scheduled(app.dataFolder)).toHaveLength(2);
    for (let n = 0; n < 2; n++) {
      app.clock.turn(2 * HOUR_MS);
      await backups(app.app).tick(never);
    }
    const names = scheduled(app.dataFolder);
    expect(names).toHaveLength(3);
    expect(names).not.toContain(first);
    expect(existsSync(mine)).toBe(true);
    const health = await app.owner("GET", "/api/v1/health?deep=true");
    expect([health.status, health.body.checks.backups]).toEqual([200, { ok: true }]);
    app.clock.turn(HOUR_MS);
    expect(await ageIn(app)).toBeCloseTo(HOUR_MS / 1000, -2);
  }, 120_000);

  test("dated in the future neither make others due nor replace them", async () => {
    await using app = await startApp({
      engine: false,
      env: { WEIR_BACKUP_EVERY: "24", WEIR_BACKUP_KEEP: "3" },
    });
    const [yesterday, today, future] = [named(app, 30), named(app, 4), named(app, -240)];
    for (const name of [yesterday, today, future])
      writeFileSync(join(app.dataFolder, "backups", name), "made");
    const loop = backups(app.app);
    for (let n = 0; n < 3; n++) await loop.tick(never);
    expect(scheduled(app.dataFolder).sort()).toEqual([yesterday, today, future]);
    expect(await ageIn(app)).toBeCloseTo((4 * HOUR_MS) / 1000, -2);

    app.clock.turn(21 * HOUR_MS);
    for (let n = 0; n < 3; n++) await loop.tick(never);
    const names = scheduled(app.dataFolder).sort();
    expect([names.slice(0, 2), names.length, names.at(-1)]).toEqual([[yesterday, today], 4, future]);

    app.clock.turn(-HOUR_MS / 2); // The last one made is now dated in the future too.
    for (let n = 0; n < 3; n++) await loop.tick(never);
    app.clock.turn(20 * HOUR_MS);
    await backups(app.app).tick(never);
    expect(scheduled(app.dataFolder).sort()).toEqual(names);
    app.clock.turn(7 * HOUR_MS);
    await loop.tick(never);
    const later = scheduled(app.dataFolder).sort();
    expect([later.length, later.includes(yesterday), later.includes(future)]).toEqual([4, false, true]);
  }, 120_000);

  deepTest(
    "that fail are reported in the log, in the health checks and once in each audit log, and retried",
    async () => {
      await using app = await startApp({ engine: false, env: { WEIR_BACKUP_EVERY: "24" } });
      const ctx = contextFor(app.app, {
        organizationId: app.ids.organizationId,
        role: "owner",
        actor: { type: "system", id: "test" },
        correlationId: "test-backups",
      });
      const select = "SELECT 1 AS id";
      const path = await loadTable(ctx, { layer: "raw", dataset: "shop", table: "orders", select });
      const file = join(app.dataFolder, "lake", path);
      renameSync(file, `${file}.away`);
      const loop = backups(app.app);
      const told = async () => (await app.owner("GET", "/api/v1/events?type=backup.failed")).body.items;
      await loop.tick(never);
      expect(scheduled(app.dataFolder)).toEqual([]);
      expect(app.logged.some((line) => line.includes("is missing from"))).toBe(true);
      const health = await app.owner("GET", "/api/v1/health?deep=true");
      expect(health.status).toBe(503);
      expect(health.body.checks.backups).toEqual({
        ok: false,
        detail: expect.stringMatching(/^The last backup failed: The lake file \S+ is missing from/),
      });
      expect((await app.anonymous("GET", "/api/v1/health?deep=true")).body).toEqual({ status: "degraded" });

      const logged = app.logged.length;
      await loop.tick(never);
      expect(app.logged.length).toBe(logged); // It waits an hour.
      app.clock.turn(HOUR_MS);
      await loop.tick(never);
      expect(app.logged.length).toBeGreaterThan(logged);
      const [event, ...more] = await told();
      expect([event.type, event.entity, event.data, more]).toEqual([
        "backup.failed",
        { type: "organization", id: app.ids.organizationId },
        {},
        [],
      ]);
      expect(event.actor).toMatchObject({ type: "system", id: "backups" });

      renameSync(`${file}.away`, file);
      app.clock.turn(HOUR_MS);
      await loop.tick(never);
      expect(scheduled(app.dataFolder)).toHaveLength(1);
      const well = await app.owner("GET", "/api/v1/health?deep=true");
      expect([well.status, well.body.checks.backups]).toEqual([200, { ok: true }]);
    },
    120_000,
  );

  test("report the sentence of what failed, without what else the process writes", async () => {
    const script = 'console.error("568 | stream.emit()\\n  at _destroy\\nweir: No space."); process.exit(1)';
    await using app = await startApp({
      engine: false,
      env: { WEIR_BACKUP_EVERY: "24" },
      self: [process.execPath, "-e", script, "--"],
    });
    await backups(app.app).tick(never);
    const { body } = await app.owner("GET", "/api/v1/health?deep=true");
    expect(body.checks.backups).toEqual({ ok: false, detail: "The last backup failed: No space." });
  });

  test("name in the log what they leave out", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_BACKUP_EVERY: "24" } });
    const at = `files/${app.ids.organizationId}`;
    mkdirSync(join(app.dataFolder, at), { recursive: true });
    writeFileSync(Buffer.from(join(app.dataFolder, at, "M\xfcller.csv"), "latin1"), "latin1");
    await backups(app.app).tick(never);
    expect(scheduled(app.dataFolder)).toHaveLength(1);
    expect(app.logged.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: "warn", name: `${at}/M\uFFFDller.csv` }),
    );
  });

  test("remove what killed ones left a day ago, and nothing else", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_BACKUP_EVERY: "24" } });
    const at = (name: string) => join(app.dataFolder, "backups", name);
    const [old, encrypted, recent] = [named(app, 72), named(app, 50), named(app, 2)];
    const mine = ["mine.weir.part"];
    const left = [`${old}.part`, `${encrypted}.age.part`, `${recent}.part`, ".work-1"];
    for (const name of [...left, ...mine]) writeFileSync(at(name), "half");
    const twoDaysAgo = new Date(Date.now() - 48 * HOUR_MS);
    for (const name of [left[0], left[1], left[3], mine[0]])
      utimesSync(at(name ?? ""), twoDaysAgo, twoDaysAgo);
    await backups(app.app).tick(never);
    const names = readdirSync(join(app.dataFolder, "backups")).sort();
    expect(names.filter((name) => !name.endsWith(".zst"))).toEqual([...mine, `${recent}.part`].sort());
    expect(scheduled(app.dataFolder)).toHaveLength(1);
  });

  test("are off unless they are set", async () => {
    await using app = await startApp({ engine: false });
    await backups(app.app).tick(never);
    expect(scheduled(app.dataFolder)).toEqual([]);
    const { body } = await app.owner("GET", "/api/v1/health?deep=true");
    expect(Object.keys(body.checks)).toEqual(["writes", "scheduler", "disk", "key"]);
    expect(await ageIn(app)).toBeNull();
  });

  test("end with the server, and leave nothing behind", async () => {
    const stopping = new AbortController();
    await using app = await startApp({
      engine: false,
      env: { WEIR_BACKUP_EVERY: "1" },
      overrides: { stopping: stopping.signal },
    });
    const ticking = backups(app.app).tick(never);
    stopping.abort();
    expect(await ticking).toBe("idle");
    expect(app.logged).toEqual([]);
    expect(scheduled(app.dataFolder)).toEqual([]);
    expect((await app.owner("GET", "/api/v1/health")).status).toBe(503);
  });
});
