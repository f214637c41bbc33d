import { dirname } from "node:path";
import { DrizzleError, DrizzleQueryError } from "drizzle-orm/errors";
import { AppError } from "../base/errors.ts";
import { diskFault, diskTrouble } from "../base/file-error.ts";

/**
 * A statement that SQLite rejected: a constraint, a trigger or invalid SQL. `message` is SQLite's own text, which
 * names tables and columns but contains no values.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /**
   * SQLite's extended code, such as `SQLITE_CONSTRAINT_UNIQUE`. A libSQL server reports only the first part,
   * `SQLITE_CONSTRAINT`.
   */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Returns whether an insert or update violated a unique index or a primary key, for any driver.
 *
 * `on` restricts this to one index by a part of SQLite's text: `connections.slug` for a column, or the index's name
 * for an index over an expression.
 */
export function isUniqueViolation(error: unknown, on = ""): boolean {
  const fault = storeFault(error);
  if (!(fault instanceof StoreError)) return false;
  return fault.message.includes("UNIQUE constraint failed") && fault.message.includes(on);
}

/**
 * The error to throw in place of a driver's or drizzle's: an `AppError` for a full disk or an unavailable store, a
 * `StoreError` without parameters for a rejected statement. Other errors are returned as they are.
 */
export function storeFault(error: unknown): unknown {
  if (error instanceof DrizzleQueryError || error instanceof DrizzleError) {
    return error.cause === undefined
      ? new StoreError("DRIZZLE", "A query could not be built.")
      : storeFault(error.cause);
  }
  const code = codeOf(error);
  if (code === null) return error;
  const message = (error as Error).message;
  if (code.startsWith("SQLITE_FULL") || /ENOSPC|no space left/i.test(message)) {
    return new AppError("disk_full", "The disk is full. Free up space and try again.", {
      retryable: true,
      cause: bare(code, error),
    });
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) {
    return new AppError("unavailable", "The database file is damaged. Restore a backup.", {
      cause: bare(code, error),
    });
  }
  if (UNREACHABLE.test(code)) {
    return new AppError("unavailable", "The database is unreachable. Try again later.", {
      retryable: true,
      cause: bare(code, error),
    });
  }
  return bare(code, error);
}

/** Like `storeFault`, for a database file: recognizes a full or read-only disk where SQLite reports something else. */
export const fileFault = (error: unknown, file: string): unknown =>
  diskFaultOf(error, file) ?? storeFault(error);

/** Returns an actionable error if a full or read-only disk caused that of a database file. Null for any other error. */
export function diskFaultOf(error: unknown, file: string): AppError | null {
  const folder = dirname(file);
  const fault = storeFault(error);
  if (fault instanceof AppError && fault.code === "disk_full") return fault;
  const cause = fault instanceof AppError && fault.code === "unavailable" ? fault.cause : fault;
  const isOfDisk = cause instanceof StoreError && /^SQLITE_(IOERR|CANTOPEN|READONLY)/.test(cause.code);
  return isOfDisk ? diskTrouble(folder) : diskFault(error, folder);
}

/** Codes of SQLite and the libSQL client that concern the store rather than the statement. */
const UNREACHABLE =
  /^(SQLITE_(BUSY|LOCKED|IOERR|CANTOPEN|PROTOCOL|NOMEM|INTERRUPT)|HRANA_|SERVER_ERROR|STREAM_|TRANSACTION_|AUTH_|UNKNOWN$)/;

const bare = (code: string, error: unknown) => {
  const text = (error as Error).message.replace(/^([A-Z]+(_[A-Z]+)+: )*(SQLite error: )?/, "");
  const fault = new StoreError(code, text);
  if (error instanceof Error && error.stack) fault.stack = error.stack;
  return fault;
};

/** The code of a driver's error, or null for any other error. */
function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof AppError || error instanceof StoreError) return null;
  if (error.name !== "SQLiteError" && !error.name.startsWith("Libsql")) return null;
  const { extendedCode, code } = error as { extendedCode?: unknown; code?: unknown };
  if (typeof extendedCode === "string") return extendedCode;
  return typeof code === "string" ? code : "SQLITE_ERROR";
}

/** Why a statement or transaction was lost, although it may succeed when repeated. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** True if the server of Weir's own database was unreachable, which is not the fault of the work that asked for it. */
export const isStoreAway = (error: unknown): boolean =>
  error instanceof AppError &&
  error.code === "unavailable" &&
  error.retryable &&
  (error.cause instanceof ConnectionLost || error.cause instanceof StoreError || isStoreAway(error.cause));

/** True if a retry may succeed later, as with a full disk. Nothing must fail permanently because of it. */
export const mayPass = (error: unknown): boolean => {
  const fault = storeFault(error);
  return fault instanceof AppError && (fault.retryable || fault.code === "unavailable");
};
