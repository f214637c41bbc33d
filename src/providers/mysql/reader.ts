import type { Connection } from "mysql2";
import { AppError } from "../../base/errors.ts";
import { QUIET_MS } from "../files/streams.ts";
import type { ServerLink } from "../sql/shape.ts";

/** One cell as sent by the server. */
export type Cell = Buffer | null;

/** Maximum number of buffered rows or bytes before the source has to wait. */
const MAX_WAITING_ROWS = 4_096;
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** Buffers the library's rows and pauses the server while the reader is slow. */
export class BlockReader {
  #waiting: Cell[][] = [];
  #bytes = 0;
  #isPaused = false;
  #isDone = false;
  #fault: unknown = null;
  #heard = false;
  #wake: () => void = () => undefined;

  constructor(
    readonly link: ServerLink,
    readonly connection: Connection,
    sql: string,
  ) {
    const query = connection.query({ sql, rowsAsArray: true, typeCast: false });
    query.on("result", (row) => this.#take(row as unknown as Cell[]));
    query.on("error", (error) => this.#finish(error));
    query.on("end", () => this.#finish(null));
    connection.on("error", this.#fail); // the only report of a lost connection
    link.signal.addEventListener("abort", this.#stop, { once: true });
  }

  readonly #fail = (error: unknown) => this.#finish(error);
  readonly #stop = () => this.#finish(this.link.signal.reason);

  #take(row: Cell[]): void {
    this.#heard = true;
    this.#waiting.push(row);
    for (const cell of row) this.#bytes += cell?.length ?? 0;
    if (this.#waiting.length < MAX_WAITING_ROWS && this.#bytes < MAX_WAITING_BYTES) return;
    if (!this.#isPaused) this.connection.pause();
    this.#isPaused = true;
    this.#wake();
  }

  #finish(fault: unknown): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#fault = fault;
    this.#wake();
  }

  async *blocks(): AsyncGenerator<Cell[][]> {
    const { clock } = this.link;
    let heardAt = clock.monotonic();
    const watch = setInterval(() => {
      if (this.#heard || this.#isPaused) heardAt = clock.monotonic();
      this.#heard = false;
      if (clock.monotonic() - heardAt > QUIET_MS) this.#finish(silence());
    }, 5_000);
    try {
      for (;;) {
        const block = this.#waiting;
        this.#waiting = [];
        this.#bytes = 0;
        if (block.length > 0) yield block;
        if (this.#waiting.length > 0) continue;
        if (this.#isDone) break;
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        if (this.#isPaused) {
          this.#isPaused = false;
          this.connection.resume();
        }
        heardAt = clock.monotonic();
        await promise;
      }
      if (this.#fault) throw this.#fault;
    } finally {
      clearInterval(watch);
      this.connection.off("error", this.#fail);
      this.link.signal.removeEventListener("abort", this.#stop);
    }
  }
}

const silence = () =>
  new AppError("timeout", `The source sent nothing for ${QUIET_MS / 1000} seconds.`, { retryable: true });
