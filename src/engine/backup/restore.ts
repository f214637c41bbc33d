import { existsSync } from "node:fs";
import { chown, copyFile, mkdir, open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type Clock, timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { diskFault } from "../../base/file-error.ts";
import type { Ids } from "../../base/ids.ts";
import { keyIdOf } from "../../crypto/secretbox.ts";
import { keyInFile, lockFolder, openDataFolder } from "../../folder.ts";
import {
  BEFORE,
  finishInside,
  isFixed,
  isHalfSwapped,
  RESTORING,
  realPathOf,
  replacedIn,
  swapInside,
} from "../../folder-swap.ts";
import {
  type Installation,
  locationsOf as installationPlaces,
  recordInstallation,
} from "../../installation.ts";
import { fileFault } from "../../store/faults.ts";
import { openWriter } from "../../store/file.ts";
import { type AuditLogs, refuseInvalidLogs, verifyAuditLogs } from "../audit-logs.ts";
import type { Watch } from "./archive.ts";
import { withDatabase } from "./contents.ts";
import { DATABASE, FOLDERS, KEY_FILE, type Manifest } from "./shape.ts";
import { checkDatabase, sizeOf, unpack } from "./verify.ts";

/** Settings of this machine rather than data. A restore keeps them. */
const SETTINGS_FILE = "weir.toml";
/** A folder with one of these is a data directory. */
const SIGNS = [DATABASE, KEY_FILE, "lock", SETTINGS_FILE];

export interface RestoreRequest {
  path: string;
  dataFolder: string;
  /** The master key that was provided, and its source. Null if none was. */
  key: { key: Uint8Array; from: "file" | "environment" } | null;
  /** As configured. Null for the data directory. */
  lakeUrl: string | null;
  lakeEndpoint: string | null;
  /** Decrypts an encrypted backup. Null if not provided. */
  passphrase: string | null;
  clock: Clock;
  ids: Ids;
  /** Restores it even if its audit logs aren't valid. */
  allowInvalidLogs: boolean;
  watch?: Watch;
}

export interface Restored {
  manifest: Manifest;
  auditLogs: AuditLogs;
  /** The new name of the previous data directory. Null if there was none. */
  kept: string | null;
  /** Folders next to the data directory that killed restores have left, or that others are using now. */
  leftovers: string[];
}

/** A folder on the disk of a data directory for its backup. It may be in the directory, if that can't be renamed. */
export function roomOf(dataFolder: string): string {
  const target = realPathOf(dataFolder);
  return isFixed(target) ? join(target, `${RESTORING}download`) : dirname(target);
}

/**
 * Replaces a data directory with a backup, and renames the old one. If it can't be renamed, such as a mount point, its
 * content moves to a folder in it. Nothing changes until everything has been unpacked and verified.
 *
 * Throws `FolderTaken` if a server is running on it, `invalid_state` for a backup that is damaged, foreign, encrypted
 * with a key that isn't available, or has an audit log that isn't valid, and `unavailable` for one of a newer version.
 */
export async function restoreBackup(request: RestoreRequest): Promise<Restored> {
  const { clock, ids } = request;
  const target = realPathOf(request.dataFolder);
  const isInside = isFixed(target);
  const room = isInside ? target : dirname(target);
  const stamp = timestamp(clock).replaceAll(/[:.]/g, "-");
  const fresh = isInside ? join(target, `${RESTORING}${ids.uuid()}`) : `${target}${RESTORING}${ids.uuid()}`;
  const lock = await lockTarget(target, isInside).catch((error: unknown) => {
    throw diskFault(error, room) ?? error;
  });
  try {
    await mkdir(fresh, { recursive: true, mode: 0o700 });
    const unpacked = await unpackAll(request, fresh, room);
    if (!isInside && existsSync(join(target, SETTINGS_FILE)))
      await copyFile(join(target, SETTINGS_FILE), join(fresh, SETTINGS_FILE));
    if (existsSync(target)) await giveAway(fresh, await stat(target));
    const leftovers = await unfinished(target, fresh, isInside);
    if (isInside) {
      for (const left of leftovers) await rm(left, { recursive: true, force: true }); // the lock is ours
      return { ...unpacked, kept: swapInside(target, fresh, stamp), leftovers: [] };
    }
    const kept = lock === null ? null : `${target}${BEFORE}${stamp}`;
    await swapFolders(target, fresh, kept);
    return { ...unpacked, kept, leftovers };
  } catch (error) {
    throw diskFault(error, room) ?? fileFault(error, target);
  } finally {
    lock?.();
    await rm(fresh, { recursive: true, force: true }).catch(() => undefined); // the error of the restore matters more
  }
}

/** What other restores of a data directory have unpacked and not put in place. */
async function unfinished(target: string, fresh: string, isInside: boolean): Promise<string[]> {
  const [folder, start] = isInside
    ? [target, RESTORING]
    : [dirname(target), `${basename(target)}${RESTORING}`];
  const names = (await readdir(folder)).filter((name) => name.startsWith(start));
  return names.map((name) => join(folder, name)).filter((path) => path !== fresh);
}

/**
 * Locks a data directory that is replaced. Returns null if there is none yet. Throws `conflict` for other files, and
 * `FolderTaken`.
 */
async function lockTarget(target: string, isInside: boolean): Promise<(() => void) | null> {
  const names = existsSync(target) ? await readdir(target) : [];
  const isThere = isInside ? replacedIn(target).length > 0 : names.length > 0;
  const isOurs = SIGNS.some((name) => names.includes(name));
  if (isThere && !isOurs && !isHalfSwapped(target)) {
    throw new AppError(
      "conflict",
      `${target} contains files that don't belong to Weir. Set --data to another directory.`,
    );
  }
  if (!isInside) return isThere ? openDataFolder(target).unlock : null;
  const unlock = lockFolder(target);
  await giveAway(join(target, "lock"), await stat(target));
  finishInside(target); // of a restore that was killed
  return unlock;
}

/** Unpacks and verifies everything. */
async function unpackAll(
  request: RestoreRequest,
  fresh: string,
  room: string,
): Promise<Pick<Restored, "manifest" | "auditLogs">> {
  const { path, passphrase, ids, watch } = request;
  const file = join(fresh, DATABASE);
  watch?.begin("restore", await sizeOf(path));
  const { manifest } = await unpack(path, {
    into: fresh,
    named: room,
    isWanted: () => true,
    passphrase,
    watch,
  });
  await checkDatabase(path, file, manifest);
  const key = await installKey(request, manifest, fresh);
  const keys = key === null ? [] : [key];
  const auditLogs = await withDatabase(file, (db) => verifyAuditLogs(db, { keys, ids }));
  if (!request.allowInvalidLogs)
    refuseInvalidLogs(
      auditLogs,
      "Nothing was restored. Use another backup, or set --allow-invalid-logs to restore this one anyway.",
    );
  forgetPublished(file);
  for (const name of FOLDERS) await mkdir(join(fresh, name), { recursive: true, mode: 0o700 });
  recordInstallation(fresh, factsOf(request, manifest));
  return { manifest, auditLogs };
}

/** A backup doesn't include the metadata for other engines. It is written again if no row names it. */
function forgetPublished(file: string): void {
  const database = openWriter(file);
  try {
    const hasIt = database.query("SELECT 1 FROM sqlite_master WHERE name = 'lake_snapshots'").get() !== null;
    if (!hasIt) return; // from an older version: its first start finds nothing published
    database.run("UPDATE lake_tables SET published = NULL, published_snapshot = 0");
    database.run("UPDATE lake_snapshots SET published = NULL");
  } finally {
    database.close();
  }
}

/** Settings that the restored data directory needs. A backup doesn't record which store its bucket is on. */
function factsOf(
  { lakeUrl, lakeEndpoint }: RestoreRequest,
  { lakeUrl: lake, keyId }: Manifest,
): Installation {
  const locations = installationPlaces({ databaseUrl: null, lakeUrl: lake, lakeEndpoint });
  return {
    database: locations.database,
    lake,
    ...(lake === lakeUrl || lake === null ? { lakeEndpoint: locations.lakeEndpoint } : {}),
    ...(keyId === null ? {} : { keyId }),
  };
}

/** The key of the replaced data directory, if it encrypted the secrets. */
function keyOfTarget({ dataFolder }: RestoreRequest, keyId: string): RestoreRequest["key"] {
  const key = keyInFile(resolve(dataFolder));
  return key !== null && keyIdOf(key) === keyId ? { key, from: "file" } : null;
}

/**
 * Stores the provided key, unless it is from the environment, or leaves the one in the backup. Returns it. It must be
 * the one that encrypted the secrets. Null if the backup has no secrets.
 */
async function installKey(
  request: RestoreRequest,
  manifest: Manifest,
  fresh: string,
): Promise<Uint8Array | null> {
  const { keyId } = manifest;
  const { path } = request;
  const own = keyInFile(fresh);
  if (keyId === null) return null;
  const key = request.key ?? (own === null ? keyOfTarget(request, keyId) : null);
  if (key === null && own === null) {
    throw new AppError(
      "invalid_state",
      `The secrets in ${path} are encrypted with the key ${keyId}, which isn't included. Set --key-file to the secret.key of that time, or set WEIR_SECRET_KEY.`,
    );
  }
  const found = key?.key ?? own;
  if (found === null || keyIdOf(found) !== keyId) {
    throw new AppError(
      "invalid_state",
      `The secrets in ${path} are encrypted with the key ${keyId}, but another key was provided${found === null ? "" : ` (${keyIdOf(found)})`}.`,
    );
  }
  if (key === null) return found;
  await rm(join(fresh, KEY_FILE), { force: true });
  if (key.from === "file") await writeKey(join(fresh, KEY_FILE), key.key);
  return key.key;
}

async function writeKey(file: string, key: Uint8Array): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(`${Buffer.from(key).toString("base64")}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Gives a file, or a folder and all in it, that root wrote to the owner of the data directory: the account that the server runs as. */
async function giveAway(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const isFolder = (await stat(path)).isDirectory();
  const names = isFolder ? await readdir(path, { recursive: true }) : [];
  for (const name of [...names, ""]) await chown(join(path, name), uid, gid);
}

async function swapFolders(target: string, fresh: string, kept: string | null): Promise<void> {
  if (kept !== null) await rename(target, kept);
  else if (existsSync(target)) await rmdir(target); // it is empty
  try {
    await rename(fresh, target);
  } catch (error) {
    if (kept !== null) await rename(kept, target);
    throw error;
  }
  const folder = await open(dirname(target), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
