import type { Clock } from "../base/clock.ts";

/** Work that no request asks for. `tick` does one round and says whether there may be more. */
export interface Loop {
  readonly name: string;
  tick(signal: AbortSignal): Promise<"more" | "idle">;
}

/**
 * Ticks until `signal` aborts, resting `idleMs` after an idle round and after a failed one. A tick that is under way
 * then goes on to its end, or until `cut` aborts.
 */
export async function drive(
  loop: Loop,
  options: {
    idleMs: number;
    /** As many processes do the same: each then rests that many times as long on average, at random. */
    sharers?: () => number;
    signal: AbortSignal;
    cut?: AbortSignal;
    clock: Clock;
    report: (error: unknown) => void;
    /** Rests until there may be work; the clock's sleep by default. */
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
