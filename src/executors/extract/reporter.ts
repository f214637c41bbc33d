import type { Progress, RunContext } from "../contract.ts";

/** Maximum time between two progress reports, also during a long statement. */
const BEAT_MS = 2_000;
/** Minimum time between two progress reports while rows arrive. */
const PAUSE_MS = 250;

/** Reports a load's progress. Close it, or it keeps reporting. */
export class Reporter implements Disposable {
  #progress: Progress = { phase: "extract" };
  #last = Number.NEGATIVE_INFINITY;
  /** The message from before the wait. */
  #before: string | null = null;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(readonly ctx: Pick<RunContext, "progress" | "clock">) {
    this.#timer = setInterval(() => this.#tell(), BEAT_MS);
  }

  phase(phase: "extract" | "normalize" | "load" | "commit", message: string, current?: number): void {
    this.#progress = { phase, message, unit: "rows", ...(current === undefined ? {} : { current }) };
    this.#tell();
  }

  /** Shows until when the source asked to wait. Null when it continues. */
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

  /** Shows how the source is read. */
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
