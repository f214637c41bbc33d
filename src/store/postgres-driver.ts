import { isIP } from "node:net";
import postgres from "postgres";
import { AppError, invalid } from "../base/errors.ts";
import type { ResultForm } from "./drizzle-over.ts";
import { ConnectionLost, StoreError, storeFault } from "./faults.ts";
import { translateMigration } from "./postgres-migrations.ts";
import { Translator } from "./postgres-sql.ts";
import { jsonOf, storedText, textOf } from "./postgres-text.ts";
import type { RemoteStoreOptions } from "./store.ts";
import { refuseUnknown } from "./writer.ts";

type Sql = postgres.Sql<Record<string, number>>;

/** PostgreSQL types used for parameters. */
const BIGINT = 20;
const DOUBLE = 701;
const TEXT = 25;
const BOOLEAN = 16;
const NUMBERS = [20, 21, 23, 26, 700, 701, 1700];
const JSON_TYPES = [114, 3802];

/** Maximum number of prepared statements per connection, which can't discard any. */
const PREPARED = 1_500;
const MAX_VALUES = 65_534;
const CONNECT_SECONDS = 10;
/** A process that hangs within a transaction blocks all others until then. */
const IDLE_MS = 5_000;
const LOCK_MS = 8_000;
const STATEMENT_MS = 30_000;
/** A connection that is silent for longer than the server's statement timeout is lost. */
const SILENT_MS = STATEMENT_MS + 5_000;
const WATCH_MS = 1_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Connections to one PostgreSQL database. They are read-only, except in transactions that say otherwise. */
export class PostgresClient {
  readonly #options: PostgresOptions;
  readonly #translator = new Translator();
  readonly #prepared = new Set<string>();
  #sql: Sql;
  #silentMs = SILENT_MS;
  /** Pending replies and their deadlines. The client never settles some of them after a connection is lost. */
  readonly #unanswered = new Map<(error: unknown) => void, number>();
  #watch: Timer | null = null;

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.#sql = connect(options);
  }

  /** Runs one statement from drizzle. Throws a `storeFault`, or `ConnectionLost`. */
  async perform(text: string, how: ResultForm, values: readonly unknown[]): Promise<unknown> {
    if (/^\s*(create|drop)\s+trigger\b/i.test(text)) {
      await this.simple(translateMigration(text, true) ?? "");
      return how === "run" ? { changes: 0 } : [];
    }
    const translated = this.#translator.translate(text);
    if (this.#prepared.size < PREPARED) this.#prepared.add(translated);
    const prepare = this.#prepared.has(translated);
    const options = { prepare, simple: false }; // a statement without values would be planned each time
    const query = this.#sql.unsafe(translated, typed(this.#sql, values) as never[], options);
    const rows = await this.#answer(how === "values" ? query.values() : query);
    return how === "run" ? { changes: rows.count ?? 0 } : [...rows];
  }

  /** Runs statements in PostgreSQL's own syntax, in one request. */
  async simple(text: string): Promise<readonly Record<string, unknown>[]> {
    return await this.#answer(this.#sql.unsafe(text).simple());
  }

  /** Waits up to a day for each reply in `work`: an index over a large table takes time. */
  async patiently<T>(work: () => Promise<T>): Promise<T> {
    this.#silentMs = DAY_MS;
    try {
      return await work();
    } finally {
      this.#silentMs = SILENT_MS;
    }
  }

  /** Drops all connections. Later queries open new ones. */
  async reset(): Promise<void> {
    const [old, gone] = [this.#sql, [...this.#unanswered.keys()]];
    this.#sql = connect(this.#options);
    for (const fail of gone) fail(new ConnectionLost("the connection was lost"));
    await old.end({ timeout: 0 });
  }

  async close(): Promise<void> {
    await this.#sql.end({ timeout: 2 });
    clearInterval(this.#watch ?? undefined);
    this.#watch = null;
  }

  #answer<T>(query: PromiseLike<T>): Promise<T> {
    const sql = this.#sql;
    const answered = Promise.withResolvers<T>();
    const fail = (error: unknown) => {
      this.#unanswered.delete(fail);
      const fault = faultOf(error);
      if (isLost(fault) && sql === this.#sql) this.reset().catch(() => undefined); // already gone
      answered.reject(fault);
    };
    this.#unanswered.set(fail, performance.now() + this.#silentMs);
    this.#watch ??= setInterval(() => this.#expire(), WATCH_MS);
    query.then((value) => {
      this.#unanswered.delete(fail);
      answered.resolve(value);
    }, fail);
    return answered.promise;
  }

  /** One timer for all: one each took longer than the rest of a statement. */
  #expire(): void {
    const now = performance.now();
    for (const [fail, untilMs] of this.#unanswered)
      if (untilMs <= now) fail(new ConnectionLost("no response in time"));
    if (this.#unanswered.size > 0) return;
    clearInterval(this.#watch ?? undefined);
    this.#watch = null;
  }
}

export interface PostgresOptions extends Pick<RemoteStoreOptions, "url" | "token" | "ca"> {
  /** Number of connections. */
  max: number;
  /**
   * Plans statements by index and in nested loops, as SQLite does, however small their tables still are. A new database
   * has no statistics, and a plan made for an empty table would read all of a large one.
   */
  byIndex?: boolean;
  /** Plans each statement once, whatever its values. */
  plansOnce?: boolean;
  /** Waits for each commit to be on disk, although the server's default is not to. */
  commitsToDisk?: boolean;
}

/** Before PostgreSQL 18, a scan that is off makes a plan look so expensive that each execution would be compiled. */
const BY_INDEX = {
  jit: "off",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
};

/**
 * Values that statements are written for, whatever the server's defaults are. A stricter isolation level would read
 * what was there before the transaction got the writer's lock.
 */
const EXPECTED = {
  default_transaction_isolation: "read committed",
  standard_conforming_strings: "on",
  extra_float_digits: 1,
  DateStyle: "ISO",
  TimeZone: "UTC",
};

/** Settings of a connection. */
interface Heard {
  onnotify(channel: string, text: string): void;
  onclose(): void;
}

export function connect(options: PostgresOptions, heard?: Heard): Sql {
  const { url, token, ca, max, byIndex = false, plansOnce = false, commitsToDisk = false } = options;
  const address = new URL(url);
  const mode = address.searchParams.get("sslmode") ?? "prefer";
  address.searchParams.delete("sslmode");
  const [unknown] = address.searchParams.keys(); // the client would send it to the server as a setting
  if (unknown !== undefined)
    throw new AppError(
      "unavailable",
      `WEIR_DATABASE_URL has the parameter ${unknown}. Weir knows sslmode alone; remove the others.`,
    );
  const settings: Record<string, string | number | boolean> = {
    application_name: "weir",
    ...EXPECTED,
    default_transaction_read_only: true,
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: IDLE_MS,
    ...(byIndex ? BY_INDEX : {}),
    ...(plansOnce ? { plan_cache_mode: "force_generic_plan" } : {}),
    ...(commitsToDisk ? { synchronous_commit: "on" } : {}),
  };
  return postgres(address.href, {
    max,
    ...(token === undefined ? {} : { password: token }),
    ssl: securityOf(mode, address.hostname, ca),
    onnotice: () => undefined,
    ...heard,
    connect_timeout: CONNECT_SECONDS,
    // The client would ask for array types on each new connection, and a failure of that would end the process.
    fetch_types: false,
    idle_timeout: 0,
    max_lifetime: null,
    keep_alive: 15,
    connection: settings as never,
    types: TYPES as never,
  }) as unknown as Sql;
}

/** SQLite returns every number as a JavaScript number and true as 1. JSON stays text. */
const TYPES = {
  number: { to: BIGINT, from: NUMBERS, serialize: String, parse: Number },
  bool: { to: BOOLEAN, from: [BOOLEAN], serialize: String, parse: (text: string) => (text === "t" ? 1 : 0) },
  json: { to: JSON_TYPES[0], from: JSON_TYPES, serialize: String, parse: jsonOf },
  text: { to: TEXT, from: [TEXT], serialize: String, parse: textOf },
};

/** The meaning of an `sslmode` in libpq. */
function securityOf(mode: string, host: string, ca: string | undefined) {
  const trusted = ca === undefined ? {} : { ca };
  switch (mode) {
    case "disable":
      return false;
    case "prefer":
      return "prefer" as const;
    case "require":
      return { rejectUnauthorized: false };
    case "verify-ca":
      return { ...trusted, rejectUnauthorized: true, checkServerIdentity: () => undefined };
    case "verify-full":
      return { ...trusted, rejectUnauthorized: true, ...(isIP(host) ? {} : { servername: host }) };
    default:
      throw new AppError(
        "unavailable",
        "sslmode in WEIR_DATABASE_URL must be disable, prefer, require, verify-ca or verify-full.",
      );
  }
}

/** Throws if values can't be sent. */
export function checkValues(values: readonly unknown[]): void {
  if (values.length > MAX_VALUES) throw new StoreError("MAX_PARAMETERS", "too many values in a statement");
  for (const value of values) refuseUnknown(value);
}

/** Values carry their type, as in SQLite, so PostgreSQL doesn't have to infer one. */
function typed(sql: Sql, values: readonly unknown[]): unknown[] {
  checkValues(values);
  return values.map((value) => {
    if (value === null || value === undefined) return null;
    if (typeof value === "number")
      return sql.typed(value as never, (Number.isSafeInteger(value) ? BIGINT : DOUBLE) as never);
    if (typeof value === "boolean") return sql.typed((value ? 1 : 0) as never, BIGINT as never);
    return sql.typed(storedText(value as string) as never, TEXT as never);
  });
}

interface ServerError {
  code?: unknown;
  detail?: string;
  table_name?: string;
  column_name?: string;
  constraint_name?: string;
}

/** Converts a client's error to the form that Weir knows from SQLite, without values. */
function faultOf(error: unknown): unknown {
  if (error instanceof AppError || error instanceof StoreError || !(error instanceof Error)) return error;
  const {
    code: sqlState,
    detail,
    table_name: table,
    column_name: column,
    constraint_name,
  } = error as ServerError;
  const code = typeof sqlState === "string" ? sqlState : "";
  switch (code) {
    case "23505":
      return refusal("UNIQUE", `UNIQUE constraint failed: ${keyOf(table, detail, constraint_name)}`);
    case "23514":
      return refusal(
        "TRIGGER",
        error.message.startsWith("new row for") ? "CHECK constraint failed" : error.message,
      );
    case "23503":
      return refusal("FOREIGNKEY", "FOREIGN KEY constraint failed");
    case "23502":
      return refusal("NOTNULL", `NOT NULL constraint failed: ${table}.${column}`);
    case "53100":
      return new AppError("disk_full", "The database server's disk is full. Free up space and try again.", {
        retryable: true,
      });
  }
  if (code === "54000" && error.message.startsWith("index row"))
    return invalid(
      ["body"],
      "A text is too long: the database can index at most 2,700 bytes of it",
      "string_too_long",
    );
  if (code === READ_ONLY && error.message.includes("recovery")) return standbyOf(error);
  if (code === "42501") return lacksPrivilege(error.message);
  // PostgreSQL can't execute the statement; messages of class 22 contain values
  if (code.startsWith("22")) return new StoreError(code, "PostgreSQL refused a value of a statement.");
  if (/^(42|0A|54|21|25)|^UNDEFINED_VALUE/.test(code)) return new StoreError(code, error.message);
  if (code === "57014")
    return new AppError("unavailable", "The database server took too long. Try again later.", {
      retryable: true,
    });
  const isKnown = error instanceof ConnectionLost || code !== "";
  return isKnown ? lostOf(error, code) : storeFault(error);
}

/** PostgreSQL's code for `BEGIN READ WRITE` on a standby, among others. */
const READ_ONLY = "0A000";

/** Lost, so that new connections find the primary server after a failover. */
const standbyOf = (error: Error): AppError =>
  new AppError(
    "unavailable",
    "The database server is a standby, which is read-only. Weir needs the primary server.",
    { retryable: true, cause: new ConnectionLost(`${READ_ONLY}: ${error.message}`) },
  );

/** `what` names the missing privilege, as in "permission denied for schema public". */
export const lacksPrivilege = (what: string): AppError =>
  new AppError(
    "unavailable",
    `The PostgreSQL user has too few privileges: ${what}. Make it the owner of the database and of Weir's tables.`,
  );

const refusal = (kind: string, message: string) => new StoreError(`SQLITE_CONSTRAINT_${kind}`, message);

/** The columns of a unique key as SQLite names them, or the name of an index over an expression. */
function keyOf(table = "", detail = "", constraint = ""): string {
  const key = /^Key \((.*?)\)=/.exec(detail)?.[1] ?? "";
  if (!/^[\w", ]+$/.test(key)) return `index '${constraint}'`;
  return key
    .split(", ")
    .map((column) => `${table}.${column.replaceAll('"', "")}`)
    .join(", ");
}

/** `unavailable`, caused by a `ConnectionLost`. The client's own message only names the host. */
function lostOf(error: Error, code: string): AppError {
  const cause = error instanceof ConnectionLost ? error : new ConnectionLost(`${code}: ${error.message}`);
  if (/^28/.test(code))
    return new AppError("unavailable", "The PostgreSQL server refused the user or the password.", { cause });
  if (code === "3D000")
    return new AppError("unavailable", "The PostgreSQL server has no such database. Create it first.", {
      cause,
    });
  if (code === "53300")
    return new AppError(
      "unavailable",
      "The database server accepts no more connections. Raise its max_connections, or run fewer processes.",
      { retryable: true, cause },
    );
  return new AppError("unavailable", "The database server is unreachable. Try again later.", {
    retryable: true,
    cause,
  });
}

/** True if another transaction held a lock for too long. */
export const isLockTimeout = (error: unknown): boolean => lossOf(error)?.startsWith("55P03") ?? false;

/** True if the server rejected a statement, so that the transaction is lost. False if it didn't respond. */
export const isRejected = (error: unknown): boolean => /^[0-9A-Z]{5}: /.test(lossOf(error) ?? "");

const lossOf = (error: unknown): string | null =>
  error instanceof AppError && error.cause instanceof ConnectionLost ? error.cause.message : null;

/** True if the transaction was lost rather than rejected. */
export const isLost = (error: unknown): boolean =>
  error instanceof AppError && error.code === "unavailable" && error.cause instanceof ConnectionLost;
