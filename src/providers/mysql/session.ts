import type { Socket } from "node:net";
import type { Connection, ConnectionOptions } from "mysql2";
import { AppError } from "../../base/errors.ts";
import { openSocket } from "../postgres/socket.ts";
import { type Route, routeOf, sslModeOf } from "../sql/route.ts";
import { type ServerLink, serverOf } from "../sql/shape.ts";
import { failedTls, refusesPlain, toFailure } from "./failure.ts";
import { BlockReader, type Cell } from "./reader.ts";
import { MYSQL } from "./shape.ts";

/** One connection in one transaction: UTC, UTF-8, standard quoting. */
export interface Session {
  /** The rows of one statement, as text by column name. */
  rows<Name extends string>(sql: string): Promise<Record<Name, string | null>[]>;
  /** Runs a statement. Returns the number of changed rows. */
  change(sql: string): Promise<number>;
  /** The rows of one SELECT in blocks; the server pauses while the reader is slow. */
  stream(sql: string): AsyncGenerator<Cell[][]>;
  /** Commits the transaction. Nothing else may be running. */
  commit(): Promise<void>;
  /** Starts another transaction after `commit`. */
  begin(): Promise<void>;
  /** Stops the running statement, also on the server, and closes the connection. */
  close(): Promise<void>;
  /** Converts an error of this session to an `AppError`, or to the signal's reason after an abort. */
  failure(error: unknown): unknown;
}

/** From the first packet to the end of the sign-in. */
const SIGN_IN_MS = 10_000;

/** Time in milliseconds for the server to accept a request to stop a query. */
const KILL_MS = 2_000;

/** Time that the server waits for a slow reader before it closes the connection. Its default is a minute. */
const SLOW_READER_SECONDS = 3_600;

type Security = "none" | "required" | "verify-ca" | "verify-full";

/** What each `sslMode` tries, in order. */
const ATTEMPTS: Readonly<Record<string, readonly Security[]>> = {
  disable: ["none"],
  allow: ["none", "required"],
  prefer: ["required", "none"],
  require: ["required"],
  "verify-ca": ["verify-ca"],
  "verify-full": ["verify-full"],
};

/** Without this mode, the end of a string would depend on the server's settings. */
const READING = "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'";
/** Values that don't fit are errors, zero isn't replaced, and a line feed in a string is a backslash and an n. */
const WRITING =
  "'ANSI_QUOTES,STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION'";
/** A writing session whose client vanished releases its locks after this time. */
const DEAD_PEER_SECONDS = 600;

/**
 * Connects, and starts a transaction for reading. Writers start one when the rows are staged. Throws the error from
 * `toFailure`, and the signal's reason.
 */
export async function openSession(
  link: ServerLink,
  statementTimeoutMs: number,
  { mayWrite } = { mayWrite: false },
): Promise<Session> {
  const attempts = ATTEMPTS[sslModeOf(link.config)] ?? ["required", "none"];
  for (const [index, security] of attempts.entries()) {
    const again = security === "none" ? refusesPlain : failedTls;
    try {
      return await begin(link, { security, statementTimeoutMs, mayWrite });
    } catch (error) {
      link.signal.throwIfAborted();
      if (index + 1 < attempts.length && again(error)) continue;
      throw failureOf(link, error);
    }
  }
  throw new AppError("internal", "No way to connect was tried.");
}

const failureOf = (link: ServerLink, error: unknown): unknown =>
  link.signal.aborted
    ? link.signal.reason
    : toFailure(error, serverOf(link.config, MYSQL), {
        user: link.credentials.user,
        database: link.config.database,
      });

