import { getTableColumns, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { WriteDb } from "./store.ts";

/**
 * A statement that is built once for each database handle and kept: `byId(db)` gives it back.
 *
 * For the hot paths. Values go in through `sql.placeholder`, at `.execute({ … })`, `.get` or `.all`.
 */
export function prepared<D extends object, S>(make: (db: D) => S): (db: D) => S {
  const made = new WeakMap<D, S>();
  return (db) => {
    let statement = made.get(db);
    if (statement === undefined) {
      statement = make(db);
      made.set(db, statement);
    }
    return statement;
  };
}

/** An insert of a whole row, built once for each handle; columns named in `without` are left to the database. */
export function insertInto<T extends SQLiteTable, const K extends keyof T["$inferSelect"] & string = never>(
  table: T,
  without: readonly K[] = [],
): (db: WriteDb, row: Omit<T["$inferSelect"], K>) => Promise<void> {
  const names = Object.keys(getTableColumns(table)).filter(
    (name) => !(without as readonly string[]).includes(name),
  );
  const values = Object.fromEntries(names.map((name) => [name, sql.placeholder(name)]));
  const statement = prepared((db: WriteDb) =>
    db
      .insert(table)
      .values(values as T["$inferInsert"])
      .prepare(),
  );
  return async (db, row) => {
    await statement(db).run(row as Record<string, unknown>);
  };
}
