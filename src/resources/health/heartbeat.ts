import type { App } from "../../context.ts";

/** The engine's loops pause for less than this between rounds, so a minute without a round is too long. */
export const HEARTBEAT_LIMIT_MS = 60_000;

const beats = new WeakMap<App["store"], number>();

/** Records that the engine's loops are running. */
export const beat = ({ store, clock }: App): void => void beats.set(store, clock.monotonic());

/** Milliseconds since the last heartbeat. Null if there was none. */
export function sinceBeat({ store, clock }: App): number | null {
  const at = beats.get(store);
  return at === undefined ? null : clock.monotonic() - at;
}
