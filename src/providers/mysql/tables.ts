import { AppError } from "../../base/errors.ts";
import type { ExtractRequest } from "../contract.ts";
import type { KeyedTable } from "../contract-tables.ts";
import { parseSpec, tableSpec } from "../postgres/names.ts";
import type { Session } from "./session.ts";
import { quoteText } from "./text.ts";
import { type SourceColumn, sourceColumn } from "./types.ts";

const SYSTEM = "('information_schema', 'mysql', 'performance_schema', 'sys')";

/** Tables and views of all databases that the user can see; what MySQL calls a schema is a database. */
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

/** See `Tables.inSchemas`. MySQL doesn't list partitions as tables. */
export async function tablesIn(session: Session, schemas: readonly string[]): Promise<KeyedTable[]> {
  const schemaList = schemas.map(quoteText).join(", ");
  const rows = await session.rows<"s" | "t" | "k" | "visible">(
    `SELECT t.table_schema AS s, t.table_name AS t, k.column_name AS k, t.table_schema = DATABASE() AS visible
       FROM information_schema.tables t
       LEFT JOIN information_schema.statistics k
         ON k.table_schema = t.table_schema AND k.table_name = t.table_name AND k.index_name = 'PRIMARY'
      WHERE t.table_type <> 'SEQUENCE' AND t.table_schema NOT IN ${SYSTEM} AND t.table_schema IN (${schemaList})
      ORDER BY t.table_schema, t.table_name, k.seq_in_index`,
  );
  const tables: KeyedTable[] = [];
  for (const { s, t, k, visible } of rows) {
    const [schema, table] = [s ?? "", t ?? ""];
    const spec = tableSpec(schema, table);
    if (tables.at(-1)?.spec !== spec)
      tables.push({ schema, table, spec, primaryKey: [], isVisible: visible === "1" });
    if (k !== null) tables.at(-1)?.primaryKey.push(k);
  }
  return tables;
}

/** An existing table, with its columns in ordinal order. */
export interface SourceTable {
  schema: string;
  table: string;
  columns: SourceColumn[];
}

/**
 * The table named in `spec`, by default in `database`. The exact case is preferred, then the server's comparison.
 * Columns that `types` sets to text are sent as text. Throws `not_found`.
 */
export async function findTable(
  session: Session,
  spec: string,
  database: string,
  { types, keyOf }: Pick<ExtractRequest, "types" | "keyOf"> = {},
): Promise<SourceTable> {
  const { schema, table } = parseSpec(spec);
  const rows = await session.rows<
    "s" | "t" | "name" | "type" | "base" | "nullable" | "digits" | "scale" | "charset" | "collation"
  >(
    `SELECT table_schema AS s, table_name AS t, column_name AS name, column_type AS type, data_type AS base,
            is_nullable AS nullable, numeric_precision AS digits, numeric_scale AS scale,
            character_set_name AS charset, collation_name AS collation
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
  const key = keyOf?.(own.map(({ name }) => name ?? "")) ?? [];
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
          collation:
            row.collation === null || row.charset === null
              ? null
              : { name: row.collation, charset: row.charset },
        },
        {
          asText: types?.get(row.name ?? "") === "VARCHAR",
          isKey: key.includes(row.name ?? ""),
        },
      ),
    ),
  };
}
