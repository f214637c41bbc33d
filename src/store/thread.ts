/** Starts threads and takes closed ones back. */
export interface Workers {
  /** `make` starts one: the bundler only finds a Worker whose URL is a literal in the call. */
  take(name: string, make: () => Worker): Worker;
  /** Called when the thread has no pending requests and no state left. */
  give(name: string, worker: Worker): void;
}

const ownWorkers: Workers = { take: (_name, make) => make(), give: (_name, worker) => worker.terminate() };

/** A worker thread, started by the first request. It processes requests in order. */
export class Thread<Request, Reply> {
  readonly #name: string;
  readonly #make: () => Worker;
  readonly #workers: Workers;
  #worker: Worker | null = null;
  #waiting: { resolve(reply: Reply): void; reject(error: unknown): void }[] = [];

  constructor(name: string, make: () => Worker, workers: Workers = ownWorkers) {
    this.#name = name;
    this.#make = make;
    this.#workers = workers;
  }

  /** True from the first request until it fails or is closed. */
  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /** Rejects if the thread fails. The next request then starts another. */
  ask(request: Request): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#worker ??= this.#start();
      if (this.#waiting.push({ resolve, reject }) === 1) hold(this.#worker, true);
      this.#worker.postMessage(request);
    });
  }

  /** Ends the thread after its pending requests and `last`. */
  async close(last: Request): Promise<void> {
    if (this.#worker === null) return;
    await this.ask(last).catch(() => undefined); // a failed thread holds nothing
    if (this.#worker !== null) this.#workers.give(this.#name, this.#worker);
    this.#worker = null;
  }

  #start(): Worker {
    const worker = this.#workers.take(this.#name, this.#make);
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      const waiting = this.#waiting.shift();
      if (this.#waiting.length === 0) hold(worker, false);
      waiting?.resolve(data);
    };
    worker.onerror = ({ message }) => {
      worker.terminate();
      this.#worker = null;
      for (const { reject } of this.#waiting.splice(0)) reject(new Error(message));
    };
    return worker;
  }
}

/** SQLite's error in a thread, in its original form. */
export const sqliteError = (message: string, code: string): Error =>
  Object.assign(new Error(message), { name: "SQLiteError", code });

/** Whether the thread keeps the process alive. These methods are Bun's; the types are the browser's. */
function hold(worker: Worker, needed: boolean): void {
  const bunWorker = worker as Worker & { ref(): void; unref(): void };
  if (needed) bunWorker.ref();
  else bunWorker.unref();
}
