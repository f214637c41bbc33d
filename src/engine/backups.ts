import { readdir, rm } from "node:fs/promises";
import { setPriority } from "node:os";
import { basename, join } from "node:path";
import { asc } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { type Actor, type App, contextFor, write } from "../context.ts";
import { record } from "../resources/events/service.ts";
import {
  backupFailure,
  backupInstant,
  reportBackup,
  reportNewestBackup,
} from "../resources/health/backups.ts";
import { organizations } from "../resources/organizations/table.ts";
import { version } from "../version.ts";
import type { Loop } from "./loop.ts";

const HOUR_MS = 60 * 60 * 1000;
/** Delay before a failed backup is retried. */
const AGAIN_MS = HOUR_MS;
/** Lowest priority on the machine. */
const PRIORITY = 10;

const BACKUPS: Actor = { type: "system", id: "backups", process: "weir", version };

/**
 * Makes backups at an interval (`WEIR_BACKUP_EVERY`) in a separate process, and keeps the latest:
 * in `backups/`, or in a bucket (`WEIR_BACKUP_URL`).
 * The age of the newest backup there determines when the next is due, also after a restart.
 */
export function backups(app: App): Loop {
  const { clock, config } = app;
  const store = backupStore(app);
  const folder = join(config.dataFolder, "backups");
  let notBefore = Number.NEGATIVE_INFINITY;
  if (config.backupEvery > 0 && app.store.remote)
    app.log.write("warn", "WEIR_BACKUP_EVERY doesn't back up a database server; use that server's tools");
  return {
    name: "backups",
    async tick(signal) {
      if (config.backupEvery === 0 || app.store.remote || app.stopping.aborted) return "idle";
      if (clock.monotonic() < notBefore) return "idle";
      const until = AbortSignal.any([signal, app.stopping]);
      const ending = config.backupPassphraseFile === null ? "tar.zst" : "tar.zst.age";
      const path = join(folder, `weir-${timestamp(clock).replaceAll(/[:.]/g, "-")}.${ending}`);
      try {
        const newest = await store.newest();
        reportNewestBackup(app, newest);
        if (!isDue(app, newest)) return "idle";
        await backUp(app, path, until);
        await store.keep(path);
        reportNewestBackup(app, basename(path));
        for (const name of (await store.all()).slice(0, -config.backupKeep)) await store.remove(name);
      } catch (error) {
        if (until.aborted) return "idle";
        notBefore = clock.monotonic() + AGAIN_MS;
        await tellFailure(app, error);
        return "idle";
      }
      reportBackup(app, null);
      app.log.write("info", "backup created", {
        path: app.away ? `${app.away.name}/${basename(path)}` : path,
      });
      return "idle";
    },
  };
}

/** Storage of scheduled backups. */
interface BackupStore {
  /** Stores a new backup. */
  keep(path: string): Promise<void>;
  /** Names of scheduled backups, the oldest first. */
  all(): Promise<string[]>;
  newest(): Promise<string | undefined>;
  remove(name: string): Promise<void>;
}

const scheduled = (names: readonly string[]) => names.filter((name) => backupInstant(name) !== null).sort();

function backupStore({ away, config }: App): BackupStore {
  const folder = join(config.dataFolder, "backups");
  const inFolder = async () => scheduled(await readdir(folder).catch(() => [])); // a missing folder has none
  if (away === null) {
    return {
      keep: async () => {},
      all: inFolder,
      newest: async () => (await inFolder()).at(-1),
      remove: (name) => rm(join(folder, name), { force: true }),
    };
  }
  /** Caches the list: the bucket is listed once, and after each upload. */
  let newest: string | undefined;
  return {
    async keep(path) {
      try {
        await away.put(path);
      } finally {
        await rm(path, { force: true });
      }
      newest = basename(path);
    },
    all: async () => scheduled(await away.names()),
    async newest() {
      newest ??= scheduled(await away.names()).at(-1);
      return newest;
    },
    remove: away.remove,
  };
}

function isDue({ clock, config }: App, newest: string | undefined): boolean {
  const made = newest === undefined ? null : backupInstant(newest);
  if (made === null) return true;
  // a clock that was set back must not postpone it forever
  return Math.abs(clock.now().getTime() - made) >= config.backupEvery * HOUR_MS;
}

/** Throws `unavailable` with the command's message. */
async function backUp({ config, self }: App, path: string, signal: AbortSignal): Promise<void> {
  const { dataFolder, backupPassphraseFile: file } = config;
  const passphrase = file === null ? [] : ["--passphrase-file", file];
  const child = Bun.spawn([...self, "backup", path, "--data", dataFolder, ...passphrase], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const end = () => child.kill("SIGTERM");
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    lower(child.pid);
    const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    const message = stderr.trim().replace(/^weir: /, "");
    if (code !== 0) throw new AppError("unavailable", message || `The backup failed with ${code}.`);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

function lower(pid: number): void {
  try {
    setPriority(pid, PRIORITY);
  } catch {
    // it has exited, or the system doesn't permit it: it keeps its priority
  }
}

/** Logs each failure. Reports it in the audit log and health check once, until a backup succeeds. */
async function tellFailure(app: App, error: unknown): Promise<void> {
  app.log.report(error, { loop: "backups" });
  const message = error instanceof AppError ? error.message : "The backup failed. See the server log.";
  const isKnown = backupFailure(app) !== null;
  reportBackup(app, message);
  if (isKnown) return;
  const correlationId = app.ids.uuid();
  for (const { id } of await app.store.db.select().from(organizations).orderBy(asc(organizations.id))) {
    const ctx = contextFor(app, { organizationId: id, role: "owner", actor: BACKUPS, correlationId });
    await write(ctx, (tx) => record(tx, "backup.failed", { type: "organization", id }, {}));
  }
}
