import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBPreparedStatement,
  DuckDBResult,
} from "@duckdb/node-api";
import { AppError } from "../base/errors.ts";

/**
 * Executes a statement and passes its rows on while it runs. Throws DuckDB's error if it fails, also after the first
 * rows: the driver then ends the rows as if they were complete, but the transaction is aborted.
 */
export async function streamRows<T>(
  connection: DuckDBConnection,
  statement: DuckDBPreparedStatement,
  read: (result: DuckDBResult, chunks: AsyncIterable<DuckDBDataChunk>) => Promise<T>,
): Promise<T> {
  await connection.run("BEGIN");
  try {
    const result = await statement.stream();
    return await read(result, chunksOf(connection, statement, result));
  } finally {
    await connection.run("COMMIT"); // of an aborted transaction, it is a rollback
  }
}

async function* chunksOf(
  connection: DuckDBConnection,
  statement: DuckDBPreparedStatement,
  result: DuckDBResult,
): AsyncGenerator<DuckDBDataChunk, void> {
  for (let chunk = await result.fetchChunk(); chunk && chunk.rowCount > 0; chunk = await result.fetchChunk())
    yield chunk;
  const isAborted = await connection.run("SELECT 1").then(
    () => false,
    () => true,
  );
  if (!isAborted) return;
  await connection.run("ROLLBACK");
  await connection.run("BEGIN");
  await statement.run(); // only this throws the error
  throw new AppError("sql_error", "The SQL failed after its first rows. Run it again.");
}
