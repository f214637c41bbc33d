/** Maximum number of queued or running jobs. Beyond it, the producer has to wait. */
const MAX_WAITING_JOBS = 2;

/**
 * Runs jobs one after another while their producer continues, and makes the producer wait if it is ahead. This overlaps
 * reading from a source with writing Parquet. The first error is thrown by the next call.
 */
export class Conveyor {
  #waiting: Promise<void>[] = [];
  #last: Promise<void> = Promise.resolve();
  #failure: { error: unknown } | null = null;

  async put(job: () => Promise<void>): Promise<void> {
    this.#check();
    const done = this.#last.then(async () => {
      if (this.#failure) return;
      try {
        await job();
      } catch (error) {
        this.#failure = { error };
      }
    });
    this.#last = done;
    this.#waiting.push(done);
    if (this.#waiting.length > MAX_WAITING_JOBS) await this.#waiting.shift();
    this.#check();
  }

  /** Waits for all jobs. */
  async drain(): Promise<void> {
    await this.idle();
    this.#check();
  }

  /** Waits for all jobs before cleanup. Doesn't throw their errors again. */
  async idle(): Promise<void> {
    await this.#last;
    this.#waiting = [];
  }

  #check(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
