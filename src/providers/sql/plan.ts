import { AppError } from "../../base/errors.ts";
import type { Column } from "../../sql/contract.ts";
import { quoteName } from "../../sql/text.ts";
import type { TableLoad, TablePlan } from "../contract-tables.ts";
import { forValue, type Way } from "./ways.ts";

/** A column of the destination. */
export interface TargetColumn {
  name: string;
  /** The destination's type name. */
  type: string;
  nullable: boolean;
  /** How values of a DuckDB type are written to it; null if they can't be. */
  way(dataType: string): Way | null;
}

/** Columns of the rows, each with its destination column and checks of its values. */
export interface Matched {
  columns: readonly string[];
  key: readonly string[];
  checks: TablePlan["checks"];
  /** With `$` for the column's own name. */
  fields: readonly { sql: string; isQuoted: boolean }[];
}

/**
 * Finds the destination column for each column of the rows: by its exact name, else by its name after `fold`. Throws
 * `schema_contract_violation` with a column that can't be written, `definition_invalid` for a wrong key.
 */
export function matchColumns(
  table: string,
  load: Pick<TableLoad, "primaryKey" | "writeDisposition">,
  targets: readonly TargetColumn[],
  columns: readonly Column[],
  fold: (name: string) => string,
): Matched {
  const missing = load.primaryKey.find((name) => !columns.some((column) => same(column.name, name)));
  if (missing !== undefined)
    throw new AppError(
      "definition_invalid",
      `The SELECT has no column "${missing}", which primaryKey names.`,
    );
  const key = columns.map(({ name }) => name).filter((name) => load.primaryKey.some((k) => same(k, name)));
  const seen = new Map<string, string>();
  const matched = columns.map(({ name, dataType }) => {
    const target =
      targets.find((each) => each.name === name) ?? targets.find((each) => fold(each.name) === fold(name));
    if (!target)
      throw violation(
        table,
        name,
        `${table} has no column "${name}". Leave it out of the SELECT, or add it there.`,
      );
    const twin = seen.get(target.name);
    if (twin !== undefined)
      throw violation(
        table,
        name,
        `The columns "${twin}" and "${name}" are the same column in ${table}. Rename one of them.`,
      );
    seen.set(target.name, name);
    const way = target.way(dataType);
    if (!way) {
      const message = `The column "${name}" is ${dataType}, and ${table} has it as ${target.type}. Cast it in the SQL.`;
      throw violation(table, name, message, { from: dataType, to: target.type });
    }
    const value = quoteName(name);
    const refusesNull = !target.nullable || (load.writeDisposition === "merge" && key.includes(name));
    const checks = [
      ...(refusesNull ? [{ condition: "$ IS NULL", why: "NULL, which the table doesn't allow" }] : []),
      ...way.checks,
    ].map(({ condition, why }) => ({ column: name, condition: forValue(condition, value), why }));
    return { target: target.name, checks, field: { sql: forValue(way.sql, value), isQuoted: way.isQuoted } };
  });
  return {
    columns: matched.map(({ target }) => target),
    key: load.writeDisposition === "merge" ? key : [],
    checks: matched.flatMap(({ checks }) => checks),
    fields: matched.map(({ field }) => field),
  };
}

const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

const violation = (table: string, column: string, message: string, more: object = {}) =>
  new AppError("schema_contract_violation", message, { details: { table, column, ...more } });

/** Error for rows that the destination refused, with its message. */
export const refusedRows = (table: string, message: string, column: string | null, cause: unknown) =>
  new AppError("schema_contract_violation", `${table} refused the rows: ${message}. Nothing was written.`, {
    details: { table, ...(column === null ? {} : { column }) },
    cause,
  });

/** Error for keys that differ in the rows but not in the destination, as in a case-insensitive collation. */
export const equalKeys = (table: string, key: readonly string[], values: readonly (string | null)[]) =>
  new AppError(
    "schema_contract_violation",
    `Several rows have one key in ${table}: ${key.map((name, at) => `${name} = ${values[at]}`).join(", ")}. Nothing was written.`,
    { details: { table, key: [...key] } },
  );

/** Table in the destination's schema with one row for each committed load. */
export const LOADS_TABLE = "_weir_loads";
