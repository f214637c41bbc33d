import { Column, getTableColumns, getTableName, is, Placeholder, type Query, sql } from "drizzle-orm";
import type { SQLiteTable, SQLiteUpdateBuilder } from "drizzle-orm/sqlite-core";
import type { Merging, RunResult, SqlValue, WriteDb } from "./store.ts";

/**
 * A statement that is built once for each database handle and cached: `byId(db)` returns it.
 *
 * For hot paths. Pass values through `sql.placeholder` to `.execute({ … })`, `.get` or `.all`.
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

/**
 * An update whose result nobody awaits, built once per handle. It is sent with the next awaited statement,
 * or with the commit. Its placeholders take values in their stored form. It can match no row.
 * An update of a single row, named by the placeholder `id`, can be merged with equal updates of other rows.
 */
export function changing<T extends SQLiteTable>(
  table: T,
  make: (update: SQLiteUpdateBuilder<T, "async", RunResult>) => { toSQL(): Query },
): (db: WriteDb, values: Readonly<Record<string, SqlValue>>) => Promise<void> {
  const statement = prepared((db: WriteDb) => {
    const { sql: text, params } = make(db.update(table)).toSQL();
    const key = params.findIndex((param) => is(param, Placeholder) && param.name === "id");
    const name = getTableName(table);
    const textFor = manyUpdates(text);
    const merging = { kind: text, table: name, width: params.length, textFor };
    return { run: db.statement(text, key < 0 ? undefined : { ...merging, key }), params };
  });
  return async (db, values) => {
    const { run, params } = statement(db);
    await run(
      params.map((param) => (is(param, Placeholder) ? (values[param.name] ?? null) : (param as SqlValue))),
    );
  };
}

const PARAMETER = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g;

/** Converts an update of one row to an update of many, whose values come from a list. */
function manyUpdates(text: string): NonNullable<Merging["textFor"]> {
  const texts = new Map<string, string>();
  const where = text.lastIndexOf(" where ");
  const make = (rows: number, nulls: readonly boolean[]): string => {
    let [at, column] = [0, 0];
    const inList = (part: string) =>
      part.replace(PARAMETER, (piece) => {
        if (piece !== "?") return piece;
        return nulls[at++] ? "null" : `v.column${++column}`;
      });
    const [changes, condition] = [inList(text.slice(0, where)), inList(text.slice(where))];
    const row = `(${Array.from({ length: column }, () => "?").join(", ")})`;
    return `${changes} from (values ${Array.from({ length: rows }, () => row).join(", ")}) as v${condition}`;
  };
  return (rows, nulls) => {
    const form = `${rows} ${nulls.map(Number).join("")}`;
    const text = texts.get(form) ?? make(rows, nulls);
    texts.set(form, text);
    return text;
  };
}

/** Mapping of a column without a custom one. */
const asItIs = Column.prototype.mapToDriverValue;

/**
 * An insert of whole rows, built once per handle and number of rows. The database fills the columns in `without`, and
 * values of those in `written` are already in their stored form. Drizzle only builds the statement and maps the values.
 */
export function insertInto<
  T extends SQLiteTable,
  const K extends keyof T["$inferSelect"] & string = never,
  const W extends keyof T["$inferSelect"] & string = never,
>(
  table: T,
  without: readonly K[] = [],
  written: readonly W[] = [],
): (db: WriteDb, ...rows: (Omit<T["$inferSelect"], K | W> & Record<W, SqlValue>)[]) => Promise<void> {
  const columns = Object.entries(getTableColumns(table))
    .filter(([name]) => !(without as readonly string[]).includes(name))
    .map(([name, column]) => ({
      name,
      column,
      isPlain: column.mapToDriverValue === asItIs || (written as readonly string[]).includes(name),
    }));
  const runners = prepared((_: WriteDb) => new Map<number, ReturnType<WriteDb["statement"]>>());

  const placeholders = Object.fromEntries(columns.map(({ name }) => [name, sql.placeholder(name)]));
  const texts = new Map<number, string>();
  const textOf = (db: WriteDb, count: number): string => {
    const known = texts.get(count);
    if (known !== undefined) return known;
    const { sql: text } = db
      .insert(table)
      .values(Array.from({ length: count }, () => placeholders) as T["$inferInsert"][])
      .toSQL();
    texts.set(count, text);
    return text;
  };
  const name = getTableName(table);
  const kind = `insert into ${name} ${without.join()}`;
  const build = (db: WriteDb, count: number) =>
    db.statement(textOf(db, count), {
      kind,
      table: name,
      width: columns.length,
      textFor: (rows) => textOf(db, rows),
    });

  return async (db, ...rows) => {
    const known = runners(db);
    const run = known.get(rows.length) ?? build(db, rows.length);
    known.set(rows.length, run);
    const values: SqlValue[] = [];
    for (const row of rows as Record<string, unknown>[]) {
      for (const { name, column, isPlain } of columns) {
        const value = row[name] ?? null;
        values.push((isPlain || value === null ? value : column.mapToDriverValue(value)) as SqlValue);
      }
    }
    await run(values);
  };
}
