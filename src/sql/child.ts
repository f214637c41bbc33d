import { join } from "node:path";
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  StatementType,
} from "@duckdb/node-api";
import { AppError } from "../base/errors.ts";
import type { Json } from "../base/json.ts";
import { parseNumberTexts } from "../base/json-numbers.ts";
import { bindOne } from "./bind.ts";
import { columnsIn, columnsOf, hasAllTypes, typesOf } from "./child-columns.ts";
import { distinctNames, hasTwins, type NamedColumn, nameColumns, renameWarnings } from "./column-names.ts";
import type { Column, SqlFile, SqlValue } from "./contract.ts";
import { readExactly } from "./driver.ts";
import { lock, makeViews, prepare } from "./lockdown.ts";
import { messageOf } from "./messages.ts";
import { refuseNames } from "./names.ts";
import { withoutFiles } from "./plan.ts";
import type { FromChild, Job, Run, Start, StatementResult, ToChild } from "./protocol.ts";
import { saveLines, sendRows } from "./rows.ts";
import { likeStamps, unfitSql, unlikeStamps } from "./stamps.ts";
import { checkKind, lastText, statementsOf } from "./statements.ts";
import { asCell, castOf, fileTypes, storedTypes, widerTypes } from "./stored.ts";
import { copyInto, parquet, quoteName, quoteText } from "./text.ts";
import { bindNamed } from "./values.ts";

type JobOf<K extends Job["kind"]> = Extract<Job, { kind: K }>;

/**
 * The hidden subcommand: a locked DuckDB that runs one job for the parent process and is then killed by it. Never
 * resolves; exits when the parent does.
 */
export function sqlChild(): Promise<never> {
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
  // Ctrl+C is sent to every process of the terminal: the parent cancels its statements first.
  process.on("SIGINT", () => undefined);
  let connection: Promise<DuckDBConnection> | null = null;
  let hide: readonly string[] = [];
  let last: Promise<void> = Promise.resolve();

  const handle = async (message: ToChild): Promise<void> => {
    try {
      if (message.kind === "start") {
        hide = [message.folder];
        connection = open(message);
        await connection;
        return void send({ kind: "ready" });
      }
      if (!connection) throw new AppError("internal", "The SQL process wasn't started.");
      if (message.kind !== "run") hide = [...hide, ...pathsOf(message)];
      const result = await work(await connection, withExact(message));
      send({ kind: "end", result });
    } catch (error) {
      send({ kind: "error", ...messageOf(error, hide, message.kind === "run") });
    }
  };
  process.on("message", (message: ToChild) => {
    last = last.then(() => handle(message));
  });
  return new Promise<never>(() => {
    // The parent ends this process.
  });
}

function withExact<T extends Job | Run>(message: T): T {
  if (!("exactParameters" in message) || message.exactParameters === null) return message;
  return {
    ...message,
    parameters: { ...message.parameters, ...parseNumberTexts(message.exactParameters) },
  };
}

const send = (message: FromChild) => process.send?.(message);
const sendText = (text: string) => void send({ kind: "rows", text });

async function open(start: Start): Promise<DuckDBConnection> {
  readExactly();
  const instance = await DuckDBInstance.create(":memory:", { threads: String(start.threads) });
  const connection = await instance.connect();
  await prepare(connection, start);
  return connection;
}

function work(connection: DuckDBConnection, message: Job | Run): Promise<StatementResult> {
  switch (message.kind) {
    case "query":
      return query(connection, message);
    case "explain":
      return explain(connection, message);
    case "save":
      return save(connection, message);
    case "materialize":
      return materialize(connection, message);
    case "session":
      return lock(connection, message.folders, message.files).then(() => ({}));
    case "run":
      return run(connection, message);
  }
}

/** Folders whose names are removed from messages to tenants. */
function pathsOf(job: Job): string[] {
  if (job.kind === "session") return [...job.folders];
  const files = job.tables.flatMap((table) => table.files);
  const folders = new Set(files.map((file) => file.slice(0, file.lastIndexOf("/"))));
  const into = job.kind === "materialize" || job.kind === "save" ? [job.into] : [];
  return [...folders, ...into];
}

