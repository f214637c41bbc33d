import type { Clock } from "../base/clock.ts";

/** Background work. `tick` does one round and returns whether there may be more. */
export interface Loop {
  readonly name: string;
  tick(signal: AbortSignal): Promise<"more" | "idle">;
}

/**
 * Runs ticks until `signal` aborts, with a pause of `idleMs` after an idle or failed one. A running tick then
 * finishes, unless `cut` aborts.
 */
export async function drive(
  loop: Loop,
  options: {
    idleMs: number;
    /** Number of processes that run the same loop. Each then pauses that many times as long on average, at random. */
    sharers?: () => number;
    signal: AbortSignal;
    cut?: AbortSignal;
    clock: Clock;
    report: (error: unknown) => void;
    /** Waits until there may be work. Default: the clock's sleep. */
    rest?: (ms: number, signal: AbortSignal) => Promise<void>;
  },
): Promise<void> {
  const { idleMs, sharers = () => 1, signal, cut = signal, clock, report, rest = clock.sleep } = options;
  while (!signal.aborted) {
    const state = await loop.tick(cut).catch((error: unknown) => {
      report(error);
      return "failed" as const;
    });
    if (state === "idle") await rest(restOf(idleMs, sharers()), signal);
    if (state === "failed") await clock.sleep(idleMs, signal);
  }
}

/** From half to one and a half times the average, so that processes that start together don't check together. */
const restOf = (idleMs: number, sharers: number): number =>
  sharers === 1 ? idleMs : idleMs * sharers * (0.5 + Math.random());
