import type { Clock } from "./clock.ts";

/** A token bucket: `perMinute` is its refill rate, `burst` its size. */
export interface Rate {
  perMinute: number;
  burst: number;
}

/** Sign-in, setup and device endpoints: 10 per minute and address (docs/decisions/http-conventions.md). */
export const ADDRESS_RATE: Rate = { perMinute: 10, burst: 10 };

export interface Limiter {
  /** Takes a token. A larger burst adds tokens at once. `retryAfterSeconds` is 0 on success, `resetSeconds` is the time until the bucket is full. */
  take(key: string, rate: Rate): { retryAfterSeconds: number; remaining: number; resetSeconds: number };
  /** Returns a token to the bucket. */
  giveBack(key: string): void;
}

/** Beyond this many, the fullest buckets are dropped. */
const MAX_BUCKETS = 50_000;

/** Token buckets in this process's memory, one per key. */
export function openLimiter(clock: Clock): Limiter {
  const buckets = new Map<string, { tokens: number; at: number; perMs: number; burst: number }>();
  const forgetFull = (now: number) => {
    for (const [key, bucket] of buckets) {
      if (bucket.tokens + (now - bucket.at) * bucket.perMs >= bucket.burst) buckets.delete(key);
    }
    for (const key of buckets.keys()) {
      if (buckets.size <= MAX_BUCKETS / 2) break;
      buckets.delete(key);
    }
  };
  return {
    take(key, { perMinute, burst }) {
      const now = clock.monotonic();
      const perMs = perMinute / 60_000;
      let bucket = buckets.get(key);
      if (!bucket) {
        if (buckets.size >= MAX_BUCKETS) forgetFull(now);
        bucket = { tokens: burst, at: now, perMs, burst };
        buckets.set(key, bucket);
      }
      const larger = Math.max(0, burst - bucket.burst);
      bucket.tokens = Math.min(burst, bucket.tokens + larger + (now - bucket.at) * perMs);
      bucket.at = now;
      bucket.perMs = perMs;
      bucket.burst = burst;
      const secondsUntil = (tokens: number) => Math.ceil((tokens - (bucket?.tokens ?? 0)) / perMs / 1000);
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        const remaining = Math.floor(bucket.tokens);
        return { retryAfterSeconds: 0, remaining, resetSeconds: secondsUntil(burst) };
      }
      return {
        retryAfterSeconds: Math.max(1, secondsUntil(1)),
        remaining: 0,
        resetSeconds: secondsUntil(burst),
      };
    },
    giveBack(key) {
      const bucket = buckets.get(key);
      if (bucket) bucket.tokens = Math.min(bucket.burst, bucket.tokens + 1);
    },
  };
}
