import type { ErrorCode } from "../base/errors.ts";
import type { Json } from "../base/json.ts";
import type {
  Column,
  Compression,
  SaveFormat,
  SqlFile,
  SqlTable,
  SqlValue,
  WriteOptions,
} from "./contract.ts";

/** The first message to the child, before there is a job. */
export interface Start {
  kind: "start";
  /** The child's own 0700 folder, for data that exceeds the memory. */
  folder: string;
  /** In DuckDB's format, such as `1GB`. */
  memory: string;
  threads: number;
  tempBytes: number;
}

interface Work {
  tables: readonly SqlTable[];
  sql: string;
  parameters: Readonly<Record<string, SqlValue>>;
  exactParameters: string | null;
}

/** The job of a child, which runs only one. */
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

/** A trusted statement in an open session. */
export interface Run {
  kind: "run";
  sql: string;
  parameters: readonly Json[];
}

export type ToChild = Start | Job | Run;

/** The result of a job; the rows of a query are sent before it, as `rows`. */
export interface StatementResult {
  columns?: Column[];
  /** For a query: the number of rows sent. */
  rows?: number;
  truncated?: boolean;
  files?: SqlFile[];
  plan?: string;
  /** About columns and values that the file or table can't have. */
  warnings?: string[];
}

export type FromChild =
  /** DuckDB is loaded. */
  | { kind: "ready" }
  /** JSON text of a list of rows. */
  | { kind: "rows"; text: string }
  | { kind: "end"; result: StatementResult }
  | { kind: "error"; code: ErrorCode; message: string; retryable: boolean };
