import { slot } from "../../base/memory.ts";
import type { App } from "../../context.ts";

/** So often at most, … */
const COLLECT_MS = 5_000;
/** … and in a large process, where it takes longer, for this part of the time at most. */
const COLLECT_PART = 0.01;

const COLLECTED = slot(() => ({ nextAt: 0 }));

/**
 * Gives back what items that are done have left. The engine of JavaScript waits until the memory has doubled, which many
 * small items do before it looks; a collection takes some 30 ms.
 */
export function collect({ clock, memory }: App): void {
  const collected = memory.of(COLLECTED);
  const began = clock.monotonic();
  if (began < collected.nextAt) return;
  Bun.gc(true);
  const ended = clock.monotonic();
  collected.nextAt = ended + Math.max(COLLECT_MS, (ended - began) / COLLECT_PART);
}
