/** How fast the runs of this process end. */
export interface Pace {
  /** Records that a run has held a slot for this long. */
  ran(ms: number): void;
  /**
   * Number of runs that `slots` slots will have started within a moment: to claim them before a slot is free spares
   * the slot the wait for that commit.
   */
  ahead(slots: number): number;
}

const MOMENT_MS = 50;
const MOST_PER_SLOT = 2;
/** Of each run, in the average. Until some have ended, runs are assumed to be slow. */
const WEIGHT = 0.1;
const FIRST_MS = 1_000;

export function openPace(): Pace {
  let averageMs = FIRST_MS;
  return {
    ran(ms) {
      averageMs += (ms - averageMs) * WEIGHT;
    },
    ahead: (slots) => Math.floor(slots * Math.min(MOST_PER_SLOT, MOMENT_MS / averageMs)),
  };
}
