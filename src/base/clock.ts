import { isRealDay } from "./real-day.ts";

/** The only place where time is read, so that tests can turn it by hand. */
export interface Clock {
  /** Wall time, for people and for rows. */
  now(): Date;
  /** Milliseconds that never jump back, for leases and limits. */
  monotonic(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** As `sleep`, for the most that work under way may take: a test that shortens rests leaves limits alone. */
  limit(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay that a JavaScript timer keeps; a longer one fires at once. */
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

/** A clock whose wall time is corrected while it goes; what is monotonic stays as it is. */
export interface CorrectableClock extends Clock {
  /** From now on the wall time is so many milliseconds ahead of the machine's own. */
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

/** Counts the time that this thread has had the processor. */
export const processorClock: Clock = {
  ...systemClock,
  monotonic() {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
};

/** Seconds from one instant to another, to the millisecond; null where one is missing. */
export const secondsBetween = (from: string | null, to: string | null): number | null =>
  from === null || to === null ? null : (Date.parse(to) - Date.parse(from)) / 1000;

/** What names its zone, and days, months and years alone, which JavaScript takes for UTC by itself. */
const ZONED =
  /^\d{4}(?:-\d\d){0,2}$|(?:\d ?Z|\b(?:UTC?|GMT|[ECMP][SD]T)|(?::\d\d(?:\.\d+)?|UTC|GMT) ?[+-]\d\d:?\d\d)(?: \([^)]*\))?$/i;

/**
 * The instant that somebody else's text tells, ISO 8601 in UTC; null where it tells none. One without a zone is taken
 * for UTC: where this machine is has nothing to do with it.
 */
export function parseInstant(text: string): string | null {
  const day = /^\s*(\d{4}-\d\d-\d\d)/.exec(text)?.[1];
  if (day !== undefined && !isRealDay(day)) return null;
  const at = new Date(text);
  const ms = at.getTime();
  if (Number.isNaN(ms)) return null;
  return new Date(ZONED.test(text.trim()) ? ms : ms - at.getTimezoneOffset() * 60_000).toISOString();
}

/** The last instant that was written out: hot paths ask many times within one millisecond. */
let last = { ms: Number.NaN, text: "" };

/** The instant `offsetMs` from now, ISO 8601 in UTC with milliseconds. */
export function timestamp(clock: Clock, offsetMs = 0): string {
  const ms = clock.now().getTime() + offsetMs;
  if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}

/**
 * The present instant, or the millisecond after `before` where that is later. Changes of one thing are told apart by
 * when they were made, so no two may be of the same millisecond, nor a later one earlier by a clock that was set back.
 */
export function timestampAfter(clock: Clock, before: string): string {
  const now = timestamp(clock);
  return now > before ? now : new Date(Date.parse(before) + 1).toISOString();
}
