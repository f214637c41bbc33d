import { AppError } from "./errors.ts";

/** Aborts with `signal`, or after `ms` with the sentence that `who` took too long: an error that people may see. */
export function within(ms: number, who: string, signal?: AbortSignal): AbortSignal {
  const late = new AbortController();
  const why = () =>
    new AppError("timeout", `${who} didn't respond within ${ms / 1000} s.`, { retryable: true });
  setTimeout(() => late.abort(why()), ms).unref(); // as real as the network that it bounds
  return signal ? AbortSignal.any([signal, late.signal]) : late.signal;
}
