import { AppError } from "../../base/errors.ts";
import type { Column } from "../../sql/contract.ts";
import type { TableCounts, TableLoad, TablePlan, TableTarget } from "../contract-tables.ts";
import { parseSpec } from "../postgres/names.ts";
import { equalKeys, LOADS_TABLE, matchColumns, refusedRows, type TargetColumn } from "../sql/plan.ts";
import type { ServerLink } from "../sql/shape.ts";
import { errorNumber } from "./failure.ts";
import { statementsOf } from "./inserts.ts";
import { newType, wayInto } from "./out-types.ts";
import { openSession, type Session } from "./session.ts";
import { quoteName, quoteText } from "./text.ts";

/** The server's limit for one statement: the maximum duration of a run. */
const WRITE_TIMEOUT_MS = 86_400_000;
const LOCK_SECONDS = 86_400;

interface Target {
  schema: string;
  table: string;
  isNew: boolean;
  columns: (TargetColumn & { definition: string })[];
}

/** See `TableWrites`. The staging table is a temporary one, which never outlives the session. */
export async function openTarget(link: ServerLink, load: TableLoad): Promise<TableTarget> {
  const session = await openSession(link, WRITE_TIMEOUT_MS, { mayWrite: true });
  try {
    const target = await findTarget(session, link, load);
    await makeLoads(session, link, target);
    const done = await findDone(session, target, load.loadId);
    const name = `${target.schema}.${target.table}`;
    let sent: readonly Column[] = [];
    return {
      name,
      done,
      plan(columns) {
        sent = columns;
        return planOf(target, load, name, columns);
      },
      write: (plan, rows) => write(link, { target, load, name, plan, columns: sent }, rows),
    };
  } catch (error) {
    throw session.failure(error);
  } finally {
    await session.close();
  }
}

async function findTarget(session: Session, link: ServerLink, load: TableLoad): Promise<Target> {
  const wanted = parseSpec(load.table);
  const schema = wanted.schema ?? link.config.database;
  const tables = await session.rows<"s" | "t" | "kind" | "engine" | "transactions">(
    `SELECT t.table_schema AS s, t.table_name AS t, t.table_type AS kind, t.engine AS engine, e.transactions AS transactions
       FROM information_schema.tables t LEFT JOIN information_schema.engines e ON e.engine = t.engine
      WHERE t.table_schema = ${quoteText(schema)} AND t.table_name = ${quoteText(wanted.table)}`,
  );
  const found = tables.find(({ t }) => t === wanted.table) ?? tables[0];
  if (!found) {
    if (load.create) return { schema, table: wanted.table, isNew: true, columns: [] };
    throw new AppError(
      "not_found",
      `There is no table ${schema}.${wanted.table} that this user can see. Create it, or set create to true.`,
    );
  }
  const name = `${found.s}.${found.t}`;
  if (found.kind !== "BASE TABLE" && found.kind !== "SYSTEM VERSIONED")
    throw new AppError("definition_invalid", `${name} is not a table that can be written to.`);
  if (found.transactions !== "YES")
    throw new AppError(
      "definition_invalid",
      `${name} has the engine ${found.engine}, which doesn't support transactions. Change it to InnoDB.`,
    );
  const target = { schema: found.s ?? "", table: found.t ?? "", isNew: false };
  if (load.writeDisposition === "replace") await refuseCascade(session, target, name);
  return { ...target, columns: await columnsOf(session, target) };
}

/** Maximum of longtext and longblob, which no value of Weir reaches. */
const MAX_LONG_BYTES = 4_294_967_295;

async function columnsOf(session: Session, { schema, table }: Pick<Target, "schema" | "table">) {
  const rows = await session.rows<
    | "name"
    | "base"
    | "type"
    | "nullable"
    | "scale"
    | "fraction"
    | "characters"
    | "bytes"
    | "charset"
    | "collation"
  >(
    `SELECT column_name AS name, data_type AS base, column_type AS type, is_nullable AS nullable, numeric_scale AS scale,
            datetime_precision AS fraction, character_maximum_length AS characters, character_octet_length AS bytes,
            character_set_name AS charset, collation_name AS collation
       FROM information_schema.columns
      WHERE table_schema = ${quoteText(schema)} AND table_name = ${quoteText(table)}
      ORDER BY ordinal_position`,
  );
  const count = (text: string | null) => (text === null ? null : Number(text));
  const bounded = (bytes: number | null) => (bytes === MAX_LONG_BYTES ? null : bytes);
  return rows.map((row) => {
    const type = row.type ?? "";
    const target = {
      base: (row.base ?? "").toLowerCase(),
      type,
      scale: count(row.scale),
      fraction: count(row.fraction),
      characters: count(row.characters),
      bytes: bounded(count(row.bytes)),
      charset: row.charset,
    };
    const letters = row.charset === null ? "" : ` CHARACTER SET ${row.charset} COLLATE ${row.collation}`;
    return {
      name: row.name ?? "",
      type,
      nullable: row.nullable === "YES",
      definition: `${type}${letters}`,
      way: (dataType: string) => wayInto(dataType, target),
    };
  });
}

