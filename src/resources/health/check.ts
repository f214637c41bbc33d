import { statfs } from "node:fs/promises";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { App } from "../../context.ts";
import { settings } from "../../store/settings.ts";
import { backupFailure } from "./backups.ts";
import { HEARTBEAT_LIMIT_MS, sinceBeat } from "./heartbeat.ts";
import type { Check } from "./wire.ts";

/** Checks run at most this often, regardless of the number of requests. */
const KEPT_MS = 2_000;
/** A slower write counts as failed. */
const WRITE_DEADLINE_MS = 5_000;
/** With less free disk space, the next load could fail. */
const MIN_FREE_BYTES = 64 * 1024 * 1024;

/** Results of the checks, by name. */
export type Checks = Record<string, Check>;

interface Kept {
  at: number;
  checks: Promise<Checks>;
}

const kept = new WeakMap<App["store"], Kept>();

/** Checks what the server needs: a durable write, the scheduler's heartbeat, disk space, and the master key. */
export function checkDeeply(app: App): Promise<Checks> {
  const now = app.clock.monotonic();
  const last = kept.get(app.store);
  if (last && now - last.at < KEPT_MS) return last.checks;
  const checks = checkAll(app);
  kept.set(app.store, { at: now, checks });
  return checks;
}

async function checkAll(app: App): Promise<Checks> {
  const [writes, scheduler, disk, key] = await Promise.all([
    runCheck(() => checkWrite(app)),
    runCheck(async () => checkScheduler(app)),
    runCheck(() => checkDisk(app)),
    runCheck(() => checkKey(app)),
  ]);
  if (app.config.backupEvery === 0) return { writes, scheduler, disk, key };
  return { writes, scheduler, disk, key, backups: await runCheck(async () => checkBackups(app)) };
}

/** A check returns what it found, or throws. */
async function runCheck(check: () => Promise<string | null>): Promise<Check> {
  try {
    const detail = await check();
    return detail === null ? { ok: true } : { ok: true, detail };
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

async function checkWrite(app: App): Promise<string> {
  const startedAt = app.clock.monotonic();
  const done = new AbortController();
  const value = timestamp(app.clock);
  const written = app.store.write(async (db) => {
    await db
      .insert(settings)
      .values({ key: "health", value })
      .onConflictDoUpdate({ target: settings.key, set: { value } });
  });
  const late = app.clock.limit(WRITE_DEADLINE_MS, done.signal).then(() => {
    if (!done.signal.aborted) throw new AppError("timeout", "A database write took longer than 5 seconds.");
  });
  try {
    await Promise.race([written, late]);
  } finally {
    done.abort();
  }
  return `written in ${Math.ceil(app.clock.monotonic() - startedAt)} ms`;
}

function checkScheduler(app: App): string {
  const ms = sinceBeat(app);
  if (ms === null) return "not started yet";
  const found = `last seen ${Math.round(ms / 1000)} s ago`;
  if (ms > HEARTBEAT_LIMIT_MS) throw new AppError("unavailable", `The scheduler has stalled: ${found}.`);
  return found;
}

function checkBackups(app: App): null {
  const failure = backupFailure(app);
  if (failure !== null) throw new AppError("unavailable", `The last backup failed: ${failure}`);
  return null;
}

async function checkDisk(app: App): Promise<string> {
  const { bavail, bsize } = await statfs(app.config.dataFolder);
  const free = bavail * bsize;
  const found =
    free < 1024 ** 3
      ? `${Math.floor(free / 1024 ** 2)} MiB free`
      : `${(free / 1024 ** 3).toFixed(1)} GiB free`;
  if (free < MIN_FREE_BYTES)
    throw new AppError("disk_full", `Low disk space in the data directory: ${found}.`);
  return found;
}

async function checkKey({ secrets }: App): Promise<null> {
  if (secrets.open(secrets.seal("weir", "health"), "health") !== "weir") {
    throw new AppError("internal", "The master key failed the encryption check.");
  }
  return null;
}
