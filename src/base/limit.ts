import type { Clock } from "./clock.ts";

/** A token bucket's size: `perMinute` is what comes back, `burst` what may be taken at once. */
export interface Rate {
  perMinute: number;
  burst: number;
}

export interface Limiter {
  /** Takes one; `retryAfterSeconds` is 0 where it was there. */
  take(key: string, rate: Rate): { retryAfterSeconds: number; remaining: number };
}

/** Buckets beyond this many are forgotten, the fullest first. */
const MAX_BUCKETS = 50_000;

/** Token buckets in this process's memory, one for each key. */
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
      bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) * perMs);
      bucket.at = now;
      bucket.perMs = perMs;
      bucket.burst = burst;
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return { retryAfterSeconds: 0, remaining: Math.floor(bucket.tokens) };
      }
      return { retryAfterSeconds: Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000)), remaining: 0 };
    },
  };
}
