/** One writer at a time for each dataset in this process; the commit checks versions against other processes. */
export interface DatasetLocks {
  /** Resolves once `name` is free; call what comes back to let it go. */
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
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const mine = before.then(() => held);
      last.set(name, mine);
      await before;
      return () => {
        release();
        if (last.get(name) === mine) last.delete(name);
      };
    },
  };
}
