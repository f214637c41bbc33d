import type { ErrorCode } from "../base/errors.ts";
import type { Json } from "../base/json.ts";
import type { Column, Compression, SaveFormat, SqlFile, SqlTable, WriteOptions } from "./contract.ts";

/** What the child is told before anything else, while nobody waits for it yet. */
export interface Start {
  kind: "start";
  /** The child's own 0700 folder, for what does not fit into memory. */
  folder: string;
  /** As DuckDB reads it, such as `1GB`. */
  memory: string;
  threads: number;
  tempBytes: number;
}

interface Work {
  tables: readonly SqlTable[];
  sql: string;
  parameters: Readonly<Record<string, Json>>;
}

/** A child does one of these in its life. */
export type Job =
  | (Work & { kind: "query"; limit: number; maxBytes: number })
  | (Work & { kind: "explain" })
  | (Work & {
      kind: "save";
      into: string;
      format: SaveFormat;
      compression: Compression | null;
      limit: number | null;
    })
  | (Work & { kind: "materialize"; into: string; options: WriteOptions })
  | { kind: "session"; folders: readonly string[]; files: readonly string[] };

/** A statement of ours, in a session that is open. */
export interface Run {
  kind: "run";
  sql: string;
  parameters: readonly Json[];
}

export type ToChild = Start | Job | Run;

/** What a piece of work ended with; the rows of a query went before it, as `rows`. */
export interface StatementResult {
  columns?: Column[];
  /** Of a query: how many were sent. */
  rows?: number;
  truncated?: boolean;
  files?: SqlFile[];
  plan?: string;
  /** Of a file that was saved. */
  warnings?: string[];
}

export type FromChild =
  /** DuckDB is loaded. */
  | { kind: "ready" }
  /** JSON text of a list of rows. */
  | { kind: "rows"; text: string }
  | { kind: "end"; result: StatementResult }
  | { kind: "error"; code: ErrorCode; message: string; retryable: boolean };
