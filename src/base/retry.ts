/** What a definition says of further tries. */
export interface Retry {
  maxAttempts?: number;
  backoffSeconds?: number[];
}

const DEFAULT_BACKOFF_SECONDS = [1, 5, 30, 120, 600];

/** The pause after so many tries, in seconds; null when there is no other. What the other side asked for is waited out. */
export function pauseSeconds(
  { maxAttempts = 1, backoffSeconds = [] }: Retry,
  { retryAfterSeconds }: { retryAfterSeconds: number | null },
  tries: number,
): number | null {
  if (tries >= maxAttempts) return null;
  const steps = backoffSeconds.length > 0 ? backoffSeconds : DEFAULT_BACKOFF_SECONDS;
  return Math.max(steps[Math.min(tries - 1, steps.length - 1)] ?? 0, retryAfterSeconds ?? 0);
}
