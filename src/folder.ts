import { Database } from "bun:sqlite";
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf, flush } from "./base/disk.ts";
import { diskFault, diskTrouble, fileReason } from "./base/file-error.ts";
import { type Ids, systemIds } from "./base/ids.ts";
import { ConfigError } from "./config.ts";
import { BEFORE, finishInside, isHalfSwapped, RESTORING, realPathOf } from "./folder-swap.ts";

/** Everything that Weir stores is below one directory (docs/decisions/one-file.md). */
export interface DataFolder {
  readonly path: string;
  readonly database: string;
  readonly lake: string;
  readonly files: string;
  readonly artifacts: string;
  readonly backups: string;
  /** Scratch directory of this process and its children. Emptied at start. */
  readonly scratch: string;
  /** Identifies a directory that can be shared, wherever it is mounted. Empty for others. */
  readonly id: string;
  /** Releases the directory for other processes. */
  unlock(): void;
}

/**
 * Creates the directory if it is missing, and locks it for this process alone,
 * or for several if the database is elsewhere. The lock ends with the process, even if it is killed.
 * Throws `ConfigError` if another process has it or it isn't writable.
 */
export function openDataFolder(directory: string, { isShared = false, ids = systemIds } = {}): DataFolder {
  const path = resolve(directory);
  const below = (name: string) => join(path, name);
  let id: string;
  try {
    refuseHalfRestored(path);
    finishRestore(path);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    accessSync(path, constants.W_OK);
    for (const name of ["lake", "files", "artifacts", "backups", "scratch"]) {
      mkdirSync(below(name), { recursive: true, mode: 0o700 });
    }
    id = isShared ? idOf(path, ids) : "";
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const disk = diskFault(error, path);
    if (disk !== null) throw new ConfigError(disk.message);
    throw new ConfigError(
      `Couldn't write to the data directory ${path}: ${fileReason(error)}. Set --data to another directory, or change its permissions.`,
    );
  }
  return {
    path,
    database: below("weir.db"),
    lake: below("lake"),
    files: below("files"),
    artifacts: below("artifacts"),
    backups: below("backups"),
    id,
    ...(isShared ? lockTogether(path) : { scratch: below("scratch"), unlock: lockFolder(path) }),
  };
}

/** Completes a restore inside the directory that was killed. Throws `ConfigError` if another process has it. */
export function finishRestore(path: string): void {
  if (!isHalfSwapped(path)) return;
  const unlock = lockFolder(path);
  try {
    finishInside(path);
  } finally {
    unlock();
  }
}

/** A restore that was killed between its last two steps leaves no directory of this name, but loses nothing. */
function refuseHalfRestored(directory: string): void {
  const path = realPathOf(directory);
  const parent = dirname(path);
  if (existsSync(path) || !existsSync(parent)) return;
  const beside = readdirSync(parent).filter((name) => name.startsWith(basename(path)));
  const isOf = (suffix: string) => (name: string) => name.startsWith(`${basename(path)}${suffix}`);
  if (!beside.some(isOf(RESTORING))) return;
  const before = beside.filter(isOf(BEFORE)).sort().at(-1);
  const back = before === undefined ? "" : `, or rename ${join(parent, before)} to ${path}`;
  throw new ConfigError(`A restore of ${path} was interrupted. Run "weir restore" again${back}.`);
}

/** Contains the ID of a data directory whose database is on a server, wherever it is mounted. */
export const SHARED_ID_FILE = "folder.id";

/** Reads the directory's ID. Creates it the first time. */
function idOf(path: string, ids: Ids): string {
  const file = join(path, SHARED_ID_FILE);
  if (!existsSync(file)) {
    const temporary = `${file}.new-${process.pid}`;
    writeFileSync(temporary, ids.uuid(), { mode: 0o600 });
    try {
      linkSync(temporary, file); // if several start at once, the first one's ID is used
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    } finally {
      rmSync(temporary, { force: true });
    }
  }
  return readFileSync(file, "utf8").trim();
}

/** Another process has the data directory: a server or a command. */
export class FolderLocked extends ConfigError {}

/** Locks the directory for this process alone. The file belongs to the directory's owner. */
export function lockFolder(path: string): () => void {
  try {
    return hold(join(path, "lock"), true);
  } catch (error) {
    throw explained(path, error);
  }
}

/** Maximum number of processes of one machine that share a data directory. */
const MOST_TOGETHER = 64;

/** Locks out processes that need the directory alone, and takes the first free scratch directory. */
function lockTogether(path: string): Pick<DataFolder, "scratch" | "unlock"> {
  try {
    const letGo = hold(join(path, "lock"), false);
    for (let n = 1; n <= MOST_TOGETHER; n++) {
      const scratch = join(path, n === 1 ? "scratch" : `scratch-${n}`);
      mkdirSync(scratch, { recursive: true, mode: 0o700 });
      const free = holdIfFree(`${scratch}.lock`);
      if (!free) continue;
      const unlock = () => {
        free();
        letGo();
      };
      return { scratch, unlock };
    }
  } catch (error) {
    throw explained(path, error);
  }
  throw new FolderLocked(
    `${MOST_TOGETHER} processes are already using ${path}. Set --data to another directory.`,
  );
}

function holdIfFree(file: string): (() => void) | null {
  try {
    return hold(file, true);
  } catch (error) {
    if (codeOf(error).startsWith("SQLITE_BUSY")) return null;
    throw error;
  }
}

