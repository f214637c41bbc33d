/** Frees a slot; a second call does nothing. */
type Leave = () => void;

export interface FairSlots {
  /**
   * Waits for a slot. `path` identifies the caller, from coarse to fine. At each level, callers take turns.
   * If too many wait, the newest request of the caller with the most waiting gets null.
   */
  enter(path: readonly string[]): Leave | Promise<Leave | null> | null;
}

interface Holder {
  /** Number of sweeps during which it held the slot. */
  age: number;
  isOver: boolean;
}

/**
 * Shares `slots` among short work, fairly. Work that has held a slot for two sweeps isn't using this thread,
 * and continues without a slot. Sweeps run only while others wait.
 */
export function openFairSlots(slots: number, waitLimit: number, sweepMs: number): FairSlots {
  const underWay = new Set<Holder>();
  const waiting = new FairQueue<(leave: Leave | null) => void>();
  let timer: ReturnType<typeof setInterval> | null = null;

  const begin = (): Leave => {
    const holder: Holder = { age: 0, isOver: false };
    underWay.add(holder);
    return () => end(holder);
  };
  const end = (holder: Holder) => {
    if (holder.isOver) return;
    holder.isOver = true;
    underWay.delete(holder);
    fill();
  };
  const fill = () => {
    while (underWay.size < slots) {
      const next = waiting.shift();
      if (!next) break;
      next(begin());
    }
    if (waiting.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
  const sweep = () => {
    for (const holder of [...underWay]) if (++holder.age > 1) end(holder);
  };

  return {
    enter(path) {
      if (underWay.size < slots && waiting.size === 0) return begin();
      if (waiting.size >= waitLimit) {
        const refused = waiting.makeRoom(path);
        if (!refused) return null;
        refused(null);
      }
      timer ??= setInterval(sweep, sweepMs);
      return new Promise((resolve) => waiting.push(path, resolve));
    },
  };
}

/** Items by path. `shift` rotates through the children of each level, and returns items of the same path in order. */
class FairQueue<T> {
  readonly #children = new Map<string, FairQueue<T>>();
  #items: T[] = [];
  #taken = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push([name, ...rest]: readonly string[], item: T): void {
    this.#size++;
    if (name === undefined) return void this.#items.push(item);
    const child = this.#children.get(name) ?? new FairQueue<T>();
    this.#children.set(name, child);
    child.push(rest, item);
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    this.#size--;
    const [first] = this.#children;
    if (first === undefined) return this.#shiftOwn();
    const [name, child] = first;
    this.#children.delete(name);
    const item = child.shift();
    if (child.size > 0) this.#children.set(name, child);
    return item;
  }

  /**
   * Removes the newest item of the caller with the most items, if it has more than `path` would. Undefined if none has.
   */
  makeRoom([name = "", ...rest]: readonly string[]): T | undefined {
    const most = this.#largest();
    if (!most) return undefined;
    const own = this.#children.get(name);
    if (most.child === own) return this.#without(most.name, own.makeRoom(rest));
    return most.child.size > (own?.size ?? 0) + 1 ? this.#without(most.name, most.child.#pop()) : undefined;
  }

  #pop(): T | undefined {
    const most = this.#largest();
    if (most) return this.#without(most.name, most.child.#pop());
    this.#size--;
    return this.#items.pop();
  }

  #largest(): { name: string; child: FairQueue<T> } | undefined {
    let most: { name: string; child: FairQueue<T> } | undefined;
    for (const [name, child] of this.#children)
      if (child.size > (most?.child.size ?? 0)) most = { name, child };
    return most;
  }

  /** Updates the tree after `item` was removed from a child. */
  #without(name: string, item: T | undefined): T | undefined {
    if (item === undefined) return undefined;
    this.#size--;
    if (this.#children.get(name)?.size === 0) this.#children.delete(name);
    return item;
  }

  #shiftOwn(): T | undefined {
    const item = this.#items[this.#taken++];
    if (this.#taken > 1_000 || this.#taken === this.#items.length) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return item;
  }
}
