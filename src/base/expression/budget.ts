import { type Clock, systemClock } from "../clock.ts";
import { ExpressionError } from "./fault.ts";

/** Steps between checks of the clock. One takes about 30 to 100 ns. */
const STEPS_PER_LOOK = 1_000;

export interface Limits {
  /** Calls, loop iterations and values examined. */
  steps: number;
  /** Characters and bytes created. A list item counts as 8. */
  made: number;
  ms: number;
}

/** In the server's main thread. */
export const SMALL: Limits = { steps: 20_000, made: 1024 * 1024, ms: 5 };
/** In a child process, for a condition and for a field. */
export const LARGE_CONDITION: Limits = { steps: 20_000_000, made: 64 * 1024 * 1024, ms: 1_000 };
export const LARGE: Limits = { ...LARGE_CONDITION, ms: 10_000 };

/** What an evaluation may still spend. Everything that loops, scans or creates values spends from it beforehand. */
export class Budget {
  private steps: number;
  private made: number;
  private readonly until: number;
  private sinceLook = 0;

  constructor(
    private readonly limits: Limits,
    private readonly clock: Clock = systemClock,
  ) {
    this.steps = limits.steps;
    this.made = limits.made;
    this.until = clock.monotonic() + limits.ms;
  }

  step(count = 1): void {
    this.steps -= count;
    if (this.steps < 0) throw new ExpressionError("budget", "it takes too many steps");
    this.sinceLook += count;
    if (this.sinceLook < STEPS_PER_LOOK) return;
    this.sinceLook = 0;
    if (this.clock.monotonic() > this.until) throw new ExpressionError("budget", "it takes too long");
  }

  /** False in the server's main thread. */
  get isLarge(): boolean {
    return this.limits.steps > SMALL.steps;
  }

  get leftMs(): number {
    return Math.max(this.until - this.clock.monotonic(), 0);
  }

  /** For functions that never run in the server's main thread. */
  stepAside(): void {
    if (!this.isLarge) throw new ExpressionError("budget", "it takes too long");
  }

  make(size: number): void {
    this.made -= size;
    if (this.made < 0) throw new ExpressionError("budget", "its result is too large");
  }
}
