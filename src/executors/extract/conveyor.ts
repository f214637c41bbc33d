/** So many jobs may wait or run before the one who brings more has to wait too. */
const MAX_WAITING_JOBS = 2;

/**
 * Does jobs one after the other while their bringer goes on, and holds the bringer back when it is ahead: the
 * overlap of reading from a source and of writing Parquet. The first failure is thrown at the next call.
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

  /** Waits until all is done. */
  async drain(): Promise<void> {
    await this.idle();
    this.#check();
  }

  /** Waits for all jobs, for leaving: a failure is not thrown again. */
  async idle(): Promise<void> {
    await this.#last;
    this.#waiting = [];
  }

  #check(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
