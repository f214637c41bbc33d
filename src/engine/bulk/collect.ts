import { slot } from "../../base/memory.ts";
import type { App } from "../../context.ts";

/** Minimum time between collections, … */
const COLLECT_MS = 5_000;
/** … and the maximum share of time for them in a large process, where each takes longer. */
const COLLECT_PART = 0.01;

const COLLECTED = slot(() => ({ nextAt: 0 }));

/**
 * Frees the memory of finished items. The JavaScript engine waits until memory has doubled, which many small items
 * do before it collects. A collection takes about 30 ms.
 */
export function collect({ clock, memory }: App): void {
  const collected = memory.of(COLLECTED);
  const began = clock.monotonic();
  if (began < collected.nextAt) return;
  Bun.gc(true);
  const ended = clock.monotonic();
  collected.nextAt = ended + Math.max(COLLECT_MS, (ended - began) / COLLECT_PART);
}
