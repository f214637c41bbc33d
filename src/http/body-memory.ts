import { sourceOf } from "../base/cidr.ts";
import { AppError } from "../base/errors.ts";
import { slot } from "../base/memory.ts";
import type { Visit } from "./operation.ts";

/** Bytes of all bodies that a process holds, unless single ones may be very large. */
const LIMIT_BYTES = 256 * 1024 * 1024;
/** Number of bodies of the largest size that fit in any case. */
const LARGEST_BODIES = 4;

type Caller = Pick<Visit, "address" | "request">;

/** Request bodies in memory, complete or not: a sender may stop in the middle of one and keep the connection open. */
export const BODY_MEMORY = slot(() => new BodyMemory());

class BodyMemory {
  #bytes = 0;
  readonly #bySource = new Map<string, number>();
  readonly #byRequest = new Map<Request, number>();

  /** Counts bytes of a request's body. An address gets half of the memory. Throws `unavailable` if there is no room. */
  take({ request, address }: Caller, bytes: number, maxBodyBytes: number): void {
    if (!Number.isFinite(bytes) || bytes < 0) throw new RangeError(`A body can't have ${bytes} bytes.`);
    const limit = Math.max(LIMIT_BYTES, LARGEST_BODIES * maxBodyBytes);
    const source = sourceOf(address);
    const own = (this.#bySource.get(source) ?? 0) + bytes;
    if (this.#bytes + bytes > limit || own > limit / 2) throw full();
    this.#bytes += bytes;
    this.#bySource.set(source, own);
    this.#byRequest.set(request, (this.#byRequest.get(request) ?? 0) + bytes);
  }

  /** Frees the memory of a request that was answered. */
  release({ request, address }: Caller): void {
    const bytes = this.#byRequest.get(request);
    if (bytes === undefined) return;
    this.#byRequest.delete(request);
    this.#bytes -= bytes;
    const source = sourceOf(address);
    const own = (this.#bySource.get(source) ?? 0) - bytes;
    if (own > 0) this.#bySource.set(source, own);
    else this.#bySource.delete(source);
  }
}

const full = () =>
  new AppError("unavailable", "The server holds too many large request bodies. Try again in a second.", {
    retryable: true,
    retryAfterSeconds: 1,
  });
