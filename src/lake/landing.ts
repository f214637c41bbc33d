import { stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../base/errors.ts";
import { type NamedColumn, nameColumns } from "../sql/column-names.ts";
import type { Column, SqlFile, SqlSession, Stamp } from "../sql/contract.ts";
import { unfitSql, unlikeStamps } from "../sql/stamps.ts";
import { parquet, quoteName, quoteText } from "../sql/text.ts";
import { readHead, refuseLongRecords, withSeparator } from "./csv-head.ts";
import { withCsv } from "./csv-source.ts";
import { type JsonColumn, writeCells } from "./json-cells.ts";
import { writeRows } from "./merge.ts";
import { lossOf, parquetColumns } from "./parquet-source.ts";
import { provenReadings } from "./text-types.ts";

export const FILE_FORMATS = ["csv", "tsv", "json", "jsonl", "parquet"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** With more columns, the statement gets too large for DuckDB. */
const MAX_COLUMNS = 2_000;

/** Maximum size of one CSV record or one JSON object. */
const MAX_RECORD_BYTES = 8 * 1024 * 1024;
/** DuckDB's buffer size. It allocates that much for a small file too. */
const BUFFER_BYTES = 4 * 1024 * 1024;
/** One JSON object becomes a line of CSV, in which quotes are doubled. */
const MAX_LINE_BYTES = 2 * MAX_RECORD_BYTES;

export interface LandingOptions {
  format: FileFormat;
  /** Absolute. Texts are in UTF-8 without a byte order mark. */
  path: string;
  /** Absolute path of an empty folder that the session may write to. */
  folder: string;
  /** False if the first line of CSV is data. */
  header: boolean;
  delimiter?: string;
  /** Columns to add unless the file has one of that name that can be it. Otherwise that one gets another name. */
  stamp: readonly Stamp[];
  /** The columns of the table that the rows are added to. */
  table: readonly Column[];
  signal: AbortSignal;
}

/**
 * Converts an uploaded file to Parquet files. No row is skipped and no value changes: invalid values are an error.
 * Throws `sql_error` with the position, and `schema_contract_violation` for a name that could mean two columns.
 */
export async function landFile(
  session: SqlSession,
  options: LandingOptions,
): Promise<{ files: SqlFile[]; columns: Column[] }> {
  const { format, folder, stamp, table } = options;
  const { relation, columns } = await read(session, options).catch((error: unknown) => {
    throw readableError(error, format);
  });
  if (format === "json" && columns.length === 0) {
    if (table.length > 0) return { files: [], columns: [] };
    throw new AppError(
      "sql_error",
      "The file is an empty list. It has no columns, so no table can be created from it.",
    );
  }
  const texts = columns.filter(({ text }) => text !== "typed");
  const readings = await provenReadings(
    session,
    relation,
    texts.map(({ sql, text }) => ({ sql, known: null, isJson: text === "json" })),
  );
  const typed = new Map(texts.map((column, at) => [column, readings[at]?.cast(column.sql)]));
  const values = columns.map((column) => typed.get(column) ?? column.sql);
  const names = columns.map(({ name }) => name);
  const likely = nameColumns(names, { table, isFile: true });
  const valued = likely.map((column, at) => ({ ...column, sql: values[at] ?? "" }));
  const aside = await unfitStamps(session, { relation, columns: valued, stamp, table }).catch(
    (error: unknown) => {
      throw readableError(error, format);
    },
  );
  const named = nameColumns(names, { table, isFile: true, aside });
  const known = new Set(named.map(({ name }) => name.toLowerCase()));
  const stamps = stamp.filter(({ name }) => !known.has(name.toLowerCase()));
  const picked = [
    ...named.map(({ name }, at) => `${values[at]} AS ${quoteName(name)}`),
    ...stamps.map(({ name, sql }) => `${sql} AS ${quoteName(name)}`),
  ];
  const select = `SELECT ${picked.join(", ")} FROM ${relation}`;
  const files = await writeRows(session, select, join(folder, "out")).catch((error: unknown) => {
    throw readableError(error, format);
  });
  const described = await session.run(`DESCRIBE ${select}`);
  return {
    files,
    columns: described.map((row, at) => ({
      name: String(row.column_name),
      dataType: String(row.column_type),
      nullable: named[at] !== undefined,
      ...(named[at] ? { source: named[at].source } : {}),
    })),
  };
}

interface FileColumns {
  relation: string;
  /** The file's columns; `sql` is their value. */
  columns: readonly (NamedColumn & { sql: string })[];
  stamp: readonly Stamp[];
  table: readonly Column[];
}

/** Names of stamps that columns of a file have, but can't be. */
export async function unfitStamps(
  session: SqlSession,
  { relation, columns, stamp, table }: FileColumns,
): Promise<string[]> {
  const same = columns.filter(({ name }) => stamp.some((each) => each.name === name.toLowerCase()));
  if (same.length === 0) return [];
  const picked = same.map(({ name, sql }) => `${sql} AS ${quoteName(name)}`).join(", ");
  const types = await session.run(`DESCRIBE SELECT ${picked} FROM ${relation}`);
  const typed = columns.map((column) => {
    const type = types.find((row) => row.column_name === column.name);
    return { ...column, dataType: String(type?.column_type) };
  });
  const unfit = unlikeStamps(typed, stamp, table);
  for (const { name, sql } of same) {
    if (unfit.includes(name.toLowerCase())) continue;
    if ((await session.run(unfitSql(name, sql, relation))).length > 0) unfit.push(name);
  }
  return unfit;
}

interface Source {
  relation: string;
  columns: SourceColumn[];
}

interface SourceColumn {
  name: string;
  /** SQL of its values over the relation. */
  sql: string;
  /** `csv`: texts whose type is to be inferred. `json`: texts that may be dates or timestamps. `typed`: neither. */
  text: "csv" | "json" | "typed";
}

async function read(session: SqlSession, options: LandingOptions): Promise<Source> {
  const { format, delimiter } = options;
  switch (format) {
    case "parquet":
      return readParquet(session, options.path);
    case "csv":
      return readCsv(session, options);
    case "tsv":
      return readCsv(session, { ...options, delimiter: delimiter ?? "\t" });
    default:
      return readJson(session, { ...options, format });
  }
}

async function readParquet(session: SqlSession, path: string): Promise<Source> {
  const columns = await parquetColumns(session, path);
  checkCount(columns.length);
  const loss = lossOf(columns);
  if (loss !== null)
    throw new AppError("sql_error", `The file ${loss} Write them as text, or load the file with an extract.`);
  return {
    relation: parquet([path]),
    columns: columns.map(({ name, sql }, at) => ({ name: nameOf(name, at), sql, text: "typed" })),
  };
}

/** Stages the text as Parquet first: it is scanned more than once, and Parquet is faster to read. */
async function readCsv(
  session: SqlSession,
  { path, folder, header, delimiter }: LandingOptions,
): Promise<Source> {
  const style = await withSeparator(path, { header, ...(delimiter === undefined ? {} : { delimiter }) });
  const head = await readHead(path, style);
  checkCount(head.fields.length);
  if ((await stat(path)).size > MAX_RECORD_BYTES)
    await refuseLongRecords(path, head.delimiter, MAX_RECORD_BYTES);
  const source = await withCsv(path, style, async ({ names, relation }) => ({
    names,
    relation: await stage(session, `SELECT * FROM ${relation()}`, folder),
  }));
  if (!source) throw new AppError("sql_error", "The file has no line with the names of columns.");
  return {
    relation: source.relation,
    columns: source.names.map((name, at) => ({ name: nameOf(name, at), sql: `c${at}`, text: "csv" })),
  };
}

async function readJson(
  session: SqlSession,
  { path, folder, format, signal }: LandingOptions & { format: "json" | "jsonl" },
): Promise<Source> {
  const cells = join(folder, "cells.csv");
  const limits = { maxColumns: MAX_COLUMNS, maxBytes: MAX_LINE_BYTES };
  const { columns, longest } = await writeCells({ path, format, to: cells, signal, ...limits });
  if (columns.length === 0) return { relation: "", columns: [] };
  const typed = columns.map((_, at) => `c${at}: 'VARCHAR'`).join(", ");
  const size = longest + 1024;
  const rows = `read_csv(${quoteText(cells)}, header = false, auto_detect = false, columns = {row: 'BIGINT', ${typed}}, delim = ',', quote = '"', escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false, strict_mode = true, null_padding = true, max_line_size = ${size}, buffer_size = ${Math.max(size + 1024, BUFFER_BYTES)})`;
  const values = columns.map((column, at) => `${column.sql(`c${at}`)} AS c${at}`);
  const relation = await stage(session, `SELECT ${values.join(", ")} FROM ${rows}`, folder);
  await unlink(cells);
  const textOf = ({ isText }: JsonColumn) => (isText ? "json" : "typed");
  return {
    relation,
    columns: columns.map((column, at) => ({
      name: nameOf(column.name, at),
      sql: `c${at}`,
      text: textOf(column),
    })),
  };
}

async function stage(session: SqlSession, select: string, folder: string): Promise<string> {
  const path = join(folder, "stage.parquet");
  await session.run(`COPY (${select}) TO ${quoteText(path)} (FORMAT parquet)`);
  return parquet([path]);
}

function checkCount(count: number): void {
  if (count <= MAX_COLUMNS) return;
  throw new AppError("sql_error", `The file has ${count} columns; at most ${MAX_COLUMNS} can be loaded.`);
}

const nameOf = (header: string, at: number): string => (header === "" ? `column_${at + 1}` : header);

const TITLES = { csv: "CSV", tsv: "TSV", json: "JSON", jsonl: "lines of JSON", parquet: "Parquet" } as const;

/** Keeps the position and the reason of DuckDB's message. Its advice is for authors of SQL. */
function readableError(error: unknown, format: FileFormat): unknown {
  if (!(error instanceof AppError)) return error;
  if (error.code === "upstream")
    return new AppError(
      "sql_error",
      `The file can't be read as ${TITLES[format]}: Malformed JSON: ${error.message}`,
      {
        cause: error,
      },
    );
  if (error.code !== "sql_error") return error;
  if (/^The file /.test(error.message)) return error;
  const line = /CSV Error on Line: (\d+)/.exec(error.message)?.[1];
  const text =
    error.message
      .split(/\n+Possible (?:fixes|solutions?)/i)[0]
      ?.trim()
      .split("\n") ?? [];
  const reason = (line ? text.at(-1) : text[0]) ?? "";
  const plain = /expected records|non-record/.test(error.message)
    ? "it takes objects: a list of them, or one on each line."
    : reason.replace(/^[A-Z]\w*(?: \w+)? Error: /, "").replace(/ ?(?:in file )?["']?…\/[\w.-]+["']?,?/, "");
  const message = `The file can't be read as ${TITLES[format]}${line ? `, line ${line}` : ""}: ${plain}`;
  return new AppError("sql_error", message, { cause: error });
}
