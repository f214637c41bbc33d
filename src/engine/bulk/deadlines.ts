import type { Clock } from "../../base/clock.ts";

/** Items that are too late are looked for so often. */
const LOOK_MS = 250;

/** Cancels running items with the run, or when its time is over. */
export interface Deadlines {
  /** `end` is called once it is over; then `isLate` says whether it was for its time. */
  begin(seconds: number): { signal: AbortSignal; isLate(): boolean; end(): void };
  close(): void;
}

/** One timer and one listener for all items: a signal of its own for each that follows the run's would keep far more. */
export function openDeadlines(clock: Clock, signal: AbortSignal): Deadlines {
  const underWay = new Set<{ control: AbortController; until: number; isLate: boolean }>();
  const timer = setInterval(() => {
    const now = clock.monotonic();
    for (const item of underWay) {
      if (now < item.until) continue;
      item.isLate = true;
      item.control.abort();
    }
  }, LOOK_MS);
  const stop = () => {
    for (const { control } of underWay) control.abort(signal.reason);
  };
  signal.addEventListener("abort", stop);
  return {
    begin(seconds) {
      const item = {
        control: new AbortController(),
        until: clock.monotonic() + seconds * 1000,
        isLate: false,
      };
      underWay.add(item);
      if (signal.aborted) item.control.abort(signal.reason);
      return {
        signal: item.control.signal,
        isLate: () => item.isLate,
        end: () => void underWay.delete(item),
      };
    },
    close() {
      clearInterval(timer);
      signal.removeEventListener("abort", stop);
    },
  };
}
