import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";

/** Maximum number of passes. Rows that still change are left to the next load. */
const MAX_PASSES = 5;
/** Maximum lead of this machine's clock over the external system's. */
const CLOCKS_MS = 120_000;

export interface LateWalk {
  clock: Clock;
  /** Milliseconds of the row's last change, by the external system's clock; NaN if unknown. */
  changedMs(row: JsonObject): number;
  /** Identifies a row and its state. */
  stateOf(row: JsonObject): string;
  /** All rows; with a time, only those changed then or later, and any others. */
  pages(sinceMs: number | null): AsyncIterable<JsonObject[]>;
}

/**
 * Reads a list whose order isn't that of its cursor while rows change: the cursor could pass rows that changed later
 * permanently. Repeats until there is nothing new. The last pass yields nothing later than all rows before it, so that
 * the next load finds the rest after its cursor even if the passes never end.
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
