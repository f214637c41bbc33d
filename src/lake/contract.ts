import type { Json } from "../base/json.ts";
import type { Column } from "../sql/contract.ts";

/** One Parquet file of a table. */
export interface LakeFile {
  id: string;
  /** Relative to the lake's root: `ORGANIZATION/LAYER/DATASET/TABLE/LOAD-….parquet`. Immutable. */
  path: string;
  rows: number;
  bytes: number;
  loadId: string;
  /** The partition values that all rows share. Only files of one partition are compacted together. */
  part?: string | null;
  /** True if a column has a type that other engines read differently from the table's. SQL in Weir casts it. */
  isMixed?: boolean;
}

/** A table as of the last committed load. */
export interface LakeTable {
  layer: string;
  dataset: string;
  table: string;
  columns: Column[];
  files: LakeFile[];
  rows: number;
  bytes: number;
  /**
   * Increases with each commit that changes rows or columns. A load that rewrites files names the version it started
   * from.
   */
  version: number;
}

/** What one load does to one table. */
export interface TableChange {
  table: string;
  /** All columns of the table after the load. Each new file has all of them. */
  columns: Column[];
  add: LakeFile[];
  /** IDs of the files that the new ones replace, or "all" for a replace. */
  remove: readonly string[] | "all";
  /**
   * The version that `columns` and `remove` are based on, or null for a new table. Checked at commit, except for
   * "all": `dataset_changed` if someone else committed in between.
   */
  baseVersion: number | null;
}

/** The cursor of an incremental extract, for one resource. */
export interface CursorState {
  cursorField: string;
  /** The greatest cursor value so far, exactly as it was read. */
  lastValue: Json;
  /** Fingerprints of the rows whose cursor equals `lastValue`, so that they aren't loaded twice. */
  boundary: string[];
}

/** Everything that becomes visible together, in the transaction that completes the run. */
export interface LakeLoad {
  loadId: string;
  layer: string;
  dataset: string;
  tables: TableChange[];
  /** By resource. Omitted for loads without cursors. */
  cursors?: Record<string, CursorState>;
}

/** Tables of one dataset that a run has read. */
export interface LakeRead {
  layer: string;
  dataset: string;
  tables: string[];
}

/** Storage of Parquet files: a local folder or object storage. It doesn't use the database. */
export interface Lake {
  /** The URL of its root, `file:///…` or `s3://BUCKET/…`, without a trailing slash. */
  readonly home: string;
  /** Creates a 0700 folder for one run's work, on the same disk as the lake. `dispose` removes it. */
  workFolder(runId: string): Promise<{ path: string; dispose(): Promise<void> }>;
  /**
   * Moves a finished local file into the lake, durably (file and folder are synced), and returns its reference. The
   * file stays invisible until a load that names it commits.
   */
  add(
    at: { organizationId: string; layer: string; dataset: string; table: string; loadId: string },
    file: { path: string; rows: number; bytes: number; part?: string | null },
  ): Promise<LakeFile>;
  /**
   * Returns an absolute path that DuckDB can read. For object storage this is a cached copy, kept for as long as a
   * statement may run. To keep it longer, pass `hold`, which receives a function that releases it.
   *
   * Throws `dataset_changed` (retryable) if the file is gone, and `unavailable` (retryable).
   */
  localPath(file: Pick<LakeFile, "path">, hold?: (release: () => void) => void): Promise<string>;
  /** The last bytes of a file, at most `length`. Throws as `localPath` does. */
  tail(file: Pick<LakeFile, "path" | "bytes">, length: number): Promise<Uint8Array>;
  /**
   * Writes small files next to those of the tables, durably, one after the other, each atomically. Existing files
   * are replaced. `folder` is relative to the lake's root. Throws `disk_full` and `unavailable`.
   */
  write(folder: string, files: readonly { name: string; bytes: Uint8Array }[]): Promise<void>;
  /** Removes files by their relative paths. Missing files are no error. */
  remove(paths: readonly string[]): Promise<void>;
  /** Relative paths of all files last modified before `before`, for finding leftovers. */
  list(before: Date): AsyncIterable<string>;
}

/** Files that are written once, by their relative paths: a local folder or object storage. */
export interface BlobStore {
  /** Stores a new file durably. The name must be unused. Throws `disk_full` and `unavailable`. */
  put(path: string, content: string | Uint8Array | Blob): Promise<void>;
  /** The content of a file, or null if there is none. Throws `unavailable`. */
  open(path: string): Promise<Blob | null>;
  /** A missing file is no error. */
  remove(path: string): Promise<void>;
  /** Relative paths of all files last modified before `before`, for finding leftovers. */
  list(before: Date): AsyncIterable<string>;
}
