import type { Json } from "../base/json.ts";
import type { NumberText } from "../base/json-numbers.ts";

/** A value for `$name`. */
export type SqlValue = Json | NumberText;

/** A column in SQL; `dataType` is DuckDB's type name, such as `BIGINT` or `VARCHAR`. */
export interface Column {
  name: string;
  dataType: string;
  nullable: boolean;
  /**
   * Of a table of the lake: what the column is called where its values come from, so that later loads find it again. Of
   * the link of a child table to its parent: what the list is called. Absent if an older version wrote the table.
   */
  source?: string;
}

/** One table that a tenant's SQL may read, as `layer.name`. */
export interface SqlTable {
  layer: string;
  name: string;
  columns: readonly Column[];
  /** Absolute paths of its Parquet files; a table without files is empty. */
  files: readonly string[];
}

/** A tenant's SQL and everything that it may access. */
export interface SqlJob {
  tables: readonly SqlTable[];
  /** One SELECT, or several statements of the allowed kinds, the last of which is a SELECT. */
  sql: string;
  /** Values for `$name`; `$1` is named "1". */
  parameters?: Readonly<Record<string, Json>>;
  /** More values, as JSON, whose numbers are bound exactly. */
  exactParameters?: string;
  /** The statement's owner: queued statements take turns by organization. Absent for the server's own. */
  organizationId?: string;
  /** Cancels: the child is killed immediately. */
  signal?: AbortSignal;
  /** Timeout in milliseconds, after which the child is killed. Default: the store's. */
  timeoutMs?: number;
}

export interface SqlRows {
  columns: Column[];
  /** Values as JSON: 64-bit integers beyond 2^53 and decimals as strings, timestamps as ISO 8601. */
  rows: Record<string, Json>[];
  /** True if the statement had more rows than the limit. */
  truncated: boolean;
}

export interface SqlFile {
  /** Absolute path. */
  path: string;
  rows: number;
  bytes: number;
}

/** A column that Weir adds to rows; `sql` is a trusted VARCHAR expression. */
export interface Stamp {
  name: string;
  sql: string;
}

/** Options of `materialize`. */
export interface WriteOptions {
  /** Each file has rows of one value of these columns only. */
  partitionBy?: readonly string[];
  /** Columns to add unless the SELECT has one of that name that can be it. Otherwise that one gets another name. */
  stamp?: readonly Stamp[];
  /** Maximum number of rows. */
  limit?: number;
  /** For rows that are read once by the next step: files of about 100,000 rows, written fast. */
  isPassing?: boolean;
  /**
   * The columns of the lake's table that the rows are added to; their types are kept if they can hold the values. Other
   * engines can't read nanoseconds: these become microseconds, or text if a value has more digits. Without `table` they
   * are kept.
   */
  table?: readonly Column[];
}

/** Rows as JSON. */
interface SqlRowsText {
  columns: Column[];
  rows: number;
  truncated: boolean;
  /** JSON texts that together form one list. */
  json: string[];
}

/** `jsonl`: one line of JSON per row, with values as in `SqlRows`. */
export const SAVE_FORMATS = ["csv", "jsonl", "parquet", "xlsx"] as const;
export type SaveFormat = (typeof SAVE_FORMATS)[number];

/** Compressions supported by each format. */
export const COMPRESSIONS = {
  csv: ["none", "gzip", "zstd"],
  jsonl: ["none", "gzip", "zstd"],
  parquet: ["none", "snappy", "gzip", "zstd", "lz4", "brotli"],
  xlsx: ["none"],
} as const satisfies Readonly<Record<SaveFormat, readonly string[]>>;
export type Compression = (typeof COMPRESSIONS)[SaveFormat][number];

/** Options of `save`. */
interface SaveOptions {
  format: SaveFormat;
  /** One of the format's compressions. Default: zstd for Parquet, none for others. */
  compression?: Compression;
  /** Maximum number of rows. */
  limit?: number;
  /** A file that exceeds it ends the statement with `limit_exceeded`. */
  maxBytes: number;
}

/** A child that is kept for several trusted statements, such as those of one load. */
export interface SqlSession {
  /**
   * Runs trusted statements and returns all rows of the last one. If a statement contains a tenant's SQL, the tenant's
   * timeout applies and ends the session. Throws `sql_error`, `sql_timeout`.
   */
  run(
    sql: string,
    parameters?: readonly Json[],
    options?: { isTenants: boolean },
  ): Promise<Record<string, Json>[]>;
  close(): Promise<void>;
}

/**
 * SQL in a locked DuckDB child process. No other module loads DuckDB.
 *
 * Throws `sql_error` with DuckDB's message for invalid SQL, `sql_timeout`, `sql_memory`, `cancelled`, `disk_full`, and
 * `rate_limited` if too many statements of one organization are queued.
 */
export interface Sql {
  /** The rows of the last statement, up to `limit`. */
  query(job: SqlJob, limit: number): Promise<SqlRows>;
  /** As `query`, but as JSON text, for callers that don't read the values. */
  queryText(job: SqlJob, limit: number): Promise<SqlRowsText>;
  /** The query plan of the last statement, as text. Earlier statements are run if they create tables. */
  explain(job: SqlJob): Promise<string>;
  /**
   * Writes the rows of the last statement as Parquet files to the new folder `into`. No rows, no files. Returns warnings
   * about renamed columns.
   */
  materialize(
    job: SqlJob,
    into: string,
    options?: WriteOptions,
  ): Promise<{ columns: Column[]; files: SqlFile[]; warnings: string[] }>;
  /**
   * Writes the rows of the last statement as one file to the folder `into`. Returns its absolute path,
   * and warnings about
   * values that the format can't represent. Also throws `limit_exceeded`, for content that is too large for the format.
   */
  save(job: SqlJob, into: string, options: SaveOptions): Promise<{ path: string; warnings: string[] }>;
  /** A child for trusted statements that may read and write below `folders` and read `files`. */
  session(options: {
    folders: readonly string[];
    files?: readonly string[];
    signal?: AbortSignal;
  }): Promise<SqlSession>;
  close(): Promise<void>;
}
