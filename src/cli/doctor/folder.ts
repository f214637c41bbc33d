import { Database } from "bun:sqlite";
import { accessSync, constants, existsSync, lstatSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../base/disk.ts";
import { sizeText } from "../../base/size.ts";
import { HEAD_FILE } from "../../resources/events/head-file.ts";
import { type Finding, fine, wrong } from "./finding.ts";

/** With less than this, the next load, migration or backup may fail. */
const MIN_FREE_BYTES = 512 * 1024 * 1024;
/** The WAL is truncated to 64 MiB. If it is twice as large, something prevents that. */
const MAX_WAL_BYTES = 128 * 1024 * 1024;

const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
/** What only the owner may access. */
const PRIVATE = [
  "weir.db",
  "secret.key",
  "secret.key.next",
  "installation.json",
  HEAD_FILE,
  "lake",
  "files",
  "artifacts",
  "backups",
];

/** Checks who can read and write the data directory, including the key. */
export function checkPermissions(folder: string): Finding {
  const open = PRIVATE.filter((name) => {
    const there = lstatSync(join(folder, name), { throwIfNoEntry: false });
    return there !== undefined && (there.mode & OTHERS) !== 0;
  });
  if ((statSync(folder).mode & OTHERS_WRITE) !== 0) open.push(".");
  if (open.length > 0 && process.platform !== "win32") {
    const names = open.map((name) => join(folder, name)).join(" ");
    return wrong("permissions", `Other users of this machine can access ${names}.`, `chmod go= ${names}`);
  }
  for (const name of [".", "weir.db"]) {
    const path = join(folder, name);
    try {
      if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
    } catch (error) {
      if (codeOf(error) === "EROFS") {
        return wrong(
          "permissions",
          `${folder} is on a read-only file system.`,
          "Mount it writable (mount -o remount,rw). If the system made it read-only, look for disk errors in its log first.",
        );
      }
      return wrong(
        "permissions",
        `You can't write to ${path}.`,
        "Run doctor as the same user as the server, or make that user the owner of the directory (chown).",
      );
    }
  }
  return fine("permissions", `${folder} and the key are accessible only to their owner.`);
}

export async function checkDisk(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const needed = Math.max(MIN_FREE_BYTES, 2 * sizeOf(join(folder, "weir.db")));
  const message = `${sizeText(free)} free for ${folder}.`;
  if (free >= needed) return fine("disk", message);
  return wrong(
    "disk",
    message,
    `Free up disk space, or move the directory to a larger disk. Migrations and backups need ${sizeText(needed)}.`,
  );
}

export function checkWal(folder: string): Finding {
  const bytes = sizeOf(join(folder, "weir.db-wal"));
  const message = `The write-ahead log is ${sizeText(bytes)}.`;
  if (bytes <= MAX_WAL_BYTES) return fine("wal", message);
  return wrong(
    "wal",
    message,
    "Another program keeps the database open, or a server was killed. Close other programs that use weir.db, then restart the server.",
  );
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Returns whether a server or another command has the data directory. */
export function isLocked(folder: string): boolean {
  const path = join(folder, "lock");
  if (!existsSync(path)) return false;
  const lock = new Database(path, { readonly: true });
  try {
    lock.query("SELECT count(*) FROM sqlite_master").get();
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY");
  } finally {
    lock.close();
  }
}
