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
  /** The rows of one statement of ours; `$1` … are bound. */
  rows<Row>(sql: string, parameters?: readonly (string | number | boolean | null)[]): Promise<Row[]>;
  /** The type oids of the parameters of a statement that is parsed and not run. */
  parameterTypes(sql: string): Promise<number[]>;
  /** Runs a statement. Returns the number of changed rows. */
  change(sql: string, parameters?: readonly (string | number | null)[]): Promise<number>;
  /** Sends `bytes` to one `COPY … FROM STDIN` of ours, as fast as the server takes them; how many rows they were. */
  send(sql: string, bytes: AsyncIterable<Uint8Array>): Promise<number>;
  /** What one `COPY … TO STDOUT` gives; the server waits while nobody reads. */
  copy(sql: string): Promise<AsyncGenerator<Uint8Array>>;
  /** Commits the transaction. Nothing else may be running. */
  commit(): Promise<void>;
  /** Begins another one after `commit`. */
  begin(): Promise<void>;
  /** Stops what runs, on the server too, and ends the connection. */
  close(): Promise<void>;
  /** What an error of this session means, as an `AppError`, or the signal's reason after an abort. */
  failure(error: unknown): unknown;
}

/** Seconds from the start-up message to the server being ready. */
const START_TIMEOUT_SECONDS = 10;

/** What each `sslMode` tries, in order, as libpq does. The second is tried where TLS was what failed. */
const ATTEMPTS: Readonly<Record<string, readonly Security[]>> = {
  disable: ["none"],
  allow: ["none", "required"],
  prefer: ["offered", "none"],
  require: ["required"],
  "verify-ca": ["verify-ca"],
  "verify-full": ["verify-full"],
};

/** Connects and begins; a transaction that may write only reads what is committed. Throws what `toFailure` makes, and the signal's reason. */
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

/** A session that writes and has died without a word holds its locks no longer than this. */
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

/** A session that connects with its first statement. */
function connect(
  link: ServerLink,
  server: HostAndPort,
  { postgres, security, statementTimeoutMs, mayWrite }: SessionOptions,
): Session {
  const { egress, credentials, config, signal, clock } = link;
  const route = routeOf(link);
  let socket: Socket | null = null;
  // The library's types leave `socket` out, so it goes in by a name of its own.
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

  /** Set while the server may work for us: what a cancel request needs. */
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
      // Not the simple protocol: in the extended one a statement is always only one.
      const options = { prepare: false, simple: false };
      const query = sql.unsafe(text, [], options);
      let bytes: AsyncGenerator<Uint8Array> | null = null;
      // The server may send the stream's beginning and its error in one packet, and an error that nobody
      // listens to by then would end the process: so we listen before the promise is settled.
      const settling = query as unknown as { resolve(value: unknown): void };
      const settle = settling.resolve;
      settling.resolve = (value) => {
        if (isStream(value)) {
          bytes = pump(value, clock);
          value.once("end", () => {
            working = null;
            // The library stops reading while its buffer is full, and goes on only where more of the same is to come.
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

/** The part of the library's query that names the backend at work. */
interface Backend {
  state: { pid: number | null; secret: number | null } | null;
}

const isStream = (value: unknown): value is Readable =>
  typeof value === "object" && value !== null && "pipe" in value;

/** Every option is given: what is missing the library takes from `PG…` variables of the process. */
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
