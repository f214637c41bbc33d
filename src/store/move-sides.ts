import type { SQLQueryBindings } from "bun:sqlite";
import { openWriter } from "./file.ts";
import { readOver } from "./postgres.ts";
import { PostgresClient } from "./postgres-driver.ts";
import { Reader } from "./sqlite.ts";
import type { ReadDb, RemoteStoreOptions } from "./store.ts";

/** The source or target database of a move, in one transaction of its own. */
export interface Side {
  readonly isPostgres: boolean;
  readonly db: ReadDb;
  rows(sql: string, values?: readonly unknown[]): Promise<unknown[][]>;
  /** Disables the triggers of these tables until `commit`. */
  begin(tables: readonly string[]): Promise<void>;
  insert(table: string, columns: readonly MovedColumn[], rows: readonly unknown[][]): Promise<void>;
  run(sql: string, values: readonly unknown[]): Promise<void>;
  /** Enables the triggers again, and continues numbering after the existing rows. */
  finish(tables: readonly string[]): Promise<void>;
  commit(): Promise<void>;
  close(): Promise<void>;
}

export interface MovedColumn {
  name: string;
  /** As in `pragma_table_info`. */
  type: string;
}

const quoted = (name: string) => `"${name}"`;
const listed = (columns: readonly MovedColumn[]) => columns.map(({ name }) => quoted(name)).join(", ");

/** A database file that no server has open. */
export function fileSide(path: string): Side {
  const connection = openWriter(path);
  const reading = new Reader(connection); // within the transaction too
  let triggers: string[] = [];
  return {
    isPostgres: false,
    db: reading.db,
    async rows(sql, values = []) {
      using statement = connection.prepare(sql);
      return statement.values(...(values as SQLQueryBindings[])) as unknown[][];
    },
    async begin(tables) {
      connection.run("BEGIN IMMEDIATE");
      if (tables.length === 0) return;
      connection.run("PRAGMA defer_foreign_keys = ON");
      const found = connection.query("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all();
      triggers = (found as { sql: string }[]).map(({ sql }) => sql);
      for (const { name } of found as { name: string }[]) connection.run(`DROP TRIGGER ${name}`);
    },
    async insert(table, columns, rows) {
      using statement = connection.prepare(
        `INSERT INTO ${table} (${listed(columns)}) VALUES (${columns.map(() => "?").join(", ")})`,
      );
      for (const row of rows) statement.run(...(row as SQLQueryBindings[]));
    },
    async run(sql, values) {
      connection.run(sql, values as SQLQueryBindings[]);
    },
    async finish() {
      for (const sql of triggers) connection.run(sql);
    },
    async commit() {
      connection.run("COMMIT");
    },
    async close() {
      if (connection.inTransaction) connection.run("ROLLBACK");
      reading.close();
    },
  };
}

/** A PostgreSQL database that no server has open. */
export function postgresSide(options: Pick<RemoteStoreOptions, "url" | "token" | "ca">): Side {
  const client = new PostgresClient({ ...options, max: 1 });
  const rows: Side["rows"] = async (sql, values = []) =>
    (await client.perform(sql, "values", values)) as unknown[][];
  return {
    isPostgres: true,
    db: readOver(client),
    rows,
    async begin(tables) {
      await client.simple(
        `BEGIN READ WRITE; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; ${tables
          .map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`)
          .join("; ")}`,
      );
    },
    async insert(table, columns, inserted) {
      const values = columns.map(({ type }, n) => (type === "text" ? `v ->> ${n}` : `(v ->> ${n})::${type}`));
      await client.perform(
        `INSERT INTO ${table} (${listed(columns)}) SELECT ${values.join(", ")} FROM json_array_elements(readable_json(?)) v`,
        "run",
        [JSON.stringify(inserted)],
      );
    },
    async run(sql, values) {
      await client.perform(sql, "run", values);
    },
    async finish(tables) {
      for (const table of tables) {
        await client.simple(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
        const [[sequence] = []] = await rows(
          `SELECT pg_get_serial_sequence('${table}', a.attname) FROM pg_attribute a
            WHERE a.attrelid = '${table}'::regclass AND a.attidentity <> ''`,
        );
        if (sequence)
          await client.simple(
            `SELECT setval('${String(sequence)}', coalesce((SELECT max(seq) FROM ${table}), 0) + 1, false)`,
          );
      }
    },
    async commit() {
      await client.simple("SAVEPOINT whole; COMMIT");
    },
    close: () => client.close(),
  };
}
