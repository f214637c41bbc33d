import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";

/** Maximum number of passes. Rows that still change are left to the next load. */
const MAX_PASSES = 5;
/** How far this machine's clock may be ahead of the other side's. */
const CLOCKS_MS = 120_000;

export interface LateWalk {
  clock: Clock;
  /** Milliseconds of the row's last change, by the other side's clock; NaN where it has none. */
  changedMs(row: JsonObject): number;
  /** Identifies a row and its state. */
  stateOf(row: JsonObject): string;
  /** All rows; with an instant those that changed then or later, and any others. */
  pages(sinceMs: number | null): AsyncIterable<JsonObject[]>;
}

/**
 * A walk in another order than that of its cursor, and whatever changed behind its back: the cursor would go past that
 * for good, where something that is read later has changed later. Asked for until nothing is new. The last pass gives
 * nothing that is later than all before it, so that where it never ends the next load finds the rest behind its cursor.
 */
export async function* withLate(walk: LateWalk): AsyncGenerator<JsonObject[]> {
  const beganMs = walk.clock.now().getTime() - CLOCKS_MS;
  const yielded = new Set<string>();
  let latestMs = Number.NEGATIVE_INFINITY;
  for (let pass = 1, isDone = false; !isDone && pass <= MAX_PASSES; pass++) {
    isDone = pass > 1;
    const limitMs = pass === MAX_PASSES ? latestMs : Number.POSITIVE_INFINITY;
    for await (const rows of walk.pages(pass === 1 ? null : beganMs)) {
      const fresh = rows.filter((row) => {
        const ms = walk.changedMs(row);
        if (!(ms >= beganMs)) return pass === 1;
        const state = walk.stateOf(row);
        if (ms > limitMs || yielded.has(state)) return false;
        yielded.add(state);
        latestMs = Math.max(latestMs, ms);
        isDone = false;
        return true;
      });
      if (fresh.length > 0) yield fresh;
    }
  }
}
