/** Work goes on for so long before others get a turn at the thread. */
const SLICE_MS = 8;

export const yieldNow = () => new Promise<void>((resolve) => setImmediate(resolve));

/** To be awaited again and again in long work: gives others their turn where this work has had its own. */
export function openTurns(): () => Promise<void> | undefined {
  let until = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < until) return;
    return yieldNow().then(() => {
      until = performance.now() + SLICE_MS;
    });
  };
}

/** What `make` makes of each, one after the other, with turns for others between them. */
export async function mapInSlices<T, R>(items: readonly T[], make: (item: T) => R): Promise<R[]> {
  const yieldSlice = openTurns();
  const made: R[] = [];
  for (const item of items) {
    made.push(make(item));
    const others = yieldSlice();
    if (others) await others;
  }
  return made;
}

/** Work that may be interrupted wherever it yields. */
export type Work<T> = Generator<void, T, void>;

/** Does all of the work, in slices of a few milliseconds between which others get their turn. */
export async function inSlices<T>(work: Work<T>): Promise<T> {
  for (;;) {
    const until = performance.now() + SLICE_MS;
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (performance.now() < until);
    await yieldNow();
  }
}
