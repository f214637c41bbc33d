/**
 * Type of a column: `number` (decimal text whose type the caller infers from all values), or a DuckDB type: VARCHAR,
 * BOOLEAN, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTEGER, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), UUID, JSON, or BLOB, whose
 * text is hex.
 */
export type SheetType = string;

/** Values of one column that became NULL, or text because the column has mixed types. */
export interface OddValues {
  column: string;
  count: number;
  /** What happened and why, as a clause, such as `error values became NULL`. */
  reason: string;
  /** Up to 3, of up to 200 characters; those of a workbook name their cell. */
  examples: string[];
}

export interface SheetTable {
  /** The sheet's name; null for Avro, whose files have one table. */
  name: string | null;
  /** Names as in the file, possibly with duplicates. Empty for a sheet without cells. */
  columns: { name: string; type: SheetType }[];
  /**
   * CSV in the folder, UTF-8 without a header: NULL is an unquoted empty field, text is quoted with `"` doubled, a row
   * ends with a line feed.
   */
  path: string;
  rows: number;
  /** Length of the longest row in bytes, including its line feed. */
  longest: number;
  odd: OddValues[];
}

export interface SheetSource {
  path: string;
  format: "xlsx" | "avro";
  /** Folder for the CSV files, which is created; its owner removes what a failed read leaves. */
  folder: string;
  /** For workbooks: the name of the only sheet to read; null for all. */
  sheet: string | null;
  /** For workbooks: whether the first row has the column names. */
  header: boolean;
  /** For workbooks: rows to skip at the top of a sheet. */
  skipRows: number;
  /** Size of the file in bytes according to the source; null if unknown. */
  size?: number | null;
}

/** Reads workbooks and Avro files in child processes with memory and time limits. */
export interface Sheets {
  /**
   * Returns a table for each sheet, in order, with exact values. Throws the signal's reason, `upstream` for an
   * unreadable file, `rate_limited`, and `disk_full`.
   */
  read(source: SheetSource & { signal: AbortSignal; organizationId?: string }): Promise<SheetTable[]>;
}

/** The child's response: the tables, or an error. */
export type SheetAnswer = { tables: SheetTable[] } | { fault: string; code: "upstream" | "disk_full" };
