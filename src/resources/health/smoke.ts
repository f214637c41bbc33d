import { timestamp } from "../../base/clock.ts";
import type { App } from "../../context.ts";
import type { SmokeQuery } from "./wire.ts";

/**
 * Yields a tick immediately and at each interval for this many seconds, then `end`. Shows whether proxies let streams
 * through.
 */
export async function* ticks(app: App, { seconds, intervalSeconds }: SmokeQuery, signal: AbortSignal) {
  const startedAt = app.clock.monotonic();
  const elapsed = () => Math.round(app.clock.monotonic() - startedAt) / 1000;
  for (let tick = 1; !signal.aborted; tick++) {
    yield {
      id: tick,
      event: "tick",
      data: { tick, elapsedSeconds: elapsed(), timestamp: timestamp(app.clock) },
    };
    const next = Math.min(tick * intervalSeconds, seconds);
    await app.clock.sleep(next * 1000 - (app.clock.monotonic() - startedAt), signal);
    if (next < seconds) continue;
    if (!signal.aborted) yield { event: "end", data: { ticks: tick, elapsedSeconds: elapsed() } };
    return;
  }
}
