import type { BaseSQLiteDatabase } from "drizzle-orm/sqlite-core";
import type { Clock } from "../base/clock.ts";
import type { Migration } from "./migrate.ts";
import type { Workers } from "./thread.ts";

export { isUniqueViolation, StoreError } from "./faults.ts";
export { openStore } from "./local.ts";
export type { Migration } from "./migrate.ts";
export type { Workers } from "./thread.ts";

/** Result of a statement without rows, in both drivers. */
export interface RunResult {
  /** Rows that were inserted, changed or deleted. */
  readonly changes: number;
}

/** Drizzle over the local file, or over a PostgreSQL or libSQL server. Callers `await` either way. */
export type Database = BaseSQLiteDatabase<"async", RunResult> & {
  /** One statement for the hottest paths, which drizzle only built: runs it with its values in order. */
  statement(sql: string, merging?: Merging): (values: readonly SqlValue[]) => Promise<unknown> | unknown;
};

/** How a statement goes together with others of its kind that follow in the same transaction, where that is worth it. */
export interface Merging {
  /** Names the kind. */
  readonly kind: string;
  /** How many of the statement's values stand for one row. */
  readonly width: number;
  /** The statement for so many rows; without it, the last statement of the same first value takes the place of those before. */
  readonly textFor?: (rows: number) => string;
}

export type SqlValue = string | number | null;

/** A handle that can look and not touch. */
export type ReadDb = Pick<Database, "select" | "selectDistinct" | "$count" | "all" | "get">;

/** A handle inside a write transaction. Only `Store.write` gives one. */
export type WriteDb = ReadDb & Pick<Database, "insert" | "update" | "delete" | "run" | "statement">;

/** Tells the other processes on the database what has changed. What one misses costs only time. */
export interface Channel {
  tell(topic: string): void;
  /** Calls `listener` with what others tell. */
  hear(listener: (topic: string) => void): void;
}

export interface Store {
  /** Reads the last committed state, also during a write. */
  readonly db: ReadDb;
  /** True for a database server, which several processes may share. */
  readonly remote: boolean;
  /** Where the database has one. */
  readonly channel?: Channel;
  /**
   * Runs `work` as one piece: all of its changes are committed when the promise resolves, none when it
   * rejects. A `work` that throws undoes only itself and rejects with what it threw.
   *
   * Writers take turns, in the order of their calls, and those that wait together share one commit. So
   * keep network calls, hashing and sleeping out of `work`: everyone else is standing in the queue. A `work`
   * that takes longer than 10 s is undone and rejects with `internal`. Its handle is only good inside
   * `work`: a statement that comes later is refused. Await independent statements
   * together: each wait is a round trip.
   *
   * `group` stands for what nobody else has written into since: what is kept by it, in a `WeakMap`, holds for the
   * works of one transaction, and of those after it where this process alone writes. `work` may be run again,
   * from its start, where its neighbours' transaction fails.
   *
   * Throws `disk_full` or `unavailable`, both worth another try. `unavailable` of a libSQL server that
   * was lost during the commit leaves open whether the change was saved; PostgreSQL is asked.
   */
  write<T>(work: (db: WriteDb, group: object) => Promise<T>): Promise<T>;
  /** Writes a copy of the last committed state to the new file `path`. Local only; throws `not_available` else. */
  backup(path: string): Promise<void>;
  /** Sizes on disk; zeros for a database server. */
  stats(): Promise<{ databaseBytes: number; walBytes: number }>;
  /** Waits for the writes in the queue; later ones reject with `unavailable`. */
  close(): Promise<void>;
}

export interface StoreOptions {
  /** Path of the database file. It is created if missing; its directory must exist. */
  path: string;
  migrations: readonly Migration[];
  /** Directory of the copy made before a file with data is migrated. Created if missing. */
  backupsFolder: string;
  /** Hears the path of such a copy. */
  onCopy?: (path: string) => void;
  clock?: Clock;
  /** Where its threads come from and go to; each store starts and ends its own by default. */
  workers?: Workers;
  /** False gives each write a transaction of its own; for comparison only. */
  groupCommit?: boolean;
  /** Runs at each commit, before the disk is asked; a commit fails with what it throws. */
  beforeCommit?: () => void;
  /** Milliseconds that each commit takes longer: a benchmark's stand-in for a slow disk. */
  syncMs?: number;
}

export interface RemoteStoreOptions {
  /** `postgres://`, `postgresql://`, `libsql://`, `https://` or `http://`. */
  url: string;
  token?: string;
  /** The certificates that are trusted, as PEM; those of the runtime by default. */
  ca?: string | undefined;
  migrations: readonly Migration[];
  clock?: Clock;
}

/** True for the URL of a PostgreSQL database; another one is a libSQL server's. */
export const isPostgresUrl = (url: string): boolean => /^postgres(ql)?:/i.test(url);

/** What people call the server of a database URL. */
export const serverName = (url: string): string => (isPostgresUrl(url) ? "PostgreSQL" : "libSQL");

/** Connects to a PostgreSQL or libSQL server. Their clients are loaded only here: a local store has no use for them. */
export async function openRemoteStore(options: RemoteStoreOptions): Promise<Store> {
  if (isPostgresUrl(options.url)) {
    const { connectPostgres } = await import("./postgres.ts");
    return connectPostgres(options);
  }
  const { connectStore } = await import("./remote.ts");
  return connectStore(options);
}