/** SQLite's file locks belong to the operating system: they end with the process, even after `kill -9`. */
function hold(file: string, isAlone: boolean): () => void {
  const holder = new Database(file, { create: true });
  try {
    if (isAlone) {
      holder.run("PRAGMA journal_mode = DELETE");
      holder.run("PRAGMA locking_mode = EXCLUSIVE");
      holder.run("BEGIN EXCLUSIVE");
    } else {
      holder.run("BEGIN");
      holder.query("SELECT count(*) FROM sqlite_master").get(); // a shared lock
    }
  } catch (error) {
    holder.close();
    throw error;
  }
  return () => holder.close();
}

function explained(path: string, error: unknown): ConfigError {
  if (codeOf(error).startsWith("SQLITE_BUSY")) {
    return new FolderLocked(
      `Another Weir server is already using ${path}. Stop it, or set --data to another directory.`,
    );
  }
  const disk = diskTrouble(path);
  return new ConfigError(disk?.message ?? `Couldn't lock the data directory ${path}: ${fileReason(error)}.`);
}

/** The master key: from the environment, else from `secret.key`, which is generated if no older key is needed. */
export function masterKey(
  folder: Pick<DataFolder, "path">,
  secret: string | null,
  isNew: boolean,
  ids: Ids,
): Uint8Array {
  if (secret !== null) return parseMasterKey(secret);
  const file = keyFile(folder.path);
  if (existsSync(file)) return readKey(file);
  if (!isNew) {
    throw new ConfigError(
      `${file} is missing, and the database contains secrets encrypted with it. Restore the file, or set WEIR_SECRET_KEY.`,
    );
  }
  const key = ids.bytes(32);
  renameSync(writeBeside(file, keyText(key)), file);
  flushFolder(file);
  return key;
}

/** The key that `weir keys rotate` requests as the next `secret.key`. Null if there is no request. */
export const nextMasterKey = (path: string): Uint8Array | null => readKeyIfThere(nextKeyFile(path));

/** Requests a new master key, unless one is requested already. Returns the requested key. */
export function askForNextKey(path: string, ids: Ids): Uint8Array {
  const file = nextKeyFile(path);
  const key = ids.bytes(32);
  const temporary = writeBeside(file, keyText(key));
  try {
    linkSync(temporary, file); // unlike a rename, this doesn't replace an existing file
    flushFolder(file);
    return key;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  return readKeyIfThere(file) ?? askForNextKey(path, ids); // the requested key may have become the current one
}

/** Makes the next key the current `secret.key`. The previous key is gone. */
export function takeNextKey(path: string): void {
  renameSync(nextKeyFile(path), keyFile(path));
  flushFolder(keyFile(path));
}

/** Withdraws the request, before anything is encrypted with the key. */
export const dropNextKey = (path: string): void => rmSync(nextKeyFile(path), { force: true });

/**
 * The master keys in a data directory: the current one, and the next one during a rotation. None if this process may not
 * read them.
 */
export function readableKeys(path: string): Uint8Array[] {
  try {
    return [keyInFile(path), nextMasterKey(path)].filter((key) => key !== null);
  } catch (error) {
    if (codeOf(error) === "EACCES") return [];
    throw error;
  }
}

/** The key in `secret.key`. Null if there is none. */
export const keyInFile = (path: string): Uint8Array | null => readKeyIfThere(keyFile(path));

const keyFile = (path: string) => join(path, "secret.key");
const nextKeyFile = (path: string) => join(path, "secret.key.next");

const readKey = (file: string) => decodeKey(readFileSync(file, "utf8").trim(), file);

/** The server can rename the file at any time, so its existence isn't checked before it is read. */
function readKeyIfThere(file: string): Uint8Array | null {
  try {
    return readKey(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

const keyText = (key: Uint8Array) => `${Buffer.from(key).toString("base64")}\n`;

/** Writes and syncs a private file next to `file`, to be renamed or linked to it. Returns its path. */
export function writeBeside(file: string, text: string): string {
  const temporary = `${file}.new-${process.pid}`;
  rmSync(temporary, { force: true });
  const handle = openSync(temporary, "wx", 0o600);
  const { uid, gid } = statSync(dirname(file));
  if (process.getuid?.() === 0) fchownSync(handle, uid, gid); // the server may run as another user than the caller
  writeFileSync(handle, text);
  fsyncSync(handle);
  closeSync(handle);
  chmodSync(temporary, 0o600);
  return temporary;
}

/** Syncs the directory, so that the name of `file` is on disk. */
export function flushFolder(file: string): void {
  flush(dirname(file));
}

/** The master key in `WEIR_SECRET_KEY`. */
export const parseMasterKey = (text: string): Uint8Array => decodeKey(text, "WEIR_SECRET_KEY");

/** The master key in `WEIR_SECRET_KEY_PREVIOUS`. Null if it isn't set. */
export const previousMasterKey = (text: string | null): Uint8Array | null =>
  text === null ? null : decodeKey(text, "WEIR_SECRET_KEY_PREVIOUS");

function decodeKey(text: string, source: string): Uint8Array {
  const key = Buffer.from(text, "base64");
  if (key.length === 32) return new Uint8Array(key);
  throw new ConfigError(
    `${source} must contain 32 base64-encoded bytes. Create a key with: openssl rand -base64 32`,
  );
}
