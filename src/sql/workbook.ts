import type { DuckDBConnection, DuckDBPreparedStatement } from "@duckdb/node-api";
import { OddValues, oddSentence } from "../base/odd-values.ts";
import { type Cell, WorkbookWriter } from "../sheets/write/workbook-writer.ts";
import { cellWriter } from "./cells.ts";
import { distinctNames } from "./column-names.ts";
import { streamRows } from "./stream.ts";

/**
 * Writes the rows as a workbook, up to `limit`, and returns warnings. Throws `limit_exceeded` if a sheet can't hold
 * them.
 */
export function saveWorkbook(
  connection: DuckDBConnection,
  statement: DuckDBPreparedStatement,
  path: string,
  limit: number | null,
): Promise<string[]> {
  return streamRows(connection, statement, async (result, chunks) => {
    const names = distinctNames(result.columnNames());
    using book = new WorkbookWriter(path, names);
    const writers = result.columnTypes().map((type) => cellWriter(type, book.styles));
    const odd = new OddValues();
    const cellAt = (at: number, value: Parameters<(typeof writers)[number]>[0] | null | undefined): Cell => {
      const made = value === null || value === undefined ? null : (writers[at]?.(value) ?? null);
      if (made === null || !("what" in made)) return made;
      odd.add(names[at] ?? "", made.what, made.cell?.text ?? "");
      return made.cell;
    };
    let rows = 0;
    for await (const chunk of chunks) {
      if (rows === limit) break;
      const columns = writers.map((_, at) => chunk.getColumnValues(at));
      for (let row = 0; row < chunk.rowCount && rows !== limit; row++, rows++)
        book.row(columns.map((values, at) => cellAt(at, values[row])));
    }
    book.end();
    return odd.all.map((value) => oddSentence("Rows", value));
  });
}
