import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { withoutEnd } from "../../sql/text.ts";
import type { Session } from "./session.ts";

/** Errors of the SQL, not of the connection: syntax, unknown tables, columns and functions, and ambiguous ones. */
const MISTAKES = new Set([
  1051, 1052, 1054, 1055, 1060, 1064, 1109, 1111, 1140, 1146, 1222, 1242, 1248, 1305, 1582,
]);

/**
 * Up to `maxRows` rows of a SELECT, as text; 0 only resolves its names. The SELECT is a subquery in FROM, where only a
 * query is possible, in a read-only transaction. Throws `sql_error` with the server's message.
 */
export async function select(
  session: Session,
  sql: string,
  maxRows: number,
): Promise<{ rows: Record<string, Json>[]; truncated: boolean }> {
  const from = `FROM (${withoutEnd(sql)}\n) AS weir`;
  try {
    await session.rows(`EXPLAIN SELECT * ${from}`);
    if (maxRows === 0) return { rows: [], truncated: false };
    const rows: Record<string, Json>[] = await session.rows(`SELECT * ${from} LIMIT ${maxRows + 1}`);
    return { rows: rows.slice(0, maxRows), truncated: rows.length > maxRows };
  } catch (error) {
    const { errno } = error as { errno?: number };
    if (errno === undefined || !MISTAKES.has(errno)) throw error;
    throw new AppError("sql_error", error instanceof Error ? error.message : String(error), { cause: error });
  }
}