async function query(connection: DuckDBConnection, job: JobOf<"query">): Promise<StatementResult> {
  const { statement } = await advance(connection, job, []);
  if (![StatementType.SELECT, StatementType.EXPLAIN].includes(statement.statementType)) throw notSelect();
  if (statement.statementType !== StatementType.EXPLAIN)
    return sendRows(connection, statement, job, sendText);
  return sendRows(connection, statement, job, (text) => sendText(withoutPaths(withoutFiles(text), job)));
}

const withoutPaths = (text: string, job: Job): string =>
  pathsOf(job).reduce((shown, path) => shown.replaceAll(path, "…"), text);

async function explain(connection: DuckDBConnection, job: JobOf<"explain">): Promise<StatementResult> {
  const { statement, count } = await advance(connection, job, []);
  if (statement.statementType !== StatementType.SELECT) throw notSelect();
  statement.destroySync();
  const explained = await connection.prepare(`EXPLAIN ${await lastText(connection, job.sql, count)}`);
  bindNamed(explained, job.parameters);
  const rows = (await explained.runAndReadAll()).getRowObjects();
  const plan = rows.map((row) => String(row.explain_value)).join("\n");
  return { plan: withoutPaths(plan, job) };
}

/** Runs all statements but the last, which is returned bound. */
async function advance(
  connection: DuckDBConnection,
  job: JobOf<"query" | "explain" | "save" | "materialize">,
  folders: readonly string[],
  files: readonly string[] = [],
): Promise<{ statement: DuckDBPreparedStatement; count: number }> {
  const { tables, sql, parameters } = job;
  await makeViews(connection, tables);
  await lock(connection, folders, [...tables.flatMap((table) => table.files), ...files]);
  refuseNames(sql);
  const statements = await statementsOf(connection, sql);
  for (let index = 0; ; index++) {
    const statement = await statements.prepare(index);
    await checkKind(connection, statement, sql, statements.count);
    bindNamed(statement, parameters);
    if (index === statements.count - 1) return { statement, count: statements.count };
    await statement.run();
    statement.destroySync();
  }
}

/** Writes the rows to one file, with unchanged values, except for types that Parquet lacks. */
async function save(connection: DuckDBConnection, job: JobOf<"save">): Promise<StatementResult> {
  const { statement, count } = await advance(connection, job, [], [job.into]);
  if (statement.statementType !== StatementType.SELECT) throw notSelect();
  if (job.format === "jsonl") {
    await saveLines(connection, statement, job.into, job);
    return {};
  }
  if (job.format === "xlsx") {
    const { saveWorkbook } = await import("./workbook.ts"); // as large as everything else here
    return { warnings: await saveWorkbook(connection, statement, job.into, job.limit) };
  }
  const text = await lastText(connection, job.sql, count);
  const columns = hasAllTypes(statement)
    ? columnsOf(statement)
    : await typesOf(connection, text, job.parameters);
  statement.destroySync();
  if (job.format === "csv") {
    await saveCsv(connection, job, text, columns);
    return {};
  }
  const named = withNames(columns, []);
  const packed = job.compression === "none" ? "uncompressed" : (job.compression ?? "zstd");
  await asWideAsNeeded(named.map(fileTypes), (types) => {
    const cells = named.map(({ dataType }, at) => castOf(at, dataType, types[at] ?? []));
    return saveCells(connection, job, text, named, cells, `parquet, COMPRESSION ${packed}`);
  });
  return { warnings: renameWarnings(named) };
}

async function saveCsv(
  connection: DuckDBConnection,
  job: JobOf<"save">,
  text: string,
  columns: readonly Column[],
): Promise<void> {
  const names = distinctNames(columns.map(({ name }) => name));
  const cells = columns.map(({ dataType }, at) => asCell(`c${at}`, dataType));
  const layout = `csv, COMPRESSION ${job.compression ?? "none"}, HEADER`;
  const slots = columns.map(({ dataType }, at) => ({ name: `c${at}`, dataType, nullable: true }));
  if (!hasTwins(names)) {
    const named = columns.map((column, at) => ({ ...column, name: names[at] ?? "" }));
    return saveCells(connection, job, text, named, cells, `${layout} true`);
  }
  // DuckDB would rename columns whose names differ only in case, so they are a row.
  const texts = cells.map((cell) => `CAST(${cell} AS VARCHAR)`);
  return saveCells(connection, job, text, slots, texts, `${layout} false`, names);
}

