/** How fast the runs of this process end. */
export interface Pace {
  /** Records that a run has held a slot for this long. */
  ran(ms: number): void;
  /**
   * Number of runs that `slots` slots will have started soon. If they are claimed before a slot is free, no slot waits
   * for that commit.
   */
  ahead(slots: number): number;
}

/** A run that would wait longer for its slot isn't claimed early. */
const SOON_MS = 50;
const MOST_PER_SLOT = 2;
/** Weight of each run in the average. */
const WEIGHT = 0.1;
/** Until some have ended, runs are assumed to be slow. */
const FIRST_MS = 1_000;

export function openPace(): Pace {
  let averageMs = FIRST_MS;
  return {
    ran(ms) {
      averageMs += (ms - averageMs) * WEIGHT;
    },
    ahead: (slots) => Math.floor(slots * Math.min(MOST_PER_SLOT, SOON_MS / averageMs)),
  };
}
