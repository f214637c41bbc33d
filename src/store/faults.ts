import { DrizzleError, DrizzleQueryError } from "drizzle-orm/errors";
import { AppError } from "../base/errors.ts";

/**
 * A statement that SQLite refused: a constraint, a trigger, bad SQL. `message` is SQLite's own text, which
 * names tables and columns and holds no values.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** SQLite's extended code, such as `SQLITE_CONSTRAINT_UNIQUE`; a libSQL server tells only its first part, `SQLITE_CONSTRAINT`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * True for an error of an insert or update that hit a unique index or a primary key, of either driver.
 *
 * `on` narrows it down to one index by a part of SQLite's text: `connections.slug` for a column, or the
 * index's name where it is over an expression.
 */
export function isUniqueViolation(error: unknown, on = ""): boolean {
  const fault = storeFault(error);
  if (!(fault instanceof StoreError)) return false;
  return fault.message.includes("UNIQUE constraint failed") && fault.message.includes(on);
}

/**
 * What may leave the store in place of a driver's or drizzle's error: an `AppError` for a full disk and for
 * a store that cannot be reached or read, a `StoreError` for a refused statement, without its parameters.
 * An error that is not of a driver is given back as it is.
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

/** Codes of SQLite and of the libSQL client that speak of the store rather than of the statement. */
const UNREACHABLE =
  /^(SQLITE_(BUSY|LOCKED|IOERR|CANTOPEN|PROTOCOL|NOMEM|INTERRUPT)|HRANA_|SERVER_ERROR|STREAM_|TRANSACTION_|AUTH_|UNKNOWN$)/;

const bare = (code: string, error: unknown) => {
  const text = (error as Error).message.replace(/^([A-Z]+(_[A-Z]+)+: )*(SQLite error: )?/, "");
  const fault = new StoreError(code, text);
  if (error instanceof Error && error.stack) fault.stack = error.stack;
  return fault;
};

/** The code of a driver's error; null for any other error. */
function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof AppError || error instanceof StoreError) return null;
  if (error.name !== "SQLiteError" && !error.name.startsWith("Libsql")) return null;
  const { extendedCode, code } = error as { extendedCode?: unknown; code?: unknown };
  if (typeof extendedCode === "string") return extendedCode;
  return typeof code === "string" ? code : "SQLITE_ERROR";
}

/** Why a statement or a transaction is gone although it may go well when it is done again. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** True where the server of Weir's own database couldn't be reached, which is no fault of the work that asked for it. */
export const isStoreAway = (error: unknown): boolean =>
  error instanceof AppError &&
  error.code === "unavailable" &&
  error.retryable &&
  (error.cause instanceof ConnectionLost || error.cause instanceof StoreError || isStoreAway(error.cause));

/** True where the same may go well later, as with a full disk: then nothing is to end for it. */
export const mayPass = (error: unknown): boolean => {
  const fault = storeFault(error);
  return fault instanceof AppError && (fault.retryable || fault.code === "unavailable");
};
