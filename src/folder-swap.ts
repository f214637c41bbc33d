import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { codeOf, flush } from "./base/disk.ts";

/** What `weir restore` hasn't completed: next to a data directory a suffix, in it the start of a name. */
export const RESTORING = ".restoring-";
/** The previous data, likewise. */
export const BEFORE = ".before-";
/** In the data directory: complete data that replaces it, before and after the previous data was moved away. */
const READY = ".restored-";
const ENTERING = ".entering-";

const DATABASE = "weir.db";
/** What a restore leaves in place: the lock that it holds, the settings of this machine, and what is of the disk. */
const STAYING = ["lock", "lock-journal", "weir.toml", "lost+found"];

/** The directory that a path leads to, through symbolic links, also if it doesn't exist. */
export function realPathOf(directory: string): string {
  const path = resolve(directory);
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") return path;
  }
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  return isLink ? realPathOf(resolve(dirname(path), readlinkSync(path))) : path;
}

/** True if a directory can't be renamed: it is a mount point, or the caller can't write in its parent. */
export function isFixed(path: string): boolean {
  if (!existsSync(path)) return false;
  const parent = dirname(path);
  try {
    accessSync(parent, constants.W_OK);
  } catch {
    return true; // `path` itself may be writable
  }
  return statSync(path).dev !== statSync(parent).dev || mountPoints().includes(path);
}

/** Mount points of this process. Empty on other systems than Linux, where only other disks are recognized. */
function mountPoints(): string[] {
  if (process.platform !== "linux") return [];
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return lines.map((line) =>
    (line.split(" ")[4] ?? "").replaceAll(/\\(\d{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    ),
  );
}

/** What a restore inside a directory replaces. */
export const replacedIn = (path: string): string[] =>
  readdirSync(path).filter(
    (name) =>
      !STAYING.includes(name) &&
      ![RESTORING, BEFORE, READY, ENTERING].some((start) => name.startsWith(start)),
  );

/** Replaces the data in `path` with that of its folder `fresh`. Returns the folder with the previous data. */
export function swapInside(path: string, fresh: string, stamp: string): string | null {
  const kept = replacedIn(path).length > 0 ? join(path, `${BEFORE}${stamp}`) : null;
  if (kept !== null) makeFolder(kept, path); // while a full disk can still stop the restore
  renameSync(fresh, join(path, `${READY}${stamp}`)); // from here on, a kill changes nothing about the result
  flush(path);
  finishInside(path);
  return kept;
}

export const isHalfSwapped = (path: string): boolean =>
  existsSync(path) && readdirSync(path).some((name) => name.startsWith(READY) || name.startsWith(ENTERING));

/**
 * Completes `swapInside`, wherever it was killed. The caller has locked the directory. First all of the previous data
 * moves away, then the new data enters. While both are under way there is no database, which comes last.
 */
export function finishInside(path: string): void {
  for (const name of readdirSync(path).filter((name) => name.startsWith(READY))) {
    const stamp = name.slice(READY.length);
    moveAway(path, join(path, `${BEFORE}${stamp}`));
    renameSync(join(path, name), join(path, `${ENTERING}${stamp}`));
    flush(path);
  }
  for (const name of readdirSync(path).filter((name) => name.startsWith(ENTERING))) {
    const from = join(path, name);
    for (const entry of databaseLast(readdirSync(from))) renameSync(join(from, entry), join(path, entry));
    flush(path);
    rmdirSync(from);
  }
}

function moveAway(path: string, kept: string): void {
  const names = replacedIn(path);
  if (names.length === 0) return;
  makeFolder(kept, path);
  for (const name of databaseLast(names).reverse()) renameSync(join(path, name), join(kept, name));
  flush(kept);
}

/** Creates a folder that belongs to the owner of another. */
function makeFolder(path: string, like: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const { uid, gid } = statSync(like);
  if (process.getuid?.() === 0) chownSync(path, uid, gid);
}

const databaseLast = (names: readonly string[]): string[] =>
  names.toSorted((a, b) => Number(a === DATABASE) - Number(b === DATABASE));
