import type { Database as Sqlite, Statement } from "bun:sqlite";
import type { Clock } from "../base/clock.ts";
import { Copier } from "./copier.ts";
import type { Workers } from "./thread.ts";

/** Pages that are worth moving at once, without waiting for a quiet moment: 8 MB. */
const PASS_PAGES = 2_048;
/** WAL size from which it is restarted as soon as possible: 32 MB. */
const LONG_PAGES = 8_192;
/** From here on the writers wait for it, however much there is to move: 48 MB. */
const MAX_PAGES = 12_288;
/** So few pages are moved while the writers wait: 4 MB. */
const SHORT_PAGES = 1_024;
/** Passes without the writers waiting, before they are made to. */
const FREE_PASSES = 3;
const POLL_MS = 10;
const QUIET_MS = 250;
/** How long the writers wait at most. */
const HOLD_MS = 2_000;
/** Delay after a WAL couldn't be restarted because another process reads an old state. */
const RETRY_MS = 1_000;

export interface CheckpointerOptions {
  path: string;
  /** Moves what it can on the writing connection, which has `wal_autocheckpoint` off, once nobody writes. */
  moveAlone: () => Promise<void>;
  /** Of the same file; it never is inside a transaction. */
  reader: Sqlite;
  clock: Clock;
  /** Called in a quiet moment, when all of the WAL has been moved. */
  onQuiet?: () => void;
  workers?: Workers;
}

/**
 * Moves what was committed from the WAL into the database file, in a thread of its own, so that neither
 * writers nor the event loop wait for the disk twice.
 *
 * The WAL is then used anew from its start, which keeps it below 64 MB; it only grows beyond while a
 * single transaction is larger, or while another process reads an old state. Against checkpoints on the
 * writing thread, 32 writers had a p99 of 0.4 times and did 1.3 times as much; the thread costs about 5 MB and
 * is only started by the first write.
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
  /** True once the thread has failed; the writing thread then does its work. */
  #alone = false;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#thread = new Copier(options.workers);
    this.#look = options.reader.prepare("PRAGMA wal_checkpoint(NOOP)");
  }

  /** To be called after each commit. What comes back is to be done while nobody writes. */
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
    const moved = Promise.resolve(this.#pass).then(() => this.#run()); // one under way began before the last commits
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
