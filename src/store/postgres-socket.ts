import { Socket } from "node:net";

/** The client writes messages below this length itself once nothing else is due, and longer ones at once. */
const LONG_BYTES = 1024;
const MAX_WAITING_BYTES = 64 * 1024;

interface Address {
  host: readonly string[];
  port: readonly number[];
  path?: string | false;
}

/** What the client calls for each connection: statements sent together then reach the server together. */
export function socketsTo(): (address: Address) => GatheringSocket {
  let count = 0;
  return ({ host, port, path }) => {
    const socket = new GatheringSocket();
    const index = count++ % host.length;
    if (path) socket.connect(path);
    else socket.connect(port[index] ?? 0, host[index] ?? "");
    return Object.assign(socket, { host: host[index] });
  };
}

/** A socket that gathers what is written within one turn of the event loop into one write. */
class GatheringSocket extends Socket {
  #waiting: Buffer[] = [];
  #bytes = 0;

  override write(chunk: Buffer, ...rest: never[]): boolean {
    this.#waiting.push(chunk);
    this.#bytes += chunk.length;
    if (rest.length > 0 || chunk.length < LONG_BYTES || this.#bytes > MAX_WAITING_BYTES)
      return this.#flush(...rest);
    if (this.#waiting.length === 1) setImmediate(() => this.#flush());
    return true;
  }

  override end(...rest: never[]): this {
    this.#flush();
    return super.end(...rest);
  }

  #flush(...rest: never[]): boolean {
    const [first, ...others] = this.#waiting;
    if (first === undefined) return true;
    const whole = others.length === 0 ? first : Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#bytes = 0;
    return this.destroyed ? true : super.write(whole, ...rest);
  }
}
