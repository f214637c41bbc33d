import { AppError } from "../../base/errors.ts";
import type { Column } from "../../sql/contract.ts";
import type { TableCounts, TableLoad, TablePlan, TableTarget } from "../contract-tables.ts";
import { equalKeys, LOADS_TABLE, matchColumns, refusedRows, type TargetColumn } from "../sql/plan.ts";
import type { ServerLink } from "../sql/shape.ts";
import { sqlState } from "./failure.ts";
import { parseSpec, quoteName } from "./names.ts";
import { newType, wayInto } from "./out-types.ts";
import { openSession, type Session } from "./session.ts";
import { columnsOf } from "./tables.ts";

/** The server's limit for one statement: the maximum duration of a run. */
const WRITE_TIMEOUT_MS = 86_400_000;

/** The destination table as found. */
interface Target {
  schema: string;
  table: string;
  /** Null if the table has to be created. */
  oid: number | null;
  /** COPY isn't possible on a table with row-level security. */
  hasRowSecurity: boolean;
  columns: (TargetColumn & { collation: string | null })[];
}

/** See `TableWrites`. The staging table is a temporary one, which never outlives the session. */
export async function openTarget(link: ServerLink, load: TableLoad): Promise<TableTarget> {
  const session = await openSession(link, WRITE_TIMEOUT_MS, { mayWrite: true });
  try {
    const target = await findTarget(session, link, load);
    await makeLoads(session, target);
    const done = await findDone(session, target, load.loadId);
    const name = `${target.schema}.${target.table}`;
    let columns: readonly Column[] = [];
    return {
      name,
      done,
      plan(sent) {
        columns = sent;
        return planOf(target, load, name, columns);
      },
      write: (plan, rows) => write(link, { target, load, name, plan, columns }, rows),
    };
  } catch (error) {
    throw session.failure(error);
  } finally {
    await session.close();
  }
}

async function findTarget(session: Session, link: ServerLink, load: TableLoad): Promise<Target> {
  const wanted = parseSpec(load.table);
  const [found] = await session.rows<{
    oid: number;
    schema: string;
    table: string;
    kind: string;
    hasRowSecurity: boolean;
    missing: string[];
  }>(
    `select c.oid, n.nspname as schema, c.relname as table, c.relkind::text as kind,
            pg_catalog.row_security_active(c.oid) as "hasRowSecurity",
            (select coalesce(json_agg(upper(p)), '[]')
               from unnest(string_to_array($3, ',')) as p
              where not (pg_catalog.has_table_privilege(c.oid, p)
                         or p <> 'delete' and pg_catalog.has_any_column_privilege(c.oid, p))) as missing
       from pg_catalog.pg_class c
       join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'v', 'm', 'f')
        and c.relname in ($2::text, lower($2::text))
        and case when $1::text is null then pg_catalog.pg_table_is_visible(c.oid)
                 else n.nspname in ($1::text, lower($1::text)) end
      order by (c.relname = $2::text) desc, (n.nspname = $1::text) desc
      limit 1`,
    [wanted.schema, wanted.table, PRIVILEGES[load.writeDisposition]],
  );
  if (!found) return newTarget(session, link, wanted, load);
  const { oid, schema, table, kind, hasRowSecurity, missing } = found;
  if (kind !== "r" && kind !== "p")
    throw new AppError("definition_invalid", `${schema}.${table} is not a table that can be written to.`);
  if (missing.length > 0) throw lacksPrivilege(link, missing.join(", "), `the table ${schema}.${table}`);
  if (load.writeDisposition === "replace") await refuseCascade(session, oid, `${schema}.${table}`);
  const columns = (await columnsOf(session, oid)).map((column) => ({
    name: column.name,
    type: column.type,
    nullable: column.nullable,
    collation: column.collation?.name ?? null,
    way: (dataType: string) => wayInto(dataType, column, column.element),
  }));
  return { schema, table, oid, hasRowSecurity, columns };
}

const PRIVILEGES = { append: "insert", replace: "insert,delete", merge: "select,insert,update" } as const;

