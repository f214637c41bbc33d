import { AppError } from "../../base/errors.ts";
import { withoutSecrets } from "../../base/hide.ts";
import type { Context } from "../../context.ts";
import type { Link, Provider } from "../../providers/contract.ts";
import type { Purpose } from "./approval.ts";
import { openCredentials } from "./credentials.ts";
import { linkOf } from "./link.ts";
import type { ConnectionRow } from "./table.ts";

interface Limits {
  purpose: Purpose;
  /** Null for work without a time limit. */
  limitMs: number | null;
  /** The caller's own signal, if the work is only for them. */
  signal?: AbortSignal;
}

/**
 * Runs `work` with a connection's system. Throws `timeout` past the limit, `cancelled` if the caller disconnects,
 * and what the provider throws. Credentials are removed from messages.
 */
export async function reach<T>(
  ctx: Context,
  row: ConnectionRow,
  { limitMs, signal, purpose }: Limits,
  work: (provider: Provider, link: Link) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const done = new AbortController();
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined); // Awaited in the race below; this only prevents an unhandled rejection.
  stop.signal.addEventListener("abort", () => stopped.reject(stop.signal.reason), { once: true });
  const leave = () => stop.abort(new AppError("cancelled", "The client closed the request."));
  if (signal?.aborted) leave();
  signal?.addEventListener("abort", leave, { once: true });
  if (limitMs !== null) {
    void ctx.clock.limit(limitMs, done.signal).then(() => {
      if (!done.signal.aborted) stop.abort(tooLong(row, limitMs));
    });
  }
  try {
    const { provider, link } = await linkOf(ctx, row, { signal: stop.signal, purpose });
    return await Promise.race([work(provider, link), stopped.promise]);
  } catch (error) {
    const secrets = Object.values(openCredentials(ctx, row));
    throw withoutSecrets(stop.signal.aborted ? stop.signal.reason : error, secrets);
  } finally {
    done.abort();
    signal?.removeEventListener("abort", leave);
  }
}

const tooLong = (row: ConnectionRow, ms: number) =>
  new AppError("timeout", `${row.name} didn't respond within ${ms / 1000} seconds.`, { retryable: true });
