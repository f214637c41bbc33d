import { mkdirSync, readdirSync, rmSync, statfsSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { AppError } from "../base/errors.ts";
import type { Json } from "../base/json.ts";
import { openFairSemaphore } from "../base/semaphore.ts";
import type { ReachablePaths } from "../base/walls.ts";
import type { Sql, SqlJob } from "./contract.ts";
import { type Child, startChild } from "./process.ts";
import type { StatementResult, ToChild } from "./protocol.ts";
import { namesIn } from "./text.ts";

/** Number of concurrent tenant statements, half of them for one organization; others are queued. */
const MAX_CHILDREN = 4;

/** How long an idle child is kept for the next statement. */
const WARM_MS = 180_000;

/** Approximate maximum size of the rows of one query as JSON text, in characters; beyond it they are truncated. */
const MAX_ROWS_BYTES = 64 * 1024 * 1024;

/** Disk space for data that exceeds the memory, as a multiple of the memory. */
const TEMP_TIMES = 10;
/** And as a fraction of the free space, so that a large statement leaves room for all others. */
const TEMP_PART_OF_FREE = 0.5;
const MIN_TEMP_BYTES = 16 * 1024 * 1024;

const MAX_TIMER_MS = 2_147_483_647;

const HALF_THE_MACHINE = Math.max(1, Math.floor(availableParallelism() / 2));

export interface SqlOptions {
  /** The command that starts the hidden subcommand, such as `[process.execPath, "__sql"]`. */
  self: readonly string[];
  /** A folder for temporary data, used by this instance only: leftovers of earlier processes are removed. */
  folder: string;
  /** Memory limit of one statement, in DuckDB's format: `1GB`. */
  memory: string;
  /** Timeout of one tenant job in milliseconds. */
  timeoutMs: number;
  /** Threads of one child. Default: half of the machine's. */
  threads?: number;
  /** Where the compiled executable stores DuckDB's library. */
  cacheDir: string;
  /** Paths of the files of jobs. Default: only its own. */
  paths?: ReachablePaths;
  /** False starts no process in advance. */
  isKeptWarm?: boolean;
}

const NO_PATHS: ReachablePaths = { read: [], write: [] };

/** Opens SQL. Starts no process before the first statement. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its verbs share the children and their queue
export function openSql(options: SqlOptions): Sql {
  const { self, folder, memory, threads = HALF_THE_MACHINE, cacheDir, paths = NO_PATHS } = options;
  const { isKeptWarm = true } = options;
  const memoryBytes = bytesOf(memory);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  sweep(folder);
  const semaphore = openFairSemaphore(MAX_CHILDREN, "SQL statements");
  const children = new Set<Child>();
  let warm: Child | null = null;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let started = 0;
  /** Whether DuckDB's library is in the cache, as reported by a child; pending while the first one is loading it. */
  let laidDown: Promise<boolean> | null = null;
  let isClosed = false;

  const start = (): Child => {
    const child = startChild({
      self,
      folder: join(folder, `${process.pid}-${++started}`),
      memory,
      memoryBytes,
      tempBytes: tempBytesOf(folder, memoryBytes),
      threads,
      cacheDir,
      mayLayDown: laidDown === null,
      paths,
    });
    laidDown ??= child.loaded;
    children.add(child);
    void child.gone.then(() => children.delete(child));
    return child;
  };

  /** Only the first child writes the library; if it ends before that, the next one does. */
  const take = async (): Promise<Child> => {
    for (let first = laidDown; first !== null && !(await first); first = laidDown)
      if (laidDown === first) laidDown = null;
    if (isClosed) throw new AppError("cancelled", "Weir is stopping.", { retryable: true });
    clearTimeout(idle);
    const child = warm?.isAlive ? warm : start();
    warm = null;
    return child;
  };

  /** Loads DuckDB in advance for the next statement. */
  const keepWarm = () => {
    if (!isKeptWarm || isClosed || warm?.isAlive) return;
    warm = start();
    idle = setTimeout(() => {
      warm?.kill();
      warm = null;
    }, WARM_MS);
    idle.unref();
  };

  /** Runs one job in its own process, which ends with the job. */
  const inChild = async (
    job: SqlJob,
    message: ToChild,
    onRows?: (text: string) => void,
  ): Promise<StatementResult> => {
    const leave = await semaphore.enter(job.signal, { organizationId: job.organizationId ?? "" });
    let child: Child;
    try {
      child = await take();
    } catch (error) {
      leave();
      throw error;
    }
    const timer = killLate(child, job.timeoutMs ?? options.timeoutMs);
    const stop = () => child.kill(cancelled(job.signal));
    job.signal?.addEventListener("abort", stop, { once: true });
    if (job.signal?.aborted) stop();
    try {
      return await child.ask(message, onRows);
    } finally {
      clearTimeout(timer);
      job.signal?.removeEventListener("abort", stop);
      child.kill();
      // The caller has its rows and doesn't wait for the process to exit; the next job in the queue does.
      void child.gone.then(() => {
        leave();
        keepWarm();
      });
    }
  };

  return {
    async query(job, limit) {
      const rows: Record<string, Json>[] = [];
      const { columns = [], truncated = false } = await inChild(
        job,
        { kind: "query", ...workOf(job), limit, maxBytes: MAX_ROWS_BYTES },
        (text) => {
          for (const row of JSON.parse(text)) rows.push(row);
        },
      );
      return { columns, rows, truncated };
    },

    async queryText(job, limit) {
      const json: string[] = [];
      const {
        columns = [],
        rows = 0,
        truncated = false,
      } = await inChild(job, { kind: "query", ...workOf(job), limit, maxBytes: MAX_ROWS_BYTES }, (text) =>
        json.push(json.length === 0 ? "[" : ",", text.slice(1, -1)),
      );
      return { columns, rows, truncated, json: json.length === 0 ? ["[]"] : [...json, "]"] };
    },

    async explain(job) {
      return (await inChild(job, { kind: "explain", ...workOf(job) })).plan ?? "";
    },

    async materialize(job, into, options = {}) {
      mkdirSync(into, { recursive: true, mode: 0o700 });
      const {
        columns = [],
        files = [],
        warnings = [],
      } = await inChild(job, {
        kind: "materialize",
        ...workOf(job),
        into,
        options,
      });
      return { columns, files, warnings };
    },

    async save(job, into, { format, compression, limit, maxBytes }) {
      const path = join(into, SAVED_AS);
      const watched = watchSize(path, maxBytes, job.signal);
      try {
        const message: ToChild = {
          kind: "save",
          ...workOf(job),
          into: path,
          format,
          compression: compression ?? null,
          limit: limit ?? null,
        };
        const { warnings = [] } = await inChild({ ...job, signal: watched.signal }, message);
        watched.check();
        return { path, warnings };
      } finally {
        watched.end();
      }
    },

    async session({ folders, files = [], signal }) {
      if (signal?.aborted) throw cancelled(signal);
      const child = await take();
      const stop = () => child.kill(cancelled(signal));
      signal?.addEventListener("abort", stop, { once: true });
      const close = async () => {
        signal?.removeEventListener("abort", stop);
        child.kill(new AppError("sql_error", "The SQL session was closed."));
        await child.gone;
        keepWarm();
      };
      try {
        await child.ask({ kind: "session", folders, files });
      } catch (error) {
        await close();
        throw error;
      }
      let last: Promise<unknown> = Promise.resolve();
      return {
        run(sql, parameters = [], { isTenants } = { isTenants: false }) {
          const rows: Record<string, Json>[] = [];
          const pending = last.then(() => {
            const timer = isTenants ? killLate(child, options.timeoutMs) : undefined;
            const result = child.ask({ kind: "run", sql, parameters }, (text) => {
              for (const row of JSON.parse(text)) rows.push(row);
            });
            return result.finally(() => clearTimeout(timer));
          });
          last = pending.catch(() => undefined); // its own caller gets the error; the next statement may still run
          return pending.then(() => rows);
        },
        close,
      };
    },

    async close() {
      isClosed = true;
      clearTimeout(idle);
      for (const child of children)
        child.kill(new AppError("cancelled", "Weir is stopping.", { retryable: true }));
      await Promise.all([...children].map((child) => child.gone));
    },
  };
}

