import type { Json } from "../base/json.ts";

/** A column as SQL sees it; `dataType` is DuckDB's name of the type, such as `BIGINT` or `VARCHAR`. */
export interface Column {
  name: string;
  dataType: string;
  nullable: boolean;
}

/** One table that a tenant's SQL may see, as `layer.name`. */
export interface SqlTable {
  layer: string;
  name: string;
  columns: readonly Column[];
  /** Absolute paths of its Parquet files; a table of no files is empty. */
  files: readonly string[];
}

/** A tenant's SQL and all that it may reach. */
export interface SqlJob {
  tables: readonly SqlTable[];
  /** One SELECT, or several statements of the allowed kinds the last of which is a SELECT. */
  sql: string;
  /** Values for `$name`; `$1` is named "1". */
  parameters?: Readonly<Record<string, Json>>;
  /** Whose statement it is: those that wait take turns by organization. Absent for the server's own. */
  organizationId?: string;
  /** Cancels: the child is killed at once. */
  signal?: AbortSignal;
  /** Milliseconds until the child is killed; the store's default where absent. */
  timeoutMs?: number;
}

export interface SqlRows {
  columns: Column[];
  /** Values as JSON: 64-bit integers beyond 2^53 and decimals as strings, instants as ISO 8601, lists and structs as JSON. */
  rows: Record<string, Json>[];
  /** True where the statement had more rows than the limit let through. */
  truncated: boolean;
}

export interface SqlFile {
  /** Absolute path. */
  path: string;
  rows: number;
  bytes: number;
}

/** How `materialize` writes. */
export interface WriteOptions {
  /** A file holds rows of one value of these columns only. */
  partitionBy?: readonly string[];
  /** Columns that the rows get where the SELECT has none of the name; `sql` is a VARCHAR expression of ours. */
  stamp?: readonly { name: string; sql: string }[];
  /** At most so many rows are written. */
  limit?: number;
  /** For rows that are read once and go on: files of some 100,000 rows, quickly written. */
  isPassing?: boolean;
  /**
   * The columns of the lake's table that the rows are added to, whose types are kept where they hold the values. Other
   * engines read no nanoseconds: these become microseconds, or text where a value has more digits. They stay where it
   * is absent.
   */
  table?: readonly Column[];
}

/** Rows as JSON. */
interface SqlRowsText {
  columns: Column[];
  rows: number;
  truncated: boolean;
  /** Texts that make one list together. */
  json: string[];
}

/** `jsonl`: a line of JSON for each row, whose values are those of `SqlRows`. */
export const SAVE_FORMATS = ["csv", "jsonl", "parquet", "xlsx"] as const;
export type SaveFormat = (typeof SAVE_FORMATS)[number];

/** How the files of a format can be compressed. */
export const COMPRESSIONS = {
  csv: ["none", "gzip", "zstd"],
  jsonl: ["none", "gzip", "zstd"],
  parquet: ["none", "snappy", "gzip", "zstd", "lz4", "brotli"],
  xlsx: ["none"],
} as const satisfies Readonly<Record<SaveFormat, readonly string[]>>;
export type Compression = (typeof COMPRESSIONS)[SaveFormat][number];

/** How `save` writes. */
interface SaveOptions {
  format: SaveFormat;
  /** One of the format's own; zstd for Parquet and none for others where absent. */
  compression?: Compression;
  /** At most so many rows are written. */
  limit?: number;
  /** A file that grows beyond it ends the statement with `limit_exceeded`. */
  maxBytes: number;
}

/** A child that stays for several statements of our own, such as those of one load. */
export interface SqlSession {
  /**
   * Runs one of our own statements; rows of the last one, all of them. One that holds SQL of a tenant has their time,
   * after which the session is over. Throws `sql_error`, `sql_timeout`.
   */
  run(
    sql: string,
    parameters?: readonly Json[],
    options?: { isTenants: boolean },
  ): Promise<Record<string, Json>[]>;
  close(): Promise<void>;
}

/**
 * SQL in a locked DuckDB child process. Nothing else in the house loads DuckDB.
 *
 * Throws `sql_error` with DuckDB's message for a mistake, `sql_timeout`, `sql_memory`, `cancelled`,
 * `disk_full`, and `rate_limited` where too many statements of one organization wait.
 */
export interface Sql {
  /** The rows of the last statement, at most `limit`. */
  query(job: SqlJob, limit: number): Promise<SqlRows>;
  /** The same as JSON, to be kept and not looked at. */
  queryText(job: SqlJob, limit: number): Promise<SqlRowsText>;
  /** How DuckDB would carry out the last statement, as text; those before it are run, as far as they make tables. */
  explain(job: SqlJob): Promise<string>;
  /** Writes the rows of the last statement as Parquet files below the folder `into`, which is made; no rows, no files. */
  materialize(
    job: SqlJob,
    into: string,
    options?: WriteOptions,
  ): Promise<{ columns: Column[]; files: SqlFile[] }>;
  /**
   * Writes the rows of the last statement as one file into the folder `into`: its absolute path, and sentences on values
   * that the format can't hold as what they are. Throws `limit_exceeded` too, for what the format can't hold at all.
   */
  save(job: SqlJob, into: string, options: SaveOptions): Promise<{ path: string; warnings: string[] }>;
  /** A child for statements of our own that may read and write below `folders` and read `files`. */
  session(options: {
    folders: readonly string[];
    files?: readonly string[];
    signal?: AbortSignal;
  }): Promise<SqlSession>;
  close(): Promise<void>;
}
