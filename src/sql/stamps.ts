import type { NamedColumn } from "./column-names.ts";
import type { Column, Stamp } from "./contract.ts";

/** The column that identifies a row. */
export const ROW_ID = "_dlt_id";

/**
 * Names of stamps that columns of the data have, but can't be: they aren't text, spell it otherwise, or had another
 * name in earlier loads.
 */
export const unlikeStamps = (
  columns: readonly (NamedColumn & { dataType: string })[],
  stamps: readonly Stamp[],
  table: readonly Column[],
): string[] =>
  stamps.flatMap(({ name: stamp }) => {
    const column = columns.find(({ name }) => name.toLowerCase() === stamp);
    if (!column) return [];
    const hasOther = table.some(
      ({ name, source }) => source === column.source && !columns.some((each) => each.name === name),
    );
    return hasOther || column.name !== stamp || column.dataType !== "VARCHAR" ? [stamp] : [];
  });

/** SQL that returns a row if the column of the relation has NULLs, or if it doesn't identify the rows although it should. */
export function unfitSql(stamp: string, column: string, relation: string): string {
  const values = `SELECT ${column} AS v FROM ${relation}`;
  return stamp === ROW_ID
    ? `SELECT 1 FROM (${values}) HAVING count(v) < count(*) OR count(DISTINCT hash(v)) < count(*)` // a third faster than by value
    : `SELECT 1 FROM (${values}) WHERE v IS NULL LIMIT 1`;
}

/** Names of stamps that columns of the data have, and may be if their values fit. */
export const likeStamps = (columns: readonly NamedColumn[], stamps: readonly Stamp[]): string[] =>
  stamps.flatMap(({ name }) => (columns.some((column) => column.name === name) ? [name] : []));
