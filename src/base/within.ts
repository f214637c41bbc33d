import { AppError } from "./errors.ts";

/** Aborts with `signal`, or after `ms` with a message that `who` took too long, which can be shown to people. */
export function within(ms: number, who: string, signal?: AbortSignal): AbortSignal {
  const late = new AbortController();
  const why = () =>
    new AppError("timeout", `${who} didn't respond within ${ms / 1000} s.`, { retryable: true });
  setTimeout(() => late.abort(why()), ms).unref(); // a real timer, since the network takes real time
  return signal ? AbortSignal.any([signal, late.signal]) : late.signal;
}
