import type { Clock } from "./clock.ts";

/** How long something is passed over that has failed twice, so that it holds up nothing behind it. */
const REST_MS = 60_000;

/** What a loop could not do lately, by id. */
export interface Setbacks {
  /** True where it has failed before: the fault is not one that passes. */
  note(id: string): boolean;
  /** It has been dealt with. */
  clear(id: string): void;
  /** JSON text of the ids that are to be passed over now. */
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