const lacksPrivilege = (link: ServerLink, privilege: string, on: string, more = "") =>
  new AppError(
    "upstream",
    `The user "${link.credentials.user}" lacks the privilege ${privilege} on ${on}.${more}`,
  );

async function newTarget(
  session: Session,
  link: ServerLink,
  wanted: { schema: string | null; table: string },
  load: TableLoad,
): Promise<Target> {
  const [found] = await session.rows<{ schema: string; mayCreate: boolean }>(
    `select n.nspname as schema, pg_catalog.has_schema_privilege(n.oid, 'create') as "mayCreate"
       from pg_catalog.pg_namespace n
      where n.nspname in (coalesce($1::text, pg_catalog.current_schema()), lower($1::text))
      order by (n.nspname = $1::text) desc limit 1`,
    [wanted.schema],
  );
  const name = `${found?.schema ?? wanted.schema ?? ""}.${wanted.table}`;
  if (!found)
    throw new AppError(
      "not_found",
      `The database "${link.config.database}" has no schema "${wanted.schema ?? ""}". Create it, or choose another.`,
    );
  if (!load.create)
    throw new AppError("not_found", `There is no table ${name}. Create it, or set create to true.`);
  if (!found.mayCreate) throw lacksPrivilege(link, "CREATE", `the schema ${found.schema}`);
  return { schema: found.schema, table: wanted.table, oid: null, hasRowSecurity: false, columns: [] };
}

/** Deleted rows must not delete rows of other tables. */
async function refuseCascade(session: Session, oid: number, name: string): Promise<void> {
  const [key] = await session.rows<{ table: string; name: string }>(
    `select conrelid::regclass::text as table, conname as name from pg_catalog.pg_constraint
      where contype = 'f' and confrelid = $1::oid and conrelid <> confrelid and confdeltype in ('c', 'n', 'd')
      limit 1`,
    [oid],
  );
  if (key)
    throw new AppError(
      "definition_invalid",
      `To replace the rows of ${name} would also change ${key.table} through its foreign key "${key.name}". Use merge.`,
    );
}

const lockOf = (text: string) =>
  `select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('${hex(text)}', 0))`;
const hex = (text: string) => Buffer.from(text).toString("hex");

const loadsOf = ({ schema }: Target) => `${quoteName(schema)}.${quoteName(LOADS_TABLE)}`;
const nameOf = ({ schema, table }: Target) => `${quoteName(schema)}.${quoteName(table)}`;

async function makeLoads(session: Session, target: Target): Promise<void> {
  const [found] = await session.rows<{ isThere: boolean }>(
    'select to_regclass($1) is not null as "isThere"',
    [loadsOf(target)],
  );
  if (found?.isThere) return;
  const sql = `CREATE TABLE IF NOT EXISTS ${loadsOf(target)} (load_id text PRIMARY KEY, table_name text NOT NULL, "rows" bigint NOT NULL, inserted bigint NOT NULL, updated bigint NOT NULL, deleted bigint NOT NULL, inserted_at timestamptz NOT NULL DEFAULT now())`;
  await session.rows(lockOf(`weir ${target.schema}`));
  try {
    await session.change(sql);
    await session.commit();
  } catch (error) {
    if (sqlState(error) !== "42501") throw error;
    throw new AppError(
      "upstream",
      `Each load is recorded in ${target.schema}.${LOADS_TABLE} to prevent duplicates, and the user lacks the privilege CREATE on the schema ${target.schema}. Grant it, or have someone run: ${sql}; and grant SELECT and INSERT on it.`,
      { cause: error },
    );
  }
}