function killLate(child: Child, timeoutMs: number): Timer {
  const late = () =>
    child.kill(new AppError("sql_timeout", `The SQL took longer than ${timeoutMs / 1000} seconds.`));
  return setTimeout(late, Math.min(timeoutMs, MAX_TIMER_MS));
}

const SAVED_AS = "rows";
/** Interval for checking the size of a file being written. */
const CHECK_MS = 250;

/** A signal that aborts with `limit_exceeded` once the file exceeds its limit. */
function watchSize(path: string, maxBytes: number, signal: AbortSignal | undefined) {
  const tooLarge = new AbortController();
  const check = () => {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size <= maxBytes) return;
    const gigabytes = Math.round((maxBytes / 1024 ** 3) * 10) / 10;
    tooLarge.abort(
      new AppError("limit_exceeded", `The rows exceed ${gigabytes} GiB as a file. Request fewer rows.`),
    );
  };
  const timer = setInterval(check, CHECK_MS);
  return {
    signal: signal ? AbortSignal.any([signal, tooLarge.signal]) : tooLarge.signal,
    check() {
      check();
      tooLarge.signal.throwIfAborted();
    },
    end: () => clearInterval(timer),
  };
}

function workOf({ tables, sql, parameters = {}, exactParameters }: SqlJob) {
  const isNamed = namesIn(sql);
  return {
    tables: tables.filter((table) => isNamed(table.name)),
    sql,
    parameters,
    exactParameters: exactParameters ?? null,
  };
}

const cancelled = (signal: AbortSignal | undefined): AppError =>
  signal?.reason instanceof AppError ? signal.reason : new AppError("cancelled", "The SQL was cancelled.");

/** Removes leftovers of processes that ended during a statement. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

function tempBytesOf(folder: string, memoryBytes: number): number {
  const { bavail, bsize } = statfsSync(folder);
  const most = Math.min(memoryBytes * TEMP_TIMES, bavail * bsize * TEMP_PART_OF_FREE);
  return Math.floor(Math.max(most, MIN_TEMP_BYTES));
}

const UNITS: Readonly<Record<string, number>> = {
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
};

/** Bytes of a size such as `1GB` or `512MiB`. Throws `bad_request` with the text. */
export function bytesOf(size: string): number {
  const [, number, unit = ""] = /^([\d.]+)\s*([a-z]+)$/i.exec(size.trim()) ?? [];
  const bytes = Number(number) * (UNITS[unit.toUpperCase()] ?? Number.NaN);
  if (!(bytes > 0))
    throw new AppError("bad_request", `"${size}" is not a valid memory size. Use one such as 1GB.`);
  return bytes;
}
