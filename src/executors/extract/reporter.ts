import type { Progress, RunContext } from "../contract.ts";

/** Progress is told at least so often, also while one statement takes its time. */
const BEAT_MS = 2_000;
/** And at most so often while rows come in. */
const PAUSE_MS = 250;

/** Tells how far a load has come. Close it, or it goes on telling. */
export class Reporter implements Disposable {
  #progress: Progress = { phase: "extract" };
  #last = Number.NEGATIVE_INFINITY;
  /** The message that stood before a wait. */
  #before: string | null = null;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(readonly ctx: Pick<RunContext, "progress" | "clock">) {
    this.#timer = setInterval(() => this.#tell(), BEAT_MS);
  }

  phase(phase: "extract" | "normalize" | "load" | "commit", message: string, current?: number): void {
    this.#progress = { phase, message, unit: "rows", ...(current === undefined ? {} : { current }) };
    this.#tell();
  }

  /** Shows that the source asks to wait until an instant; null when it goes on. */
  waits(until: string | null): void {
    const { message } = this.#progress;
    if (until === null) {
      this.#progress = { ...this.#progress, ...(this.#before === null ? {} : { message: this.#before }) };
      this.#before = null;
    } else {
      this.#before ??= message ?? "";
      this.#progress = {
        ...this.#progress,
        message: `${this.#before}; its rate limit lets it go on at ${until}`,
      };
    }
    this.#tell();
  }

  /** Shows which way the source goes. */
  note(text: string): void {
    this.#progress = { ...this.#progress, message: text };
    this.#before = null;
    this.#tell();
  }

  rows(current: number): void {
    this.#progress = { ...this.#progress, current };
    if (this.ctx.clock.monotonic() - this.#last >= PAUSE_MS) this.#tell();
  }

  #tell(): void {
    this.#last = this.ctx.clock.monotonic();
    this.ctx.progress(this.#progress);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