async function saveCells(
  connection: DuckDBConnection,
  job: JobOf<"save">,
  text: string,
  columns: readonly Column[],
  cells: readonly string[],
  layout: string,
  header: readonly string[] = [],
): Promise<void> {
  const picked = columns.map(({ name }, at) => `${cells[at]} AS ${quoteName(name)}`);
  const slots = columns.map((_, at) => `c${at}`).join(", ");
  const limit = job.limit === null ? "" : ` LIMIT ${job.limit}`;
  const first = header.length > 0 ? `SELECT ${header.map(quoteText).join(", ")} UNION ALL ` : "";
  const rows = `${first}(SELECT ${picked.join(", ")} FROM (${text}\n) AS q(${slots})${limit})`;
  const sql = `COPY (${rows}\n) TO ${quoteText(job.into)} (FORMAT ${layout}, USE_TMP_FILE false)`;
  await copy(connection, sql, job.parameters);
}

/** Writes with the first type of each column, and again with wider ones if a value doesn't fit. */
async function asWideAsNeeded<T>(
  types: readonly string[][],
  write: (types: readonly string[][], attempt: number) => Promise<T>,
): Promise<T> {
  for (let tried = types, attempt = 0; ; attempt++) {
    try {
      return await write(tried, attempt);
    } catch (error) {
      const next = error instanceof Error ? widerTypes(tried, error.message) : null;
      if (next === null) throw error;
      tried = next;
    }
  }
}

async function materialize(
  connection: DuckDBConnection,
  job: JobOf<"materialize">,
): Promise<StatementResult> {
  const { statement, count } = await advance(connection, job, [job.into]);
  if (statement.statementType !== StatementType.SELECT) throw notSelect();
  const text = await lastText(connection, job.sql, count);
  const columns = hasAllTypes(statement)
    ? columnsOf(statement)
    : await typesOf(connection, text, job.parameters);
  statement.destroySync();
  const { table = [], stamp = [] } = job.options;
  const aside = unlikeStamps(withNames(columns, table), stamp, table);
  for (let round = 0, rows = { text, columns }; ; round++) {
    const named = withNames(rows.columns, table, aside);
    const types = named.map((column) => storedTypes(column, job.options.table ?? null));
    const written = await asWideAsNeeded(types, (types, attempt) =>
      write(connection, job, rows.text, named, { types, folder: `${round}-${attempt}` }),
    );
    const unfit = await unfitStamps(connection, likeStamps(named, stamp), written.files ?? []);
    if (unfit.length === 0) return { ...written, warnings: renameWarnings(named) };
    aside.push(...unfit);
    rows = rowsIn(written, named);
  }
}

/** The written rows, to be written again: the SQL could take long, or return other rows. */
function rowsIn({ files = [], columns = [] }: StatementResult, named: readonly (Column & NamedColumn)[]) {
  const types = new Map(columns.map(({ name, dataType }) => [name, dataType]));
  const names = named.map(({ name }) => quoteName(name)).join(", ");
  return {
    text: `SELECT ${names} FROM ${parquet(files.map(({ path }) => path))}`,
    columns: named.map(({ name, source, ...column }) => ({
      ...column,
      name: source,
      dataType: types.get(name) ?? column.dataType,
    })),
  };
}

/** Which of the columns in the written files can't be what they are called. */
async function unfitStamps(
  connection: DuckDBConnection,
  stamps: readonly string[],
  files: readonly SqlFile[],
): Promise<string[]> {
  const unfit: string[] = [];
  const written = parquet(files.map(({ path }) => path));
  for (const name of files.length === 0 ? [] : stamps) {
    const found = await connection.runAndReadAll(unfitSql(name, quoteName(name), written));
    if (found.currentRowCount > 0) unfit.push(name);
  }
  return unfit;
}

