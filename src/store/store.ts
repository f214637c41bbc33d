import type { BaseSQLiteDatabase } from "drizzle-orm/sqlite-core";
import type { Clock } from "../base/clock.ts";
import type { Migration } from "./migrate.ts";
import type { Workers } from "./thread.ts";

export { isUniqueViolation, StoreError } from "./faults.ts";
export { openStore } from "./local.ts";
export type { Migration } from "./migrate.ts";
export type { Workers } from "./thread.ts";

/** Result of a statement without rows, for any driver. */
export interface RunResult {
  /** Number of inserted, changed or deleted rows. */
  readonly changes: number;
}

/** Drizzle over the local file, or over a PostgreSQL or libSQL server. Callers `await` either way. */
export type Database = BaseSQLiteDatabase<"async", RunResult> & {
  /** A statement for the hottest paths, built by drizzle. Runs it with its values in order. */
  statement(sql: string, merging?: Merging): (values: readonly SqlValue[]) => Promise<unknown> | unknown;
};

/** How a statement is merged with others of its kind that follow in the same transaction, if that is faster. */
export interface Merging {
  /** Names the kind. */
  readonly kind: string;
  readonly table: string;
  /** Number of values per row. */
  readonly width: number;
  /** For an update: the position of the value that names the row. A statement changes each row once. */
  readonly key?: number;
  /**
   * The statement for this number of rows, whose absent values are in `nulls`. An update writes those itself, since
   * PostgreSQL would take a list of them for text. If omitted, the last statement with the same first value replaces
   * earlier ones.
   */
  readonly textFor?: (rows: number, nulls: readonly boolean[]) => string;
}

export type SqlValue = string | number | null;

/** A read-only handle. */
export type ReadDb = Pick<Database, "select" | "selectDistinct" | "$count" | "all" | "get">;

/** A handle inside a write transaction. Only `Store.write` provides one. */
export type WriteDb = ReadDb & Pick<Database, "insert" | "update" | "delete" | "run" | "statement">;

/** Notifies peers on the database of changes. A lost message only costs time. */
export interface Channel {
  tell(topic: string): void;
  /** Calls `listener` with messages of peers. */
  hear(listener: (topic: string) => void): void;
}

export interface Store {
  /** Reads the last committed state, also during a write. */
  readonly db: ReadDb;
  /** True for a database server, which several processes may share. */
  readonly remote: boolean;
  /** Its messages to peers, if the database has any. */
  readonly channel?: Channel;
  /**
   * Runs `work` atomically: all of its changes are committed when the promise resolves, none when it rejects. If
   * `work` throws, only its own changes are undone, and the promise rejects with its error.
   *
   * Writes run in the order of the calls, and those that wait together share one commit. Keep network calls, hashing
   * and sleeping out of `work`: everyone else is waiting. A `work` that takes longer than 10 s is undone and rejects
   * with `internal`. Its handle is only valid inside `work`; later statements are rejected. Await independent
   * statements together: each wait is a round trip.
   *
   * `group` is a key for a `WeakMap` of data that nobody else has changed since. It is the same for the works of one
   * transaction, and for later transactions if only this process writes. `work` may run again, from its start, if
   * the transaction of its group fails.
   *
   * Throws `disk_full` or `unavailable`, both retryable. `unavailable` of a libSQL server that was lost during the
   * commit leaves open whether the change was saved; PostgreSQL is asked.
   */
  write<T>(work: (db: WriteDb, group: object) => Promise<T>): Promise<T>;
  /**
   * Writes a copy of the last committed state to the new file `path`. Throws `not_available` for a database server.
   */
  backup(path: string): Promise<void>;
  /**
   * Starts the threads of a local store that otherwise start with later writes.
   * A server does this before it listens: if no descriptor is left when a thread starts, the process crashes.
   */
  startThreads?(): Promise<void>;
  /** Sizes on disk, or zeros for a database server. */
  stats(): Promise<{ databaseBytes: number; walBytes: number }>;
  /** Waits for queued writes. Later ones reject with `unavailable`. */
  close(): Promise<void>;
}

export interface StoreOptions {
  /** Path of the database file. It is created if missing; its directory must exist. */
  path: string;
  migrations: readonly Migration[];
  /** Directory of the copy made before a file with data is migrated. Created if missing. */
  backupsFolder: string;
  /** Called with the path of such a copy. */
  onCopy?: (path: string) => void;
  clock?: Clock;
  /** Starts and closes its threads. By default each store has its own. */
  workers?: Workers;
  /** False gives each write its own transaction, for comparisons only. */
  groupCommit?: boolean;
  /** Runs at each commit, before the write to disk. If it throws, the commit fails with its error. */
  beforeCommit?: () => void;
  /** Milliseconds to delay each commit, to simulate a slow disk in benchmarks. */
  syncMs?: number;
}

export interface RemoteStoreOptions {
  /** `postgres://`, `postgresql://`, `libsql://`, `https://` or `http://`. */
  url: string;
  token?: string;
  /** Trusted certificates in PEM. Default: those of the runtime. */
  ca?: string | undefined;
  migrations: readonly Migration[];
  clock?: Clock;
}

/** True for the URL of a PostgreSQL database. Any other is a libSQL server's. */
export const isPostgresUrl = (url: string): boolean => /^postgres(ql)?:/i.test(url);

/** The display name of the server type of a database URL. */
export const serverName = (url: string): string => (isPostgresUrl(url) ? "PostgreSQL" : "libSQL");

/** Connects to a PostgreSQL or libSQL server. Their clients are loaded only here: a local store doesn't need them. */
export async function openRemoteStore(options: RemoteStoreOptions): Promise<Store> {
  if (isPostgresUrl(options.url)) {
    const { connectPostgres } = await import("./postgres.ts");
    return connectPostgres(options);
  }
  const { connectStore } = await import("./remote.ts");
  return connectStore(options);
}
