import { Column, is, type SQL, sql } from "drizzle-orm";
import { SQLiteAsyncDialect, type SQLiteDialect, SQLiteSyncDialect } from "drizzle-orm/sqlite-core";

const CASING = { casing: "snake_case" } as const;

type Fields = readonly { readonly field: unknown }[];
type BuildSelection = (fields: Fields, options?: { isSingleTable?: boolean }) => SQL;

/** The SQL of each list of columns, by its first column. Columns live as long as the process. */
interface Known {
  fields: readonly unknown[];
  isSingleTable: boolean;
  text: string;
}

/**
 * Makes `dialect` build each list of columns once. Most queries select all columns of a table, and building their
 * names took two thirds of the time to build a query.
 */
function keepSelections<D extends SQLiteDialect>(dialect: D): D {
  const inside = dialect as unknown as { buildSelection: BuildSelection };
  const build = inside.buildSelection.bind(dialect);
  const known = new WeakMap<object, Known[]>();
  inside.buildSelection = (fields, options = {}) => {
    const { isSingleTable = false } = options;
    const [first] = fields;
    if (!is(first?.field, Column)) return build(fields, options);
    const lists = known.get(first.field) ?? [];
    const fits = (list: Known) =>
      list.isSingleTable === isSingleTable &&
      list.fields.length === fields.length &&
      list.fields.every((field, index) => field === fields[index]?.field);
    const kept = lists.find(fits);
    if (kept) return sql.raw(kept.text);
    const selection = build(fields, options);
    if (!fields.every(({ field }) => is(field, Column))) return selection;
    const { sql: text } = dialect.sqlToQuery(selection);
    known.set(first.field, [...lists, { fields: fields.map(({ field }) => field), isSingleTable, text }]);
    return selection;
  };
  return dialect;
}

/** Shared by all handles of the process, since it caches column names. */
export const syncDialect = keepSelections(new SQLiteSyncDialect(CASING));
export const asyncDialect = keepSelections(new SQLiteAsyncDialect(CASING));
