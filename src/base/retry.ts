/** Retry policy of a definition. */
export interface Retry {
  maxAttempts?: number;
  backoffSeconds?: number[];
}

const DEFAULT_BACKOFF_SECONDS = [1, 5, 30, 120, 600];

/**
 * Returns the pause in seconds after this many attempts. Null if there is no further one.
 * Respects the delay that the other side asked for.
 */
export function pauseSeconds(
  { maxAttempts = 1, backoffSeconds = [] }: Retry,
  { retryAfterSeconds }: { retryAfterSeconds: number | null },
  tries: number,
): number | null {
  if (tries >= maxAttempts) return null;
  const steps = backoffSeconds.length > 0 ? backoffSeconds : DEFAULT_BACKOFF_SECONDS;
  return Math.max(steps[Math.min(tries - 1, steps.length - 1)] ?? 0, retryAfterSeconds ?? 0);
}
