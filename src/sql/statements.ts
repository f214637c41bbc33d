import {
  type DuckDBConnection,
  type DuckDBExtractedStatements,
  type DuckDBPreparedStatement,
  StatementType,
} from "@duckdb/node-api";
import { AppError } from "../base/errors.ts";

const ALLOWED: ReadonlySet<StatementType> = new Set([
  StatementType.SELECT,
  StatementType.INSERT,
  StatementType.UPDATE,
  StatementType.DELETE,
  StatementType.CREATE,
  StatementType.CREATE_FUNC,
  StatementType.DROP,
  StatementType.ALTER,
]);

/** Maximum number of statements in a tenant's SQL. */
const MAX_STATEMENTS = 1000;

/** The statements of `sql`, as split by DuckDB. Throws `sql_error` if there are none, or too many. */
export async function statementsOf(
  connection: DuckDBConnection,
  sql: string,
): Promise<DuckDBExtractedStatements> {
  const statements = await extract(connection, sql);
  if (!statements) throw new AppError("sql_error", "The SQL has no statement.");
  if (statements.count > MAX_STATEMENTS) {
    throw new AppError("sql_error", `At most ${MAX_STATEMENTS} statements are allowed in one query.`);
  }
  return statements;
}

/** Null if `sql` has only whitespace and comments. */
async function extract(connection: DuckDBConnection, sql: string): Promise<DuckDBExtractedStatements | null> {
  try {
    return await connection.extractStatements(sql);
  } catch (error) {
    // The driver's own error if there are no statements and DuckDB reported none.
    if (error instanceof Error && !/Error:/.test(error.message)) return null;
    throw error;
  }
}

/**
 * Throws `sql_error` with the kind of a statement that tenants may not run. EXPLAIN is only allowed for a single
 * statement that is allowed itself, because ANALYZE runs it.
 */
export async function checkKind(
  connection: DuckDBConnection,
  statement: DuckDBPreparedStatement,
  sql: string,
  count: number,
): Promise<void> {
  const kind = statement.statementType;
  if (ALLOWED.has(kind)) return;
  // DuckDB adds a transaction around a PIVOT that creates a table.
  if (kind === StatementType.TRANSACTION && /\bpivot/i.test(sql)) return;
  if (kind !== StatementType.EXPLAIN) throw refused(kind);
  if (count > 1) throw new AppError("sql_error", "EXPLAIN can only be used with a single statement.");
  const explained = await extract(connection, sql.replace(EXPLAIN, ""));
  if (!explained) throw refused(kind);
  const inner = await explained.prepare(explained.count - 1);
  if (!ALLOWED.has(inner.statementType)) throw refused(inner.statementType);
}

const EXPLAIN = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*explain\s+(?:analyze\s+)?(?:\([^()]*\)\s*(?=[a-z]))?/i;

function refused(kind: StatementType): AppError {
  const name = (StatementType[kind] ?? "Such").replaceAll("_", " ");
  return new AppError(
    "sql_error",
    `${name} statements can't be used here; SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER and EXPLAIN can.`,
  );
}

/**
 * The text of the last statement, without the semicolon. DuckDB itself decides where it starts: at the last semicolon
 * whose two sides together have as many statements as the whole.
 */
export async function lastText(connection: DuckDBConnection, sql: string, count: number): Promise<string> {
  let end = sql.length;
  for (let at = sql.lastIndexOf(";"); at >= 0; at = at === 0 ? -1 : sql.lastIndexOf(";", at - 1)) {
    const tail = await countOf(connection, sql.slice(at + 1, end));
    if (tail === 0) end = at;
    else if (tail !== null && tail + ((await countOf(connection, sql.slice(0, at))) ?? 0) === count) {
      return sql.slice(at + 1, end);
    }
  }
  return sql.slice(0, end);
}

/** Null if the text isn't valid SQL by itself. */
async function countOf(connection: DuckDBConnection, sql: string): Promise<number | null> {
  try {
    return (await extract(connection, sql))?.count ?? 0;
  } catch {
    return null; // the semicolon was inside a string or a comment
  }
}
