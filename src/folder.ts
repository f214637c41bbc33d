import { Database } from "bun:sqlite";
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import type { Ids } from "./base/ids.ts";
import { ConfigError } from "./config.ts";

/** Everything that Weir keeps lies below one folder (decisions, section 2). */
export interface DataFolder {
  readonly path: string;
  readonly database: string;
  readonly lake: string;
  readonly files: string;
  readonly artifacts: string;
  readonly backups: string;
  /** Scratch space of this process and its children; emptied at start. */
  readonly scratch: string;
  /** Lets another process have the folder. */
  unlock(): void;
}

/**
 * Makes the folder where it is missing and takes it for this process alone; the lock goes with the
 * process, however that ends. Throws `ConfigError` when somebody else has it or it can't be written.
 */
export function openDataFolder(given: string): DataFolder {
  const path = resolve(given);
  const below = (name: string) => join(path, name);
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    accessSync(path, constants.W_OK);
    for (const name of ["lake", "files", "artifacts", "backups", "scratch"]) {
      mkdirSync(below(name), { recursive: true, mode: 0o700 });
    }
  } catch (error) {
    throw new ConfigError(
      `The data directory ${path} can't be written: ${codeOf(error)}. Give another with --data, or change its permissions.`,
    );
  }
  return {
    path,
    database: below("weir.db"),
    lake: below("lake"),
    files: below("files"),
    artifacts: below("artifacts"),
    backups: below("backups"),
    scratch: below("scratch"),
    unlock: lock(path),
  };
}

/** SQLite's file locks are the operating system's: they end with the process, also at `kill -9`. */
function lock(path: string): () => void {
  let holder: Database | undefined;
  try {
    holder = new Database(join(path, "lock"), { create: true });
    holder.run("PRAGMA journal_mode = DELETE");
    holder.run("PRAGMA locking_mode = EXCLUSIVE");
    holder.run("BEGIN EXCLUSIVE");
  } catch (error) {
    holder?.close();
    if (codeOf(error).startsWith("SQLITE_BUSY")) {
      throw new ConfigError(
        `Another weir is running on ${path}. Stop it first, or give another directory with --data.`,
      );
    }
    throw new ConfigError(`The data directory ${path} can't be locked: ${codeOf(error)}.`);
  }
  return () => holder?.close();
}

/** The master key: from the environment, else from `secret.key`, which is made when nothing needs an older one. */
export function masterKey(folder: DataFolder, given: string | null, isNew: boolean, ids: Ids): Uint8Array {
  if (given !== null) return decodeKey(given, "WEIR_SECRET_KEY");
  const file = join(folder.path, "secret.key");
  if (existsSync(file)) return decodeKey(readFileSync(file, "utf8").trim(), file);
  if (!isNew) {
    throw new ConfigError(
      `${file} is missing, and the database holds secrets sealed with it. Put the file back, or set WEIR_SECRET_KEY.`,
    );
  }
  const key = ids.bytes(32);
  const temporary = `${file}.new`;
  const handle = openSync(temporary, "w", 0o600);
  writeFileSync(handle, `${Buffer.from(key).toString("base64")}\n`);
  fsyncSync(handle);
  closeSync(handle);
  chmodSync(temporary, 0o600);
  renameSync(temporary, file);
  return key;
}

function decodeKey(text: string, source: string): Uint8Array {
  const key = Buffer.from(text, "base64");
  if (key.length === 32) return new Uint8Array(key);
  throw new ConfigError(`${source} should hold 32 bytes in base64; make one with: openssl rand -base64 32`);
}

const codeOf = (error: unknown) =>
  error instanceof Error ? String((error as { code?: unknown }).code ?? error.message) : String(error);
