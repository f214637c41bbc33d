import { Database as Sqlite } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, openSync, statSync } from "node:fs";
import { AppError } from "../base/errors.ts";
import { diskFaultOf, storeFault } from "./faults.ts";

/**
 * The first SQLite version that can't lose a commit when one connection checkpoints while another restarts the WAL
 * (https://sqlite.org/wal.html#walresetbug).
 */
const MIN_SQLITE = "3.51.3";
/** How long a statement waits for another process. It blocks the thread. */
const BUSY_TIMEOUT_MS = 2_000;
/** Size to which the WAL is truncated on a restart, after a large transaction. */
const MAX_WAL_BYTES = 64 << 20;

/**
 * Opens the file for writing. Creates it if missing, readable only by its owner.
 *
 * Nothing else in this process may open and close the file: that would end SQLite's POSIX locks on it. The last other
 * program to close the database would then delete the WAL, and with it everything that isn't checkpointed.
 */
export const openWriter = (path: string): Sqlite =>
  opening(path, () => {
    if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600); // the -wal and -shm files inherit the mode of the file
    const connection = new Sqlite(path, { readwrite: true, create: false });
    refuseOld(connection);
    // takes effect only in an empty file, so it comes before WAL; on any other file it is a write, which a full disk
    // rejects
    if (statSync(path).size === 0) connection.run("PRAGMA auto_vacuum = INCREMENTAL");
    connection.run("PRAGMA journal_mode = WAL");
    connection.run("PRAGMA synchronous = FULL");
    connection.run("PRAGMA foreign_keys = ON");
    connection.run("PRAGMA recursive_triggers = ON"); // without it, INSERT OR REPLACE skips the DELETE triggers
    connection.run("PRAGMA wal_autocheckpoint = 0");
    connection.run(`PRAGMA journal_size_limit = ${MAX_WAL_BYTES}`);
    connection.run("PRAGMA cache_size = -3000");
    common(connection);
    return connection;
  });

/** Opens a file that a writer has already opened. */
export const openReader = (path: string): Sqlite =>
  opening(path, () => {
    const connection = new Sqlite(path, { readonly: true });
    connection.run("PRAGMA query_only = ON");
    connection.run("PRAGMA cache_size = -2000");
    common(connection);
    return connection;
  });

function common(connection: Sqlite): void {
  connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  connection.run("PRAGMA temp_store = MEMORY");
}

/** Throws `unavailable` with the system's reason, so that the operator can act on it. */
function opening(path: string, work: () => Sqlite): Sqlite {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const disk = diskFaultOf(error, path);
    if (disk !== null) throw disk;
    const reason = error instanceof Error ? error.message : String(error);
    throw new AppError("unavailable", `Couldn't open the database file: ${reason}.`, {
      cause: storeFault(error),
    });
  }
}

function refuseOld(connection: Sqlite): void {
  const { version } = connection.query("SELECT sqlite_version() AS version").get() as { version: string };
  if (Bun.semver.order(version, MIN_SQLITE) >= 0) return;
  connection.close();
  throw new AppError(
    "unavailable",
    `This system's SQLite ${version} can lose data. Weir needs ${MIN_SQLITE} or later, which its executable includes.`,
  );
}