async function write(
  connection: DuckDBConnection,
  job: JobOf<"materialize">,
  text: string,
  columns: readonly (Column & NamedColumn)[],
  { types, folder }: { types: readonly string[][]; folder: string },
): Promise<StatementResult> {
  const { partitionBy = [], stamp = [], limit, isPassing = false } = job.options;
  const known = new Set(columns.map((column) => column.name.toLowerCase()));
  const stamped = stamp.filter(({ name }) => !known.has(name.toLowerCase()));
  const stored = columns.map(({ name, dataType }, at) => ({
    name,
    dataType: types[at]?.[0] ?? dataType,
    nullable: true,
  }));
  const picked = columns.map(
    ({ name, dataType }, at) => `${castOf(at, dataType, types[at] ?? [])} AS ${quoteName(name)}`,
  );
  for (const { name, sql } of stamped) picked.push(`${sql} AS ${quoteName(name)}`);
  const from = `FROM (${text}\n) AS q(${columns.map((_, at) => `c${at}`).join(", ")})`;
  const rows = `SELECT ${picked.join(", ")} ${from}${limit === undefined ? "" : ` LIMIT ${limit}`}`;

  const written = await copy(
    connection,
    copyInto(rows, join(job.into, folder), { partitionBy, isPassing }),
    job.parameters,
  );
  const files = written
    .map((file) => ({
      path: String(file.filename),
      rows: Number(file.count),
      bytes: Number(file.file_size_bytes),
    }))
    .filter((file) => file.rows > 0);
  const stamps = stamped.map(({ name }) => ({ name, dataType: "VARCHAR", nullable: true }));
  const made = files[0] ? await columnsIn(connection, files[0].path) : [...stored, ...stamps];
  const sources = new Map(columns.map(({ name, source }) => [name, source]));
  return {
    files,
    columns: made.map((column) => {
      const source = sources.get(column.name);
      return source === undefined ? column : { ...column, source };
    }),
  };
}

/** Runs a COPY around a tenant's SELECT and returns its rows. */
async function copy(
  connection: DuckDBConnection,
  sql: string,
  parameters: Readonly<Record<string, SqlValue>>,
): Promise<Record<string, unknown>[]> {
  const copies = await connection.extractStatements(sql);
  let written: Record<string, unknown>[] = [];
  for (let index = 0; index < copies.count; index++) {
    const one = await copies.prepare(index);
    // A PIVOT adds statements to the COPY; unknown ones haven't been checked.
    if (!COPY_PARTS.has(one.statementType)) throw notSelect();
    bindNamed(one, parameters);
    const result = await one.runAndReadAll();
    if (one.statementType === StatementType.COPY) written = result.getRowObjects();
  }
  return written;
}

const COPY_PARTS: ReadonlySet<StatementType> = new Set([
  StatementType.COPY,
  StatementType.CREATE,
  StatementType.TRANSACTION,
]);

/** The statement's columns with names that a file or table can have. */
function withNames(
  columns: readonly Column[],
  table: readonly Column[],
  aside: readonly string[] = [],
): (Column & NamedColumn)[] {
  const named = nameColumns(
    columns.map(({ name }) => name),
    { table, isFile: false, aside },
  );
  return columns.map((column, at) => ({ ...column, source: column.name, ...named[at] }));
}

const notSelect = () => new AppError("sql_error", "The last statement must be a SELECT.");

const ALL_ROWS = { limit: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER };

/** Runs one trusted statement in a session. */
async function run(connection: DuckDBConnection, { sql, parameters }: Run): Promise<StatementResult> {
  const statements = await statementsOf(connection, sql);
  for (let index = 0; ; index++) {
    const statement = await statements.prepare(index);
    for (let at = 1; at <= statement.parameterCount; at++)
      bindOne(statement, at, (parameters[at - 1] ?? null) as Json);
    try {
      if (index === statements.count - 1) return await sendRows(connection, statement, ALL_ROWS, sendText);
      await statement.run();
    } finally {
      statement.destroySync(); // otherwise its buffers are kept until the garbage collector runs
    }
  }
}
