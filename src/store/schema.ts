import { sql } from "drizzle-orm";
import { triggerBody } from "./postgres-migrations.ts";
import type { ReadDb } from "./store.ts";

/** The names of the tables that have a column, in order. */
export async function tablesWith(db: ReadDb, column: string): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    sql`select m.name as "name" from sqlite_master m join pragma_table_info(m.name) c on c.name = ${column}
      where m.type = 'table' order by m.name`,
  );
  return rows.map(({ name }) => name);
}

/** The columns of a table's primary key, in order. Empty for a missing table. */
export async function keyOf(db: ReadDb, table: string): Promise<string[]> {
  const rows = await db.all<{ name: string; pk: number }>(
    sql`select name as "name", pk as "pk" from pragma_table_info(${table}) where pk > 0`,
  );
  return rows.sort((a, b) => a.pk - b.pk).map(({ name }) => name);
}

/** True for a table whose rows have a `rowid`, which only SQLite has. */
export async function hasRowid(db: ReadDb, table: string): Promise<boolean> {
  const [row] = await db.all<{ sql: string }>(
    sql`select sql as "sql" from sqlite_master where type = 'table' and name = ${table}`,
  );
  return row !== undefined && !/WITHOUT ROWID/i.test(row.sql);
}

/** Whether a trigger in the database matches `text`, a statement of a migration. */
export const isSameTrigger = (text: string, found: string | undefined): boolean =>
  found === text ||
  (found?.startsWith("CREATE TRIGGER") === true && found.endsWith(` O ${triggerBody(text)}`));
