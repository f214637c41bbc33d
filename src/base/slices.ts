/** How long work continues before other work gets the thread. */
const SLICE_MS = 8;

export const yieldNow = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Returns a function to await repeatedly in long work. It lets other work run once a slice is over. */
export function openTurns(): () => Promise<void> | undefined {
  let until = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < until) return;
    return yieldNow().then(() => {
      until = performance.now() + SLICE_MS;
    });
  };
}

/** Maps items one at a time, letting other work run in between. */
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

/** Work that can pause at each yield. */
export type Work<T> = Generator<void, T, void>;

/** Runs all of the work, in slices of a few milliseconds between which other work runs. */
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
