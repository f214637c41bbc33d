import { AppError } from "../../base/errors.ts";
import { isObject, type Json } from "../../base/json.ts";
import { parseLossless } from "../../base/json-numbers.ts";
import { withoutEnd } from "../../sql/text.ts";
import { sqlState } from "./failure.ts";
import type { Session } from "./session.ts";

/**
 * Up to `maxRows` rows of a SELECT; 0 only resolves its names. The SELECT is a subquery in FROM, where only a query is
 * possible, in a read-only transaction. Throws `sql_error` with the server's message.
 */
export async function select(
  session: Session,
  sql: string,
  maxRows: number,
): Promise<{ rows: Record<string, Json>[]; truncated: boolean }> {
  const from = `FROM (${withoutEnd(sql)}\n) AS weir`;
  try {
    await session.parameterTypes(`SELECT * ${from}`);
    if (maxRows === 0) return { rows: [], truncated: false };
    const found = await session.rows<{ row: string }>(
      `SELECT row_to_json(weir)::text AS row ${from} LIMIT ${maxRows + 1}`,
    );
    const rows = found.map(({ row }): Json => parseLossless(row)).filter(isObject);
    return { rows: rows.slice(0, maxRows), truncated: rows.length > maxRows };
  } catch (error) {
    // Syntax, names, privileges, values, unsupported features and writes: the SQL is wrong, not the connection.
    if (!/^(42|22|0A|25006)/.test(sqlState(error))) throw error;
    throw new AppError("sql_error", error instanceof Error ? error.message : String(error), { cause: error });
  }
}