async function begin(
  link: ServerLink,
  {
    security,
    statementTimeoutMs,
    mayWrite,
  }: { security: Security; statementTimeoutMs: number; mayWrite: boolean },
): Promise<Session> {
  const connection = await connect(link, security, link.signal);
  const session = sessionOf(link, connection, { security, mayWrite });
  try {
    const [row] = await session.rows<"version">("SELECT VERSION() AS version");
    const limit = /mariadb/i.test(row?.version ?? "")
      ? `max_statement_time = ${statementTimeoutMs / 1000}`
      : `max_execution_time = ${statementTimeoutMs}`;
    const wait = mayWrite ? `, wait_timeout = ${DEAD_PEER_SECONDS}` : "";
    await session.rows(
      `SET SESSION sql_mode = ${mayWrite ? WRITING : READING}${wait}, time_zone = '+00:00', net_write_timeout = ${SLOW_READER_SECONDS}, ${limit}`,
    );
    await session.rows("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    if (!mayWrite) await session.begin();
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** A signed-in connection, over a socket to the address that egress checked. */
async function connect(link: ServerLink, security: Security, signal: AbortSignal): Promise<Connection> {
  const { createConnection } = await import("mysql2");
  const server = serverOf(link.config, MYSQL);
  const route = routeOf(link);
  const socket = await openSocket(link.egress, server, "none", signal, route);
  const connection = createConnection(libraryOptions(link, server, security, socket, route));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  connection.once("connect", () => resolve());
  connection.on("error", reject); // later errors also reach the running query; this only keeps them from being uncaught
  try {
    await promise;
    return connection;
  } catch (error) {
    connection.destroy();
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

const libraryOptions = (
  { config, credentials }: ServerLink,
  { host, port }: { host: string; port: number },
  security: Security,
  stream: Socket,
  { tls }: Route,
): ConnectionOptions => ({
  stream,
  host, // name for the certificate only
  port,
  user: credentials.user,
  password: credentials.password ?? "",
  database: config.database,
  charset: "utf8mb4",
  connectTimeout: SIGN_IN_MS,
  flags: ["-LOCAL_FILES", "-FOUND_ROWS"], // a server can request a client's files; matched rows that didn't change aren't counted
  ...(security === "none"
    ? {}
    : {
        ssl: {
          ...tls,
          rejectUnauthorized: security !== "required",
          verifyIdentity: security === "verify-full",
        },
      }),
});

function sessionOf(
  link: ServerLink,
  connection: Connection,
  { security, mayWrite }: { security: Security; mayWrite: boolean },
): Session {
  const { signal } = link;
  let isWorking = false;
  let closed: Promise<void> | null = null;
  const end = async () => {
    signal.removeEventListener("abort", abort);
    if (isWorking && connection.threadId) await killQuery(link, security, connection.threadId);
    connection.destroy();
  };
  const close = () => {
    closed ??= end();
    return closed;
  };
  // Waiting callers get the signal's reason. Errors while closing add nothing.
  const abort = () => close().catch(() => undefined);
  signal.addEventListener("abort", abort, { once: true });

  async function* blocks(sql: string): AsyncGenerator<Cell[][]> {
    signal.throwIfAborted();
    isWorking = true;
    const reader = new BlockReader(link, connection, sql);
    try {
      yield* reader.blocks();
      isWorking = false;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  async function run(sql: string): Promise<unknown> {
    signal.throwIfAborted();
    isWorking = true;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    connection.query({ sql, typeCast: false }, (error, result) => (error ? reject(error) : resolve(result)));
    const result = await promise.finally(() => signal.removeEventListener("abort", stop));
    isWorking = false;
    return result;
  }

  async function rows<Name extends string>(sql: string) {
    const result = await run(sql);
    return (Array.isArray(result) ? (result as Record<string, Cell>[]) : []).map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, cell?.toString("utf8") ?? null])),
    ) as Record<Name, string | null>[];
  }

  return {
    rows,
    change: async (sql) => ((await run(sql)) as { affectedRows?: number }).affectedRows ?? 0,
    commit: async () => void (await rows("COMMIT")),
    begin: async () =>
      void (await rows(
        `START TRANSACTION ${mayWrite ? "READ WRITE" : "WITH CONSISTENT SNAPSHOT, READ ONLY"}`,
      )),
    stream: blocks,
    close,
    failure: (error) => failureOf(link, error),
  };
}

/** Asks the server, over a separate connection, to stop a running query. */
async function killQuery(link: ServerLink, security: Security, threadId: number): Promise<void> {
  const signal = AbortSignal.timeout(KILL_MS);
  let connection: Connection | null = null;
  try {
    const killer = await connect(link, security, signal);
    connection = killer;
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
      killer.query(`KILL QUERY ${Math.trunc(threadId)}`, () => resolve());
    });
  } catch (error) {
    // The connection is closed next, which stops the query as soon as the server writes to it.
    if (!(error instanceof Error) && !signal.aborted) throw error;
  } finally {
    connection?.destroy();
  }
}
