import { isRealDay } from "./real-day.ts";

/** The only place that reads the time, so that tests can control it. */
export interface Clock {
  /** Wall time, for people and for stored rows. */
  now(): Date;
  /** Milliseconds that never go back, for leases and limits. */
  monotonic(): number;
  /** Resolves after `ms`, or immediately when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Like `sleep`, for time limits. A test that shortens pauses doesn't shorten limits. */
  limit(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay of a JavaScript timer. Longer ones fire immediately. */
const MAX_TIMER_MS = 2_147_483_647;

const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, MAX_TIMER_MS));
    signal?.addEventListener("abort", done, { once: true });
  });

export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep,
  limit: sleep,
};

/** A clock whose wall time can be corrected. Monotonic time isn't affected. */
export interface CorrectableClock extends Clock {
  /** Sets how many milliseconds the wall time is ahead of the machine's clock. */
  correct(aheadMs: number): void;
  readonly aheadMs: number;
}

export function correctable(own: Clock): CorrectableClock {
  let ahead = 0;
  return {
    now: () => (ahead === 0 ? own.now() : new Date(own.now().getTime() + ahead)),
    monotonic: () => own.monotonic(),
    sleep: (ms, signal) => own.sleep(ms, signal),
    limit: (ms, signal) => own.limit(ms, signal),
    correct(aheadMs) {
      ahead = aheadMs;
    },
    get aheadMs() {
      return ahead;
    },
  };
}

/** Measures the CPU time of this thread. */
export const processorClock: Clock = {
  ...systemClock,
  monotonic() {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
};

/** Seconds between two times, with milliseconds. Null if one is missing. */
export const secondsBetween = (from: string | null, to: string | null): number | null =>
  from === null || to === null ? null : (Date.parse(to) - Date.parse(from)) / 1000;

/** Times with a zone, and bare dates, months and years, which JavaScript reads as UTC. */
const ZONED =
  /^\d{4}(?:-\d\d){0,2}$|(?:\d ?Z|\b(?:UTC?|GMT|[ECMP][SD]T)|(?::\d\d(?:\.\d+)?|UTC|GMT) ?[+-]\d\d:?\d\d)(?: \([^)]*\))?$/i;

/**
 * Parses a time from external text to ISO 8601 in UTC. Null if it is invalid.
 * A time without a zone is taken as UTC, so that the machine's zone doesn't matter.
 */
export function parseInstant(text: string): string | null {
  const day = /^\s*(\d{4}-\d\d-\d\d)/.exec(text)?.[1];
  if (day !== undefined && !isRealDay(day)) return null;
  const at = new Date(text);
  const ms = at.getTime();
  if (Number.isNaN(ms)) return null;
  return new Date(ZONED.test(text.trim()) ? ms : ms - at.getTimezoneOffset() * 60_000).toISOString();
}

/** The last formatted time, since hot paths ask many times per millisecond. */
let last = { ms: Number.NaN, text: "" };

/** Returns the time `offsetMs` from now, ISO 8601 in UTC with milliseconds. */
export function timestamp(clock: Clock, offsetMs = 0): string {
  const ms = clock.now().getTime() + offsetMs;
  if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}

/**
 * Returns the current time, or the millisecond after `before` if that is later.
 * Times distinguish the changes of one resource, so they must increase even if the clock is set back.
 */
export function timestampAfter(clock: Clock, before: string): string {
  const now = timestamp(clock);
  return now > before ? now : new Date(Date.parse(before) + 1).toISOString();
}
