import type { OddValues } from "../../base/odd-values.ts";
import type { Sheets } from "../../sheets/contract.ts";
import type { Column } from "../../sql/contract.ts";
import type { Choice } from "./chosen.ts";
import type { FileOptions } from "./file-options.ts";
import type { Names } from "./naming.ts";
import type { Reject } from "./rejects.ts";
import type { Sheet } from "./sheet.ts";

export interface IntakeOptions {
  table: string;
  idPrefix: string;
  maxNesting: number;
  fingerprint: boolean;
  /** Whether the root's staged rows have `PRESENT`. */
  isPresenceKept: boolean;
  /** Columns to read, or null for all. */
  only: Choice | null;
  /** Maximum number of rows to read, or null for all. */
  limit: number | null;
  /** Whether a row count that differs from the source's own is an error. */
  strictCounts: boolean;
  tables: Names;
  /** Names of a table's columns in earlier loads. */
  namesOf(table: string): Names;
  file: FileOptions;
  readSheets: Sheets["read"];
  /** The only sheet to read from workbooks that have it. Null: the file option decides. */
  sheet: string | null;
  /** Folder for child processes that read files. */
  folder: string;
  /** The table's current columns. Null if it doesn't exist. */
  known: readonly Column[] | null;
  /** Types set in the definition, by the column's name in the table. */
  fixed: ReadonlyMap<string, string>;
  /** Whether the first rows may decide the types in files without types. */
  isTrusting: boolean;
  signal: AbortSignal;
  warn(text: string): void;
  /** Called with the number of rows read so far. */
  progress(rows: number): void;
}

/** What was read of one resource: its root table first, then child tables, parents before children. */
export interface Intake {
  sheets: Sheet[];
  /** Whether the source named all of its columns, including those without values. */
  areNamed: boolean;
  /** Whether rows of the source are known to be missing. */
  isPartial?: boolean;
  /** Values that were changed when they were loaded. */
  rejects: readonly Reject[];
  /** Values that didn't arrive unchanged. */
  odd?: OddValues;
  /** Sheets of workbooks that weren't read. */
  furtherSheets?: readonly string[];
  /** Whether the root's staged rows have a fingerprint of the whole row. */
  fingerprinted: boolean;
}
