import { Database } from "bun:sqlite";
import { createHash, timingSafeEqual } from "node:crypto";
import type { EventEmitter } from "node:events";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";
import mysql from "mysql2";

/** Members of the library's server mode that its types lack. */
interface ServerConnection extends EventEmitter {
  stream: Socket;
  /** Each command restarts the count of packets, which the library leaves to its user. */
  sequenceId: number;
  serverHandshake(options: object): void;
  writeOk(): void;
  writeError(error: { code: number; message: string }): void;
  writeTextResult(rows: object[], columns: object[]): void;
  writeColumns(columns: object[]): void;
  writeTextRow(cells: (string | null)[]): void;
  writeEof(): void;
}

type Cell = string | number | bigint | null;

const SYSTEM_ROWS = [["mysql", "user", "BASE TABLE"]] as const;

/** All capabilities of a version 8 server, except TLS (2^11) and the newer end of a result (2^24). */
const CAPABILITIES = 0xffffff & ~0x800 & ~0x20;
const UTF8MB4 = 45;
const VAR_STRING = 253;

export const mysqlUser = { user: "reader", password: "pa'ss\"word" };

/**
 * A server with MySQL's protocol over a real socket, by the server mode of mysql2, with data from SQLite:
 * sign-in with a scrambled password, databases and permissions, `information_schema`, the error numbers. It has no TLS.
 * `await using` ends it.
 */
