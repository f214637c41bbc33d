import type { Json, JsonObject } from "../base/json.ts";
import type { Column } from "../sql/contract.ts";
import type { Link } from "./contract.ts";

/** A table or view, as an extract of many tables needs it. */
export interface KeyedTable {
  schema: string;
  table: string;
  spec: string;
  /** Columns of the primary key, in order. Empty for a view. */
  primaryKey: string[];
  /** Whether its name without a schema refers to it. */
  isVisible: boolean;
}

/** A resource that a connection knows by name, and how to request it. */
export interface NamedResource {
  name: string;
  /** Name at the source. */
  readonly spec: string;
  readonly endpoint: JsonObject;
  primaryKey?: string[];
  incremental?: { cursorField: string; initialValue?: Json; lagSeconds?: number; endValue?: Json };
}

interface ListedTable {
  schema: string;
  table: string;
  spec: string;
  /** Merge key of an extract. Absent if it has to be determined. */
  primaryKey?: string[];
}

/** Tables of a provider. */
export interface Tables {
  tables(link: Link, includeSystem: boolean): Promise<ListedTable[]>;
  /** Columns in ordinal order. `dataType` is the source's own name of the type. Throws `not_found`. */
  columns(link: Link, schema: string, table: string): Promise<Column[]>;
  /**
   * Tables and views of these schemas that the user may read, by schema and name, in one statement. Omits system
   * schemas, and partitions, whose rows are those of their table. Present if extracts accept wildcards.
   */
  inSchemas?(link: Link, schemas: readonly string[]): Promise<KeyedTable[]>;
  /** The first rows of a table and its columns, for sources without SQL. Throws `not_found`, `bad_request`. */
  first?(link: Link, schema: string, table: string, limit: number): Promise<FirstRows>;
  /** For sources with SQL. */
  readonly sql?: SourceSql;
  /** For providers that can write rows to tables. */
  readonly writes?: TableWrites;
}

/** `truncated` if the table has more. */
interface FirstRows {
  columns: Column[];
  rows: Record<string, Json>[];
  truncated: boolean;
}

/** SQL that a source runs itself, in a read-only transaction. */
export interface SourceSql {
  dialect: "postgres" | "mysql";
  /**
   * Up to `maxRows` rows of one SELECT; 0 only has the source resolve its names. Values are JSON as converted by the
   * source. Throws `sql_error` with the source's message for SQL that it rejects.
   */
  select(
    link: Link,
    sql: string,
    maxRows: number,
  ): Promise<{ rows: Record<string, Json>[]; truncated: boolean }>;
}

/** Writes the rows of one load to one table, in one transaction: readers see the table before or after the load. */
export interface TableWrites {
  /**
   * Inspects the table, and what an earlier attempt of the load has committed. Throws `definition_invalid` for a name
   * or table that can't be written to, and `upstream` if a privilege is missing.
   */
  open(link: Link, request: TableLoad): Promise<TableTarget>;
}

/** Requested change of one table. */
export interface TableLoad {
  /** The same for each attempt. Stored in the destination's `_weir_loads` together with the rows. */
  loadId: string;
  table: string;
  writeDisposition: "append" | "replace" | "merge";
  /** Columns that identify a row. A merge has at least one. A new table gets them as its primary key. */
  primaryKey: readonly string[];
  /** Creates the table if it is missing. */
  create: boolean;
}

/** Rows of the destination. A merge doesn't count rows that were already the same. */
export interface TableCounts {
  rows: number;
  inserted: number;
  updated: number;
  deleted: number;
}

export interface TableTarget {
  /** `schema.table`, as people read it. */
  readonly name: string;
  /** Result of an earlier attempt of this load that has committed. Nothing is left to do then. */
  readonly done: TableCounts | null;
  /**
   * Returns how to send the rows. Throws `schema_contract_violation`, with the column, if one can't be sent exactly.
   */
  plan(columns: readonly Column[]): TablePlan;
  /**
   * Writes `rows`, the texts that the plan asks for, and commits. If another attempt of the load has committed in the
   * meantime, writes nothing and returns its counts. Throws `schema_contract_violation` for rows that the table
   * refuses.
   */
  write(plan: TablePlan, rows: AsyncIterable<Uint8Array>): Promise<TableCounts>;
}

/** How rows become text, in DuckDB's SQL over their own columns. */
export interface TablePlan {
  /** One expression for each column sent, in order; `isQuoted` if it is quoted in the CSV. */
  fields: readonly { sql: string; isQuoted: boolean }[];
  /** `csv`: a record for each row, NULL is empty, text is quoted. `lines`: the only field is the whole line. */
  format: "csv" | "lines";
  /** Rows that match a condition can't be sent. `why` ends a sentence that begins with the column. */
  checks: readonly { column: string; condition: string; why: string }[];
  /** Columns that identify a row, by their names in the rows. Empty if rows need not be unique. */
  key: readonly string[];
  /** The destination's names of the columns, in the order of the rows'. */
  columns: readonly string[];
}
