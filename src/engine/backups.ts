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
  backupsUntil,
  reportBackup,
  reportNewestBackup,
} from "../resources/health/backups.ts";
import { organizations } from "../resources/organizations/table.ts";
import { version } from "../version.ts";
import type { Loop } from "./loop.ts";

const HOUR_MS = 60 * 60 * 1000;
/** Delay before a failed backup is retried. */
const AGAIN_MS = HOUR_MS;
/** Maximum number of names that a backup left out in the log. */
const MAX_LEFT_OUT = 100;
/** Lowest priority on the machine. */
const PRIORITY = 10;

const BACKUPS: Actor = { type: "system", id: "backups", process: "weir", version };

/**
 * Makes backups at an interval (`WEIR_BACKUP_EVERY`) in a separate process, and keeps the latest:
 * in `backups/`, or in a bucket (`WEIR_BACKUP_URL`).
 * The age of the newest backup there determines when the next is due, also after a restart.
 * Backups dated in the future are left alone.
 */
export function backups(app: App): Loop {
  const { clock, config } = app;
  const store = backupStore(app);
  const folder = join(config.dataFolder, "backups");
  let notBefore = Number.NEGATIVE_INFINITY;
  let last: Made | null = null;
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
        const newest = backupsUntil(await store.names(), clock.now()).at(-1);
        reportNewestBackup(app, newest);
        if (!isDue(app, newest, last)) return "idle";
        const leftOut = await backUp(app, path, until);
        for (const name of leftOut.slice(0, MAX_LEFT_OUT))
          app.log.write("warn", "backup left out a file", { name });
        await store.keep(path);
        last = { name: basename(path), at: clock.monotonic() };
        reportNewestBackup(app, last.name);
        const made = backupsUntil(await store.names(), clock.now());
        for (const name of made.slice(0, -config.backupKeep)) await store.remove(name);
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
  /** Names of all files there. */
  names(): Promise<readonly string[]>;
  remove(name: string): Promise<void>;
}

function backupStore({ away, config }: App): BackupStore {
  const folder = join(config.dataFolder, "backups");
  if (away === null) {
    return {
      keep: async () => {},
      names: () => readdir(folder).catch(() => []), // a missing folder has none
      remove: (name) => rm(join(folder, name), { force: true }),
    };
  }
  /** Caches the list: the bucket is listed once, and after each upload. */
  let names: readonly string[] | null = null;
  return {
    async keep(path) {
      try {
        await away.put(path);
      } finally {
        await rm(path, { force: true });
      }
      names = null;
    },
    async names() {
      names ??= await away.names();
      return names;
    },
    async remove(name) {
      await away.remove(name);
      names = null;
    },
  };
}

/** A backup that this process made, and when. */
interface Made {
  name: string;
  /** On the monotonic clock. */
  at: number;
}

function isDue({ clock, config }: App, newest: string | undefined, last: Made | null): boolean {
  const every = config.backupEvery * HOUR_MS;
  const now = clock.now().getTime();
  // the clock was set back since
  if (last !== null && (backupInstant(last.name) ?? 0) > now) return clock.monotonic() - last.at >= every;
  const made = newest === undefined ? null : backupInstant(newest);
  return made === null || now - made >= every;
}

/** Returns the names that were left out. Throws `unavailable` with the command's message. */
async function backUp({ config, self }: App, path: string, signal: AbortSignal): Promise<string[]> {
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
    if (code === 0) return [...stderr.matchAll(/^Left out: (.+)$/gm)].map(([, name = ""]) => name);
    const [, sentence] = /^weir: (.+)$/m.exec(stderr) ?? []; // a bug writes more, which is for the log
    throw new AppError("unavailable", sentence ?? `The backup failed with ${code}. See the server log.`, {
      cause: new Error(stderr.trim()),
    });
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
