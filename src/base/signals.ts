/** Wakes waiters when something changes in this process. A missed signal only costs time. */
export interface Signals {
  notify(topic: string): void;
  /** Calls `listener` at each `notify(topic)`, until the returned function is called. */
  listen(topic: string, listener: () => void): () => void;
  /** From now on, a signal of `topic` without waiters is kept for the next one. */
  keep(topic: string): void;
  /** Resolves on the next `notify(topic)`, after `ms`, or when `signal` aborts. */
  wait(topic: string, ms: number, signal?: AbortSignal): Promise<void>;
}

export function openSignals(): Signals {
  const waiting = new Map<string, Set<() => void>>();
  /** Kept topics, and whether a signal is pending. */
  const kept = new Map<string, boolean>();
  const listening = new Map<string, Set<() => void>>();
  return {
    keep: (topic) => void kept.set(topic, false),
    listen(topic, listener) {
      const listeners = listening.get(topic) ?? new Set();
      listening.set(topic, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && listening.get(topic) === listeners) listening.delete(topic);
      };
    },
    notify(topic) {
      for (const listener of listening.get(topic) ?? []) listener();
      const wakers = waiting.get(topic);
      if (!wakers) {
        if (kept.has(topic)) kept.set(topic, true);
        return;
      }
      waiting.delete(topic);
      for (const wake of wakers) wake();
    },
    wait: (topic, ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        if (kept.get(topic)) {
          kept.set(topic, false);
          return resolve();
        }
        const wake = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", wake);
          const wakers = waiting.get(topic);
          wakers?.delete(wake);
          if (wakers?.size === 0) waiting.delete(topic);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        signal?.addEventListener("abort", wake, { once: true });
        const wakers = waiting.get(topic) ?? new Set();
        waiting.set(topic, wakers.add(wake));
      }),
  };
}
