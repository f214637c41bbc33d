/** Where threads come from, and what becomes of them once they are closed. */
export interface Workers {
  /** `make` starts one: the build knows a Worker only by an address that stands where it is made. */
  take(name: string, make: () => Worker): Worker;
  /** The thread has nothing left of what it was asked. */
  give(name: string, worker: Worker): void;
}

const ownWorkers: Workers = { take: (_name, make) => make(), give: (_name, worker) => worker.terminate() };

/** A worker thread, started by the first request. Requests are answered in their order. */
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

  /** True from the first request on, until it breaks or is closed. */
  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /** Rejects when the thread broke; the next request then starts another. */
  ask(request: Request): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#worker ??= this.#start();
      if (this.#waiting.push({ resolve, reject }) === 1) hold(this.#worker, true);
      this.#worker.postMessage(request);
    });
  }

  /** Ends the thread once it has done what it was asked. `last` is what it is to do before. */
  async close(last: Request): Promise<void> {
    if (this.#worker === null) return;
    await this.ask(last).catch(() => undefined); // a thread that broke has let go of all by that
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

/** What SQLite said in a thread, as its error was there. */
export const sqliteError = (message: string, code: string): Error =>
  Object.assign(new Error(message), { name: "SQLiteError", code });

/** Keeps the process alive for the thread, or lets it end. These are Bun's; the types know the browser's. */
function hold(worker: Worker, needed: boolean): void {
  const bunWorker = worker as Worker & { ref(): void; unref(): void };
  if (needed) bunWorker.ref();
  else bunWorker.unref();
}
