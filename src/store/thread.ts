import type { WorkerReply, WorkerRequest } from "./checkpoint.worker.ts";

/** The build writes the address anew for the executable, where all chunks lie in one folder. */
const WORKER = new URL("./checkpoint.worker.ts", import.meta.url).href;

/** A worker thread, started by the first request. Requests are answered in their order. */
export class Thread {
  #worker: Worker | null = null;
  #waiting: { resolve(): void; reject(error: unknown): void }[] = [];

  /** Rejects with an error named `SQLiteError`, which has SQLite's code, or with that of a thread that broke. */
  ask(request: WorkerRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#worker ??= this.#start();
      this.#waiting.push({ resolve, reject });
      hold(this.#worker, true);
      this.#worker.postMessage(request);
    });
  }

  /** Ends the thread once it has done what it was asked, its file closed. */
  async close(): Promise<void> {
    if (this.#worker === null) return;
    await this.ask({ do: "close" }).catch(() => undefined); // a thread that broke has closed its file by that
    this.#worker?.terminate();
    this.#worker = null;
  }

  #start(): Worker {
    const worker = new Worker(WORKER, { name: "store" });
    worker.onmessage = ({ data }: MessageEvent<WorkerReply>) => {
      const waiting = this.#waiting.shift();
      hold(worker, this.#waiting.length > 0);
      if (data.fault === null) waiting?.resolve();
      else waiting?.reject(Object.assign(new Error(data.fault), { name: "SQLiteError", code: data.code }));
    };
    worker.onerror = ({ message }) => {
      worker.terminate();
      this.#fail(new Error(message));
    };
    return worker;
  }

  #fail(error: Error): void {
    this.#worker = null;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/** Keeps the process alive for the thread, or lets it end. These are Bun's; the types know the browser's. */
function hold(worker: Worker, needed: boolean): void {
  const bunWorker = worker as Worker & { ref(): void; unref(): void };
  if (needed) bunWorker.ref();
  else bunWorker.unref();
}