/** Deleted rows must not delete rows of other tables. */
async function refuseCascade(
  session: Session,
  { schema, table }: Pick<Target, "schema" | "table">,
  name: string,
) {
  const [key] = await session.rows<"s" | "t" | "k">(
    `SELECT constraint_schema AS s, table_name AS t, constraint_name AS k FROM information_schema.referential_constraints
      WHERE unique_constraint_schema = ${quoteText(schema)} AND referenced_table_name = ${quoteText(table)}
        AND NOT (constraint_schema = ${quoteText(schema)} AND table_name = ${quoteText(table)})
        AND delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT') LIMIT 1`,
  );
  if (key)
    throw new AppError(
      "definition_invalid",
      `To replace the rows of ${name} would also change ${key.s}.${key.t} through its foreign key "${key.k}". Use merge.`,
    );
}

const loadsOf = ({ schema }: Target) => `${quoteName(schema)}.${quoteName(LOADS_TABLE)}`;
const nameOf = ({ schema, table }: Target) => `${quoteName(schema)}.${quoteName(table)}`;

async function makeLoads(session: Session, link: ServerLink, target: Target): Promise<void> {
  const [found] = await session.rows<"t">(
    `SELECT table_name AS t FROM information_schema.tables
      WHERE table_schema = ${quoteText(target.schema)} AND table_name = ${quoteText(LOADS_TABLE)}`,
  );
  if (found) return;
  const sql = `CREATE TABLE IF NOT EXISTS ${loadsOf(target)} (load_id varchar(64) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY, table_name varchar(64) CHARACTER SET utf8mb4 NOT NULL, \`rows\` bigint NOT NULL, inserted bigint NOT NULL, updated bigint NOT NULL, deleted bigint NOT NULL, inserted_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)) ENGINE=InnoDB`;
  try {
    await session.change(sql);
  } catch (error) {
    if (!isDenied(error)) throw error;
    const why = `Each load is recorded in ${target.schema}.${LOADS_TABLE} to prevent duplicates. `;
    const more = ` Or have someone run: ${sql}; and grant SELECT and INSERT on it.`;
    throw lacksPrivilege(link, "CREATE", target.schema, error, why, more);
  }
}

const isDenied = (error: unknown) => [1044, 1142, 1227].includes(errorNumber(error));

const lacksPrivilege = (
  link: ServerLink,
  privilege: string,
  schema: string,
  cause: unknown,
  why = "",
  more = "",
) =>
  new AppError(
    "upstream",
    `${why}The user "${link.credentials.user}" lacks the privilege ${privilege} on the database ${schema}.${more}`,
    { cause },
  );

async function findDone(session: Session, target: Target, loadId: string): Promise<TableCounts | null> {
  const [found] = await session.rows<keyof TableCounts>(
    `SELECT \`rows\`, inserted, updated, deleted FROM ${loadsOf(target)} WHERE load_id = ${quoteText(loadId)}`,
  );
  if (!found) return null;
  const { rows, inserted, updated, deleted } = found;
  return {
    rows: Number(rows),
    inserted: Number(inserted),
    updated: Number(updated),
    deleted: Number(deleted),
  };
}

function planOf(target: Target, load: TableLoad, name: string, columns: readonly Column[]): TablePlan {
  if (target.isNew) target.columns = columns.map((column) => newColumn(column, load, name));
  const { fields, ...matched } = matchColumns(name, load, target.columns, columns, (text) =>
    text.toLowerCase(),
  );
  const values = fields.map(({ sql }) => `coalesce(${sql}, 'NULL')`).join(" || ',' || ");
  return { ...matched, fields: [{ sql: `'(' || ${values} || '),'`, isQuoted: false }], format: "lines" };
}

