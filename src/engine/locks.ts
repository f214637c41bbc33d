/** One writer at a time per dataset in this process. The commit checks versions for writes of other processes. */
export interface DatasetLocks {
  /** Resolves once `name` is free, with a function that releases it. */
  take(name: string): Promise<() => void>;
  /** Whether `take` would wait. */
  isHeld(name: string): boolean;
}

export function openLocks(): DatasetLocks {
  const last = new Map<string, Promise<void>>();
  return {
    isHeld: (name) => last.has(name),
    async take(name) {
      const before = last.get(name) ?? Promise.resolve();
      let release = () => {};
      const holding = new Promise<void>((resolve) => {
        release = resolve;
      });
      const mine = before.then(() => holding);
      last.set(name, mine);
      await before;
      return () => {
        release();
        if (last.get(name) === mine) last.delete(name);
      };
    },
  };
}
