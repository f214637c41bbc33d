/** Slots for the runs of this process. A run that waits for a rate limit holds none. */
export interface Slots {
  /** Number of free slots. */
  free(): number;
  /**
   * Waits without a slot, then takes one again as soon as it is free. Keeps its slot if too many runs already wait
   * this way.
   */
  rest(runId: string, signal: AbortSignal, wait: () => Promise<void>): Promise<void>;
  /**
   * Waits without a slot, however many others do, for something that a waiting run may hold. With a slot, it could
   * prevent that run from returning to release it.
   */
  yieldTo(runId: string, signal: AbortSignal, wait: () => Promise<void>): Promise<void>;
  /** True for a run that waits without a slot. */
  isResting(runId: string): boolean;
  /** Records that a run has ended. */
  left(runId: string): void;
  /** Admits returning runs if fewer are running than assumed. */
  admit(): void;
}

/** Maximum number of runs per slot that wait for rate limits, since they keep their memory. */
const RESTING_PER_SLOT = 2;

/** `most` slots for the runs in `underWay`. `freed` is called for each slot that no run returns to. */
export function openSlots(most: number, underWay: () => number, freed: () => void): Slots {
  /** Number of waiting parts of a run. 0 while the run waits to return. */
  const resting = new Map<string, number>();
  const returning: { runId: string; enter: () => void }[] = [];
  const free = () => most - (underWay() - resting.size);

  const letIn = () => {
    while (free() > 0) {
      const next = returning.shift();
      if (!next) return freed();
      if (resting.get(next.runId) === 0) resting.delete(next.runId);
      next.enter();
    }
  };

  const comeBack = async (runId: string, signal: AbortSignal) => {
    if (free() <= 0 && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const enter = () => resolve();
      const waiter = { runId, enter };
      returning.push(waiter);
      signal.addEventListener("abort", enter, { once: true });
      await promise;
      signal.removeEventListener("abort", enter);
      if (returning.includes(waiter)) returning.splice(returning.indexOf(waiter), 1);
    }
    if (resting.get(runId) === 0) resting.delete(runId);
  };

  const leave = async (runId: string, signal: AbortSignal, wait: () => Promise<void>) => {
    resting.set(runId, (resting.get(runId) ?? 0) + 1);
    letIn();
    try {
      await wait();
    } finally {
      const left = (resting.get(runId) ?? 1) - 1;
      resting.set(runId, left);
      if (left === 0) await comeBack(runId, signal);
    }
  };

  return {
    free,
    rest: (runId, signal, wait) =>
      !resting.has(runId) && resting.size >= most * RESTING_PER_SLOT ? wait() : leave(runId, signal, wait),
    yieldTo: leave,
    isResting: (runId) => resting.has(runId),
    admit: letIn,
    left(runId) {
      resting.delete(runId);
      letIn();
    },
  };
}
