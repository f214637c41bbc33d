import { mkdirSync, readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../base/errors.ts";
import { lowerPriority, lowerWhenLong, PRIORITIES } from "../base/priority.ts";
import { residentBytes } from "../base/resident.ts";
import { envFor, type ReachablePaths } from "../base/walls.ts";
import type { FromChild, StatementResult, ToChild } from "./protocol.ts";

/** Interval for checking a working child's memory. */
const WATCH_MS = 100;

/** Number of memory checks per disk check. */
const CHECKS_PER_DISK_CHECK = 10;

/** Memory of a child in addition to DuckDB's own limit: runtime, library, and rows being sent. */
const BASE_BYTES = 384 * 1024 * 1024;

const MAX_COMPLAINT_CHARACTERS = 4000;

export interface ChildOptions {
  self: readonly string[];
  /** Created here, and removed with the child. */
  folder: string;
  memory: string;
  memoryBytes: number;
  tempBytes: number;
  threads: number;
  cacheDir: string;
  /** Whether it may write DuckDB's library to `cacheDir`; a library that others load must not change. */
  mayLayDown: boolean;
  /** Additional accessible paths. */
  paths: ReachablePaths;
}

/** One DuckDB process. */
export interface Child {
  /** Sends one job; `onRows` receives the rows' JSON before it resolves. One at a time. */
  ask(message: ToChild, onRows?: (text: string) => void): Promise<StatementResult>;
  /** Kills the process; a pending `ask` rejects with `reason`. */
  kill(reason?: AppError): void;
  readonly isAlive: boolean;
  /** True once DuckDB is loaded, false if the process ended before. */
  readonly loaded: Promise<boolean>;
  /** Resolves when the process has exited and its folder is removed. */
  readonly gone: Promise<void>;
}

interface Waiting {
  resolve(result: StatementResult): void;
  reject(error: unknown): void;
  onRows: (text: string) => void;
}

/** Starts a child that loads DuckDB in advance. */
export function startChild(options: ChildOptions): Child {
  const { self, folder, memory, memoryBytes, tempBytes, threads, cacheDir } = options;
  for (const path of [folder, cacheDir]) mkdirSync(path, { recursive: true, mode: 0o700 });
  let waiting: Waiting | null = null;
  let death: AppError | null = null;
  let isAlive = true;
  let isReady = false;
  const loaded = Promise.withResolvers<boolean>();
  let lower: (() => void) | null = null;
  let complaint = "";
  let watch: ReturnType<typeof setInterval> | null = null;

  const finish = (act: (waiting: Waiting) => void) => {
    if (watch) clearInterval(watch);
    watch = null;
    const pending = waiting;
    waiting = null;
    if (pending) act(pending);
  };

  const spawned = Bun.spawn([...self], {
    cwd: folder,
    env: environmentOf(options),
    stdio: ["ignore", "ignore", "pipe"],
    serialization: "advanced",
    ipc(message: FromChild) {
      if (message.kind === "ready") {
        isReady = true;
        lower = lowerWhenLong(spawned.pid); // the statement isn't charged for the startup
        loaded.resolve(true);
      }
      if (message.kind === "rows") waiting?.onRows(message.text);
      if (message.kind === "end") finish((pending) => pending.resolve(message.result));
      if (message.kind === "error") {
        const { code, message: text, retryable } = message;
        finish((pending) => pending.reject(new AppError(code, text, { retryable })));
      }
    },
    onExit(_spawned, code, signal) {
      isAlive = false;
      loaded.resolve(false);
      const cause = `exit code ${code}, signal ${signal}; ${complaint}`;
      death ??= new AppError(isReady ? "sql_error" : "internal", isReady ? CRASHED : NOT_STARTED, { cause });
      finish((pending) => pending.reject(death));
    },
  });
  lowerPriority(spawned.pid, PRIORITIES.sql);
  spawned.unref();
  void readComplaint(spawned.stderr, (text) => {
    complaint = text;
  });
  spawned.send({ kind: "start", folder, memory, threads, tempBytes } satisfies ToChild);

  const kill = (reason?: AppError) => {
    death ??= reason ?? null;
    if (!isAlive) return;
    spawned.kill("SIGKILL");
  };

  let checks = 0;
  const check = () => {
    lower?.();
    const used = residentBytes(spawned.pid);
    if (used > memoryBytes * 1.25 + BASE_BYTES) {
      kill(new AppError("sql_memory", `The SQL needed more memory than its limit of ${memory}.`));
    } else if (++checks % CHECKS_PER_DISK_CHECK === 0 && folderBytes(folder) > tempBytes + BASE_BYTES) {
      kill(new AppError("disk_full", "The SQL needed more disk space than one statement may use."));
    }
  };

  return {
    ask(message, onRows = () => undefined) {
      const { promise, resolve, reject } = Promise.withResolvers<StatementResult>();
      if (!isAlive) {
        reject(death);
        return promise;
      }
      waiting = { resolve, reject, onRows };
      watch = setInterval(check, WATCH_MS);
      spawned.send(message);
      return promise;
    },
    kill,
    get isAlive() {
      return isAlive;
    },
    loaded: loaded.promise,
    gone: spawned.exited.then(() => clear(folder)),
  };
}

/** Only the variables that the child needs: no keys, tokens or proxies. */
const environmentOf = ({ folder, cacheDir, mayLayDown, paths }: ChildOptions) => ({
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: folder,
  TMPDIR: folder,
  WEIR_CACHE_DIR: cacheDir,
  TZ: "UTC",
  ...envFor({
    read: [...paths.read, cacheDir],
    write: [...paths.write, folder, ...(mayLayDown ? [cacheDir] : [])],
  }),
});

const CRASHED = "The SQL crashed its process: it is nested too deeply, or too large for one statement.";
const NOT_STARTED = "The SQL process didn't start.";

/** The start of the process's error output, for the log. */
async function readComplaint(
  stream: ReadableStream<Uint8Array>,
  tell: (text: string) => void,
): Promise<void> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of stream) {
    if (text.length >= MAX_COMPLAINT_CHARACTERS) continue; // keep reading, or the process would block
    text += decoder.decode(bytes, { stream: true });
    tell(text);
  }
}

/** Removes the folder, which may have gigabytes. If that fails, it is removed at the next start. */
async function clear(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    return; // for example a failed disk; no statement depends on it
  }
}

/** Size of the folder in bytes, recursively; ignores files that are removed in the meantime. */
function folderBytes(folder: string): number {
  let bytes = 0;
  try {
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      bytes += statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
    }
  } catch {
    return bytes; // the folder was removed with its child
  }
  return bytes;
}
