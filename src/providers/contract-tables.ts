import type { Json, JsonObject } from "../base/json.ts";
import type { Column } from "../sql/contract.ts";
import type { Link } from "./contract.ts";

/** A table or view, and what an extract of many has to know of it. */
export interface KeyedTable {
  schema: string;
  table: string;
  spec: string;
  /** Columns of its primary key, in order; none for a view. */
  primaryKey: string[];
  /** Whether its name without a schema means it. */
  isVisible: boolean;
}

/** A resource that a connection knows by name, and how it is asked for. */
export interface NamedResource {
  name: string;
  /** What the source itself calls it. */
  readonly spec: string;
  readonly endpoint: JsonObject;
  primaryKey?: string[];
  incremental?: { cursorField: string; initialValue?: Json; lagSeconds?: number; endValue?: Json };
}

interface ListedTable {
  schema: string;
  table: string;
  spec: string;
  /** What an extract merges by; absent where it has to be looked for. */
  primaryKey?: string[];
}

/** A provider whose data has tables. */
export interface Tables {
  tables(link: Link, includeSystem: boolean): Promise<ListedTable[]>;
  /** In ordinal order; `dataType` is the source's own name of the type. Throws `not_found`. */
  columns(link: Link, schema: string, table: string): Promise<Column[]>;
  /**
   * Tables and views of these schemas that the user may read, by schema and name, in one statement: no system schemas,
   * and no partitions, whose rows are those of their table. Present where an extract takes wildcards.
   */
  inSchemas?(link: Link, schemas: readonly string[]): Promise<KeyedTable[]>;
  /** The first rows of a table and their columns, where the source speaks no SQL. Throws `not_found`, `bad_request`. */
  first?(link: Link, schema: string, table: string, limit: number): Promise<FirstRows>;
  /** Where the source speaks SQL. */
  readonly sql?: SourceSql;
  /** Where rows can be written into tables. */
  readonly writes?: TableWrites;
}

/** `truncated` where the table has more. */
interface FirstRows {
  columns: Column[];
  rows: Record<string, Json>[];
  truncated: boolean;
}

/** SQL that a source runs itself, in a read-only transaction. */
export interface SourceSql {
  dialect: "postgres" | "mysql";
  /**
   * At most `maxRows` rows of one SELECT; 0 has the source resolve its names and runs nothing. Values as the source
   * makes JSON of them. Throws `sql_error` with the source's message for SQL that it does not take.
   */
  select(
    link: Link,
    sql: string,
    maxRows: number,
  ): Promise<{ rows: Record<string, Json>[]; truncated: boolean }>;
}

/** Writes the rows of one load into one table, in one transaction: a reader sees the table as it was, or as it is to be. */
export interface TableWrites {
  /**
   * Looks at the table, and for what an earlier try of the load has committed. Throws `definition_invalid` for a name or a
   * table that can't be written to, `upstream` where a privilege is missing.
   */
  open(link: Link, request: TableLoad): Promise<TableTarget>;
}

/** What is to become of one table. */
export interface TableLoad {
  /** The same at each try; it stands in the destination's `_weir_loads` once the rows are there. */
  loadId: string;
  table: string;
  writeDisposition: "append" | "replace" | "merge";
  /** Columns that tell rows apart; a merge has at least one, a new table gets it as its primary key. */
  primaryKey: readonly string[];
  /** Makes the table where it is missing. */
  create: boolean;
}

/** Rows of the destination; those of a merge that were there as they are count nowhere. */
export interface TableCounts {
  rows: number;
  inserted: number;
  updated: number;
  deleted: number;
}

export interface TableTarget {
  /** `schema.table`, as people read it. */
  readonly name: string;
  /** What an earlier try of this load has committed; then nothing is left to do. */
  readonly done: TableCounts | null;
  /** How the rows have to be sent. Throws `schema_contract_violation` naming a column that can't go over exactly. */
  plan(columns: readonly Column[]): TablePlan;
  /**
   * Writes `rows`, the texts that the plan asks for, and commits. Where another try of the load has committed meanwhile
   * nothing is written, and its counts come back. Throws `schema_contract_violation` for rows that the table refuses.
   */
  write(plan: TablePlan, rows: AsyncIterable<Uint8Array>): Promise<TableCounts>;
}

/** How rows become text, in DuckDB's SQL over their own columns. */
export interface TablePlan {
  /** One expression for each column that is sent, in order; `isQuoted` where the CSV has it in quotes. */
  fields: readonly { sql: string; isQuoted: boolean }[];
  /** `csv`: a record for each row, NULL is nothing, texts in quotes. `lines`: the one field is the whole line. */
  format: "csv" | "lines";
  /** Rows for which a condition holds can't go over; `why` ends a sentence that begins with the column. */
  checks: readonly { column: string; condition: string; why: string }[];
  /** Columns of the rows that tell them apart, as the rows have them; none where rows need not differ. */
  key: readonly string[];
  /** The destination's names of the columns, in the order of the rows'. */
  columns: readonly string[];
}
