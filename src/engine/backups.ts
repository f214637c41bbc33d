import { readdir, rm } from "node:fs/promises";
import { setPriority } from "node:os";
import { join } from "node:path";
import { asc } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { type Actor, type App, contextFor, write } from "../context.ts";
import { record } from "../resources/events/service.ts";
import { backupFailure, tellBackup } from "../resources/health/backups.ts";
import { organizations } from "../resources/organizations/table.ts";
import { version } from "../version.ts";
import type { Loop } from "./loop.ts";

const HOUR_MS = 60 * 60 * 1000;
/** After a failure it is tried again so soon. */
const AGAIN_MS = HOUR_MS;
/** Behind everything else that the machine has to do. */
const PRIORITY = 10;
const NAME = /^weir-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z\.tar\.zst$/;

const BACKUPS: Actor = { type: "system", id: "backups", process: "weir", version };

/**
 * Makes a backup every so many hours (`WEIR_BACKUP_EVERY`) and keeps the newest few, in a process of its own. The age
 * of the newest one in `backups/` says when the next is due, also after a restart.
 */
export function backups(app: App): Loop {
  const { clock, config } = app;
  const folder = join(config.dataFolder, "backups");
  let notBefore = Number.NEGATIVE_INFINITY;
  return {
    name: "backups",
    async tick(signal) {
      if (config.backupEvery === 0 || app.store.remote || app.stopping.aborted) return "idle";
      if (clock.monotonic() < notBefore || !(await isDue(app, folder))) return "idle";
      const until = AbortSignal.any([signal, app.stopping]);
      const path = join(folder, `weir-${timestamp(clock).replaceAll(/[:.]/g, "-")}.tar.zst`);
      try {
        await backUp(app, path, until);
        await keepNewest(folder, config.backupKeep);
      } catch (error) {
        if (until.aborted) return "idle";
        notBefore = clock.monotonic() + AGAIN_MS;
        await tellFailure(app, error);
        return "idle";
      }
      tellBackup(app, null);
      app.log.write("info", "A backup was made", { path });
      return "idle";
    },
  };
}

/** Scheduled ones, the oldest first. */
async function kept(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []); // a folder that is not there holds none
  return names.filter((name) => NAME.test(name)).sort();
}

async function isDue({ clock, config }: App, folder: string): Promise<boolean> {
  const newest = (await kept(folder)).at(-1);
  if (newest === undefined) return true;
  const made = Date.parse(newest.replace(NAME, "$1T$2:$3:$4.$5Z"));
  // a clock that was set back must not put it off for good
  return Math.abs(clock.now().getTime() - made) >= config.backupEvery * HOUR_MS;
}

async function keepNewest(folder: string, count: number): Promise<void> {
  for (const name of (await kept(folder)).slice(0, -count)) await rm(join(folder, name), { force: true });
}

/** Throws `unavailable` with what the command says. */
async function backUp({ config, self }: App, path: string, signal: AbortSignal): Promise<void> {
  const child = Bun.spawn([...self, "backup", path, "--data", config.dataFolder], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const end = () => child.kill("SIGTERM");
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    lower(child.pid);
    const [told, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    if (code !== 0) throw new AppError("unavailable", told.trim() || `The backup ended with ${code}.`);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

function lower(pid: number): void {
  try {
    setPriority(pid, PRIORITY);
  } catch {
    // it has ended already, or the system does not let us: it goes on as it is
  }
}

/** In the log each time; in the audit trails and in the health once, until one is made again. */
async function tellFailure(app: App, error: unknown): Promise<void> {
  app.log.report(error, { loop: "backups" });
  const message = error instanceof AppError ? error.message : "The backup failed; the log says why.";
  const isKnown = backupFailure(app) !== null;
  tellBackup(app, message);
  if (isKnown) return;
  const correlationId = app.ids.uuid();
  for (const { id } of await app.store.db.select().from(organizations).orderBy(asc(organizations.id))) {
    const ctx = contextFor(app, { organizationId: id, role: "owner", actor: BACKUPS, correlationId });
    await write(ctx, (tx) => record(tx, "backup.failed", { type: "organization", id }, {}));
  }
}