export async function startMysql() {
  const db = new Database(":memory:", { safeIntegers: true });
  db.run("ATTACH ':memory:' AS information_schema");
  db.run("CREATE TABLE information_schema.tables (table_schema TEXT, table_name TEXT, table_type TEXT)");
  db.run(
    "CREATE TABLE information_schema.columns (table_schema TEXT, table_name TEXT COLLATE NOCASE, column_name TEXT, column_type TEXT, data_type TEXT, is_nullable TEXT, numeric_precision INTEGER, numeric_scale INTEGER, ordinal_position INTEGER, character_set_name TEXT, collation_name TEXT)",
  );
  for (const row of SYSTEM_ROWS) db.run("INSERT INTO information_schema.tables VALUES (?, ?, ?)", [...row]);
  const schemas = new Set<string>();
  const queries: string[] = [];
  const killed: number[] = [];
  const state = {
    password: mysqlUser.password,
    /** Databases that exist but that the user can't access. */
    forbidden: ["secret"],
    /** The connection breaks after this many rows of a table. */
    cutAfter: Number.POSITIVE_INFINITY,
    /** A result never arrives, until the query is killed. */
    isStuck: false,
    refusal: null as { code: number; message: string } | null,
  };
  const sockets = new Map<number, Socket>();
  // The types say that `createServer` starts it, but its only argument is a listener.
  const server = (
    mysql as unknown as {
      createServer(): EventEmitter & { listen(...args: unknown[]): unknown; _server: NetServer };
    }
  ).createServer();
  let ids = 0;

  server.on("connection", (connection: ServerConnection) => {
    const id = ++ids;
    sockets.set(id, connection.stream);
    connection.on("error", () => connection.stream.destroy());
    if (state.refusal) {
      connection.writeError(state.refusal);
      connection.stream.end();
      return;
    }
    const take = (sql: string) => {
      answer(connection, sql);
      connection.sequenceId = 0;
    };
    connection.on("stmt_prepare", take); // The library's name for SET.
    connection.on("query", take);
    connection.serverHandshake({
      protocolVersion: 10,
      serverVersion: "8.0.36",
      connectionId: id,
      statusFlags: 2,
      characterSet: UTF8MB4,
      capabilityFlags: CAPABILITIES,
      authCallback(given: SignIn, done: (error: null, refusal?: { code: number; message: string }) => void) {
        done(null, refusalOf(given));
        connection.sequenceId = 0;
      },
    });
  });

  function refusalOf(given: SignIn): { code: number; message: string } | undefined {
    if (given.user !== mysqlUser.user || !isPassword(given, state.password)) {
      return {
        code: 1045,
        message: `Access denied for user '${given.user}'@'127.0.0.1' (using password: YES)`,
      };
    }
    if (state.forbidden.includes(given.database)) {
      return {
        code: 1044,
        message: `Access denied for user '${given.user}' to database '${given.database}'`,
      };
    }
    if (!schemas.has(given.database)) return { code: 1049, message: `Unknown database '${given.database}'` };
    return undefined;
  }

  function answer(connection: ServerConnection, sql: string): void {
    queries.push(sql);
    const kill = /^KILL QUERY (\d+)$/.exec(sql)?.[1];
    if (kill) {
      killed.push(Number(kill));
      return connection.writeOk();
    }
    if (/^(SET|START TRANSACTION)\b/.test(sql)) return connection.writeOk();
    if (state.isStuck && / FROM `/.test(sql)) return;
    try {
      if (sql.startsWith("EXPLAIN ")) {
        db.prepare(translated(sql.slice(8)));
        return connection.writeOk();
      }
      const statement = db.prepare(translated(sql));
      const columns = statement.columnNames.map(columnPacket);
      connection.writeColumns(columns);
      let given = 0;
      for (const row of statement.values() as Cell[][]) {
        if (given++ >= state.cutAfter) return void connection.stream.destroy();
        connection.writeTextRow(row.map((cell) => (cell === null ? null : String(cell))));
      }
      connection.writeEof();
    } catch (error) {
      connection.writeError(faultOf(error));
    }
  }

  server.listen(0, "127.0.0.1");
  await new Promise<void>((resolve) => server._server.once("listening", resolve));
  const { port } = server._server.address() as AddressInfo;
  return {
    host: "127.0.0.1",
    port,
    queries,
    killed,
    state,
    config: { host: "127.0.0.1", port, database: "shop" },
    /** Creates or replaces a table; `columns` has MySQL's types, rows have the texts that MySQL shows. */
    table(schema: string, name: string, columns: Record<string, string>, rows: Cell[][]) {
      if (!schemas.has(schema)) db.run(`ATTACH ':memory:' AS ${quote(schema)}`);
      schemas.add(schema);
      db.run("DELETE FROM information_schema.tables WHERE table_schema = ? AND table_name = ?", [
        schema,
        name,
      ]);
      db.run("DELETE FROM information_schema.columns WHERE table_schema = ? AND table_name = ?", [
        schema,
        name,
      ]);
      db.run("INSERT INTO information_schema.tables VALUES (?, ?, 'BASE TABLE')", [schema, name]);
      const declared = Object.entries(columns).map(([column, type], at) => {
        const [, base = "", digits = null, scale = null] = /^(\w+)(?:\((\d+)(?:,(\d+))?\))?/.exec(type) ?? [];
        const nullable = type.includes("not null") ? "NO" : "YES";
        const own = [
          schema,
          name,
          column,
          type.replace(" not null", ""),
          base,
          nullable,
          digits,
          scale,
          at + 1,
        ];
        db.run("INSERT INTO information_schema.columns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", own);
        return `${quote(column)} ${/int|year|bit/.test(base) ? "INTEGER" : /float|double/.test(base) ? "REAL" : "TEXT"}`;
      });
      const place = `${quote(schema)}.${quote(name)}`;
      db.run(`DROP TABLE IF EXISTS ${place}`);
      db.run(`CREATE TABLE ${place} (${declared.join(", ")})`);
      const insert = db.prepare(`INSERT INTO ${place} VALUES (${declared.map(() => "?").join(", ")})`);
      db.transaction(() => {
        for (const row of rows) insert.run(...row);
      })();
    },
    /** Runs SQLite SQL on the tables, to change them. */
    change: (sql: string) => void db.run(sql),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.values()) socket.destroy();
      await new Promise<void>((resolve) => server._server.close(() => resolve()));
      db.close();
    },
  };
}

export type TestMysql = Awaited<ReturnType<typeof startMysql>>;

interface SignIn {
  user: string;
  database: string;
  authPluginData1: Buffer;
  authPluginData2: Buffer;
  authToken: Buffer;
}

const sha1 = (...parts: (string | Buffer)[]): Buffer => {
  const hash = createHash("sha1");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** `mysql_native_password`: SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password))). */
function isPassword({ authPluginData1, authPluginData2, authToken }: SignIn, password: string): boolean {
  const once = sha1(password);
  const mask = sha1(authPluginData1, authPluginData2, sha1(once));
  const expected = once.map((byte, at) => byte ^ (mask[at] ?? 0));
  return authToken?.length === 20 && timingSafeEqual(expected, authToken);
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Translates the MySQL that the provider writes to SQLite. */
const translated = (sql: string): string =>
  sql
    .replace(/_utf8mb4 X'([0-9a-f]*)'/g, "CAST(X'$1' AS TEXT)")
    .replace(/\b(?:DATE|TIMESTAMP)'/g, "'")
    .replace(
      / AND \(DAYOFMONTH\(\S+ BETWEEN 1 AND DAYOFMONTH\(LAST_DAY\(\S+\)\)\) IS NOT TRUE/g,
      " AND FALSE",
    )
    .replace(/ AND DAYOFMONTH\(\S+ BETWEEN 1 AND DAYOFMONTH\(LAST_DAY\(\S+\)\)/g, "")
    .replace(/CONVERT\((`(?:[^`]|``)*`) USING utf8mb4\) COLLATE utf8mb4_bin/g, "$1")
    .replace("VERSION()", "'8.0.36'");

function faultOf(error: unknown): { code: number; message: string } {
  const message = error instanceof Error ? error.message : String(error);
  const column = /no such column: (.*)/.exec(message)?.[1];
  if (column) return { code: 1054, message: `Unknown column '${column}' in 'where clause'` };
  return { code: 1064, message: `You have an error in your SQL syntax: ${message}` };
}

const columnPacket = (name: string) => ({
  catalog: "def",
  schema: "",
  table: "",
  orgTable: "",
  name,
  orgName: name,
  characterSet: UTF8MB4,
  columnLength: 1024,
  columnType: VAR_STRING,
  flags: 0,
  decimals: 0,
});
