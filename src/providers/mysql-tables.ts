import { AppError } from "../base/errors.ts";
import type { ExtractRequest } from "./contract.ts";
import type { Session } from "./mysql-session.ts";
import { quoteText } from "./mysql-text.ts";
import { type SourceColumn, sourceColumn } from "./mysql-types.ts";
import { parseSpec, tableSpec } from "./postgres-names.ts";

const SYSTEM = "('information_schema', 'mysql', 'performance_schema', 'sys')";

/** Tables and views of all databases that the user sees; a database is what MySQL calls a schema. */
export async function listTables(session: Session, includeSystem: boolean) {
  const rows = await session.rows<"s" | "t">(
    `SELECT table_schema AS s, table_name AS t FROM information_schema.tables
      WHERE table_type <> 'SEQUENCE'${includeSystem ? "" : ` AND table_schema NOT IN ${SYSTEM}`}
      ORDER BY table_schema, table_name`,
  );
  return rows.map(({ s, t }) => {
    const [schema, table] = [s ?? "", t ?? ""];
    return { schema, table, spec: tableSpec(schema, table) };
  });
}

/** A table that exists, with its columns in ordinal order. */
export interface SourceTable {
  schema: string;
  table: string;
  columns: SourceColumn[];
}

/**
 * The table that `spec` names, in `database` where it names no other. Its letters count as they are written; where no
 * table bears them, as the server compares them. Columns that `types` fixes as text go as such. Throws `not_found`.
 */
export async function findTable(
  session: Session,
  spec: string,
  database: string,
  types?: ExtractRequest["types"],
): Promise<SourceTable> {
  const { schema, table } = parseSpec(spec);
  const rows = await session.rows<"s" | "t" | "name" | "type" | "base" | "nullable" | "digits" | "scale">(
    `SELECT table_schema AS s, table_name AS t, column_name AS name, column_type AS type, data_type AS base,
            is_nullable AS nullable, numeric_precision AS digits, numeric_scale AS scale
       FROM information_schema.columns
      WHERE table_schema = ${quoteText(schema ?? database)} AND table_name = ${quoteText(table)}
      ORDER BY ordinal_position`,
  );
  const [first] = rows;
  const found = rows.find((row) => row.t === table) ?? first;
  if (!found) {
    throw new AppError(
      "not_found",
      `There is no table or view ${spec} that this user may read${schema === null ? ` in the database "${database}"` : ""}.`,
    );
  }
  const own = rows.filter((row) => row.s === found.s && row.t === found.t);
  return {
    schema: found.s ?? "",
    table: found.t ?? "",
    columns: own.map((row) =>
      sourceColumn(
        {
          name: row.name ?? "",
          type: row.type ?? "",
          base: (row.base ?? "").toLowerCase(),
          nullable: row.nullable === "YES",
          precision: row.digits === null ? null : Number(row.digits),
          scale: row.scale === null ? null : Number(row.scale),
        },
        types?.get(row.name ?? "") === "VARCHAR",
      ),
    ),
  };
}
