import type { Clock } from "../../base/clock.ts";

/** Interval between checks for items past their timeout. */
const LOOK_MS = 250;

/** Cancels items when the run is cancelled or their time is over. */
export interface Deadlines {
  /** Call `end` when the item has finished. `isLate` then says whether it timed out. */
  begin(seconds: number): { signal: AbortSignal; isLate(): boolean; end(): void };
  close(): void;
}

/** One timer and one listener for all items: a signal for each that follows the run's would use far more memory. */
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
