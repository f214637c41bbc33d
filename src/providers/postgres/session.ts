import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import type Postgres from "postgres";
import { AppError } from "../../base/errors.ts";
import { type HostAndPort, routeOf, sslModeOf } from "../sql/route.ts";
import { type ServerLink, serverOf } from "../sql/shape.ts";
import { joinCopyData } from "./copy-frames.ts";
import { copyIn } from "./copy-in.ts";
import { refusesSecurity, toFailure } from "./failure.ts";
import { pump } from "./pump.ts";
import { POSTGRES } from "./shape.ts";
import { addressOf, cancelQuery, openSocket, type Security, TlsFailure } from "./socket.ts";

/** One connection in one transaction: UTC, ISO dates, UTF-8. */
export interface Session {
  /** The rows of one trusted statement; `$1` … are bound. */
  rows<Row>(sql: string, parameters?: readonly (string | number | boolean | null)[]): Promise<Row[]>;
  /** The type OIDs of a statement's parameters; it is parsed but not run. */
  parameterTypes(sql: string): Promise<number[]>;
  /** Runs a statement. Returns the number of changed rows. */
  change(sql: string, parameters?: readonly (string | number | null)[]): Promise<number>;
  /** Sends `bytes` to one trusted `COPY … FROM STDIN`, as fast as the server reads them. Returns the number of rows. */
  send(sql: string, bytes: AsyncIterable<Uint8Array>): Promise<number>;
  /** The output of one `COPY … TO STDOUT`; the server pauses while the reader is slow. */
  copy(sql: string): Promise<AsyncGenerator<Uint8Array>>;
  /** Commits the transaction. Nothing else may be running. */
  commit(): Promise<void>;
  /** Starts another transaction after `commit`. */
  begin(): Promise<void>;
  /** Stops the running statement, also on the server, and closes the connection. */
  close(): Promise<void>;
  /** Converts an error of this session to an `AppError`, or to the signal's reason after an abort. */
  failure(error: unknown): unknown;
}

/** Seconds from the startup message until the server is ready. */
const START_TIMEOUT_SECONDS = 10;

/** Attempts for each `sslMode`, in order, as in libpq. The second follows if TLS failed. */
const ATTEMPTS: Readonly<Record<string, readonly Security[]>> = {
  disable: ["none"],
  allow: ["none", "required"],
  prefer: ["offered", "none"],
  require: ["required"],
  "verify-ca": ["verify-ca"],
  "verify-full": ["verify-full"],
};

/**
 * Connects and starts a transaction; one that may write reads only committed data. Throws the error from `toFailure`,
 * and the signal's reason.
 */
export async function openSession(
  link: ServerLink,
  statementTimeoutMs: number,
  { mayWrite } = { mayWrite: false },
): Promise<Session> {
  const server = serverOf(link.config, POSTGRES);
  const attempts = ATTEMPTS[sslModeOf(link.config)] ?? ["offered", "none"];
  const { default: postgres } = await import("postgres"); // few servers read from PostgreSQL
  for (const [index, security] of attempts.entries()) {
    const session = connect(link, server, { postgres, security, statementTimeoutMs, mayWrite });
    try {
      await session.begin();
      return session;
    } catch (error) {
      await session.close();
      const last = index === attempts.length - 1;
      if (!link.signal.aborted && !last && (error instanceof TlsFailure || refusesSecurity(error))) continue;
      throw session.failure(error);
    }
  }
  throw new AppError("internal", "No way to connect was tried.");
}

/** A writing session whose client vanished releases its locks after this time. */
const DEAD_PEER = `
  SET LOCAL tcp_keepalives_idle = 60;
  SET LOCAL tcp_keepalives_interval = 10;
  SET LOCAL tcp_keepalives_count = 6;
  SET LOCAL idle_in_transaction_session_timeout = '10min';`;

const preamble = (statementTimeoutMs: number, mayWrite: boolean) => `
  BEGIN ISOLATION LEVEL ${mayWrite ? "READ COMMITTED READ WRITE" : "REPEATABLE READ READ ONLY"};${mayWrite ? DEAD_PEER : ""}
  SET LOCAL statement_timeout = ${statementTimeoutMs};
  SET LOCAL timezone = 'UTC';
  SET LOCAL datestyle = 'ISO, YMD';
  SET LOCAL intervalstyle = 'postgres';
  SET LOCAL extra_float_digits = 3;
  SET LOCAL bytea_output = 'hex';
  SET LOCAL standard_conforming_strings = on`;

interface SessionOptions {
  /** The library. */
  postgres: typeof Postgres;
  security: Security;
  statementTimeoutMs: number;
  mayWrite: boolean;
}

