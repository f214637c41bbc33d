/**
 * What the values of a column are: `number` (decimal text whose type the caller finds from all values), or a DuckDB type:
 * VARCHAR, BOOLEAN, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTEGER, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), UUID, JSON, or BLOB,
 * whose text is hex.
 */
export type SheetType = string;

/** Values of one column that became NULL, or text because the column mixes types. */
export interface OddValues {
  column: string;
  count: number;
  /** What happened and why, as a clause, such as `error values became NULL`. */
  reason: string;
  /** At most 3 of at most 200 characters; those of a workbook name their cell. */
  examples: string[];
}

export interface SheetTable {
  /** The sheet's name; null for Avro, whose files hold one table. */
  name: string | null;
  /** Names as the file has them: two columns may share one. Empty for a sheet without cells. */
  columns: { name: string; type: SheetType }[];
  /**
   * CSV in the folder, UTF-8 without a header: NULL is an unquoted nothing, texts are quoted with `"` doubled, a row
   * ends with a line feed.
   */
  path: string;
  rows: number;
  /** Bytes of the longest row with its line feed. */
  longest: number;
  odd: OddValues[];
}

export interface SheetSource {
  path: string;
  format: "xlsx" | "avro";
  /** Where the CSV files go, in a new folder; whoever owns it removes what a failed read leaves. */
  folder: string;
  /** Workbooks: one sheet by its name; null for all. */
  sheet: string | null;
  /** Workbooks: whether the first row that is taken has the names of the columns. */
  header: boolean;
  /** Workbooks: rows that are passed over at the top of a sheet. */
  skipRows: number;
  /** Bytes that the source says the file has; null where it does not say. */
  size?: number | null;
}

/** Reads workbooks and Avro files in a process of its own, with a limit of memory and of time. */
export interface Sheets {
  /**
   * Returns a table for each sheet, in their order, with exact values. Throws the signal's reason, `upstream` for a file
   * that can't be read, `rate_limited`, and `disk_full`.
   */
  read(source: SheetSource & { signal: AbortSignal; organizationId?: string }): Promise<SheetTable[]>;
}

/** What the process answers: the tables, or why there are none. */
export type SheetAnswer = { tables: SheetTable[] } | { fault: string; code: "upstream" | "disk_full" };
