import { AppError } from "../../base/errors.ts";
import { exactJson } from "../../base/json-numbers.ts";
import type { Context } from "../../context.ts";
import { pastTables, sqlTables } from "../../lake/views.ts";
import { takeAsOf } from "../../sql/as-of.ts";
import type { SqlJob, SqlValue } from "../../sql/contract.ts";
import { readPast } from "../datasets/past.ts";
import { readTables } from "../datasets/tables.ts";
import { beginQuery } from "../usage/quotas.ts";
import { isMissingTable, withSimilarTables } from "./missing-table.ts";
import type { QueryRequest, QueryResult } from "./wire.ts";

/** Number of rows in a JSON response without `limit`. */
const DEFAULT_ROWS = 1000;

type SqlRequest = Omit<QueryRequest, "parameters"> & { parameters: Readonly<Record<string, SqlValue>> };

/** Reports errors of the SQL at its field. */
const SQL_FAULTS: readonly string[] = ["sql_error", "sql_timeout", "sql_memory", "limit_exceeded"];

/**
 * Runs SQL over the organization's tables; `signal` cancels it. Throws `sql_error` with DuckDB's message,
 * `sql_timeout` and `sql_memory`, all at `body.sql`, and `quota_exceeded`.
 */
export async function runQuery(
  ctx: Context,
  { sql, parameters, limit = DEFAULT_ROWS }: SqlRequest,
  signal: AbortSignal,
): Promise<QueryResult> {
  const ended = await beginQuery(ctx);
  try {
    return await answer(ctx, { sql, parameters, limit }, signal);
  } finally {
    ended();
  }
}

async function answer(
  ctx: Context,
  { sql, parameters, limit }: SqlRequest & { limit: number },
  signal: AbortSignal,
): Promise<QueryResult> {
  const startedAt = ctx.clock.monotonic();
  const job = { ...(await jobOf(ctx, sql, parameters).catch(rethrowAtSql)), signal };
  const { columns, rows, truncated } = await ctx.sql.query(job, limit).catch(rethrowWithTables(ctx));
  const durationSeconds = Math.round(ctx.clock.monotonic() - startedAt) / 1000;
  return { columns, rows, rowCount: rows.length, truncated, durationSeconds };
}

/** Returns the SQL with all tables that it may access, including past states. */
export async function jobOf(
  ctx: Context,
  sqlText: string,
  parameters: SqlRequest["parameters"],
): Promise<SqlJob> {
  const { organizationId, lake } = ctx;
  const { sql, past } = takeAsOf(sqlText, parameters);
  const tables = await sqlTables(lake, await readTables(ctx.db, { organizationId }), sql);
  const before = await pastTables(lake, past, (reference) => readPast(ctx.db, organizationId, reference));
  return { tables: [...tables, ...before], sql, exactParameters: exactJson(parameters), organizationId };
}

/** Rethrows errors of the SQL at its field. For a missing table, the message names similar ones. */
export const rethrowWithTables =
  ({ db, organizationId }: Context) =>
  async (error: unknown): Promise<never> => {
    if (!(error instanceof AppError) || !isMissingTable(error.message)) return rethrowAtSql(error);
    const message = withSimilarTables(error.message, await readTables(db, { organizationId }));
    return rethrowAtSql(new AppError(error.code, message, { cause: error }));
  };

export function rethrowAtSql(error: unknown): never {
  if (!(error instanceof AppError) || !SQL_FAULTS.includes(error.code)) throw error;
  throw new AppError(error.code, error.message, { loc: ["body", "sql"], type: error.code, cause: error });
}
