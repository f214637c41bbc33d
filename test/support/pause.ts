const SHORTEST_MS = 5;
const LONGEST_MS = 50;

/** Waits before the next check of a state: briefly at first, then for a tenth of the time since `start`. */
export const pause = (start: number): Promise<void> =>
  Bun.sleep(Math.min(LONGEST_MS, SHORTEST_MS + (performance.now() - start) / 10));
