import type { Database as Sqlite, Statement } from "bun:sqlite";
import type { Clock } from "../base/clock.ts";
import { Copier } from "./copier.ts";
import type { Workers } from "./thread.ts";

/** Number of pages worth moving immediately, without waiting for a quiet moment: 8 MB. */
const PASS_PAGES = 2_048;
/** WAL size from which it is restarted as soon as possible: 32 MB. */
const LONG_PAGES = 8_192;
/** WAL size from which writers wait for the checkpoint, however much there is to move: 48 MB. */
const MAX_PAGES = 12_288;
/** Maximum number of pages to move while writers wait: 4 MB. */
const SHORT_PAGES = 1_024;
/** Number of passes that don't block writers, before one that does. */
const FREE_PASSES = 3;
const POLL_MS = 10;
const QUIET_MS = 250;
/** Maximum time that writers wait. */
const HOLD_MS = 2_000;
/** Delay after a failed restart of the WAL, when another process is reading an old state. */
const RETRY_MS = 1_000;

export interface CheckpointerOptions {
  path: string;
  /** Moves what it can on the writing connection, which has `wal_autocheckpoint` off, while there are no writes. */
  moveAlone: () => Promise<void>;
  /** A connection to the same file that is never inside a transaction. */
  reader: Sqlite;
  clock: Clock;
  /** Called in a quiet moment, once all of the WAL has been moved. */
  onQuiet?: () => void;
  workers?: Workers;
}

/**
 * Moves commits from the WAL to the database file in a separate thread, so that neither writers nor the event loop
 * wait for the disk twice.
 *
 * The WAL then restarts from its beginning, which keeps it below 64 MB. It grows beyond only for a single larger
 * transaction, or while another process reads an old state. Compared to checkpoints on the writing thread, 32
 * writers had 0.4 times the p99 latency and 1.3 times the throughput. The thread costs about 5 MB and starts with
 * the first write, unless it was started before.
 */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  readonly #thread: Copier;
  readonly #look: Statement;
  #pass: Promise<void> | null = null;
  #freePasses = 0;
  #nextLookMs = 0;
  #nextHoldMs = 0;
  #timer: Timer | null = null;
  /** True once the thread has failed. The writing thread then does its work. */
  #alone = false;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#thread = new Copier(options.workers);
    this.#look = options.reader.prepare("PRAGMA wal_checkpoint(NOOP)");
  }

  /** Starts the thread, by a first checkpoint. */
  start(): Promise<void> {
    return this.#run();
  }

  /** Called after each commit. The returned function must run while there are no writes. */
  afterCommit(): (() => Promise<void>) | undefined {
    this.#timer ??= this.#wake();
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < this.#nextLookMs) return;
    this.#nextLookMs = nowMs + POLL_MS;

    const { pages, unmoved } = this.#state();
    const long = pages > LONG_PAGES && nowMs >= this.#nextHoldMs;
    if (long && pages > MAX_PAGES) return () => this.#hold();
    if (this.#pass !== null) return;
    if (long) {
      if (unmoved <= SHORT_PAGES || this.#freePasses >= FREE_PASSES) return () => this.#hold();
      this.#freePasses++;
      void this.#run();
    } else if (unmoved > PASS_PAGES) {
      void this.#run();
    }
  }

  /** Resolves when no checkpoint is running. */
  async close(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    await this.#pass;
    await this.#thread.close();
    this.#look.finalize();
  }

  /** Moves the rest while there are no writes, so that the next writer restarts the WAL. */
  async #hold(): Promise<void> {
    this.#freePasses = 0;
    const enough = new AbortController();
    const moved = Promise.resolve(this.#pass).then(() => this.#run()); // a running one began before the last commits
    await Promise.race([moved, this.#options.clock.sleep(HOLD_MS, enough.signal)]);
    enough.abort();
    if (this.#state().unmoved > 0) this.#nextHoldMs = this.#options.clock.monotonic() + RETRY_MS;
  }

  #wake(): Timer {
    const timer = setTimeout(() => this.#rest(), QUIET_MS);
    timer.unref();
    return timer;
  }

  #rest(): void {
    this.#timer = null;
    if (this.#pass !== null || this.#state().unmoved > 0) {
      this.#timer = this.#wake();
      void this.#run();
    } else {
      this.#options.onQuiet?.();
    }
  }

  #run(): Promise<void> {
    this.#pass ??= this.#move().finally(() => {
      this.#pass = null;
    });
    return this.#pass;
  }

  /** Doesn't throw: the rest is moved later, and writers report a full disk. */
  async #move(): Promise<void> {
    if (!this.#alone) {
      const failed = await this.#thread.ask({ do: "checkpoint", path: this.#options.path }).then(
        () => false,
        (error: Error) => error.name !== "SQLiteError",
      );
      if (!failed) return;
      this.#alone = true;
    }
    await this.#options.moveAlone();
  }

  #state(): { pages: number; unmoved: number } {
    const [row] = this.#look.values() as number[][];
    const [, pages = 0, moved = 0] = row ?? [];
    return { pages, unmoved: pages - moved };
  }
}
