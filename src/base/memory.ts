/** One thing that a process keeps in memory, made when it is first asked for. */
export interface Slot<T> {
  make(): T;
}

/** What one App keeps in memory; it ends with the App, and no other App sees it. */
export interface Memory {
  of<T>(slot: Slot<T>): T;
}

export const slot = <T>(make: () => T): Slot<T> => ({ make });

export function openMemory(): Memory {
  const made = new Map<Slot<unknown>, unknown>();
  return {
    of<T>(wanted: Slot<T>): T {
      if (!made.has(wanted)) made.set(wanted, wanted.make());
      return made.get(wanted) as T;
    },
  };
}
