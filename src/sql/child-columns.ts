import {
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  DuckDBTypeId,
  StatementType,
} from "@duckdb/node-api";
import type { Column, SqlValue } from "./contract.ts";
import { parquet } from "./text.ts";
import { bindNamed, typeName } from "./values.ts";

/** The columns of a prepared statement's result. */
export function columnsOf(statement: DuckDBPreparedStatement): Column[] {
  const columns: Column[] = [];
  for (let at = 0; at < statement.columnCount; at++) {
    columns.push({
      name: statement.columnName(at),
      dataType: typeName(statement.columnType(at)),
      nullable: true,
    });
  }
  return columns;
}

/** The columns of a Parquet file. */
export async function columnsIn(connection: DuckDBConnection, path: string): Promise<Column[]> {
  const statement = await connection.prepare(`SELECT * FROM ${parquet([path])}`);
  const columns = columnsOf(statement);
  statement.destroySync();
  return columns;
}

/** A column that is only a parameter has no type until the parameter has a value. */
export const hasAllTypes = (statement: DuckDBPreparedStatement): boolean => {
  for (let at = 0; at < statement.columnCount; at++) {
    if (statement.columnTypeId(at) === DuckDBTypeId.INVALID) return false;
  }
  return true;
};

/** Executes a SELECT without rows, for columns whose types depend on parameters. */
export async function typesOf(
  connection: DuckDBConnection,
  text: string,
  parameters: Readonly<Record<string, SqlValue>>,
): Promise<Column[]> {
  const statements = await connection.extractStatements(`SELECT * FROM (${text}\n) LIMIT 0`);
  for (let index = 0; ; index++) {
    const statement = await statements.prepare(index);
    bindNamed(statement, parameters);
    const result = await statement.run();
    if (statement.statementType !== StatementType.SELECT) continue;
    const names = result.columnNames();
    return result
      .columnTypes()
      .map((type, at) => ({ name: names[at] ?? "", dataType: typeName(type), nullable: true }));
  }
}
