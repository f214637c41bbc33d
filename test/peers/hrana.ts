import { Database, type SQLQueryBindings } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A libSQL server as far as our client sees one: Hrana 2 over HTTP with JSON
 * (https://github.com/tursodatabase/libsql/blob/main/docs/HRANA_2_SPEC.md), each stream with a connection of
 * its own to one SQLite file. Like the real one it has foreign keys on and recursive triggers off, gives up a stream
 * that is silent for 10 s, and a transaction that is not over after 5 s
 * (https://github.com/tursodatabase/libsql/issues/925). Unlike that one, where writers wait, it answers SQLITE_BUSY at once.
 */
export interface HranaServer extends AsyncDisposable {
  readonly url: string;
  /** The database's file. */
  readonly path: string;
  /** How many requests have come in. */
  readonly requests: number;
  /** Streams that are open, each of which may hold a transaction. */
  readonly streams: number;
  /** Statements as they were run, transaction control too. */
  readonly log: string[];
  /** Parameters as they came over the wire. */
  readonly values: Value[];
  /** Opens the file next to the server, as another process of the same database would see it. */
  connection(): Database;
  /** Answers so many of the coming requests with HTTP 500 without looking at them. */
  failNext(count: number): void;
  /** Forgets every open stream and its transaction, as a restart of the server does. */
  forgetStreams(): void;
}

type Value =
  | { type: "null" }
  | { type: "integer"; value: string }
  | { type: "float"; value: number }
  | { type: "text"; value: string }
  | { type: "blob"; base64: string };

interface Stmt {
  sql?: string;
  sql_id?: number;
  args?: Value[];
}

type Condition =
  | { type: "ok" | "error"; step: number }
  | { type: "not"; cond: Condition }
  | { type: "and" | "or"; conds: Condition[] };

type StreamRequest =
  | { type: "close" }
  | { type: "execute"; stmt: Stmt }
  | { type: "batch"; batch: { steps: { condition?: Condition | null; stmt: Stmt }[] } }
  | { type: "sequence"; sql?: string; sql_id?: number }
  | { type: "store_sql"; sql_id: number; sql: string }
  | { type: "close_sql"; sql_id: number };

type Heard = Pick<HranaServer, "log" | "values">;

interface Stream {
  connection: Database;
  texts: Map<number, string>;
  /** When its transaction began; null outside of one. */
  beganMs: number | null;
}

/** The real server waits 10 s; here everything shares two cores with other tests. */
const STREAM_MS = 60_000;
/** The real server waits 5 s. Others wait 10 s for their turn: the transaction of one that was killed is over by then. */
const TRANSACTION_MS = 8_000;

/** `path` names the database's file, which then stays; by default it is one of its own. */
export function startHrana(options: { token?: string; path?: string } = {}): HranaServer {
  const directory = mkdtempSync(join(tmpdir(), "hrana-"));
  const path = options.path ?? join(directory, "data.db");
  const streams = new Map<string, Stream & { expires: Timer }>();
  const log: string[] = [];
  const values: Value[] = [];
  let requests = 0;
  let failures = 0;

  const connect = () => {
    const connection = new Database(path, { create: true, safeIntegers: true });
    connection.run("PRAGMA journal_mode = WAL");
    connection.run("PRAGMA synchronous = OFF");
    connection.run("PRAGMA foreign_keys = ON");
    return connection;
  };
  const keeper = connect(); // holds the file open, so that short connections do not each end with a checkpoint

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      requests++;
      if (failures > 0) {
        failures--;
        return new Response("out of order", { status: 500 });
      }
      if (options.token && request.headers.get("authorization") !== `Bearer ${options.token}`) {
        return Response.json({ message: "Unauthorized", code: "AUTH_JWT_INVALID" }, { status: 401 });
      }
      if (new URL(request.url).pathname !== "/v2/pipeline") return new Response("not found", { status: 404 });
      const body = (await request.json()) as { baton?: string; requests: StreamRequest[] };
      const known = body.baton === undefined ? undefined : streams.get(body.baton);
      if (body.baton !== undefined && !known)
        return Response.json({ message: "The stream has expired", code: "STREAM_EXPIRED" }, { status: 400 });
      if (body.baton !== undefined) streams.delete(body.baton); // a baton is good once
      clearTimeout(known?.expires);
      const stream: Stream = known ?? { connection: connect(), texts: new Map(), beganMs: null };

      const results = body.requests.map((one) => answer(stream, one, { log, values }));
      if (body.requests.some((one) => one.type === "close")) {
        stream.connection.close();
        return Response.json({ baton: null, base_url: null, results });
      }
      const baton = crypto.randomUUID();
      stream.beganMs = stream.connection.inTransaction ? (stream.beganMs ?? performance.now()) : null;
      const leftMs = TRANSACTION_MS - (performance.now() - (stream.beganMs ?? 0));
      const expires = setTimeout(
        () => {
          streams.delete(baton);
          stream.connection.close();
        },
        stream.beganMs === null ? STREAM_MS : leftMs,
      );
      streams.set(baton, Object.assign(stream, { expires }));
      return Response.json({ baton, base_url: null, results });
    },
  });

  const forgetStreams = () => {
    for (const { connection, expires } of streams.values()) {
      clearTimeout(expires);
      connection.close();
    }
    streams.clear();
  };
  return {
    url: server.url.origin,
    path,
    get requests() {
      return requests;
    },
    get streams() {
      return streams.size;
    },
    log,
    values,
    connection: connect,
    failNext(count) {
      failures = count;
    },
    forgetStreams,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
      forgetStreams();
      keeper.close();
      rmSync(directory, { recursive: true });
    },
  };
}

