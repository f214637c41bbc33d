import type { CopierReply, CopierRequest } from "./checkpoint.worker.ts";
import { sqliteError, Thread, type Workers } from "./thread.ts";

/**
 * The thread that moves the WAL and copies the file. Its requests reject with SQLite's error, or with that of a
 * failed thread.
 */
export class Copier {
  readonly #thread: Thread<CopierRequest, CopierReply>;

  constructor(workers?: Workers) {
    const name = "checkpoints";
    const make = () =>
      new Worker(new URL("./checkpoint.worker.ts", import.meta.url).href, { name, smol: true });
    this.#thread = new Thread(name, make, workers);
  }

  async ask(request: CopierRequest): Promise<void> {
    const reply = await this.#thread.ask(request);
    if (reply.fault !== null) throw sqliteError(reply.fault, reply.code);
  }

  close(): Promise<void> {
    return this.#thread.close({ do: "close" });
  }
}
