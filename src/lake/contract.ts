import type { Json } from "../base/json.ts";
import type { Column } from "../sql/contract.ts";

/** One Parquet file of a table. */
export interface LakeFile {
  id: string;
  /** Relative to the lake's root: `ORGANIZATION/LAYER/DATASET/TABLE/LOAD-….parquet`; never written to again. */
  path: string;
  rows: number;
  bytes: number;
  loadId: string;
  /** The values of the partition that all its rows are of; files of one partition are put together, others are not. */
  part?: string | null;
  /** True where a column is in a type that other engines don't read as the table's; SQL here casts it. */
  isMixed?: boolean;
}

/** A table as the last committed load left it. */
export interface LakeTable {
  layer: string;
  dataset: string;
  table: string;
  columns: Column[];
  files: LakeFile[];
  rows: number;
  bytes: number;
  /** Grows with each commit that changes rows or columns; a load that rewrites files names the version that it started from. */
  version: number;
}

/** What one load does to one table. */
export interface TableChange {
  table: string;
  /** The table's columns after the load, all of them; each new file has them all. */
  columns: Column[];
  add: LakeFile[];
  /** Ids of files that the new ones take the place of; "all" for a replace. */
  remove: readonly string[] | "all";
  /**
   * The version that `columns` and `remove` were worked out from, null for a table that was not there.
   * Checked at commit: `dataset_changed` when somebody committed meanwhile. Not checked for "all".
   */
  baseVersion: number | null;
}

/** How far an incremental extract of one resource has come. */
export interface CursorState {
  cursorField: string;
  /** The greatest cursor value seen, as it was read. */
  lastValue: Json;
  /** Fingerprints of the rows that stand exactly at `lastValue`, so that they come once. */
  boundary: string[];
}

/** Everything that becomes visible together, in the transaction that completes the run. */
export interface LakeLoad {
  loadId: string;
  layer: string;
  dataset: string;
  tables: TableChange[];
  /** By resource; absent for loads without cursors. */
  cursors?: Record<string, CursorState>;
}

/** Tables of one dataset that a run has read. */
export interface LakeRead {
  layer: string;
  dataset: string;
  tables: string[];
}

/** Where Parquet files lie: a folder of this machine, or object storage. No database access. */
export interface Lake {
  /** The address of its root, `file:///…` or `s3://BUCKET/…`, without a slash at its end. */
  readonly home: string;
  /** A fresh 0700 folder for one run's work, on the lake's own disk; removed by `dispose`. */
  workFolder(runId: string): Promise<{ path: string; dispose(): Promise<void> }>;
  /**
   * Moves a finished local file into the lake, durably (file and folder are synced), and gives back
   * its reference. It stays invisible until a load that names it commits.
   */
  add(
    at: { organizationId: string; layer: string; dataset: string; table: string; loadId: string },
    file: { path: string; rows: number; bytes: number; part?: string | null },
  ): Promise<LakeFile>;
  /**
   * An absolute path that DuckDB can read. Of a lake elsewhere it is a copy, which stays for as long as a statement
   * may take; who needs it for longer gives `hold`, and lets go by what that is called with.
   *
   * Throws `dataset_changed` (retryable) when the file is gone, and `unavailable` (retryable).
   */
  localPath(file: Pick<LakeFile, "path">, hold?: (release: () => void) => void): Promise<string>;
  /**
   * Writes small files that lie beside the tables' own, durably, each in its turn and whole; they may be there already.
   * `folder` is relative to the lake's root. Throws `disk_full` and `unavailable`.
   */
  write(folder: string, files: readonly { name: string; bytes: Uint8Array }[]): Promise<void>;
  /** Removes files by their relative paths; what is gone already is no error. */
  remove(paths: readonly string[]): Promise<void>;
  /** Relative paths of all files last touched before `before`, for finding leftovers. */
  list(before: Date): AsyncIterable<string>;
}

/** Files that are written once, by their relative paths: a folder of this machine, or object storage. */
export interface BlobStore {
  /** Keeps a file durably; nothing is there by that name. Throws `disk_full` and `unavailable`. */
  put(path: string, content: string | Uint8Array | Blob): Promise<void>;
  /** What a file holds; null where there is none. Throws `unavailable`. */
  open(path: string): Promise<Blob | null>;
  /** What is gone already is no error. */
  remove(path: string): Promise<void>;
  /** Relative paths of all files last touched before `before`, for finding leftovers. */
  list(before: Date): AsyncIterable<string>;
}