async function findDone(session: Session, target: Target, loadId: string): Promise<TableCounts | null> {
  const [found] = await session.rows<Record<keyof TableCounts, string>>(
    `select "rows", inserted, updated, deleted from ${loadsOf(target)} where load_id = $1`,
    [loadId],
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
  if (target.oid === null) target.columns = columns.map((column) => newColumn(column, load, name));
  const matched = matchColumns(name, load, target.columns, columns, (text) => text.toLowerCase());
  return { ...matched, format: "csv" };
}

function newColumn({ name, dataType }: Column, load: TableLoad, table: string): Target["columns"][number] {
  const made = newType(dataType);
  if (!made) {
    const message = `The column "${name}" is ${dataType}, for which ${table} can have no type. Cast it in the SQL.`;
    throw new AppError("schema_contract_violation", message, {
      details: { table, column: name, from: dataType },
    });
  }
  return {
    name,
    type: made.sql,
    collation: null,
    nullable: !load.primaryKey.some((key) => key.toLowerCase() === name.toLowerCase()),
    way: (type) => wayInto(type, made, made.element),
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

const STAGING = "pg_temp.weir_rows";

async function write(link: ServerLink, work: Work, rows: AsyncIterable<Uint8Array>): Promise<TableCounts> {
  const session = await openSession(link, WRITE_TIMEOUT_MS, { mayWrite: true });
  let counts: TableCounts;
  try {
    await session.rows(lockOf(work.load.loadId));
    const done = await findDone(session, work.target, work.load.loadId);
    if (done) return done;
    const target = work.target.oid === null ? await makeTable(session, link, work) : work.target;
    counts = await change(session, { ...work, target }, rows);
    const { rows: all, inserted, updated, deleted } = counts;
    await session.change(
      `INSERT INTO ${loadsOf(work.target)} (load_id, table_name, "rows", inserted, updated, deleted) VALUES ($1, $2, $3, $4, $5, $6)`,
      [work.load.loadId, work.target.table, all, inserted, updated, deleted],
    );
  } catch (error) {
    await session.close();
    throw explain(error, session, work.name);
  }
  try {
    await session.commit();
    return counts;
  } catch (error) {
    const failure = explain(error, session, work.name);
    await session.close();
    const isUnknown = !link.signal.aborted && failure instanceof AppError && failure.retryable;
    if (isUnknown && (await isCommitted(link, work))) return counts;
    throw failure;
  } finally {
    await session.close();
  }
}

/** Whether a COMMIT without a response has succeeded. */
async function isCommitted(link: ServerLink, { target, load }: Work): Promise<boolean> {
  const session = await openSession(link, WRITE_TIMEOUT_MS, { mayWrite: true });
  try {
    await session.rows(lockOf(load.loadId)); // waits until the committing session has ended
    return (await findDone(session, target, load.loadId)) !== null;
  } finally {
    await session.close();
  }
}

/** Creates the table, unless another load has created it in the meantime. */
async function makeTable(session: Session, link: ServerLink, work: Work): Promise<Target> {
  const { target, load, name, plan, columns } = work;
  await session.rows(lockOf(`weir ${nameOf(target)}`));
  const found = await findTarget(session, link, load);
  if (found.oid === null) {
    await session.change(createText(target, load));
    return target;
  }
  if (Bun.deepEquals(planOf(found, load, name, columns), plan)) return found;
  const message = `${name} was created in the meantime, with columns that differ from these rows. Run this again.`;
  throw new AppError("upstream", message, { retryable: true });
}

async function change(session: Session, work: Work, rows: AsyncIterable<Uint8Array>): Promise<TableCounts> {
  const { target, load, plan } = work;
  const names = plan.columns.map(quoteName).join(", ");
  const copy = (into: string) => session.send(`COPY ${into} (${names}) FROM STDIN (FORMAT csv)`, rows);
  if (load.writeDisposition === "append" && !target.hasRowSecurity) {
    const inserted = await copy(nameOf(target));
    return { rows: inserted, inserted, updated: 0, deleted: 0 };
  }
  const staged = plan.columns.map((name) => {
    const column = target.columns.find((each) => each.name === name);
    return `${quoteName(name)} ${column?.type}${column?.collation ? ` COLLATE ${column.collation}` : ""}`;
  });
  await session.change(`CREATE TEMP TABLE weir_rows (${staged.join(", ")}) ON COMMIT DROP`);
  const all = await copy(STAGING);
  const insert = `INSERT INTO ${nameOf(target)} AS t (${names}) OVERRIDING SYSTEM VALUE SELECT ${names} FROM ${STAGING} AS s`;
  if (load.writeDisposition === "append")
    return { rows: all, inserted: await session.change(insert), updated: 0, deleted: 0 };
  // Readers aren't blocked. Writers wait.
  await session.change(`LOCK TABLE ${nameOf(target)} IN SHARE ROW EXCLUSIVE MODE`);
  if (load.writeDisposition === "replace") {
    const deleted = await session.change(`DELETE FROM ${nameOf(target)}`);
    return { rows: all, inserted: await session.change(insert), updated: 0, deleted };
  }
  const { updated, inserted } = await merge(session, work, insert);
  return { rows: all, inserted, updated, deleted: 0 };
}

async function merge(session: Session, { target, name, load, plan }: Work, insert: string) {
  const isKey = (column: string) => load.primaryKey.some((key) => key.toLowerCase() === column.toLowerCase());
  const keys = plan.columns.filter(isKey);
  const values = plan.columns.filter((column) => !isKey(column));
  await session.change("ANALYZE pg_temp.weir_rows");
  const [twin] = await session.rows<Record<string, string>>(
    `SELECT ${keys.map((key, at) => `${quoteName(key)}::text AS k${at}`).join(", ")} FROM ${STAGING}
      GROUP BY ${keys.map(quoteName).join(", ")} HAVING count(*) > 1 LIMIT 1`,
  );
  if (twin)
    throw equalKeys(
      name,
      keys,
      keys.map((_, at) => twin[`k${at}`] ?? null),
    );
  const sameKey = keys.map((key) => `t.${quoteName(key)} = s.${quoteName(key)}`).join(" AND ");
  // By their texts: values that are equal in a collation, or apart from their scale, are still different values.
  const differs = values.map(
    (column) =>
      `t.${quoteName(column)}::text COLLATE "C" IS DISTINCT FROM s.${quoteName(column)}::text COLLATE "C"`,
  );
  const updated =
    values.length === 0
      ? 0
      : await session.change(
          `UPDATE ${nameOf(target)} AS t SET ${values.map((column) => `${quoteName(column)} = s.${quoteName(column)}`).join(", ")}
             FROM ${STAGING} AS s WHERE ${sameKey} AND (${differs.join(" OR ")})`,
        );
  const inserted = await session.change(
    `${insert} WHERE NOT EXISTS (SELECT 1 FROM ${nameOf(target)} AS t WHERE ${sameKey})`,
  );
  return { updated, inserted };
}

function createText(target: Target, load: TableLoad): string {
  const columnNamed = (key: string) =>
    quoteName(target.columns.find(({ name }) => name.toLowerCase() === key.toLowerCase())?.name ?? key);
  const columns = target.columns.map(
    ({ name, type, nullable }) => `${quoteName(name)} ${type}${nullable ? "" : " NOT NULL"}`,
  );
  const key =
    load.primaryKey.length > 0 ? [`PRIMARY KEY (${load.primaryKey.map(columnNamed).join(", ")})`] : [];
  return `CREATE TABLE ${nameOf(target)} (${[...columns, ...key].join(", ")})`;
}

/** Errors about rows and values are reported as such, all others as errors of the connection. */
function explain(error: unknown, session: Session, name: string): unknown {
  if (error instanceof AppError || !/^(22|23)/.test(sqlState(error))) return session.failure(error);
  const { message = "", detail, where, column_name } = error as Record<string, string | undefined>;
  const column = column_name ?? /, column ([^:,]+)/.exec(where ?? "")?.[1] ?? null;
  const about = [message, ...(detail ? [detail.replace(/\.$/, "")] : [])].join(": ");
  const isNamed = column === null || about.includes(`"${column}"`);
  return refusedRows(name, isNamed ? about : `${about} (column "${column}")`, column, error);
}
