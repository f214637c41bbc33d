/** In-memory state of a module, created on first use. */
export interface Slot<T> {
  make(): T;
}

/** In-memory state of one App. It ends with the App, and isn't shared with others. */
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