function newColumn({ name, dataType }: Column, load: TableLoad, table: string): Target["columns"][number] {
  const isKey = load.primaryKey.some((key) => key.toLowerCase() === name.toLowerCase());
  const made = newType(dataType, isKey);
  if (!made) {
    const message = `The column "${name}" is ${dataType}, for which ${table} can have no type${isKey ? " in its key" : ""}. Cast it in the SQL.`;
    throw new AppError("schema_contract_violation", message, {
      details: { table, column: name, from: dataType },
    });
  }
  return {
    name,
    type: made.type,
    nullable: !isKey,
    definition: made.sql,
    way: (type) => wayInto(type, made),
  };
}

interface Work {
  target: Target;
  load: TableLoad;
  name: string;
  plan: TablePlan;
  /** Columns of the rows. */
  columns: readonly Column[];
}

async function write(link: ServerLink, work: Work, rows: AsyncIterable<Uint8Array>): Promise<TableCounts> {
  const session = await openSession(link, WRITE_TIMEOUT_MS, { mayWrite: true });
  let counts: TableCounts;
  try {
    const done = await lockedDone(session, work);
    if (done) return done;
    const all = await stage(session, link, work, rows);
    await session.begin();
    counts = { rows: all, ...(await change(session, work)) };
    const { inserted, updated, deleted } = counts;
    await session.change(
      `INSERT INTO ${loadsOf(work.target)} (load_id, table_name, \`rows\`, inserted, updated, deleted) VALUES (${quoteText(work.load.loadId)}, ${quoteText(work.target.table)}, ${all}, ${inserted}, ${updated}, ${deleted})`,
    );
  } catch (error) {
    await session.close();
    throw explain(error, session, work.name);
  }
  try {
    await session.commit();
    return counts;
  } catch (error) {
    const failure = session.failure(error);
    await session.close();
    const isUnknown = !link.signal.aborted && failure instanceof AppError && failure.retryable;
    if (isUnknown && (await isCommitted(link, work))) return counts;
    throw failure;
  } finally {
    await session.close();
  }
}

/** Waits for other attempts of the load; returns the result of one that has committed. */
async function lockedDone(session: Session, { target, load }: Work): Promise<TableCounts | null> {
  const [lock] = await session.rows<"held">(
    `SELECT GET_LOCK(${quoteText(`weir ${load.loadId}`)}, ${LOCK_SECONDS}) AS held`,
  );
  if (lock?.held !== "1")
    throw new AppError("upstream", "Another attempt of this run still writes to the table.", {
      retryable: true,
    });
  return findDone(session, target, load.loadId);
}

/** Whether a COMMIT without a response has succeeded. */
async function isCommitted(link: ServerLink, work: Work): Promise<boolean> {
  const session = await openSession(link, WRITE_TIMEOUT_MS, { mayWrite: true });
  try {
    return (await lockedDone(session, work)) !== null;
  } finally {
    await session.close();
  }
}

/**
 * Stages the rows in a temporary table and returns their number. Also creates a missing target table, in a transaction
 * of its own.
 */
async function stage(session: Session, link: ServerLink, work: Work, rows: AsyncIterable<Uint8Array>) {
  const { target, plan, name } = work;
  const definitionOf = (column: string) =>
    target.columns.find((each) => each.name === column)?.definition ?? "";
  if (target.isNew) await makeTable(session, link, work);
  const columns = plan.columns.map((column) => `${quoteName(column)} ${definitionOf(column)} NULL`);
  const staging = stagingOf(target);
  try {
    await session.change(`CREATE TEMPORARY TABLE ${staging} (${columns.join(", ")}) ENGINE=InnoDB`);
  } catch (error) {
    throw isDenied(error) ? lacksPrivilege(link, "CREATE TEMPORARY TABLES", target.schema, error) : error;
  }
  const [limits] = await session.rows<"packet">("SELECT @@max_allowed_packet AS packet");
  const head = `INSERT INTO ${staging} (${plan.columns.map(quoteName).join(", ")}) VALUES `;
  let all = 0;
  for await (const sql of statementsOf(rows, head, Number(limits?.packet), name))
    all += await session.change(sql);
  return all;
}

const EXISTS = 1050;

