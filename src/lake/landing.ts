import { stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../base/errors.ts";
import type { Column, SqlFile, SqlSession } from "../sql/contract.ts";
import { parquet, quoteName, quoteText } from "../sql/text.ts";
import { readHead, refuseLongRecords } from "./csv-head.ts";
import { inferColumns, type RawColumn } from "./infer.ts";
import { writeRows } from "./merge.ts";

export const FILE_FORMATS = ["csv", "json", "jsonl", "parquet"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** More columns would make one statement of more than DuckDB likes. */
const MAX_COLUMNS = 2_000;

/** One record of CSV, one object of JSON. */
const MAX_RECORD_BYTES = 8 * 1024 * 1024;
/** DuckDB takes sixteen records' worth where it is not told. */
const BUFFER_BYTES = 2 * MAX_RECORD_BYTES;

export interface LandingOptions {
  format: FileFormat;
  /** Absolute; texts are UTF-8 without a byte order mark. */
  path: string;
  /** Absolute; an empty folder that the session may write to. */
  folder: string;
  /** False where the first line of CSV is a row already. */
  header: boolean;
  delimiter?: string;
  /** Columns that the rows get where the file has none of the name; `sql` is a VARCHAR expression of ours. */
  stamp: readonly { name: string; sql: string }[];
}

/**
 * Turns a file that somebody gave into Parquet files. Nothing is passed over and no value changes: what does not fit
 * is an error. Throws `sql_error` with a sentence that tells the place.
 */
export async function landFile(
  session: SqlSession,
  options: LandingOptions,
): Promise<{ files: SqlFile[]; columns: Column[] }> {
  const { format, folder, stamp } = options;
  const { relation, columns } = await read(session, options).catch((error: unknown) => {
    throw told(error, format);
  });
  const inferred = await inferColumns(session, relation, columns);
  const known = new Set(columns.map(({ name }) => name.toLowerCase()));
  const stamps = stamp.filter(({ name }) => !known.has(name.toLowerCase()));
  const picked = [
    ...inferred.map(({ sql }) => sql),
    ...stamps.map(({ name, sql }) => `${sql} AS ${quoteName(name)}`),
  ];
  const select = `SELECT ${picked.join(", ")} FROM ${relation}`;
  const files = await writeRows(session, select, join(folder, "out")).catch((error: unknown) => {
    throw told(error, format);
  });
  const described = await session.run(`DESCRIBE ${select}`);
  return {
    files,
    columns: described.map((row) => ({
      name: String(row.column_name),
      dataType: String(row.column_type),
      nullable: !stamps.some(({ name }) => name === row.column_name),
    })),
  };
}

interface Source {
  relation: string;
  columns: RawColumn[];
}

async function read(session: SqlSession, options: LandingOptions): Promise<Source> {
  switch (options.format) {
    case "parquet":
      return readParquet(session, options.path);
    case "csv":
      return readCsv(session, options);
    default:
      return readJson(session, options);
  }
}

async function readParquet(session: SqlSession, path: string): Promise<Source> {
  const relation = parquet([path]);
  const names = await namesOf(session, relation);
  return {
    relation,
    columns: distinct(names).map((name, at) => ({ name, kind: "typed", source: names[at] ?? "" })),
  };
}

/** The text is staged first: it is looked at more than once, and Parquet is quicker to read. */
async function readCsv(session: SqlSession, options: LandingOptions): Promise<Source> {
  const { delimiter, fields } = await readHead(
    options.path,
    options.delimiter === undefined ? {} : { delimiter: options.delimiter },
  );
  checkCount(fields.length);
  if ((await stat(options.path)).size > MAX_RECORD_BYTES)
    await refuseLongRecords(options.path, delimiter, MAX_RECORD_BYTES);
  const names = distinct(options.header ? fields : fields.map(() => ""));
  const slots = names.map((_, at) => `c${at}`);
  const typed = slots.map((slot) => `${quoteText(slot)}: 'VARCHAR'`).join(", ");
  const source = `read_csv(${quoteText(options.path)}, auto_detect = false, columns = {${typed}}, delim = ${quoteText(delimiter)}, quote = '"', escape = '"', header = ${options.header}, nullstr = '', allow_quoted_nulls = false, strict_mode = true, max_line_size = ${MAX_RECORD_BYTES}, buffer_size = ${BUFFER_BYTES})`;
  const relation = await stage(session, source, options.folder);
  return { relation, columns: names.map((name, at) => ({ name, kind: "text", source: slots[at] ?? "" })) };
}

async function readJson(session: SqlSession, { path, format, folder }: LandingOptions): Promise<Source> {
  const layout = format === "json" ? "auto" : "newline_delimited";
  const from = (more: string) =>
    `read_json(${quoteText(path)}, format = '${layout}', records = true, maximum_object_size = ${MAX_RECORD_BYTES}, ${more})`;
  const names = await namesOf(session, from("sample_size = -1, maximum_depth = 1"));
  if (hasMadeUp(names)) {
    const objects = `read_json_objects(${quoteText(path)}, format = '${layout}', maximum_object_size = ${MAX_RECORD_BYTES})`;
    const keys = await keysOf(session, objects);
    if (distinct(keys).some((name, at) => name !== keys[at])) return readKeys(session, objects, keys, folder);
  }
  const typed = names.map((name) => `${quoteText(name)}: 'JSON'`).join(", ");
  const relation = await stage(session, from(`columns = {${typed}}`), folder);
  return { relation, columns: names.map((name) => ({ name, kind: "json", source: name })) };
}

/** Whether DuckDB may have made up one of the names, because a field of the file differs from it by case alone. */
function hasMadeUp(names: readonly string[]): boolean {
  const known = new Set(names.map((name) => name.toLowerCase()));
  return names.some((name) => known.has(/^(.+)_\d+$/s.exec(name.toLowerCase())?.[1] ?? ""));
}

/** Names of fields as they stand in the file, in order of appearance. */
async function keysOf(session: SqlSession, objects: string): Promise<string[]> {
  const keys = `SELECT unnest(json_keys(json)) AS key, row_number() OVER () AS row FROM ${objects}`;
  const rows = await session.run(
    `SELECT key FROM (SELECT key, row, row_number() OVER () AS place FROM (${keys})) GROUP BY key ORDER BY min(row), min(place)`,
  );
  checkCount(rows.length);
  return rows.map(({ key }) => String(key));
}

/** Columns to DuckDB are the same whatever their case; to JSON they are not, so that each is asked for by its own name. */
async function readKeys(
  session: SqlSession,
  objects: string,
  keys: readonly string[],
  folder: string,
): Promise<Source> {
  const values = keys.map((key, at) => {
    const pointer = `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    return `CAST(nullif(CAST(json_extract(json, ${quoteText(pointer)}) AS VARCHAR), 'null') AS JSON) AS k${at}`;
  });
  const relation = await stage(session, `(SELECT ${values.join(", ")} FROM ${objects})`, folder);
  return { relation, columns: distinct(keys).map((name, at) => ({ name, kind: "json", source: `k${at}` })) };
}

async function stage(session: SqlSession, source: string, folder: string): Promise<string> {
  const path = join(folder, "stage.parquet");
  await session.run(`COPY (SELECT * FROM ${source}) TO ${quoteText(path)} (FORMAT parquet)`);
  return parquet([path]);
}

async function namesOf(session: SqlSession, relation: string): Promise<string[]> {
  const rows = await session.run(`DESCRIBE SELECT * FROM ${relation}`);
  checkCount(rows.length);
  return rows.map((row) => String(row.column_name));
}

function checkCount(count: number): void {
  if (count <= MAX_COLUMNS) return;
  throw new AppError("sql_error", `The file has ${count} columns; at most ${MAX_COLUMNS} can be loaded.`);
}

/** Names that tell columns apart, whatever their case; one that is missing is made up. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((given, at) => {
    const base = given === "" ? `column_${at + 1}` : given;
    let name = base;
    for (let n = 2; taken.has(name.toLowerCase()); n++) name = `${base}_${n}`;
    taken.add(name.toLowerCase());
    return name;
  });
}

const TITLES = { csv: "CSV", json: "JSON", jsonl: "lines of JSON", parquet: "Parquet" } as const;

/** DuckDB's advice is for those who write its SQL; of what it says the place and the reason are of use. */
function told(error: unknown, format: FileFormat): unknown {
  if (!(error instanceof AppError) || error.code !== "sql_error") return error;
  if (/^The file /.test(error.message)) return error;
  const line = /CSV Error on Line: (\d+)/.exec(error.message)?.[1];
  const said =
    error.message
      .split(/\n+Possible (?:fixes|solutions?)/i)[0]
      ?.trim()
      .split("\n") ?? [];
  const reason = (line ? said.at(-1) : said[0]) ?? "";
  const plain = /expected records|non-record/.test(error.message)
    ? "it takes objects: a list of them, or one on each line."
    : reason.replace(/^[A-Z]\w*(?: \w+)? Error: /, "").replace(/ ?(?:in file )?["']?…\/[\w.-]+["']?,?/, "");
  const message = `The file can't be read as ${TITLES[format]}${line ? `, line ${line}` : ""}: ${plain}`;
  return new AppError("sql_error", message, { cause: error });
}
