/** Slots for the runs of this process. A run that waits for a rate limit, or for its outcome to be saved, holds none. */
export interface Slots {
  /** Number of slots in which a run could execute now. */
  free(): number;
  /** Number of runs that can be claimed, including those that will wait for a slot. */
  room(): number;
  /** True if a run waits for a slot. */
  isAwaited(): boolean;
  /** True if a run that was added to those of this process has no slot yet. */
  isLate(): boolean;
  /** Resolves when such a run has a slot, or when `signal` aborts. */
  enter(runId: string, signal: AbortSignal): Promise<void>;
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
  /**
   * Releases the slot of a run that only waits for its outcome to be saved. It keeps its slot if too many wait this
   * way.
   */
  release(runId: string): void;
  /** True for a run without a slot. */
  isResting(runId: string): boolean;
  /** Records that a run has ended. */
  left(runId: string): void;
  /** Admits returning runs if fewer are running than assumed. */
  admit(): void;
}

export interface SlotUse {
  /** Number of runs of this process. */
  underWay(): number;
  /** Number of runs that are being claimed. */
  claiming(): number;
  /** Number of runs that can be claimed before a slot is free. */
  ahead(): number;
}

/** Maximum number of runs per slot that wait for rate limits, since they keep their memory. */
const RESTING_PER_SLOT = 2;
/** Maximum number of runs per slot whose outcome waits to be saved. A slow database then holds up new runs. */
const ENDING_PER_SLOT = 4;

/** `most` slots. `freed` is called when a run can be claimed. */
export function openSlots(most: number, { underWay, claiming, ahead }: SlotUse, freed: () => void): Slots {
  /** Number of waiting parts of a run. 0 while the run waits for a slot. */
  const resting = new Map<string, number>();
  /** Runs that were claimed before a slot was free, and wait for one. */
  const early = new Set<string>();
  const ending = new Set<string>();
  const waiting: { runId: string; enter: () => void }[] = [];
  const executing = () => underWay() - resting.size - ending.size;
  const free = () => most - executing() - Math.max(0, claiming() - ahead());
  const room = () => most + ahead() - executing() - claiming() - waiting.length;

  const letIn = () => {
    while (free() > 0) {
      const next = waiting.shift();
      if (!next) break;
      if (resting.get(next.runId) === 0) resting.delete(next.runId);
      next.enter();
    }
    if (room() > 0) freed();
  };

  const comeBack = async (runId: string, signal: AbortSignal) => {
    if ((free() <= 0 || waiting.length > 0) && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const enter = () => resolve();
      const waiter = { runId, enter };
      waiting.push(waiter);
      signal.addEventListener("abort", enter, { once: true });
      letIn();
      await promise;
      signal.removeEventListener("abort", enter);
      if (waiting.includes(waiter)) waiting.splice(waiting.indexOf(waiter), 1);
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
    room,
    isAwaited: () => waiting.length > 0,
    isLate: () => free() < 0 || waiting.length > 0,
    async enter(runId, signal) {
      early.add(runId);
      resting.set(runId, 0);
      await comeBack(runId, signal);
      early.delete(runId);
    },
    rest: (runId, signal, wait) =>
      !resting.has(runId) && resting.size - early.size >= most * RESTING_PER_SLOT
        ? wait()
        : leave(runId, signal, wait),
    yieldTo: leave,
    release(runId) {
      if (resting.has(runId) || ending.size >= most * ENDING_PER_SLOT) return;
      ending.add(runId);
      letIn();
    },
    isResting: (runId) => resting.has(runId) || ending.has(runId),
    admit: letIn,
    left(runId) {
      ending.delete(runId);
      resting.delete(runId);
      letIn();
    },
  };
}