/** Creates the table, unless another load has created it in the meantime. */
async function makeTable(session: Session, link: ServerLink, { target, load, name, plan, columns }: Work) {
  try {
    await session.change(createText(target, load));
    return;
  } catch (error) {
    if (isDenied(error)) throw lacksPrivilege(link, "CREATE", target.schema, error);
    if (errorNumber(error) !== EXISTS) throw error;
  }
  const found = { ...target, isNew: false, columns: await columnsOf(session, target) };
  if (Bun.deepEquals(planOf(found, load, name, columns), plan)) return;
  const message = `${name} was created in the meantime, with columns that differ from these rows. Run this again.`;
  throw new AppError("upstream", message, { retryable: true });
}

const stagingOf = ({ schema }: Target) => `${quoteName(schema)}.\`weir_rows\``;

async function change(session: Session, work: Work): Promise<Omit<TableCounts, "rows">> {
  const { target, load, plan } = work;
  const names = plan.columns.map(quoteName).join(", ");
  const insert = `INSERT INTO ${nameOf(target)} (${names}) SELECT ${names} FROM ${stagingOf(target)} AS s`;
  if (load.writeDisposition === "merge") return merge(session, work, insert);
  const deleted =
    load.writeDisposition === "replace" ? await session.change(`DELETE FROM ${nameOf(target)}`) : 0;
  return { inserted: await session.change(insert), updated: 0, deleted };
}

async function merge(session: Session, { target, name, load, plan }: Work, insert: string) {
  const isKey = (column: string) => load.primaryKey.some((key) => key.toLowerCase() === column.toLowerCase());
  const keys = plan.columns.filter(isKey);
  const values = plan.columns.filter((column) => !isKey(column));
  const staging = stagingOf(target);
  const [twin] = await session.rows<string>(
    `SELECT ${keys.map((key, at) => `${quoteName(key)} AS k${at}`).join(", ")} FROM ${staging}
      GROUP BY ${keys.map(quoteName).join(", ")} HAVING COUNT(*) > 1 LIMIT 1`,
  );
  if (twin)
    throw equalKeys(
      name,
      keys,
      keys.map((_, at) => twin[`k${at}`] ?? null),
    );
  const sameKey = keys.map((key) => `t.${quoteName(key)} = s.${quoteName(key)}`).join(" AND ");
  // The server counts only rows whose bytes changed.
  const updated =
    values.length === 0
      ? 0
      : await session.change(
          `UPDATE ${nameOf(target)} AS t JOIN ${staging} AS s ON ${sameKey} SET ${values.map((column) => `t.${quoteName(column)} = s.${quoteName(column)}`).join(", ")}`,
        );
  const inserted = await session.change(
    `${insert} WHERE NOT EXISTS (SELECT 1 FROM ${nameOf(target)} AS t WHERE ${sameKey})`,
  );
  return { inserted, updated, deleted: 0 };
}

function createText(target: Target, load: TableLoad): string {
  const columns = target.columns.map(
    ({ name, definition, nullable }) => `${quoteName(name)} ${definition} ${nullable ? "NULL" : "NOT NULL"}`,
  );
  const columnNamed = (key: string) =>
    quoteName(target.columns.find(({ name }) => name.toLowerCase() === key.toLowerCase())?.name ?? key);
  const key =
    load.primaryKey.length > 0 ? [`PRIMARY KEY (${load.primaryKey.map(columnNamed).join(", ")})`] : [];
  return `CREATE TABLE ${nameOf(target)} (${[...columns, ...key].join(", ")}) ENGINE=InnoDB`;
}

/** Errors of a missing default, an invalid text and a failed check, which have no class of their own. */
const OF_ROWS = [1264, 1265, 1364, 1366, 1406, 1644, 3140, 3819, 4025];

/** Errors about rows and values are reported as such, all others as errors of the connection. */
function explain(error: unknown, session: Session, name: string): unknown {
  const { sqlState = "", message = "" } = error as { sqlState?: string; message?: string };
  const isOfRows = /^(22|23)/.test(sqlState) || OF_ROWS.includes(errorNumber(error));
  if (error instanceof AppError || !isOfRows) return session.failure(error);
  return refusedRows(
    name,
    message,
    /(?:column|Column|Field) [`']([^`']+)[`']/.exec(message)?.[1] ?? null,
    error,
  );
}