function answer(stream: Stream, request: StreamRequest, heard: Heard) {
  try {
    return { type: "ok", response: { type: request.type, ...perform(stream, request, heard) } };
  } catch (error) {
    return { type: "error", error: told(error) };
  }
}

function perform(stream: Stream, request: StreamRequest, heard: Heard): object {
  switch (request.type) {
    case "close":
      return {};
    case "store_sql":
      stream.texts.set(request.sql_id, request.sql);
      return {};
    case "close_sql":
      stream.texts.delete(request.sql_id);
      return {};
    case "sequence":
      stream.connection.run(textOf(stream, request));
      return {};
    case "execute":
      return { result: execute(stream, request.stmt, heard) };
    case "batch":
      return { result: batch(stream, request.batch.steps, heard) };
  }
}

function batch(stream: Stream, steps: { condition?: Condition | null; stmt: Stmt }[], heard: Heard) {
  const results: (object | null)[] = [];
  const errors: (object | null)[] = [];
  const holds = (condition: Condition): boolean => {
    switch (condition.type) {
      case "ok":
        return results[condition.step] != null;
      case "error":
        return errors[condition.step] != null;
      case "not":
        return !holds(condition.cond);
      case "and":
        return condition.conds.every(holds);
      case "or":
        return condition.conds.some(holds);
    }
  };
  for (const { condition, stmt } of steps) {
    let result: object | null = null;
    let error: object | null = null;
    if (!condition || holds(condition)) {
      try {
        result = execute(stream, stmt, heard);
      } catch (thrown) {
        error = told(thrown);
      }
    }
    results.push(result);
    errors.push(error);
  }
  return { step_results: results, step_errors: errors };
}

function execute(stream: Stream, stmt: Stmt, heard: Heard) {
  const sql = textOf(stream, stmt);
  heard.log.push(sql);
  heard.values.push(...(stmt.args ?? []));
  const statement = stream.connection.prepare(sql);
  try {
    const args = (stmt.args ?? []).map(toBinding);
    const before = numberOf(stream.connection, "total_changes()");
    const rows = statement.values(...args) as unknown[][];
    const changed = numberOf(stream.connection, "total_changes()") !== before; // changes() keeps its last value
    return {
      cols: statement.columnNames.map((name) => ({ name, decltype: null })),
      rows: rows.map((row) => row.map(toValue)),
      affected_row_count: changed ? numberOf(stream.connection, "changes()") : 0,
      last_insert_rowid: null,
    };
  } finally {
    statement.finalize();
  }
}

const numberOf = (connection: Database, call: string) =>
  Number((connection.query(`SELECT ${call} AS n`).get() as { n: bigint }).n);

function textOf(stream: Stream, named: { sql?: string; sql_id?: number }): string {
  const text = named.sql ?? stream.texts.get(named.sql_id ?? -1);
  if (text === undefined) throw new Error("There is no such stored text.");
  return text;
}

function toBinding(value: Value): SQLQueryBindings {
  switch (value.type) {
    case "null":
      return null;
    case "integer":
      return BigInt(value.value);
    case "blob":
      return Buffer.from(value.base64, "base64");
    default:
      return value.value;
  }
}

function toValue(value: unknown): Value {
  if (value === null) return { type: "null" };
  if (typeof value === "bigint") return { type: "integer", value: String(value) };
  if (typeof value === "number") return { type: "float", value };
  if (typeof value === "string") return { type: "text", value };
  return { type: "blob", base64: Buffer.from(value as Uint8Array).toString("base64") };
}

function told(error: unknown): { message: string; code?: string } {
  const { message, code } = error as Error & { code?: string };
  return { message: `SQLite error: ${message}`, code: code ?? "SQLITE_ERROR" };
}
