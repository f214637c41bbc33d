import type { Clock } from "./clock.ts";

/** How long something that failed twice is skipped, so that it doesn't block others. */
const REST_MS = 60_000;

/** Recent failures of a loop, by ID. */
export interface Setbacks {
  /** Records a failure. Returns whether it has failed before, so that the cause is probably lasting. */
  note(id: string): boolean;
  /** Records a success. */
  clear(id: string): void;
  /** JSON of the IDs to skip now. */
  passedOver(): string;
}

export function openSetbacks(clock: Clock): Setbacks {
  const failed = new Map<string, { times: number; untilMs: number }>();
  return {
    note(id) {
      const times = (failed.get(id)?.times ?? 0) + 1;
      failed.set(id, { times, untilMs: clock.monotonic() + REST_MS });
      return times > 1;
    },
    clear: (id) => void failed.delete(id),
    passedOver() {
      for (const [id, { untilMs }] of failed) if (clock.monotonic() >= untilMs) failed.delete(id);
      return JSON.stringify([...failed].flatMap(([id, { times }]) => (times > 1 ? [id] : [])));
    },
  };
}
