import type { Clock } from "../base/clock.ts";

/** Requests under way at once, of those that have not taken long yet. */
const UNDER_WAY = 256;
/** Of one host. */
const UNDER_WAY_PER_HOST = 64;
/** Under way for longer, a request holds a place of its host alone: many slow receivers together delay nobody either. */
const SLOW_MS = 500;
/** Of all, however slow. */
const UNDER_WAY_AT_MOST = 2_048;
/** When every place is held, it is looked so often whether some have become slow. */
const LOOK_AGAIN_MS = 100;

/** Does work in lanes, one for each host; a lane that is slow holds up only itself. */
export interface Lanes<T> {
  add(host: string, item: T): void;
  /** What waits and what is under way. */
  all(): Iterable<T>;
  /** Begins all that waits at once. */
  flush(): void;
  /** Resolves once nothing waits or is under way. */
  idle(): Promise<void>;
}

interface Line<T> {
  waiting: T[];
  underWay: number;
}

/** `work` must not throw. */
export function openLanes<T>(clock: Clock, work: (item: T) => Promise<void>): Lanes<T> {
  const lines = new Map<string, Line<T>>();
  /** Lines that have something to begin and a place to do so, in turn. */
  const ready = new Map<string, Line<T>>();
  const underWay = new Map<T, number>();
  let isLooking = false;
  let ended = Promise.withResolvers<void>();

  const mayBegin = () => {
    if (underWay.size < UNDER_WAY) return true;
    if (underWay.size >= UNDER_WAY_AT_MOST) return false;
    const slowBefore = clock.monotonic() - SLOW_MS;
    let fresh = 0;
    for (const startedMs of underWay.values()) if (startedMs > slowBefore) fresh++;
    return fresh < UNDER_WAY;
  };

  const begin = (host: string, line: Line<T>) => {
    const item = line.waiting.shift();
    if (item === undefined) return;
    line.underWay++;
    underWay.set(item, clock.monotonic());
    void work(item).then(() => {
      line.underWay--;
      underWay.delete(item);
      if (line.waiting.length > 0) ready.set(host, line);
      else if (line.underWay === 0) lines.delete(host);
      go();
      if (lines.size === 0) {
        ended.resolve();
        ended = Promise.withResolvers();
      }
    });
  };

  const go = () => {
    for (const [host, line] of ready) {
      if (!mayBegin()) {
        lookAgain();
        return;
      }
      ready.delete(host);
      begin(host, line);
      if (line.waiting.length > 0 && line.underWay < UNDER_WAY_PER_HOST) ready.set(host, line); // at the end
    }
  };

  const lookAgain = () => {
    if (isLooking) return;
    isLooking = true;
    void clock.sleep(LOOK_AGAIN_MS).then(() => {
      isLooking = false;
      go();
    });
  };

  return {
    add(host, item) {
      const line = lines.get(host) ?? { waiting: [], underWay: 0 };
      lines.set(host, line);
      line.waiting.push(item);
      if (line.underWay >= UNDER_WAY_PER_HOST) return;
      ready.set(host, line);
      go();
    },
    *all() {
      yield* underWay.keys();
      for (const { waiting } of lines.values()) yield* waiting;
    },
    flush() {
      for (const [host, line] of lines) while (line.waiting.length > 0) begin(host, line);
    },
    async idle() {
      while (lines.size > 0) await ended.promise;
    },
  };
}
