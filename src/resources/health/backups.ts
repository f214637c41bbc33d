import type { App } from "../../context.ts";

interface Known {
  failure: string | null;
  /** Time of the newest backup, in milliseconds. Null if none is known. */
  newestAt: number | null;
}

/** State of this process's scheduled backups. */
const known = new WeakMap<App["store"], Known>();

const knownOf = ({ store }: App): Known => known.get(store) ?? { failure: null, newestAt: null };

/** Records that a backup failed, or with null that one was created. */
export function reportBackup(app: App, failure: string | null): void {
  known.set(app.store, { ...knownOf(app), failure });
}

/** Records the name of the newest backup. */
export function reportNewestBackup(app: App, name: string | undefined): void {
  known.set(app.store, { ...knownOf(app), newestAt: name === undefined ? null : backupInstant(name) });
}

/** Why the last scheduled backup failed. Null if it didn't. */
export const backupFailure = (app: App): string | null => knownOf(app).failure;

/** Seconds since the newest scheduled backup. Null if none is known. */
export function backupAgeSeconds(app: App): number | null {
  const { newestAt } = knownOf(app);
  return newestAt === null ? null : Math.max(0, (app.clock.now().getTime() - newestAt) / 1000);
}

const NAME = /^weir-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z\.tar\.zst(\.age)?$/;

/** Returns when a scheduled backup was created, from its name. Null for any other file. */
export function backupInstant(name: string): number | null {
  return NAME.test(name) ? Date.parse(name.replace(NAME, "$1T$2:$3:$4.$5Z")) : null;
}

/**
 * Names of the scheduled backups made until now, the oldest first. Those dated in the future were made while the clock
 * was wrong: when is unknown, so they don't count, neither as the newest nor among those to keep.
 */
export const backupsUntil = (names: readonly string[], now: Date): string[] =>
  names.filter((name) => (backupInstant(name) ?? Number.POSITIVE_INFINITY) <= now.getTime()).sort();