/** A session that connects on its first statement. */
function connect(
  link: ServerLink,
  server: HostAndPort,
  { postgres, security, statementTimeoutMs, mayWrite }: SessionOptions,
): Session {
  const { egress, credentials, config, signal, clock } = link;
  const route = routeOf(link);
  let socket: Socket | null = null;
  // The library's types omit `socket`, so it is passed separately.
  const options = {
    ...libraryOptions(link, server),
    async socket() {
      // Doesn't reconnect: the transaction is lost, and the library would retry forever.
      if (socket) {
        throw new AppError("upstream", `${addressOf(server)} closed the connection.`, { retryable: true });
      }
      socket = joinCopyData(await openSocket(egress, server, security, signal, route));
      return socket;
    },
  };
  const sql = postgres(options);

  /** Set while the server may be running a statement: a cancel request needs it. */
  let working: Backend | null = null;
  const run = async (query: PromiseLike<unknown>): Promise<unknown> => {
    signal.throwIfAborted();
    working = query as unknown as Backend;
    const result = await query;
    if (!isStream(result)) working = null;
    return result;
  };

  let closed: Promise<void> | null = null;
  const end = async () => {
    signal.removeEventListener("abort", abort);
    const key = working?.state;
    if (key?.pid && socket && !socket.destroyed) await cancelQuery(egress, server, security, key, route);
    const ended = sql.end({ timeout: 0 });
    socket?.destroy();
    await ended;
  };
  const close = () => {
    closed ??= end();
    return closed;
  };
  // Waiting callers get the signal's reason. Errors while closing add nothing.
  const abort = () => close().catch(() => undefined);
  signal.addEventListener("abort", abort, { once: true });

  return {
    rows: async <Row>(text: string, parameters: readonly (string | number | boolean | null)[] = []) =>
      (await run(sql.unsafe(text, [...parameters]))) as Row[],
    async parameterTypes(text) {
      signal.throwIfAborted();
      return (await sql.unsafe(text, []).describe()).types;
    },
    change: async (text, parameters = []) =>
      ((await run(sql.unsafe(text, [...parameters]))) as { count?: number | null }).count ?? 0,
    send: (text, bytes) =>
      copyIn(sql.unsafe(text, [], { simple: true } as object) as never, bytes, (query) => run(query)).finally(
        () => {
          working = null;
        },
      ),
    async copy(text) {
      // Not the simple protocol: the extended one accepts only a single statement.
      const options = { prepare: false, simple: false };
      const query = sql.unsafe(text, [], options);
      let bytes: AsyncGenerator<Uint8Array> | null = null;
      // The server may send the start of the stream and an error in one packet, and an error without a listener would
      // end the process: so the listener is added before the promise is settled.
      const settling = query as unknown as { resolve(value: unknown): void };
      const settle = settling.resolve;
      settling.resolve = (value) => {
        if (isStream(value)) {
          bytes = pump(value, clock);
          value.once("end", () => {
            working = null;
            // The library stops reading while its buffer is full, and resumes only if it expects more of the same.
            socket?.resume();
          });
        }
        settle(value);
      };
      await run(query);
      if (!bytes) throw new AppError("internal", "COPY gave no stream.");
      return bytes;
    },
    async commit() {
      await run(sql.unsafe("COMMIT"));
    },
    async begin() {
      await run(sql.unsafe(preamble(statementTimeoutMs, mayWrite)));
    },
    close,
    failure: (error) =>
      signal.aborted
        ? signal.reason
        : toFailure(error, server, { user: credentials.user, database: config.database }),
  };
}

/** The part of the library's query that identifies the backend process. */
interface Backend {
  state: { pid: number | null; secret: number | null } | null;
}

const isStream = (value: unknown): value is Readable =>
  typeof value === "object" && value !== null && "pipe" in value;

/** Every option is set: for missing ones the library uses the process's `PG…` variables. */
const libraryOptions = ({ config, credentials }: ServerLink, server: HostAndPort) => ({
  host: "pinned",
  port: server.port,
  database: config.database,
  user: credentials.user,
  pass: () => credentials.password ?? "",
  max: 1,
  ssl: false,
  sslnegotiation: null,
  idle_timeout: 0,
  connect_timeout: START_TIMEOUT_SECONDS,
  max_lifetime: null,
  max_pipeline: 1,
  keep_alive: 60,
  backoff: false as const,
  prepare: false,
  fetch_types: false,
  debug: false,
  connection: { application_name: "weir" },
  onnotice: () => undefined,
});
