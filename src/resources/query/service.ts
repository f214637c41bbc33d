import { AppError } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { sqlTables } from "../../lake/views.ts";
import { readTables } from "../datasets/tables.ts";
import type { QueryRequest, QueryResult } from "./wire.ts";

/** Faults of the SQL, told at its field. */
const SQL_FAULTS: readonly string[] = ["sql_error", "sql_timeout", "sql_memory"];

/**
 * Runs SQL over the organization's tables; `signal` cancels it. Throws `sql_error` with DuckDB's message,
 * `sql_timeout` and `sql_memory`, all at `body.sql`.
 */
export async function runQuery(
  ctx: Context,
  { sql, parameters, limit }: QueryRequest,
  signal: AbortSignal,
): Promise<QueryResult> {
  const startedAt = ctx.clock.monotonic();
  const tables = await readTables(ctx.db, { organizationId: ctx.organizationId });
  const job = { tables: await sqlTables(ctx.lake, tables, sql), sql, parameters, signal };
  const { columns, rows, truncated } = await ctx.sql.query(job, limit).catch(toldAtSql);
  const durationSeconds = Math.round(ctx.clock.monotonic() - startedAt) / 1000;
  return { columns, rows, rowCount: rows.length, truncated, durationSeconds };
}

function toldAtSql(error: unknown): never {
  if (!(error instanceof AppError) || !SQL_FAULTS.includes(error.code)) throw error;
  throw new AppError(error.code, error.message, { loc: ["body", "sql"], type: error.code, cause: error });
}
